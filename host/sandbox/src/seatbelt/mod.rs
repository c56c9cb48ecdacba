//! Writes the rules for a command as a profile in the language of the macOS sandbox.
//!
//! The kernel evaluates the rules from the last to the first, so denials come after permissions. It compares
//! physical paths, with all links resolved.
//!
//! Invariant: a profile allows nothing that it does not name. A path that the language cannot express is an
//! error; no rule is ever omitted.
//!
//! [`write`] knows the language, [`base`] the rules that every program needs.

mod base;
mod write;

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::path::{Path, PathBuf};

use crate::wire::{CellSpec, CommandSpec, Cover, Exposed, Fault, Network, Tier};
use base::{BASE, ETC, METADATA, NAMES, NETWORK, UNSANDBOXED};
use write::{any_case, literal, quoted, regex, subpath};

/// Service that no command may look up; only a process without a sandbox can.
pub(crate) const NOBODY_S: &CStr = c"scorpiox.nobody";
/// Maximum size of a profile in bytes: it is an argument, and the environment and the command need space,
/// too.
const MAX_BYTES: usize = 640 * 1024;

/// Operations that read more of a file than its metadata.
const READS: &str = "file-read* process-exec* file-map-executable";
/// Operations that change a file or give it another name.
const WRITES: &str = "file-write* file-link file-clone";

/// Returns the profile of a command. The proxy of its network listens at port `proxy`.
pub(crate) fn profile(
    spec: &CellSpec,
    command: &CommandSpec,
    mark: &str,
    proxy: Option<u16>,
) -> Result<String, Fault> {
    let mut profile = Profile { text: String::from("(version 1)\n") };
    if spec.tier == Tier::None {
        profile.add(UNSANDBOXED);
    } else {
        profile.add(BASE);
        profile.opens(spec)?;
        profile.network(spec, proxy)?;
        for exposed in &spec.exposed {
            profile.keeps_names_absent(exposed, command)?;
        }
        profile.covers(spec, &command.covers)?;
        profile.reopens(spec, &command.covers)?;
    }
    profile.line(&format!("(allow mach-lookup (global-name {}))", quoted(mark)?));
    profile.line(&format!("(deny mach-lookup (global-name {}))", quoted(&NOBODY_S.to_string_lossy())?));
    if profile.text.len() > MAX_BYTES {
        let why = format!(
            "its rules take {} bytes of at most {MAX_BYTES}; remove some of what is denied or protected, or start in \
             a smaller folder",
            profile.text.len()
        );
        return Err(Fault::new("writing the command's profile", why));
    }
    Ok(profile.text)
}

/// Returns the profile of a worker, the program at `path`: it opens nothing.
pub(crate) fn of_worker(path: &Path) -> Result<String, Fault> {
    let path = literal(path)?;
    let mut profile = Profile { text: String::from("(version 1)\n") };
    profile.add(BASE);
    profile.line(&format!("(allow {READS} {path})"));
    profile.line("(deny process-fork)");
    Ok(profile.text)
}

struct Profile {
    text: String,
}

impl Profile {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Adds the rules for the visible files of the machine.
    fn opens(&mut self, spec: &CellSpec) -> Result<(), Fault> {
        let scratch = scratch(spec);
        let etc = ETC.iter().map(|name| Path::new("/private/etc").join(name));
        let etc: Vec<_> = etc.map(|path| Exposed { path: path.into(), write: false }).collect();
        self.line("; What commands see.");
        for exposed in etc.iter().chain(&spec.exposed).chain([&scratch]) {
            self.shows(exposed)?;
        }
        // Programs check that each parent of a path is a directory.
        let shown = spec.exposed.iter().chain([&scratch]).map(|exposed| exposed.path.as_path());
        let stand_ins = spec.stand_ins.iter().flat_map(|path| path.as_path().ancestors());
        let above = shown.flat_map(|path| path.ancestors().skip(1)).chain(stand_ins);
        for known in above.collect::<BTreeSet<&Path>>() {
            self.line(&format!("(allow file-read-metadata file-test-existence {})", literal(known)?));
        }
        Ok(())
    }

    fn shows(&mut self, exposed: &Exposed) -> Result<(), Fault> {
        let path = subpath(exposed.path.as_path())?;
        self.line(&format!("(allow {READS} {path})"));
        if exposed.write {
            // Includes the command's own sockets.
            self.line(&format!("(allow {WRITES} network-bind network-inbound network-outbound {path})"));
        }
        Ok(())
    }

    /// Permits the command's own directories again that lie in a hidden directory, such as that of this
    /// program.
    fn reopens(&mut self, spec: &CellSpec, covers: &[Cover]) -> Result<(), Fault> {
        let scratch = scratch(spec);
        let is_closed = |path: &Path| {
            covers
                .iter()
                .any(|cover| matches!(cover, Cover::Hide(hidden) if path.starts_with(hidden.as_path())))
        };
        let is_area =
            |exposed: &&Exposed| covers.iter().any(|cover| cover.path().starts_with(exposed.path.as_path()));
        let own = spec.exposed.iter().filter(|exposed| !exposed.write && !is_area(exposed)).chain([&scratch]);
        for exposed in own.filter(|exposed| is_closed(exposed.path.as_path())) {
            self.line("; The command's own.");
            self.shows(exposed)?;
        }
        Ok(())
    }

    fn network(&mut self, spec: &CellSpec, proxy: Option<u16>) -> Result<(), Fault> {
        match (spec.network, proxy) {
            (Network::Off, _) => {}
            (Network::Proxy, Some(port)) => {
                self.line("; The proxy, which knows the hosts.");
                self.line(&format!("(allow network-outbound (remote tcp \"localhost:{port}\"))"));
            }
            (Network::Proxy, None) => {
                return Err(Fault::new("writing the command's profile", "nobody listens for its network"));
            }
            (Network::Host, _) => self.add(NETWORK),
        }
        Ok(())
    }

    /// Denies names that cannot be created in a writable directory, except in packages that bring them along.
    /// The file systems are case-insensitive.
    fn keeps_names_absent(&mut self, exposed: &Exposed, command: &CommandSpec) -> Result<(), Fault> {
        if !exposed.write {
            return Ok(());
        }
        let area = subpath(exposed.path.as_path())?;
        let packages = command.packages.iter().fold(String::new(), |packages, name| {
            packages + " (require-not " + &regex(&format!("/{}/", any_case(name))) + ")"
        });
        self.line(&format!("; Names that other programs obey, in {area}."));
        for name in &command.absent_names {
            let parts: Vec<_> = name.split('*').map(any_case).collect();
            let name = regex(&format!("/{}(/|$)", parts.join("[^/]*")));
            self.line(&format!("(deny {WRITES} (require-all {area} {name}{packages}))"));
        }
        for name in NAMES {
            self.line(&format!("(deny {WRITES} (require-all {area} {}))", regex(name)));
        }
        Ok(())
    }

    /// Adds the rules for covered paths, and for the directories above, which cannot be moved.
    fn covers(&mut self, spec: &CellSpec, covers: &[Cover]) -> Result<(), Fault> {
        self.line("; What is closed.");
        let areas: Vec<&Path> = spec.exposed.iter().map(|exposed| exposed.path.as_path()).collect();
        let mut above: BTreeSet<PathBuf> = BTreeSet::new();
        for cover in covers {
            let path = cover.path();
            let here = subpath(path)?;
            match cover {
                Cover::Hide(_) => {
                    self.line(&format!(
                        "(deny {METADATA} {READS} {WRITES} file-issue-extension network* {here})"
                    ));
                }
                Cover::Freeze(_) | Cover::Keep(_) | Cover::Pin(_) => {
                    self.line(&format!("(deny {WRITES} {here})"));
                }
                Cover::Absent(path) => {
                    let name = any_case(&path.as_path().to_string_lossy());
                    self.line(&format!("(deny {WRITES} {here} {})", regex(&format!("^{name}(/|$)"))));
                }
            }
            let inside = |folder: &&Path| areas.iter().any(|area| folder.starts_with(area));
            above.extend(path.ancestors().skip(1).take_while(inside).map(Path::to_owned));
        }
        for folder in above {
            self.line(&format!("(deny {WRITES} {})", literal(&folder)?));
        }
        Ok(())
    }
}

/// Returns the directory for temporary files.
fn scratch(spec: &CellSpec) -> Exposed {
    Exposed { path: spec.scratch.clone(), write: true }
}

#[cfg(test)]
mod tests;
