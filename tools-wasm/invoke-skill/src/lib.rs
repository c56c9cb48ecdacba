//! InvokeSkill: reusable instructions from folders with a `SKILL.md`.
//!
//! The host finds folders and transfers bytes ([`Skills`]). This crate parses `SKILL.md` files inside the
//! sandbox. It stores and executes nothing: a skill provides only text. External text is stripped of hidden
//! characters and cannot escape its block.

pub mod arguments;
pub mod catalogue;
#[cfg(target_arch = "wasm32")]
mod component;
pub mod cutting;
pub mod description;
pub mod fields;
mod file;
pub mod front_matter;
pub mod hygiene;
pub mod inspect;
mod invoke;
mod lenient;
mod links;
mod nearest;
mod search;
pub mod yaml;

use scorpiox_tool_kit::{Args, Client, Definition, Failure, Hints, Output};

/// Origin of a skill's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The opened project; its content is untrusted.
    Workspace,
    /// The user's folders.
    User,
    /// A folder from the setting `ADDITIONAL_SKILLS`.
    Additional,
}

/// A folder with a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// ID for the other functions.
    pub id: u32,
    /// Name of the folder.
    pub folder_name: String,
    /// Path of the folder for display.
    pub path: String,
    /// Origin of the folder.
    pub scope: Scope,
    /// Name of the file with the instructions: `SKILL.md` or `skill.md`.
    pub file: String,
}

/// The caller that requests a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A model that calls the tool.
    Model,
    /// A user who selected the skill as a prompt.
    Person,
}

/// Reason why a skill could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// The file does not exist anymore.
    NotFound,
    /// The file exceeds this many bytes.
    TooLarge(u64),
    /// The operating system's error.
    Unreadable(String),
}

/// Paths of a skill's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileList {
    /// Paths relative to the skill's folder, sorted, without `SKILL.md`.
    pub paths: Vec<String>,
    /// `true` if the skill has more files.
    pub truncated: bool,
}

/// The `skills` interface (see `wit/skills.wit`), and the caller.
pub trait Skills: Client {
    /// Lists every folder with a `SKILL.md`, in lookup order.
    fn list(&self) -> Vec<Source>;
    /// Returns the caller.
    fn asked_by(&self) -> Caller;
    /// Returns the first `limit` bytes of the skill's `SKILL.md`.
    fn read(&self, id: u32, limit: u32) -> Result<Vec<u8>, ReadError>;
    /// Lists at most `limit` files of the skill.
    fn files(&self, id: u32, limit: u32) -> Result<FileList, ReadError>;
    /// Reads a complete file of the skill; the path is one from [`files`](Self::files).
    fn read_file(&self, id: u32, path: &str, limit: u32) -> Result<Vec<u8>, ReadError>;
    /// Returns the values of placeholders such as `${CLAUDE_PROJECT_DIR}`, except the skill's folder.
    fn variables(&self, id: u32) -> Vec<(String, String)>;
    /// Returns the names from `required_skills.txt` files. The host's instructions mention these skills, and
    /// the list describes them first.
    fn required(&self) -> Vec<String>;
    /// Reports an invocation to the host, with its arguments as text and as words.
    fn invoked(&self, id: u32, arguments: &str, words: &[String]);
}

/// Maximum size of a `SKILL.md` that is read for an invocation or a search, in bytes.
const MAX_SKILL_BYTES: u32 = 1024 * 1024;

const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };

/// Returns the tool definitions. SearchSkills is included if the description of InvokeSkill does not contain
/// every full description.
pub fn definitions(skills: &impl Skills) -> Vec<Definition> {
    let listing = description::describe(skills, &catalogue::read(skills).skills);
    let is_complete = listing.is_complete();
    let invoke = Definition {
        name: "InvokeSkill",
        title: "Invoke skill",
        description: listing.text,
        input_schema: include_str!("input-schema.json"),
        output_schema: None,
        hints: HINTS,
    };
    let search = Definition {
        name: "SearchSkills",
        title: "Search skills",
        description: "Find skills by a regular expression over their names, descriptions and instructions"
            .to_owned(),
        input_schema: include_str!("search-schema.json"),
        output_schema: None,
        hints: HINTS,
    };
    if is_complete { vec![invoke] } else { vec![invoke, search] }
}

/// Handles a call of the tool `name`.
pub fn call(skills: &impl Skills, name: &str, arguments: &str) -> Result<Output, Failure> {
    let args = Args::parse(arguments)?;
    match name {
        "InvokeSkill" => invoke::invoke(skills, &args),
        "SearchSkills" => search::search(skills, &args),
        other => Err(Failure::NotFound(format!("This component has no tool {other:?}."))),
    }
}

#[cfg(test)]
mod tests;
