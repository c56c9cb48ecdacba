//! Fake of the host's skill folders, and tests by module.

mod arguments;
mod catalogue;
mod description;
mod fields;
mod files;
mod front_matter;
mod inspect;
mod invoke;
mod random;
mod real;
mod search;

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use super::*;

/// In-memory skill folders. Records the limits of reads.
#[derive(Default)]
struct Folders {
    entries: Vec<Folder>,
    reads: RefCell<Vec<(u32, u32)>>,
    invoked: RefCell<Option<(u32, String, Vec<String>)>>,
    /// Length of a result in characters, if it is not `ROOM`.
    room: Option<usize>,
    /// Prefix of tool names.
    prefix: &'static str,
    /// `true` if the caller is a user, not a model.
    by_person: bool,
    required: Vec<String>,
}

struct Folder {
    source: Source,
    skill_md: Result<Vec<u8>, ReadError>,
    files: Vec<String>,
    /// Contents of files.
    texts: Vec<(&'static str, Vec<u8>)>,
}

impl Folders {
    /// Adds a folder of the user.
    fn with(mut self, folder_name: &str, skill_md: impl Into<Vec<u8>>) -> Self {
        self.push(folder_name, &format!("/skills/{folder_name}"), Ok(skill_md.into()));
        self
    }

    /// Adds a skill in the standard format.
    fn skill(self, name: &str, description: &str, body: &str) -> Self {
        self.with(name, format!("---\nname: {name}\ndescription: {description}\n---\n{body}"))
    }

    fn unreadable(mut self, folder_name: &str, error: ReadError) -> Self {
        self.push(folder_name, &format!("/skills/{folder_name}"), Err(error));
        self
    }

    fn push(&mut self, folder_name: &str, path: &str, skill_md: Result<Vec<u8>, ReadError>) {
        let id = u32::try_from(self.entries.len()).expect("few folders");
        let source = Source {
            id,
            folder_name: folder_name.to_owned(),
            path: path.to_owned(),
            scope: Scope::User,
            file: "SKILL.md".to_owned(),
        };
        self.entries.push(Folder { source, skill_md, files: Vec::new(), texts: Vec::new() });
    }

    fn last(&mut self) -> &mut Folder {
        self.entries.last_mut().expect("a folder")
    }

    /// Changes the last added folder.
    fn but(mut self, change: impl FnOnce(&mut Folder)) -> Self {
        change(self.last());
        self
    }

    /// Reads the folders below `root`.
    fn from_disk(root: &Path) -> Self {
        let entries = std::fs::read_dir(root).unwrap_or_else(|e| panic!("{}: {e}", root.display()));
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entry").path()).collect();
        paths.sort();
        let mut folders = Self { room: Some(256 * 1024), ..Self::default() };
        for path in paths.iter().filter(|path| path.join("SKILL.md").is_file()) {
            let name = path.file_name().expect("a name").to_string_lossy();
            let skill_md = std::fs::read(path.join("SKILL.md")).expect("readable");
            folders.push(&name, &path.to_string_lossy(), Ok(skill_md));
            folders.last().files = files_below(path, path);
        }
        folders
    }
}

fn files_below(root: &Path, folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            files.extend(files_below(root, &path));
        } else {
            files.push(path.strip_prefix(root).expect("below").to_string_lossy().into_owned());
        }
    }
    files.retain(|file| file != "SKILL.md");
    files.sort();
    files
}

/// Length of a result, in characters.
const ROOM: usize = 17_600;

impl Skills for Folders {
    fn list(&self) -> Vec<Source> {
        self.entries.iter().map(|folder| folder.source.clone()).collect()
    }

    fn asked_by(&self) -> Caller {
        if self.by_person { Caller::Person } else { Caller::Model }
    }

    fn read(&self, id: u32, limit: u32) -> Result<Vec<u8>, ReadError> {
        self.reads.borrow_mut().push((id, limit));
        let bytes = self.entries[id as usize].skill_md.clone()?;
        Ok(bytes[..bytes.len().min(limit as usize)].to_vec())
    }

    fn files(&self, id: u32, limit: u32) -> Result<FileList, ReadError> {
        let files = &self.entries[id as usize].files;
        let kept = files.len().min(limit as usize);
        Ok(FileList { paths: files[..kept].to_vec(), truncated: kept < files.len() })
    }

    fn read_file(&self, id: u32, path: &str, limit: u32) -> Result<Vec<u8>, ReadError> {
        let folder = &self.entries[id as usize];
        let bytes = match path {
            "SKILL.md" => folder.skill_md.clone()?,
            path => {
                folder.texts.iter().find(|(known, _)| *known == path).ok_or(ReadError::NotFound)?.1.clone()
            }
        };
        if bytes.len() > limit as usize { Err(ReadError::TooLarge(limit.into())) } else { Ok(bytes) }
    }

    fn variables(&self, _id: u32) -> Vec<(String, String)> {
        vec![("CLAUDE_PROJECT_DIR".to_owned(), "/work".to_owned())]
    }

    fn required(&self) -> Vec<String> {
        self.required.clone()
    }

    fn invoked(&self, id: u32, arguments: &str, words: &[String]) {
        *self.invoked.borrow_mut() = Some((id, arguments.to_owned(), words.to_vec()));
    }
}

impl Client for Folders {
    fn room(&self) -> usize {
        self.room.unwrap_or(ROOM)
    }

    fn tool_name(&self, tool: &str) -> String {
        format!("{}{tool}", self.prefix)
    }
}

/// Loads real skills.
fn real_skills() -> Folders {
    Folders::from_disk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/skills"))
}

fn invoke_json(skills: &Folders, arguments: &serde_json::Value) -> Result<String, Failure> {
    call(skills, "InvokeSkill", &arguments.to_string()).map(|output| output.text)
}

fn invoked(skills: &Folders, name: &str, arguments: &str) -> String {
    invoke_json(skills, &serde_json::json!({ "skill_name": name, "arguments": arguments })).expect("succeeds")
}

fn searched(skills: &Folders, pattern: &str) -> Result<String, Failure> {
    let arguments = serde_json::json!({ "pattern": pattern }).to_string();
    call(skills, "SearchSkills", &arguments).map(|output| output.text)
}

#[test]
fn the_definition_is_that_of_the_specification() {
    let specification = include_str!("../../../tests/data/tools.json");
    let specification: serde_json::Value = serde_json::from_str(specification).expect("JSON");
    let tools = specification["tools"].as_array().expect("a list of tools");
    let tool = tools.iter().find(|tool| tool["name"] == "InvokeSkill").expect("InvokeSkill");
    let definition = &definitions(&Folders::default())[0];
    let schema: serde_json::Value = serde_json::from_str(definition.input_schema).expect("JSON");
    assert_eq!(schema, tool["inputSchema"]);
    let (first, _) = definition.description.split_once("\n\n").expect("a catalogue follows");
    assert_eq!(first, tool["description"]);
}

#[test]
fn other_tools_are_unknown() {
    let result = call(&Folders::default(), "Bash", "{}");
    assert!(matches!(result, Err(Failure::NotFound(text)) if text.contains("Bash")));
}
