//! The rules on files that hold whatever mounts say.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope, make_bitflags,
};
use rustix::fs::{Mode, OFlags};
use scorpiox_cell::wire::{Access, Fault};
use scorpiox_kernel::{reach, sys};

/// The version of Landlock in this kernel, at most `at_most`; 0 where there is none.
pub(super) fn version(at_most: Option<u32>) -> u32 {
    let found = sys::landlock_version();
    at_most.map_or(found, |most| found.min(most))
}

/// What makes a name, which the guard does. But for sockets, which get their names by themselves.
const MAKES: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    MakeChar | MakeDir | MakeReg | MakeFifo | MakeBlock | MakeSym | Refer
});

/// What takes a name away, which the guard does where it keeps something.
const REMOVES: BitFlags<AccessFs> = make_bitflags!(AccessFs::{RemoveFile | RemoveDir});

/// What a path is opened for to change it, which the guard does.
const CHANGES: BitFlags<AccessFs> = make_bitflags!(AccessFs::{WriteFile | Truncate});

/// What is granted of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grant {
    /// List folders.
    List,
    /// Read and execute.
    Read,
    /// And give names to sockets. The guard does all else.
    Hold,
    /// And remove.
    Take,
    /// And change and make.
    Write,
}

impl From<Access> for Grant {
    fn from(access: Access) -> Self {
        match access {
            Access::List => Self::List,
            Access::Read => Self::Read,
            Access::Write => Self::Write,
        }
    }
}

/// What a set of rules is for.
pub(super) struct Rules {
    abi: ABI,
    created: RulesetCreated,
}

impl Rules {
    /// Rules that deny everything that this version knows.
    ///
    /// Every right is a hard requirement: a kernel that cannot enforce one fails here, and
    /// nothing runs with less.
    pub(super) fn new(version: u32, deny_tcp: bool) -> Result<Self, Fault> {
        let abi = abi(version);
        // Devices are reached through the few that are granted as files.
        let files = AccessFs::from_all(abi) & !AccessFs::IoctlDev;
        let build = || {
            let mut rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
            rules = rules.handle_access(files)?;
            if deny_tcp {
                rules = rules.handle_access(AccessNet::from_all(abi))?;
            }
            if version >= 6 {
                rules = rules.scope(Scope::from_all(abi))?;
            }
            rules.create()
        };
        let created = build().map_err(Fault::at("making a Landlock ruleset"))?;
        Ok(Self { abi, created })
    }

    /// Grants a file, or a folder with everything below it, which must exist.
    /// No link on the way to it is followed.
    pub(super) fn grant(self, path: &Path, grant: Grant) -> Result<Self, Fault> {
        let fd = reach::open(path).map_err(|error| Fault::of_path("granting", path, error))?;
        self.add(path, &fd, grant)
    }

    /// As [`Rules::grant`], for what may have gone since the host looked: then there is nothing to grant.
    pub(super) fn grant_if_there(self, path: &Path, grant: Grant) -> Result<Self, Fault> {
        match reach::open(path) {
            Ok(fd) => self.add(path, &fd, grant),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(self),
            Err(error) => Err(Fault::of_path("granting", path, error)),
        }
    }

    /// As [`Rules::grant`], for something of the system, which need not be there and may lie
    /// behind links.
    pub(super) fn grant_system(self, path: &Path, grant: Grant) -> Result<Self, Fault> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => self.add(path, &fd, grant),
            Err(rustix::io::Errno::NOENT) => Ok(self),
            Err(error) => Err(Fault::of_path("granting", path, error.into())),
        }
    }

    fn add(mut self, path: &Path, fd: &OwnedFd, grant: Grant) -> Result<Self, Fault> {
        let fault = |error: &dyn std::fmt::Display| {
            Fault::new(format!("granting {} in Landlock", path.display()), error)
        };
        let stat = rustix::fs::fstat(fd).map_err(|error| fault(&error))?;
        let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
        let mut rights = self.rights(grant);
        if !is_folder {
            rights &= AccessFs::from_file(self.abi);
        }
        if rights.is_empty() {
            return Ok(self);
        }
        self.created =
            self.created.add_rule(PathBeneath::new(fd.as_fd(), rights)).map_err(|error| fault(&error))?;
        Ok(self)
    }

    fn rights(&self, grant: Grant) -> BitFlags<AccessFs> {
        let all = AccessFs::from_all(self.abi) & !AccessFs::IoctlDev;
        match grant {
            Grant::List => AccessFs::ReadDir.into(),
            Grant::Read => AccessFs::from_read(self.abi),
            Grant::Hold => all & !MAKES & !CHANGES & !REMOVES,
            Grant::Take => all & !MAKES & !CHANGES,
            Grant::Write => all,
        }
    }

    /// Applies the rules to this process and all that it starts.
    pub(super) fn apply(self) -> Result<(), Fault> {
        let step = "applying the Landlock ruleset";
        let status = self.created.restrict_self().map_err(Fault::at(step))?;
        match status.ruleset {
            landlock::RulesetStatus::FullyEnforced => Ok(()),
            other => Err(Fault::new(step, format!("{other:?}"))),
        }
    }
}

fn abi(version: u32) -> ABI {
    match version {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        _ => ABI::V6,
    }
}
