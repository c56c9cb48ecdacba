//! Supported MCP clients, and the server entry that each needs in its configuration file.
//!
//! Invariant: the user's content in such a file is preserved. Only our own entry is added or corrected, by a
//! text edit that keeps comments, order and layout. A file that cannot be parsed reliably is refused. Every
//! changed file is backed up first and replaced atomically.
//!
//! `entry` defines the entry of each client, `allow` the lists of tools that a client calls without asking, `merge` edits the text, and `file` accesses the disk. `link`
//! encodes the entry as a URL that a client opens. `wsl` locates Windows clients from inside WSL.

pub mod allow;
mod entry;
mod file;
mod link;
mod merge;
mod presence;
mod remote;
pub mod unfilled;
mod wsl;

use std::path::{Path, PathBuf};

use entry::Extra;
use file::Original;
pub use link::link;
pub use merge::Refusal;
pub use presence::{Sign, own_path, sign};
pub use remote::{Remote, remote_snippet};
use scorpiox_terminal::one_line;
pub use wsl::{NoDesktop, Wsl};

/// Name under which clients list this server.
pub const ENTRY_NAME: &str = "scorpiox";

/// A client with a known configuration format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Client {
    /// Claude Desktop, configured per user.
    ClaudeDesktop,
    /// Claude Code, configured per project.
    ClaudeCode,
    /// Cursor, configured per user.
    Cursor,
    /// Visual Studio Code, configured per project.
    #[value(name = "vscode")]
    VsCode,
    /// Codex, configured per user.
    Codex,
    /// Gemini CLI, configured per user.
    Gemini,
    /// Qwen Code, configured per user.
    Qwen,
    /// opencode, configured per user.
    #[value(name = "opencode")]
    OpenCode,
    /// Copilot CLI, configured per user.
    Copilot,
    /// Continue, configured per user.
    Continue,
    /// Cline CLI, configured per user.
    Cline,
    /// Windsurf, configured per user.
    Windsurf,
    /// Zed, configured per user.
    Zed,
}

impl Client {
    /// Returns `true` if the configuration file lies in the project, and may therefore have come with it.
    pub fn is_of_project(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::VsCode)
    }
}

/// Command line that a client starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Start {
    /// Absolute path of the program.
    pub program: String,
    /// Arguments that select the policy, if the user chose one. If empty, existing `args` are preserved.
    pub arguments: Vec<String>,
}

/// Treatment of additional members in an existing entry of the project's own file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Existing {
    /// Keep them, except those that may decide which program runs.
    Keep,
    /// Replace the complete entry.
    Replace,
}

/// Owner of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The user, whose settings are preserved.
    Person,
    /// The project, so anyone may have written the file. Holds the user's choice for additional members, if
    /// any.
    Project(Option<Existing>),
}

/// Environment in which clients search for their files.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The user's home directory.
    pub home: &'a Path,
    /// The project's folder.
    pub workspace: &'a Path,
    /// Looks up an environment variable as a path. Returns `None` if it is not set.
    pub variable: &'a dyn Fn(&str) -> Option<PathBuf>,
}

impl Surroundings<'_> {
    /// Returns a client's folder in the home directory, unless an environment variable names another.
    fn own_folder(&self, variable: &str, name: &str) -> PathBuf {
        (self.variable)(variable).unwrap_or_else(|| self.home.join(name))
    }

    /// Returns the system's configuration folder.
    fn config_folder(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            self.home.join("Library").join("Application Support")
        } else if cfg!(windows) {
            self.absolute("APPDATA").unwrap_or_else(|| self.home.join("AppData").join("Roaming"))
        } else {
            self.xdg_folder()
        }
    }

    /// Returns the configuration folder of clients that follow XDG on every system.
    fn xdg_folder(&self) -> PathBuf {
        self.absolute("XDG_CONFIG_HOME").unwrap_or_else(|| self.home.join(".config"))
    }

    fn zed_folder(&self) -> PathBuf {
        let folder = if cfg!(windows) { self.config_folder() } else { self.xdg_folder() };
        folder.join(if cfg!(windows) { "Zed" } else { "zed" })
    }

    /// Returns a variable as an absolute path. The XDG base directory specification requires relative paths
    /// to be ignored.
    fn absolute(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).filter(|path| path.is_absolute())
    }
}

/// Returns the configuration file of `client`.
///
/// Sources: <https://modelcontextprotocol.io/docs/develop/connect-local-servers>,
/// <https://code.claude.com/docs/en/mcp>, <https://cursor.com/docs/mcp>,
/// <https://code.visualstudio.com/docs/copilot/reference/mcp-configuration>. The other paths match the
/// behavior of the programs themselves, at the versions listed in `docs/clients.md`.
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

/// Returns opencode's file. opencode reads both names, `.jsonc` last, and creates only one of them itself.
fn open_code_file(folder: &Path) -> PathBuf {
    let with_comments = folder.join("opencode.jsonc");
    if with_comments.exists() { with_comments } else { folder.join("opencode.json") }
}

/// Returns a configuration file with only our entry, for copying.
pub fn snippet(client: Client, start: &Start) -> String {
    merge::fresh(client, start)
}

/// Result of [`write`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Resolved path of the file.
    pub path: PathBuf,
    /// Change that was made.
    pub how: How,
    /// Preserved members of the entry that are not ours, each with its value.
    pub stayed: Vec<String>,
}

/// Change made to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// The file did not exist and was created.
    Created,
    /// The entry was added or corrected.
    Updated {
        /// Path of the backup with the previous content.
        backup: PathBuf,
    },
    /// The entry was already up to date.
    Unchanged,
}

/// Reasons for leaving the file unchanged.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The text cannot be edited reliably.
    #[error("{}:{refusal}; correct the file, or paste the entry by hand; nothing was changed", .path.display())]
    Refused {
        /// Path of the file.
        path: PathBuf,
        /// Line, problem, and expectation.
        refusal: Refusal,
    },
    /// The project already has its own entry.
    #[error(
        "{}: the project's own entry \"{ENTRY_NAME}\" has members that it does not need, and they decide how this program \
         would run for you:\n  {}\nIf they are not yours, write the entry anew with --existing replace; \
         if they are, keep them with --existing keep; nothing was changed", .path.display(), .extras.join("\n  ")
    )]
    Brought {
        /// Path of the file.
        path: PathBuf,
        /// Additional members of the entry.
        extras: Vec<String>,
    },
    /// Members that are never kept, whoever wrote them.
    #[error(
        "{}: these members may decide what runs, or under which policy: {}; remove them by hand, or use \
         --existing replace; nothing was changed", .path.display(), .steering.join(", ")
    )]
    Steers {
        /// Path of the file.
        path: PathBuf,
        /// Names of the members.
        steering: Vec<String>,
    },
    /// Replacing an entry is not supported for this format.
    #[error("{}: remove the entry \"{ENTRY_NAME}\" by hand, and try again; nothing was changed", .0.display())]
    NotReplaced(PathBuf),
    /// The file is not UTF-8.
    #[error("{}: not UTF-8 from byte {at} on; save the file as UTF-8; nothing was changed", .path.display())]
    NotUtf8 {
        /// Path of the file.
        path: PathBuf,
        /// Byte offset of the first invalid byte.
        at: usize,
    },
    /// A file with only our entry would replace the client's default configuration.
    #[error("{}: does not exist, and is not created, because {client} keeps its models there too; set up {client} first; nothing was changed", .path.display())]
    Missing {
        /// Path of the missing file.
        path: PathBuf,
        /// Name of the client.
        client: &'static str,
    },
    /// The path is a folder, pipe or device.
    #[error("{}: not a regular file; nothing was changed", .path.display())]
    NotAFile {
        /// Path of the object.
        path: PathBuf,
    },
    /// The path is a link to a nonexistent file.
    #[error("{}: a link that leads nowhere; create what it leads to, or remove it", .path.display())]
    DanglingLink {
        /// Path of the link.
        path: PathBuf,
    },
    /// The file is too large for a configuration.
    #[error("{}: larger than {limit} bytes, so probably no configuration; nothing was changed", .path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Size limit in bytes.
        limit: u64,
    },
    /// Another program wrote to the file at the same time.
    #[error("{}: changed while it was being edited; close the client and try again", .path.display())]
    ChangedMeanwhile {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("cannot {action} {}: {source}; nothing was changed", .path.display())]
    Io {
        /// Attempted operation.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error returned by the system.
        source: std::io::Error,
    },
}

/// Adds the entry to the file at `path`, or corrects an existing one.
///
/// Creates the file and its folders as needed, and follows links. The previous content is backed up as
/// `<file>.scorpiox-backup-<n>`.
///
/// In an existing entry of the user, the members that select the program are set, and members that the client
/// needs are added. `args`, `env` and everything else the user may have chosen are preserved. An entry that
/// came with the project may have been written by anyone: its additional members are refused until the user
/// decides about them.
pub fn write(path: &Path, client: Client, start: &Start, owner: Owner) -> Result<Written, WriteError> {
    match edited(path, client, start, owner)? {
        None => {
            file::create(path, &merge::fresh(client, start))?;
            Ok(Written { path: path.to_owned(), how: How::Created, stayed: Vec::new() })
        }
        Some(Edited { original, text, stayed }) => {
            let path = original.path.clone();
            let how = if text == original.text {
                How::Unchanged
            } else {
                How::Updated { backup: file::replace(&original, &text)? }
            };
            Ok(Written { path, how, stayed })
        }
    }
}

/// Change that [`write`] would make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The file would be created.
    Create,
    /// The entry would be added or corrected.
    Update,
    /// The entry is up to date.
    Nothing,
}

/// Returns the change that [`write`] would make, or its error, without making it.
pub fn preview(path: &Path, client: Client, start: &Start, owner: Owner) -> Result<Change, WriteError> {
    Ok(match edited(path, client, start, owner)? {
        None => Change::Create,
        Some(Edited { original, text, .. }) if text == original.text => Change::Nothing,
        Some(_) => Change::Update,
    })
}

/// An existing file with the entry.
struct Edited {
    original: Original,
    text: String,
    /// Members of the entry that stay.
    stayed: Vec<String>,
}

/// Returns the file with the entry; `None` if there is no file.
fn edited(path: &Path, client: Client, start: &Start, owner: Owner) -> Result<Option<Edited>, WriteError> {
    let Some(original) = file::read(path)? else {
        if client == Client::Continue {
            return Err(WriteError::Missing { path: path.to_owned(), client: "Continue" });
        }
        return Ok(None);
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
    let text = merge::merge(&text, client, start).map_err(refused)?;
    Ok(Some(Edited { stayed: shown(&extras), original, text }))
}

/// Result of removing our entry from a client's file.
#[derive(Debug, PartialEq, Eq)]
pub enum Removed {
    /// The file has no such entry.
    Nothing,
    /// The entry was removed, and the previous file was backed up.
    Out {
        /// Path of the backup.
        backup: PathBuf,
    },
    /// The file had nothing but the entry, and was deleted.
    Gone,
    /// The entry exists, but removal is not supported for the format.
    Stays,
}

/// Returns `true` if a client's file contains our entry.
pub fn is_in(path: &Path, client: Client) -> Result<bool, WriteError> {
    let Some(original) = file::read(path)? else { return Ok(false) };
    let found = merge::is_in(&original.text, client);
    found.map_err(|refusal| WriteError::Refused { path: original.path.clone(), refusal })
}

/// Removes our entry from a client's file and preserves everything else. Deletes a file in which nothing is left.
pub fn remove(path: &Path, client: Client) -> Result<Removed, WriteError> {
    let Some(original) = file::read(path)? else { return Ok(Removed::Nothing) };
    let refused = |refusal| WriteError::Refused { path: original.path.clone(), refusal };
    if !merge::is_in(&original.text, client).map_err(refused)? {
        return Ok(Removed::Nothing);
    }
    match merge::without(&original.text, client).map_err(refused)? {
        None => Ok(Removed::Stays),
        // A link stays, and with it the file that it leads to.
        Some(text) if merge::is_empty(&text, client) && !path.is_symlink() => {
            file::delete(&original)?;
            Ok(Removed::Gone)
        }
        Some(text) => Ok(Removed::Out { backup: file::replace(&original, &text)? }),
    }
}

/// Maximum width of a displayed member in columns.
const MAX_VALUE: usize = 200;

/// Formats each member with its value on one line.
fn shown(extras: &[Extra]) -> Vec<String> {
    let row = |extra: &Extra| one_line(&format!("{}: {}", extra.name, extra.value), MAX_VALUE);
    extras.iter().map(row).collect()
}

#[cfg(test)]
mod tests;
