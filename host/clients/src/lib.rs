//! The clients that can start this server, and the entry each needs in its
//! configuration file.
//!
//! Invariant: what a person wrote into such a file stays. Only our own entry is
//! added or corrected, as an edit of the text that keeps comments, order and layout;
//! a file that cannot be read with certainty is refused; every changed file is backed
//! up first and replaced as a whole.
//!
//! `entry` knows what each client wants, `merge` edits the text, `file` touches the disk; `link` writes the entry as an
//! address that a client opens, `wsl` knows the clients of Windows around a Linux in it.

mod entry;
mod file;
mod link;
mod merge;
mod remote;
pub mod unfilled;
mod wsl;

use std::path::{Path, PathBuf};

use entry::Extra;
pub use link::link;
pub use merge::Refusal;
pub use remote::{Remote, remote_snippet};
use scorpiox_terminal::one_line;
pub use wsl::{NoDesktop, Wsl};

/// The name under which clients list this server.
pub const ENTRY_NAME: &str = "scorpiox";

/// A client whose configuration is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Client {
    /// Claude Desktop, for the user.
    ClaudeDesktop,
    /// Claude Code, for the project.
    ClaudeCode,
    /// Cursor, for the user.
    Cursor,
    /// Visual Studio Code, for the project.
    #[value(name = "vscode")]
    VsCode,
    /// Codex, for the user.
    Codex,
    /// Gemini CLI, for the user.
    Gemini,
    /// Qwen Code, for the user.
    Qwen,
    /// opencode, for the user.
    #[value(name = "opencode")]
    OpenCode,
    /// Copilot CLI, for the user.
    Copilot,
    /// Continue, for the user.
    Continue,
    /// Cline CLI, for the user.
    Cline,
    /// Windsurf, for the user.
    Windsurf,
    /// Zed, for the user.
    Zed,
}

impl Client {
    /// Whether its file lies in the project, which may have come with one.
    pub fn is_of_project(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::VsCode)
    }
}

/// What a client starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The program, by its absolute path.
    pub program: String,
    /// What decides which policy holds, where a person chose that: with none, args that are there stay.
    pub arguments: Vec<String>,
}

/// What becomes of members that an entry of the project's own file has beside ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Existing {
    /// Keep them, except those that may decide what runs.
    Keep,
    /// Write the whole entry anew.
    Replace,
}

/// Whose a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The person's: what they chose stays.
    Person,
    /// The project's, so that anybody may have written it: with what is to become of that, if the
    /// person said so.
    Project(Option<Existing>),
}

/// Where clients look for their files.
pub struct Surroundings<'a> {
    /// The person's home folder.
    pub home: &'a Path,
    /// The project's folder.
    pub workspace: &'a Path,
    /// The variables of the environment, as paths; `None` for what is not set.
    pub variable: &'a dyn Fn(&str) -> Option<PathBuf>,
}

impl Surroundings<'_> {
    /// The folder that a client has in the home folder, unless its own variable names another.
    fn own_folder(&self, variable: &str, name: &str) -> PathBuf {
        (self.variable)(variable).unwrap_or_else(|| self.home.join(name))
    }

    /// What the system calls the folder of configurations.
    fn config_folder(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            self.home.join("Library").join("Application Support")
        } else if cfg!(windows) {
            self.absolute("APPDATA").unwrap_or_else(|| self.home.join("AppData").join("Roaming"))
        } else {
            self.xdg_folder()
        }
    }

    /// What clients that follow XDG on every system call so.
    fn xdg_folder(&self) -> PathBuf {
        self.absolute("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"))
    }

    fn zed_folder(&self) -> PathBuf {
        let folder = if cfg!(windows) { self.config_folder() } else { self.xdg_folder() };
        folder.join(if cfg!(windows) { "Zed" } else { "zed" })
    }

    /// The XDG base directory specification has relative paths ignored.
    fn absolute(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).filter(|path| path.is_absolute())
    }
}

/// Where `client` keeps its configuration.
///
/// Sources: <https://modelcontextprotocol.io/docs/develop/connect-local-servers>,
/// <https://code.claude.com/docs/en/mcp>, <https://cursor.com/docs/mcp>,
/// <https://code.visualstudio.com/docs/copilot/reference/mcp-configuration>; of the others
/// what the programs themselves read, at the versions that `docs/clients.md` names.
pub fn config_path(client: Client, around: &Surroundings<'_>) -> PathBuf {
    match client {
        Client::ClaudeDesktop => around.config_folder().join("Claude").join("claude_desktop_config.json"),
        Client::ClaudeCode => around.workspace.join(".mcp.json"),
        Client::Cursor => around.home.join(".cursor").join("mcp.json"),
        Client::VsCode => around.workspace.join(".vscode").join("mcp.json"),
        Client::Codex => around.own_folder("CODEX_HOME", ".codex").join("config.toml"),
        Client::Gemini => around.home.join(".gemini").join("settings.json"),
        Client::Qwen => around.home.join(".qwen").join("settings.json"),
        Client::OpenCode => open_code_file(&around.xdg_folder().join("opencode")),
        Client::Copilot => around.own_folder("COPILOT_HOME", ".copilot").join("mcp-config.json"),
        Client::Continue => around.own_folder("CONTINUE_GLOBAL_DIR", ".continue").join("config.yaml"),
        Client::Cline => {
            around.home.join(".cline").join("data").join("settings").join("cline_mcp_settings.json")
        }
        Client::Windsurf => around.home.join(".codeium").join("windsurf").join("mcp_config.json"),
        Client::Zed => around.zed_folder().join("settings.json"),
    }
}

/// It reads both names, the second one last, and makes only one of them by itself.
fn open_code_file(folder: &Path) -> PathBuf {
    let with_comments = folder.join("opencode.jsonc");
    if with_comments.exists() { with_comments } else { folder.join("opencode.json") }
}

/// A whole configuration file with nothing but our entry, to paste from.
pub fn snippet(client: Client, start: &Start) -> String {
    merge::fresh(client, start)
}

/// What [`write`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file, links followed.
    pub path: PathBuf,
    /// How it came to be as it is.
    pub how: How,
    /// Members of the entry that are not ours, and stayed: each with its value.
    pub stayed: Vec<String>,
}

/// How a file came to be as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// There was no file.
    Created,
    /// The entry was added or corrected.
    Updated {
        /// What the file was before.
        backup: PathBuf,
    },
    /// The entry was there already.
    Unchanged,
}

/// Why nothing was written: the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The text cannot be edited with certainty.
    #[error("{}:{refusal}; correct the file, or paste the entry by hand; nothing was changed", .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// The line, what is wrong there, and what is expected.
        refusal: Refusal,
    },
    /// The project has an entry of its own.
    #[error(
        "{}: the project's own entry \"{ENTRY_NAME}\" has members that it does not need, and they decide how this program \
         would run for you:\n  {}\nIf they are not yours, write the entry anew with --existing replace; \
         if they are, keep them with --existing keep; nothing was changed", .path.display(), .extras.join("\n  ")
    )]
    Brought {
        /// The file.
        path: PathBuf,
        /// What it has beside ours.
        extras: Vec<String>,
    },
    /// Members that are not kept, whoever wrote them.
    #[error(
        "{}: these members may decide what runs, or under which policy: {}; remove them by hand, or use \
         --existing replace; nothing was changed", .path.display(), .steering.join(", ")
    )]
    Steers {
        /// The file.
        path: PathBuf,
        /// Their names.
        steering: Vec<String>,
    },
    /// The format is not edited that far.
    #[error("{}: remove the entry \"{ENTRY_NAME}\" by hand, and try again; nothing was changed", .0.display())]
    NotReplaced(PathBuf),
    /// The file is not UTF-8.
    #[error("{}: not UTF-8 from byte {at} on; save the file as UTF-8; nothing was changed", .path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Where the text ends.
        at: usize,
    },
    /// A file of ours alone would be taken for the client's whole configuration.
    #[error("{}: does not exist, and is not created, because {client} keeps its models there too; set up {client} first; nothing was changed", .path.display())]
    Missing {
        /// Where the file would be.
        path: PathBuf,
        /// Whose file it is.
        client: &'static str,
    },
    /// A folder, pipe or device.
    #[error("{}: not a regular file; nothing was changed", .path.display())]
    NotAFile {
        /// What stands in place of the file.
        path: PathBuf,
    },
    /// A link to something that does not exist.
    #[error("{}: a link that leads nowhere; create what it leads to, or remove it", .path.display())]
    DanglingLink {
        /// The link.
        path: PathBuf,
    },
    /// No configuration file is that large.
    #[error("{}: larger than {limit} bytes, so probably no configuration; nothing was changed", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The most that is accepted, in bytes.
        limit: u64,
    },
    /// Someone else wrote to the file at the same time.
    #[error("{}: changed while it was being edited; close the client and try again", .path.display())]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot {action} {}: {source}; nothing was changed", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

/// Adds the entry to the file at `path`, or corrects the one that is there. Folders
/// and file are created as needed; a link is followed; the previous content is kept
/// as `<file>.scorpiox-backup-<n>`.
///
/// Of a person's entry that exists, what decides which program is started is set, and what the client
/// needs is added; `args`, `env` and all else they may have chosen stay. An entry that the project
/// brought may be anybody's: what it has besides is refused, until the person says what they want.
pub fn write(path: &Path, client: Client, start: &Start, owner: Owner) -> Result<Written, WriteError> {
    let Some(original) = file::read(path)? else {
        if client == Client::Continue {
            return Err(WriteError::Missing { path: path.to_owned(), client: "Continue" });
        }
        file::create(path, &merge::fresh(client, start))?;
        return Ok(Written { path: path.to_owned(), how: How::Created, stayed: Vec::new() });
    };
    let path = original.path.clone();
    let refused = |refusal| WriteError::Refused { path: path.clone(), refusal };
    let mut extras = merge::extras(&original.text, client, start).map_err(refused)?;
    let mut text = original.text.clone();
    match owner {
        Owner::Project(None) if !extras.is_empty() => {
            return Err(WriteError::Brought { path, extras: shown(&extras) });
        }
        Owner::Project(Some(Existing::Keep)) => {
            let steering: Vec<_> = extras.iter().flat_map(entry::steering).collect();
            if !steering.is_empty() {
                return Err(WriteError::Steers { path, steering });
            }
        }
        Owner::Project(Some(Existing::Replace)) if !extras.is_empty() => {
            let without = merge::without(&text, client).map_err(refused)?;
            text = without.ok_or_else(|| WriteError::NotReplaced(path.clone()))?;
            extras.clear();
        }
        Owner::Person | Owner::Project(_) => {}
    }
    let merged = merge::merge(&text, client, start).map_err(refused)?;
    let stayed = shown(&extras);
    if merged == original.text {
        return Ok(Written { path, how: How::Unchanged, stayed });
    }
    let backup = file::replace(&original, &merged)?;
    Ok(Written { path, how: How::Updated { backup }, stayed })
}

/// What came of taking our entry out of a client's file.
#[derive(Debug, PartialEq, Eq)]
pub enum Removed {
    /// There was none.
    Nothing,
    /// It is out, and the file as it was before is kept.
    Out {
        /// Where.
        backup: PathBuf,
    },
    /// It is there, and in a format that is not edited that far.
    Stays,
}

/// Whether a client's file has our entry.
pub fn is_in(path: &Path, client: Client) -> Result<bool, WriteError> {
    let Some(original) = file::read(path)? else { return Ok(false) };
    let found = merge::is_in(&original.text, client);
    found.map_err(|refusal| WriteError::Refused { path: original.path.clone(), refusal })
}

/// Takes our entry out of a client's file, and leaves everything else there.
pub fn remove(path: &Path, client: Client) -> Result<Removed, WriteError> {
    let Some(original) = file::read(path)? else { return Ok(Removed::Nothing) };
    let refused = |refusal| WriteError::Refused { path: original.path.clone(), refusal };
    if !merge::is_in(&original.text, client).map_err(refused)? {
        return Ok(Removed::Nothing);
    }
    match merge::without(&original.text, client).map_err(refused)? {
        None => Ok(Removed::Stays),
        Some(text) => Ok(Removed::Out { backup: file::replace(&original, &text)? }),
    }
}

/// Columns of a member's value.
const MAX_VALUE: usize = 200;

/// Members with their values, a row each.
fn shown(extras: &[Extra]) -> Vec<String> {
    let row = |extra: &Extra| one_line(&format!("{}: {}", extra.name, extra.value), MAX_VALUE);
    extras.iter().map(row).collect()
}

#[cfg(test)]
mod tests;
