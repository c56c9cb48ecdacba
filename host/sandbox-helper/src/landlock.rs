//! Landlock rules, which hold independently of mounts.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope, make_bitflags,
};
use rustix::fs::{Mode, OFlags};
use scorpiox_sandbox::wire::{Access, Fault};
use scorpiox_sys::linux::{reach, sys};

/// Returns the version of Landlock in this kernel, but at most `at_most`; returns 0 if there is none.
pub(super) fn version(at_most: Option<u32>) -> u32 {
    let found = sys::landlock_version();
    at_most.map_or(found, |most| found.min(most))
}

/// Rights to create names, which the guard does instead. Sockets are the exception, because their owners have
/// to bind them.
const MAKES: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    MakeChar | MakeDir | MakeReg | MakeFifo | MakeBlock | MakeSym | Refer
});

/// Rights to remove names, which the guard does instead if it keeps links in place.
const REMOVES: BitFlags<AccessFs> = make_bitflags!(AccessFs::{RemoveFile | RemoveDir});

/// Rights to open a file for writing, which the guard does instead.
const CHANGES: BitFlags<AccessFs> = make_bitflags!(AccessFs::{WriteFile | Truncate});

/// Access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grant {
    /// List directories.
    List,
    /// Read and execute.
    Read,
    /// Like `Read`, and bind sockets. The guard does everything else.
    Hold,
    /// Like `Hold`, and remove.
    Take,
    /// Like `Take`, and change and create.
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

/// Landlock ruleset under construction.
pub(super) struct Rules {
    abi: ABI,
    created: RulesetCreated,
}

impl Rules {
    /// Creates rules that deny every access that this version knows.
    ///
    /// Every right is a hard requirement: a kernel that cannot enforce one fails here, and nothing runs with
    /// fewer restrictions.
    pub(super) fn new(version: u32, deny_tcp: bool) -> Result<Self, Fault> {
        let abi = abi(version);
        // Only granted files give access to devices.
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

    /// Grants access to an existing file, or to a directory and everything below it. Follows no link in the
    /// path.
    pub(super) fn grant(self, path: &Path, grant: Grant) -> Result<Self, Fault> {
        let fd = reach::open(path).map_err(|error| Fault::of_path("granting", path, error))?;
        self.add(path, &fd, grant)
    }

    /// Like [`Rules::grant`], but ignores a path that has disappeared since the host's scan.
    pub(super) fn grant_if_there(self, path: &Path, grant: Grant) -> Result<Self, Fault> {
        match reach::open(path) {
            Ok(fd) => self.add(path, &fd, grant),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(self),
            Err(error) => Err(Fault::of_path("granting", path, error)),
        }
    }

    /// Like [`Rules::grant`], for a path of the system, which may be missing or contain links.
    pub(super) fn grant_system(self, path: &Path, grant: Grant) -> Result<Self, Fault> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => self.add(path, &fd, grant),
            Err(rustix::io::Errno::NOENT) => Ok(self),
            Err(error) => Err(Fault::of_path("granting", path, error.into())),
        }
    }

    fn add(mut self, path: &Path, fd: &OwnedFd, grant: Grant) -> Result<Self, Fault> {
        let step = format!("granting {} in Landlock", path.display());
        let stat = rustix::fs::fstat(fd).map_err(Fault::at(&step))?;
        let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
        let mut rights = self.rights(grant);
        if !is_folder {
            rights &= AccessFs::from_file(self.abi);
        }
        if rights.is_empty() {
            return Ok(self);
        }
        self.created =
            self.created.add_rule(PathBeneath::new(fd.as_fd(), rights)).map_err(Fault::at(&step))?;
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

    /// Applies the rules to this process and all its descendants.
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
