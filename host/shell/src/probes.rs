//! Probes whether the sandbox holds, by attempting forbidden actions from a sandboxed command.
//!
//! A sandbox can fail in two ways: the system refuses it, which is an error, or it exists but does not
//! confine, because the system interprets a rule differently than intended. The probe therefore tests the
//! real system, on the same path that every command takes.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use scorpiox_audit::Uses;
use scorpiox_executor::Cancel;
use scorpiox_fs::home::instance;
use scorpiox_policy::quoted;
use scorpiox_sandbox::{Network, RawPath, Tier};

use super::run::Waited;
use super::{As, DEFAULT_PROFILE, Request, RunsIn, Shell, ShellError, Wait};

/// Prefix of an output line that reports a successful probe by its index.
const COULD: &str = "scorpiox-could: ";
/// Last output line, which shows that all probes ran.
const DONE: &str = "scorpiox-done";
/// Timeout for all probes together.
const TIME: Duration = Duration::from_secs(30);
/// Output limit in UTF-16 units, large enough to show everything.
const SHOWN_CHARS: usize = 16 * 1024;

/// A forbidden action: its description, and a script that exits with 0 if the action succeeds.
struct Probe {
    what: &'static str,
    script: String,
}

/// Result of the probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    /// Number of actions attempted.
    pub tried: usize,
    /// Actions that succeeded although they are forbidden.
    pub could: Vec<String>,
}

impl Shell {
    /// Attempts the actions that a command of the default profile must not be able to perform.
    pub fn probe(&self) -> Result<Probed, Arc<ShellError>> {
        let io = |what: &str| {
            let what = what.to_owned();
            move |error| Arc::new(ShellError::Io { what, error })
        };
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(io("listening on this machine"))?;
        let port = listener.local_addr().map_err(io("listening on this machine"))?.port();
        let profile = self.profile(DEFAULT_PROFILE)?;
        let cell = self.cells.get(self.site(), self.policy()?, &profile, &self.places()?, None)?;
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
        let mut waited =
            Waited::of(self.try_to_start(&request, RunsIn::Foreground { asks: false })?, SHOWN_CHARS);
        let cancel = Cancel::default();
        let wait = Wait { cancel: &cancel, news: None, shown_chars: SHOWN_CHARS, until: None, ask: None };
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

    /// Returns an error if the sandbox failed its probe. On macOS, where Seatbelt interprets the rules, the
    /// probe runs before the first command.
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

/// Nonexistent paths that no command may create. Dropping the value removes those that exist after all.
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

    /// Returns the paths that exist.
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

/// Returns an entry of `own` that is hidden from commands and contains no exposed path.
fn private(own: &Path, exposed: &[&Path]) -> Option<PathBuf> {
    let entries = std::fs::read_dir(own).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|entry| !exposed.iter().any(|path| path.starts_with(entry))).min()
}

/// Returns a script that opens a file or lists a folder.
fn opened(path: &str) -> String {
    format!("if [ -d {path} ]; then ls {path}/; else head -c 1 {path}; fi")
}

/// Returns the probes for every system. Directory probes are verified on disk afterwards, so their scripts
/// always fail.
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

/// Returns the probes for macOS: services that could act on behalf of the command.
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

    /// Runs a script without confinement and returns `true` if it exits with 0.
    #[allow(clippy::disallowed_methods)] // runs unconfined to prove that the probe detects success
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
