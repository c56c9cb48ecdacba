//! InvokeSkill: reusable instructions from folders with a `SKILL.md`.
//!
//! The host finds folders and moves bytes ([`Skills`]); what is in a `SKILL.md` is
//! read here, inside the sandbox. Nothing is stored, and nothing is executed: a skill
//! gives text, never more. Text from outside loses hidden characters on its way and
//! cannot leave the block that it stands in.

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

/// Whose folder a skill is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The opened project's: content from outside.
    Workspace,
    /// The user's own.
    User,
    /// Named in the setting `ADDITIONAL_SKILLS`.
    Additional,
}

/// A folder with a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Names it in the other functions.
    pub id: u32,
    /// The folder's own name.
    pub folder_name: String,
    /// Its path as a person would write it.
    pub path: String,
    /// Whose it is.
    pub scope: Scope,
    /// The name of the file with the instructions: `SKILL.md`, or `skill.md`.
    pub file: String,
}

/// Who asks for a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A model, by the tool.
    Model,
    /// A person, who picked it as a prompt.
    Person,
}

/// Why a skill could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// It is not there any more.
    NotFound,
    /// Larger than this many bytes.
    TooLarge(u64),
    /// The reason that the system gave.
    Unreadable(String),
}

/// Paths of a skill's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileList {
    /// Relative to the skill's folder, sorted, without `SKILL.md`.
    pub paths: Vec<String>,
    /// More files exist than are listed.
    pub truncated: bool,
}

/// The `skills` interface (see `wit/skills.wit`), and whom they are for.
pub trait Skills: Client {
    /// Every folder with a `SKILL.md`, in lookup order.
    fn list(&self) -> Vec<Source>;
    /// Who asks.
    fn asked_by(&self) -> Caller;
    /// The first `limit` bytes of its `SKILL.md`.
    fn read(&self, id: u32, limit: u32) -> Result<Vec<u8>, ReadError>;
    /// Its files, at most `limit`.
    fn files(&self, id: u32, limit: u32) -> Result<FileList, ReadError>;
    /// A file of it, named as [`files`](Self::files) names it, whole.
    fn read_file(&self, id: u32, path: &str, limit: u32) -> Result<Vec<u8>, ReadError>;
    /// What placeholders such as `${CLAUDE_PROJECT_DIR}` stand for, but for the skill's folder.
    fn variables(&self, id: u32) -> Vec<(String, String)>;
    /// Names from `required_skills.txt` files. The host's instructions name them; the list describes
    /// them first.
    fn required(&self) -> Vec<String>;
    /// Says which skill a call gives, with its arguments as they are and as words.
    fn invoked(&self, id: u32, arguments: &str, words: &[String]);
}

/// Bytes of a `SKILL.md` that are read when it is invoked or searched.
const MAX_SKILL_BYTES: u32 = 1024 * 1024;

const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };

/// What clients are told. SearchSkills is there when the description of InvokeSkill has not all of each
/// skill's.
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

/// Runs one call of the tool `name`.
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
