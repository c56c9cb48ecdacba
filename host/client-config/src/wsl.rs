//! Support for Windows clients that start the Linux server through the Windows Subsystem for Linux (WSL).

use std::path::{Path, PathBuf};

use super::{Start, Surroundings};

/// Parent of the Windows user profiles.
const USERS: &str = "/mnt/c/Users";
/// Folder of Claude Desktop in a user profile.
const DESKTOP: &str = "AppData/Roaming/Claude";

/// The WSL distribution in which this process runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wsl {
    distribution: String,
    users: PathBuf,
}

/// Reasons why no Claude Desktop configuration was found.
#[derive(Debug, thiserror::Error)]
pub enum NoDesktop {
    /// No user has Claude Desktop, or it was never started.
    #[error("no user of Windows has Claude Desktop's folder ({}); start it once, and try again", .0.display())]
    Nobody(PathBuf),
    /// Several users have Claude Desktop, so the right one is unknown.
    #[error(
        "several users of Windows have Claude Desktop: {0}; write the entry by hand into the right one's file"
    )]
    Several(String),
}

impl Wsl {
    /// Returns the current distribution, if this process runs in WSL.
    pub fn here(around: &Surroundings<'_>) -> Option<Self> {
        let name = (around.variable)("WSL_DISTRO_NAME")?.into_os_string().into_string().ok()?;
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        kernel.to_ascii_lowercase().contains("microsoft").then(|| Self::of(name, Path::new(USERS)))
    }

    fn of(distribution: String, users: &Path) -> Self {
        Self { distribution, users: users.to_owned() }
    }

    /// Returns the configuration file of Claude Desktop.
    pub fn desktop_file(&self) -> Result<PathBuf, NoDesktop> {
        let users = std::fs::read_dir(&self.users).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> =
            users.map(|user| user.path().join(DESKTOP)).filter(|folder| folder.is_dir()).collect();
        folders.sort();
        match &folders[..] {
            [] => Err(NoDesktop::Nobody(self.users.join("NAME").join(DESKTOP))),
            [folder] => Ok(folder.join("claude_desktop_config.json")),
            several => {
                let named: Vec<_> = several.iter().map(|folder| folder.display().to_string()).collect();
                Err(NoDesktop::Several(named.join(", ")))
            }
        }
    }

    /// Returns the Windows command line that runs `start` in this distribution.
    pub fn start(&self, start: Start) -> Start {
        let within = ["-d", &self.distribution, "--exec"].map(str::to_owned);
        let arguments = within.into_iter().chain([start.program]).chain(start.arguments).collect();
        Start { program: "wsl.exe".to_owned(), arguments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_user_with_the_client_is_found() {
        let folder = tempfile::tempdir().expect("as it is made");
        let wsl = Wsl::of("Ubuntu".to_owned(), folder.path());
        assert!(matches!(wsl.desktop_file(), Err(NoDesktop::Nobody(_))));
        let made = |user: &str| {
            std::fs::create_dir_all(folder.path().join(user).join(DESKTOP)).expect("as it is made");
        };
        std::fs::create_dir_all(folder.path().join("Public")).expect("as it is made");
        made("ada");
        let expected = folder.path().join("ada").join(DESKTOP).join("claude_desktop_config.json");
        assert_eq!(wsl.desktop_file().expect("as it is made"), expected);
        made("bob");
        assert!(wsl.desktop_file().expect_err("refused").to_string().contains("bob"));
    }

    #[test]
    fn windows_starts_it_in_its_distribution() {
        let start = Start { program: "/home/ada/x y".to_owned(), arguments: vec!["--managed".to_owned()] };
        let started = Wsl::of("Ubuntu".to_owned(), Path::new(USERS)).start(start);
        assert_eq!(started.program, "wsl.exe");
        assert_eq!(started.arguments, ["-d", "Ubuntu", "--exec", "/home/ada/x y", "--managed"]);
    }
}
