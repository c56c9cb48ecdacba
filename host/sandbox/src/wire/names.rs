//! Names and repositories that a command left behind, or was refused.

use serde::{Deserialize, Serialize};

use super::RawPath;

/// Git repository, or a path that leads to one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// Path when the command had ended.
    pub path: RawPath,
    /// Device and inode number, since another command can put something else at the path.
    pub identity: (u64, u64),
    /// Reason of the report.
    pub grounds: Grounds,
}

/// Reason for which a supervisor reports a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Grounds {
    /// Git uses it, or starts programs once somebody makes a repository of it.
    Used,
    /// Another process made a repository of it while the command could create files there. Git may have started a program
    /// that is no longer there.
    MadeByAnother,
    /// Git would obey files in it. They start nothing, unless another process changes them.
    Harmless,
}

/// File in a git directory by which git would write elsewhere or start a program, although it is no setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trap {
    /// Location of the file.
    pub path: RawPath,
    /// Kind of file.
    pub kind: TrapKind,
    /// Text in the file that matters. Empty if it cannot be read.
    pub text: String,
}

/// Kind of a [`Trap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrapKind {
    /// List of tracked files, with a path that git refuses in commits.
    Index,
    /// Reference that leads to a name outside of `refs`.
    Reference,
    /// List of files that `git rerere` reads and writes at the next commit.
    Resolutions,
    /// Name of a linked work tree that does not name the repository.
    WorkTree,
    /// State of an unfinished operation, which starts a program or writes elsewhere when it continues.
    Operation,
    /// Folder or link that git does not create: a program may obey it.
    Unknown,
    /// Reference or list by which git shows other objects in the place of some.
    Replacement,
}

/// File that git trusts and replaces as a whole, which the command was refused to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prevented {
    /// Location of the file.
    pub path: RawPath,
    /// Reason.
    pub why: Why,
}

/// Reason of a [`Prevented`] change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// The file itself was to be changed, instead of being replaced by another one.
    InPlace,
    /// The other file has this text: a path, or the name of a reference, to which git would write.
    Names(String),
    /// The other file is none that git would write, or too large.
    Unreadable,
    /// The entry was to be moved or replaced, and is or holds something that was protected when the command started.
    Stays,
}

/// Result concerning names that must stay absent ([`Cover::Absent`](super::Cover::Absent), [`CommandSpec::absent_names`](super::CommandSpec::absent_names)).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// Paths that the command was denied to create; the first few of each name.
    pub refused: Vec<RawPath>,
    /// Number of further attempts.
    pub refused_others: u32,
    /// Files that git trusts, which the command was refused to change, and entries that it was refused to move; the first
    /// few.
    pub prevented: Vec<Prevented>,
    /// Number of further attempts.
    pub prevented_others: u32,
    /// Current paths of names that came with unpacked files, or of a directory that contains them; the first
    /// few.
    pub unpacked: Vec<RawPath>,
    /// Number of further such paths.
    pub unpacked_others: u32,
    /// Current paths of repositories, and of links to them, that appeared while the command ran; the first
    /// few.
    pub repositories: Vec<Repository>,
    /// Number of further repositories.
    pub repositories_others: u32,
    /// Files that changed in git directories, by which git would write elsewhere or start a program. The host finds them.
    #[serde(default)]
    pub traps: Vec<Trap>,
    /// Number of further ones, and of git directories that were not looked at completely.
    #[serde(default)]
    pub traps_others: u32,
    /// Paths of sockets that the command was refused, because no command listens there; the first few
    /// of each name.
    pub sockets: Vec<RawPath>,
    /// Number of further attempts.
    pub sockets_others: u32,
}
