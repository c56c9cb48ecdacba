//! The clients that can start this server, and the entry each needs in its
//! configuration file.
//!
//! Invariant: what a person wrote into such a file stays. Only our own entry is
//! added or corrected, as an edit of the text that keeps comments, order and layout;
//! a file that cannot be read with certainty is refused; every changed file is backed
//! up first and replaced as a whole.
//!
//! `entry` knows what each client wants, `merge` edits the text, `file` touches the disk.

mod entry;
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
        Client::Cline => around.home.join(".cline/data/settings/cline_mcp_settings.json"),
    }
}

/// It reads both names, the second one last, and makes only one of them by itself.
fn open_code_file(folder: &Path) -> PathBuf {
    let with_comments = folder.join("opencode.jsonc");
    if with_comments.exists() { with_comments } else { folder.join("opencode.json") }
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
    /// A file of ours alone would be taken for the client's whole configuration.
    #[error("{}: not there yet, and not made, since {client} has its models there too; set {client} up first; nothing was changed", .path.display())]
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
/// Of an entry that exists, what decides which program is started is set, and what the
/// client needs is added; `args`, `env` and all else a person may have chosen stay.
pub fn write(path: &Path, client: Client, command: &str) -> Result<Written, WriteError> {
    let Some(original) = file::read(path)? else {
        if client == Client::Continue {
            return Err(WriteError::Missing { path: path.to_owned(), client: "Continue" });
        }
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
