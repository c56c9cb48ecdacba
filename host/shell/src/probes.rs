//! Whether the sandbox holds: what a command must not be able to do, tried by a command.
//!
//! A sandbox can be refused by the system, which is an error, or be there and not hold: a rule that the system reads
//! otherwise than it was meant. So the system itself is asked, by the same way that every command goes.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use scorpiox_audit::Uses;
use scorpiox_cell::{Network, RawPath, Tier};
use scorpiox_executor::Cancel;
use scorpiox_home::instance;
use scorpiox_policy::quoted;

use super::run::Waited;
use super::{As, DEFAULT_PROFILE, Request, Shell, ShellError, Wait};

/// What a line begins with that says which try was successful, by its number.
const COULD: &str = "scorpiox-could: ";
/// What the last line says: all of them were tried.
const DONE: &str = "scorpiox-done";
/// Longest time for all of them.
const TIME: Duration = Duration::from_secs(30);
/// All that is printed is shown.
const SHOWN_CHARS: usize = 16 * 1024;

/// One thing that is tried: what it is, and a script that ends with 0 if it can be done.
struct Probe {
    what: &'static str,
    script: String,
}

/// What came of the tries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    /// How many things were tried.
    pub tried: usize,
    /// What a command could do.
    pub could: Vec<String>,
}

impl Shell {
    /// Tries what a command of the default profile must not be able to do.
    pub fn probe(&self) -> Result<Probed, Arc<ShellError>> {
        let io = |what: &str| {
            let what = what.to_owned();
            move |error| Arc::new(ShellError::Io { what, error })
        };
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(io("listening on this machine"))?;
        let port = listener.local_addr().map_err(io("listening on this machine"))?.port();
        let profile = self.profile(DEFAULT_PROFILE)?;
        let cell = self.cells.get(self.site(), self.policy()?, &profile, &self.places()?)?;
        let (tier, spec) = (cell.tier, &cell.plan.spec);
        let areas: Vec<&Path> = cell.plan.areas.iter().map(|area| area.path.as_path()).collect();
        let exposed = spec.exposed.iter().map(|exposed| &exposed.path).chain([&spec.scratch, &spec.home]);
        let exposed: Vec<&Path> = exposed.map(RawPath::as_path).collect();
        let private = private(&self.site().own_home, &exposed);
        if tier == Tier::None {
            return Ok(Probed { tried: 0, could: Vec::new() });
        }
        let is_shown = |path: &Path| areas.iter().any(|area| path.starts_with(area));
        let made = Made::new(self, &is_shown);
        let mut probes = usual(private.as_deref(), &made);
        if spec.network == Network::Off {
            let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
            probes.push(Probe { what: "reach a server on this machine", script });
        }
        if cfg!(target_os = "macos") {
            probes.extend(of_macos());
        }
        let mut script = String::new();
        for (number, probe) in probes.iter().enumerate() {
            let tried = &probe.script;
            let _ = writeln!(
                script,
                "if ( {tried} ) >/dev/null 2>&1 </dev/null; then echo '{COULD}{number}'; fi"
            );
        }
        let _ = writeln!(script, "echo {DONE}");
        let run_as = As::Client { read_only: false };
        let request = Request { command: script, run_as, timeout: Some(TIME), uses: Uses::default() };
        let mut waited = Waited::of(self.try_to_start(&request)?, SHOWN_CHARS);
        let cancel = Cancel::default();
        let wait = Wait { cancel: &cancel, news: None, shown_chars: SHOWN_CHARS, until: None };
        let outcome = loop {
            if let Some(outcome) = waited.follow(&wait)? {
                break outcome;
            }
        };
        let printed = waited.completed(&request, outcome, &Cancel::default()).output.text;
        if printed.lines().next_back() != Some(DONE) {
            return Err(Arc::new(ShellError::NotTried(printed)));
        }
        let numbers = printed.lines().filter_map(|line| line.strip_prefix(COULD)?.parse::<usize>().ok());
        let named = numbers.filter_map(|number| Some(probes.get(number)?.what.to_owned()));
        let could = named.chain(made.found().map(|path| format!("make {}", path.display()))).collect();
        Ok(Probed { tried: probes.len(), could })
    }

    /// Whether the sandbox held when it was tried. Where the system's rules are not this program's own, it is tried
    /// before the first command.
    pub(super) fn check_sandbox(&self) -> Result<(), Arc<ShellError>> {
        if !cfg!(target_os = "macos") {
            return Ok(());
        }
        let mut held = self.held.lock();
        if held.is_none() {
            *held = Some(self.probe()?);
        }
        match held.as_ref().map(|probed| probed.could.as_slice()) {
            Some([first, ..]) => Err(Arc::new(ShellError::DidNotHold(first.clone()))),
            _ => Ok(()),
        }
    }
}

/// Paths that no command may make, and that are not there. What is there after all is removed.
struct Made {
    paths: Vec<PathBuf>,
}

impl Made {
    fn new(shell: &Shell, is_shown: &impl Fn(&Path) -> bool) -> Self {
        let name = format!(".scorpiox-probe-{}", instance::name());
        let site = shell.site();
        let outside =
            [Some(site.own_home.clone()), site.home.clone(), site.workspace.parent().map(Path::to_owned)];
        let outside = outside.into_iter().flatten().filter(|folder| !is_shown(folder));
        let mut paths: Vec<_> = outside.map(|folder| folder.join(&name)).collect();
        paths.extend([".mcp.json", ".MCP.Json"].map(|name| site.workspace.join(name)));
        paths.push(Path::new("/usr").join(&name));
        paths.retain(|path| path.symlink_metadata().is_err());
        paths.sort();
        paths.dedup();
        Self { paths }
    }

    /// Those that are there.
    fn found(&self) -> impl Iterator<Item = &PathBuf> {
        self.paths.iter().filter(|path| path.symlink_metadata().is_ok())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// Something in the program's own folder that commands do not see, nor anything in it.
fn private(own: &Path, exposed: &[&Path]) -> Option<PathBuf> {
    let entries = std::fs::read_dir(own).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|entry| !exposed.iter().any(|path| path.starts_with(entry))).min()
}

/// A script that opens a file or a folder.
fn opened(path: &str) -> String {
    format!("if [ -d {path} ]; then ls {path}/; else head -c 1 {path}; fi")
}

/// What is tried on every system. Folders are made where it is looked afterwards; those scripts fail, whatever came of it.
fn usual(private: Option<&Path>, made: &Made) -> Vec<Probe> {
    let server = std::process::id();
    let mut probes = vec![
        Probe { what: "send this program a signal", script: format!("kill -0 {server}") },
        Probe { what: "see this program's process", script: format!("ps -p {server} -o pid= | grep -q .") },
        Probe {
            what: "read a disk",
            script:
                "for d in /dev/disk0 /dev/rdisk0 /dev/sda /dev/vda /dev/nvme0n1 /dev/mem; do head -c 1 $d && \
                     exit 0; done; exit 1"
                    .to_owned(),
        },
    ];
    if let Some(private) = private.map(quoted) {
        let link = "\"$TMPDIR/scorpiox-probe\"";
        probes.push(Probe { what: "read what this program keeps", script: opened(&private) });
        let script = format!("ln -s {private} {link}; ( {} ); c=$?; rm {link}; exit $c", opened(link));
        probes.push(Probe { what: "read what this program keeps, by a link", script });
    }
    for path in &made.paths {
        let path = quoted(path);
        probes.push(Probe { what: "make what it must not", script: format!("mkdir {path}; exit 1") });
    }
    probes
}

/// What only macOS has: services that would act for the command.
fn of_macos() -> Vec<Probe> {
    let probe = |what, script: &str| Probe { what, script: script.to_owned() };
    vec![
        probe(
            "take on another sandbox",
            "/usr/bin/sandbox-exec -p '(version 1)(allow default)' /usr/bin/true",
        ),
        probe(
            "ask launchd for the user's services",
            "/bin/launchctl print \"gui/$(id -u)\" | grep -q services",
        ),
        probe("list keychains", "/usr/bin/security list-keychains | grep -q keychain"),
        probe(
            "tell another program what to do",
            "/usr/bin/osascript -e 'tell application \"Finder\" to get name'",
        ),
        probe("become somebody else", "sudo -n true"),
    ]
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Whether a script ends with 0 where nothing confines it.
    #[allow(clippy::disallowed_methods)] // to see that it would be noticed
    fn can(script: &str) -> bool {
        let ran = std::process::Command::new("/bin/bash").args(["-c", script]).output();
        ran.expect("bash runs").status.success()
    }

    #[test]
    fn who_is_not_confined_can_do_what_is_tried() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("policy.toml"), "version = 1\n").expect("a file");
        let made = Made { paths: vec![folder.path().join("made")] };
        let private = private(folder.path(), &[]).expect("something");
        let probes = usual(Some(&private), &made);
        let could: Vec<_> = probes
            .iter()
            .filter(|probe| {
                let tmpdir = quoted(folder.path());
                probe.what != "read a disk" && can(&format!("TMPDIR={tmpdir}; {}", probe.script))
            })
            .map(|probe| probe.what)
            .collect();
        let expected = [
            "send this program a signal",
            "see this program's process",
            "read what this program keeps",
            "read what this program keeps, by a link",
        ];
        assert_eq!(could, expected);
        assert!(made.found().eq(&made.paths), "a folder that was made is found");
        drop(made);
        assert!(!folder.path().join("made").exists(), "and removed");
    }

    #[test]
    fn what_commands_see_is_not_tried() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("output")).expect("a folder");
        let output = folder.path().join("output/project");
        assert_eq!(private(folder.path(), &[&output]), None);
    }
}
