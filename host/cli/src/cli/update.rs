//! The command `scorpiox-code update`: finds out how the program was installed, and names the command that updates it.
//!
//! It starts nothing and reaches no network: the package manager that installed the program also knows its newest
//! version, and verifies it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, Style};
use serde_json::json;

use super::environment::Environment;

/// Sentence about servers that run.
const RUNNING: &str = "Servers that run now keep their version until their client starts them again.";
/// Name of all packages.
const NAME: &str = "scorpiox-code";

pub(super) fn run(environment: &Environment, is_json: bool) -> ExitCode {
    let around = Around {
        home: environment.home.as_deref(),
        own_home: &environment.own_home,
        cargo_home: env::var_os("CARGO_HOME").map(PathBuf::from),
        exists: &|path| path.exists(),
    };
    let Found { way, because } = find(&environment.binary, &around);
    let version = env!("CARGO_PKG_VERSION");
    if is_json {
        let found = json!({
            "version": version,
            "program": environment.binary,
            "installed_by": way.name(),
            "because": because,
            "command": way.command(),
            "advice": way.advice(),
        });
        terminal::print(&Shown::json(&found.to_string()));
        return ExitCode::SUCCESS;
    }
    let program = environment.binary.display();
    let mut shown = Shown::line(&format!("scorpiox-code {version} at {program}"))
        .and(&Shown::line(&format!("Installed by {}: {because}.", way.title())));
    if let Some(command) = way.command() {
        shown = shown
            .and(&Shown::line("To update it:"))
            .and(&Shown::text("  "))
            .and(&Shown::styled(Style::Heading, &command))
            .and(&Shown::text("\n"));
    }
    if let Some(advice) = way.advice() {
        shown = shown.and(&Shown::line(advice));
    }
    terminal::print(&shown.and(&Shown::line(RUNNING)));
    ExitCode::SUCCESS
}

/// Way in which the program was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Way {
    Npm {
        is_global: bool,
    },
    Npx,
    Uvx,
    UvTool,
    Pipx,
    /// Into the environment in this folder.
    Pip(PathBuf),
    Cargo,
    Deb,
    Rpm,
    Homebrew,
    Scoop,
    Installer,
    Source,
    Archive,
}

impl Way {
    /// Returns the stable name.
    fn name(&self) -> &'static str {
        match self {
            Self::Npm { .. } => "npm",
            Self::Npx => "npx",
            Self::Uvx => "uvx",
            Self::UvTool => "uv-tool",
            Self::Pipx => "pipx",
            Self::Pip(_) => "pip",
            Self::Cargo => "cargo",
            Self::Deb => "deb",
            Self::Rpm => "rpm",
            Self::Homebrew => "homebrew",
            Self::Scoop => "scoop",
            Self::Installer => "installer",
            Self::Source => "source",
            Self::Archive => "archive",
        }
    }

    /// Returns the name in a sentence.
    fn title(&self) -> &'static str {
        match self {
            Self::UvTool => "uv",
            Self::Cargo => "cargo binstall",
            Self::Deb => "the Debian package",
            Self::Rpm => "the RPM package",
            Self::Homebrew => "Homebrew",
            Self::Scoop => "Scoop",
            Self::Installer => "the installer of a release",
            Self::Source => "a build from source",
            Self::Archive => "hand, from an archive",
            other => other.name(),
        }
    }

    /// Returns the command that updates the program; `None` if a download comes first.
    fn command(&self) -> Option<String> {
        Some(match self {
            Self::Npm { is_global: true } => format!("npm install --global {NAME}@latest"),
            Self::Npm { is_global: false } => format!("npm install {NAME}@latest"),
            Self::Npx => format!("npx -y {NAME}@latest --version"),
            Self::Uvx => format!("uvx {NAME}@latest --version"),
            Self::UvTool => format!("uv tool upgrade {NAME}"),
            Self::Pipx => format!("pipx upgrade {NAME}"),
            Self::Pip(folder) => {
                let python = if cfg!(windows) { folder.join("python") } else { folder.join("python3") };
                format!("{} -m pip install --upgrade {NAME}", quoted(&python))
            }
            Self::Cargo => format!("cargo binstall --force --manifest-path binstall.toml {NAME}"),
            Self::Deb => format!("sudo apt-get update && sudo apt-get install --only-upgrade {NAME}"),
            Self::Rpm => format!("sudo dnf upgrade {NAME}"),
            Self::Homebrew => format!("brew update && brew upgrade {NAME}"),
            Self::Scoop => format!("scoop update {NAME}"),
            Self::Source => "git pull && make install".to_owned(),
            Self::Installer | Self::Archive => return None,
        })
    }

    /// Returns what else to know about this way.
    fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Npx | Self::Uvx => {
                "The program is in a cache, which may be cleaned: have clients start one that is installed."
            }
            Self::Cargo => "Take binstall.toml from the newest release.",
            Self::Deb => {
                "Without a repository for apt, install the file of the newest release: `sudo apt install ./FILE.deb`."
            }
            Self::Rpm => {
                "Without a repository, install the file of the newest release: `sudo dnf install ./FILE.rpm` or `sudo \
                 zypper install ./FILE.rpm`."
            }
            Self::Source => "Run it in your clone of the repository.",
            Self::Installer => {
                "Run the installer of the newest release, install.sh or install.ps1: it verifies the signature, and \
                 replaces the program."
            }
            Self::Archive => {
                "Download the archive of the newest release and SHA256SUMS, verify them with minisign, and replace the \
                 program."
            }
            Self::Npm { .. } | Self::UvTool | Self::Pipx | Self::Pip(_) | Self::Homebrew | Self::Scoop => {
                return None;
            }
        })
    }
}

/// Quotes a path for a shell, if it needs that.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/\\._-:".contains(c);
    if path.chars().all(is_plain) { path } else { format!("\"{path}\"") }
}

/// Way in which the program was installed, and the sign of that.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    way: Way,
    because: String,
}

/// Machine on which the program was installed.
struct Around<'a> {
    home: Option<&'a Path>,
    own_home: &'a Path,
    cargo_home: Option<PathBuf>,
    exists: &'a dyn Fn(&Path) -> bool,
}

/// Files that a package manager of the system keeps about an installed package.
const DPKG: &str = "/var/lib/dpkg/info/scorpiox-code.list";
const RPM: [&str; 2] = ["/usr/lib/sysimage/rpm", "/var/lib/rpm"];

/// Finds out how the program was installed, from its path and the files beside it.
fn find(program: &Path, around: &Around<'_>) -> Found {
    let parts: Vec<_> = program.iter().map(|part| part.to_string_lossy().to_lowercase()).collect();
    let has = |wanted: &[&str]| parts.windows(wanted.len()).any(|parts| parts == wanted);
    let begins = |before: &str, start: &str| {
        parts.windows(2).any(|pair| pair[0] == before && pair[1].starts_with(start))
    };
    let of_path = |way: Way, part: &str| Found { way, because: format!("its path has {part}") };
    if has(&["node_modules", "@scorpiox"]) {
        if has(&["_npx"]) {
            return of_path(Way::Npx, "_npx");
        }
        let is_global = has(&["lib", "node_modules"]) || has(&["npm", "node_modules"]);
        return of_path(Way::Npm { is_global }, "node_modules");
    }
    if has(&["uv", "tools", NAME]) {
        return of_path(Way::UvTool, "uv/tools");
    }
    if begins("uv", "archive-") || begins("uv", "environments-") || begins("cache", "archive-") {
        return of_path(Way::Uvx, "uv's cache");
    }
    if has(&["pipx", "venvs", NAME]) {
        return of_path(Way::Pipx, "pipx/venvs");
    }
    if has(&["cellar", NAME]) {
        return of_path(Way::Homebrew, "Cellar");
    }
    if has(&["scoop", "apps", NAME]) {
        return of_path(Way::Scoop, "scoop/apps");
    }
    let folder = program.parent().unwrap_or(program);
    let of_file = |way: Way, path: &Path| Found { way, because: format!("{} exists", path.display()) };
    if let Some(settings) = folder.parent().map(|parent| parent.join("pyvenv.cfg"))
        && (around.exists)(&settings)
    {
        return of_file(Way::Pip(folder.to_owned()), &settings);
    }
    let cargo_home = around.cargo_home.clone().or_else(|| around.home.map(|home| home.join(".cargo")));
    if cargo_home.is_some_and(|cargo| folder == cargo.join("bin")) {
        return of_path(Way::Cargo, "cargo's folder of programs");
    }
    if folder == Path::new("/usr/bin") {
        if (around.exists)(Path::new(DPKG)) {
            return of_file(Way::Deb, Path::new(DPKG));
        }
        if let Some(rpm) = RPM.iter().map(Path::new).find(|path| (around.exists)(path)) {
            return of_file(Way::Rpm, rpm);
        }
    }
    if folder == around.own_home {
        let because = "it is in its own folder, where `make install` puts it".to_owned();
        return Found { way: Way::Source, because };
    }
    if has(&["target", "release"]) || has(&["target", "debug"]) {
        return of_path(Way::Source, "cargo's folder of builds");
    }
    let is_installers =
        around.home.is_some_and(|home| folder == home.join(".local").join("bin")) || has(&["programs", NAME]);
    if is_installers {
        let because = "it is where install.sh and install.ps1 put it".to_owned();
        return Found { way: Way::Installer, because };
    }
    Found { way: Way::Archive, because: "no package manager has a part in its path".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(program: &str, files: &[&str]) -> Way {
        let around = Around {
            home: Some(Path::new("/home/x")),
            own_home: Path::new("/home/x/.scorpiox"),
            cargo_home: None,
            exists: &|path| files.iter().any(|file| Path::new(file) == path),
        };
        find(Path::new(program), &around).way
    }

    #[test]
    fn each_way_of_installation_leaves_a_sign() {
        let npm = "node_modules/@scorpiox/code-linux-x64/bin/scorpiox-code";
        for (program, files, way) in [
            (format!("/usr/lib/{npm}"), &[][..], Way::Npm { is_global: true }),
            (format!("/home/x/shop/{npm}"), &[], Way::Npm { is_global: false }),
            (format!("/home/x/.npm/_npx/0a1b/{npm}"), &[], Way::Npx),
            ("/home/x/.cache/uv/archive-v0/Ab/bin/scorpiox-code".into(), &[], Way::Uvx),
            ("/home/x/.local/share/uv/tools/scorpiox-code/bin/scorpiox-code".into(), &[], Way::UvTool),
            ("/home/x/.local/share/pipx/venvs/scorpiox-code/bin/scorpiox-code".into(), &[], Way::Pipx),
            (
                "/home/x/e/bin/scorpiox-code".into(),
                &["/home/x/e/pyvenv.cfg"],
                Way::Pip("/home/x/e/bin".into()),
            ),
            ("/home/x/.cargo/bin/scorpiox-code".into(), &[], Way::Cargo),
            ("/usr/bin/scorpiox-code".into(), &[DPKG], Way::Deb),
            ("/usr/bin/scorpiox-code".into(), &["/var/lib/rpm"], Way::Rpm),
            ("/usr/bin/scorpiox-code".into(), &[], Way::Archive),
            ("/opt/homebrew/Cellar/scorpiox-code/0.1.0/bin/scorpiox-code".into(), &[], Way::Homebrew),
            ("/home/x/scoop/apps/scorpiox-code/current/scorpiox-code.exe".into(), &[], Way::Scoop),
            ("/home/x/.scorpiox/scorpiox-code".into(), &[], Way::Source),
            ("/src/target/release/scorpiox-code".into(), &[], Way::Source),
            ("/home/x/.local/bin/scorpiox-code".into(), &[], Way::Installer),
            ("/opt/scorpiox-code".into(), &[], Way::Archive),
        ] {
            assert_eq!(found(&program, files), way, "{program}");
        }
    }

    #[test]
    fn a_command_can_be_copied() {
        let pip = Way::Pip("/home/x y/e/bin".into()).command().expect("a command");
        assert!(pip.starts_with("\"/home/x y/e/bin"), "{pip}");
        assert_eq!(Way::Archive.command(), None);
    }
}
