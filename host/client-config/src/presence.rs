//! Finds the clients of a user, and the files that hold for all of the user's projects.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;

use super::{Client, Surroundings, config_path};

/// Sign that a user has a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// Its program, in a folder of `PATH`.
    Program(PathBuf),
    /// Its file or folder.
    File(PathBuf),
}

impl Sign {
    /// Returns the path of the sign.
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Program(path) | Self::File(path) => path,
        }
    }
}

/// Returns the configuration file of a client that holds for all projects of the user.
///
/// Sources: <https://code.claude.com/docs/en/mcp> (user scope),
/// <https://code.visualstudio.com/docs/copilot/reference/mcp-configuration> (user profile).
pub fn own_path(client: Client, around: &Surroundings<'_>) -> PathBuf {
    match client {
        Client::ClaudeCode => (around.variable)("CLAUDE_CONFIG_DIR")
            .unwrap_or_else(|| around.home.to_owned())
            .join(".claude.json"),
        Client::VsCode => around.config_folder().join("Code").join("User").join("mcp.json"),
        other => config_path(other, around),
    }
}

/// Returns a sign that the user has a client. `path` is the variable `PATH`. Nothing is started.
pub fn sign(client: Client, around: &Surroundings<'_>, path: Option<&OsStr>) -> Option<Sign> {
    let names =
        programs(client).iter().flat_map(|name| ["", ".exe", ".cmd"].map(|end| format!("{name}{end}")));
    let names: Vec<_> = names.take_while(|name| cfg!(windows) || !name.contains('.')).collect();
    let folders = path.into_iter().flat_map(env::split_paths).filter(|folder| folder.is_absolute());
    let mut programs =
        folders.flat_map(|folder| names.iter().map(move |name| folder.join(name)).collect::<Vec<_>>());
    if let Some(program) = programs.find(|program| program.is_file()) {
        return Some(Sign::Program(program));
    }
    let file = own_path(client, around);
    // Other programs do not make the client's own folder. The home folder is none.
    let folder = file.parent().filter(|folder| *folder != around.home);
    let found = [Some(file.as_path()), folder].into_iter().flatten().find(|path| path.exists());
    found.map(|path| Sign::File(path.to_owned()))
}

/// Returns the names of a client's programs.
fn programs(client: Client) -> &'static [&'static str] {
    match client {
        // It is started from the desktop.
        Client::ClaudeDesktop => &[],
        Client::ClaudeCode => &["claude"],
        Client::Cursor => &["cursor", "cursor-agent"],
        Client::VsCode => &["code"],
        Client::Codex => &["codex"],
        Client::Gemini => &["gemini"],
        Client::Qwen => &["qwen"],
        Client::OpenCode => &["opencode"],
        Client::Copilot => &["copilot"],
        Client::Continue => &["cn"],
        Client::Cline => &["cline"],
        Client::Windsurf => &["windsurf"],
        Client::Zed => &["zed"],
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn found(home: &Path, client: Client, path: &str) -> Option<PathBuf> {
        let around = Surroundings { home, workspace: &home.join("project"), variable: &|_| None };
        sign(client, &around, Some(path.as_ref()))
            .map(|sign| sign.path().strip_prefix(home).expect("in the home folder").to_owned())
    }

    #[test]
    fn a_client_is_found_by_its_program_or_its_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path();
        fs::create_dir_all(home.join("bin")).expect("written");
        let path = format!("relative:{}", home.join("bin").display());
        for client in [Client::ClaudeCode, Client::Codex, Client::Cursor, Client::ClaudeDesktop] {
            assert_eq!(found(home, client, &path), None, "{client:?}");
        }
        let codex = format!("codex{}", env::consts::EXE_SUFFIX);
        fs::write(home.join("bin").join(&codex), "").expect("written");
        assert_eq!(found(home, Client::Codex, &path), Some(Path::new("bin").join(&codex)));
        assert_eq!(found(home, Client::Codex, ""), None);
        fs::create_dir(home.join(".cursor")).expect("written");
        assert_eq!(found(home, Client::Cursor, &path), Some(".cursor".into()));
        fs::write(home.join(".claude.json"), "{}").expect("written");
        assert_eq!(found(home, Client::ClaudeCode, &path), Some(".claude.json".into()));
    }

    #[test]
    fn the_file_for_all_projects_is_in_no_project() {
        let home = Path::new("/home/x");
        let around = Surroundings { home, workspace: Path::new("/home/x/project"), variable: &|_| None };
        for client in <Client as clap::ValueEnum>::value_variants() {
            assert!(!own_path(*client, &around).starts_with(around.workspace), "{client:?}");
        }
        let named =
            Surroundings { variable: &|name| (name == "CLAUDE_CONFIG_DIR").then(|| "/c".into()), ..around };
        assert_eq!(own_path(Client::ClaudeCode, &named), Path::new("/c/.claude.json"));
    }
}
