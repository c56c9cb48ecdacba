//! The clients that can start this server, and the entry each needs in its
//! configuration file.
//!
//! Invariant: what a person wrote into such a file stays. Only our own entry is
//! added or corrected, as an edit of the text that keeps comments, order and layout;
//! a file that cannot be read with certainty is refused; every changed file is backed
//! up first and replaced as a whole.
//!
//! `merge` edits the text, `file` touches the disk.

mod file;
mod merge;

use std::fmt;
use std::path::{Path, PathBuf};

pub use merge::Refusal;

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
}

impl Client {
    /// The object that lists the servers.
    fn servers_key(self) -> &'static str {
        match self {
            Self::VsCode => "servers",
            Self::ClaudeDesktop | Self::ClaudeCode | Self::Cursor => "mcpServers",
        }
    }
}

/// Where `client` keeps its configuration.
///
/// `config_home` is what the system calls the folder of configurations, when it is
/// set: `XDG_CONFIG_HOME` on Linux, `APPDATA` on Windows, nothing on macOS.
///
/// Sources: <https://modelcontextprotocol.io/docs/develop/connect-local-servers>,
/// <https://code.claude.com/docs/en/mcp>, <https://cursor.com/docs/mcp>,
/// <https://code.visualstudio.com/docs/copilot/reference/mcp-configuration>.
pub fn config_path(client: Client, home: &Path, workspace: &Path, config_home: Option<&Path>) -> PathBuf {
    match client {
        Client::ClaudeDesktop => {
            config_folder(home, config_home).join("Claude").join("claude_desktop_config.json")
        }
        Client::ClaudeCode => workspace.join(".mcp.json"),
        Client::Cursor => home.join(".cursor").join("mcp.json"),
        Client::VsCode => workspace.join(".vscode").join("mcp.json"),
    }
}

fn config_folder(home: &Path, config_home: Option<&Path>) -> PathBuf {
    if cfg!(target_os = "macos") {
        return home.join("Library").join("Application Support");
    }
    // The XDG base directory specification has relative paths ignored.
    match config_home.filter(|path| path.is_absolute()) {
        Some(path) => path.to_owned(),
        None if cfg!(windows) => home.join("AppData").join("Roaming"),
        None => home.join(".config"),
    }
}

/// A whole configuration file with nothing but our entry, to paste from. `command` is
/// the path of the binary.
pub fn snippet(client: Client, command: &str) -> String {
    merge::fresh(client, command)
}

/// What [`write`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// There was no file.
    Created {
        /// The new file.
        path: PathBuf,
    },
    /// The entry was added or corrected.
    Updated {
        /// The file, links followed.
        path: PathBuf,
        /// What it was before.
        backup: PathBuf,
    },
    /// The entry was there already.
    Unchanged {
        /// The file, links followed.
        path: PathBuf,
    },
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Created { path } => write!(f, "created {}", path.display()),
            Self::Updated { path, backup } => {
                write!(f, "updated {} (before: {})", path.display(), backup.display())
            }
            Self::Unchanged { path } => write!(f, "{} has the entry already", path.display()),
        }
    }
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
    /// The file is not UTF-8.
    #[error("{}: not UTF-8 from byte {at} on; save the file as UTF-8; nothing was changed", .path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Where the text ends.
        at: usize,
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
/// Of an entry that exists, `command` (and `type` where the client wants one) is set;
/// `args`, `env` and all else a person may have added stay.
pub fn write(path: &Path, client: Client, command: &str) -> Result<Written, WriteError> {
    let Some(original) = file::read(path)? else {
        file::create(path, &merge::fresh(client, command))?;
        return Ok(Written::Created { path: path.to_owned() });
    };
    let merged = merge::merge(&original.text, client, command)
        .map_err(|refusal| WriteError::Refused { path: original.path.clone(), refusal })?;
    if merged == original.text {
        return Ok(Written::Unchanged { path: original.path });
    }
    let backup = file::replace(&original, &merged)?;
    Ok(Written::Updated { path: original.path, backup })
}

#[cfg(test)]
mod tests;
