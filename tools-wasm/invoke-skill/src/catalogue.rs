//! Which skills there are: names and descriptions, sorted, each name once.

use crate::fields::Fields;
use crate::front_matter::{self, FrontMatter, Refusal};
use crate::{Caller, ReadError, Skills, Source, hygiene};

/// Read first of a SKILL.md; nearly every front matter ends within it.
pub const FIRST_READ: u32 = 16 * 1024;
/// What the format calls the file.
pub const SKILL_FILE: &str = "SKILL.md";
/// Read when the front matter does not end within [`FIRST_READ`]: the longest front
/// matter with both of its `---` lines and the byte order mark.
pub const SECOND_READ: u32 = 64 * 1024 + 64;

/// A skill that can be invoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Where it was read from.
    pub source: Source,
    /// The name it is invoked by.
    pub name: String,
    /// What it is for, and when to use it, in one line.
    pub description: String,
    /// What other fields of the front matter say.
    pub fields: Fields,
    /// The whole front matter as a JSON object.
    pub front_matter: String,
    /// What is wrong with it but does not stop it from working.
    pub warnings: Vec<String>,
}

impl Skill {
    /// Whether it is for whoever asks.
    pub fn is_for(&self, caller: Caller) -> bool {
        match caller {
            Caller::Model => self.fields.for_models,
            Caller::Person => self.fields.for_people,
        }
    }
}

/// A folder whose skill is not in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The folder.
    pub source: Source,
    /// Why it is not used.
    pub reason: String,
}

/// Every skill of this server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Sorted by name; each name once.
    pub skills: Vec<Skill>,
    /// In lookup order.
    pub skipped: Vec<Skipped>,
}

impl Catalogue {
    /// The skill of this name.
    pub fn find(&self, name: &str) -> Option<&Skill> {
        let at = self.skills.binary_search_by(|skill| skill.name.as_str().cmp(name)).ok()?;
        Some(&self.skills[at])
    }

    fn add(&mut self, skill: Skill) {
        match self.skills.binary_search_by(|known| known.name.cmp(&skill.name)) {
            Ok(at) => {
                let first = hygiene::line(&self.skills[at].source.path).text;
                let reason = format!("the name {:?} is taken by {first}, which comes first", skill.name);
                self.skipped.push(Skipped { source: skill.source, reason });
            }
            Err(at) => self.skills.insert(at, skill),
        }
    }
}

/// Reads the head of every SKILL.md.
pub fn read(skills: &impl Skills) -> Catalogue {
    let mut catalogue = Catalogue::default();
    for source in skills.list() {
        match read_one(skills, source) {
            Ok(skill) => catalogue.add(skill),
            Err(skipped) => catalogue.skipped.push(skipped),
        }
    }
    catalogue
}

/// Reads the skill of one source, whatever others have its name; an error says why it is none.
pub fn one(skills: &impl Skills, id: u32) -> Result<Skill, String> {
    let source = skills.list().into_iter().find(|source| source.id == id);
    let source = source.ok_or_else(|| "it is none of the skills".to_owned())?;
    read_one(skills, source).map_err(|skipped| skipped.reason)
}

fn read_one(skills: &impl Skills, source: Source) -> Result<Skill, Skipped> {
    let head = match head(skills, source.id) {
        Ok(head) => head,
        Err(error) => return Err(Skipped { source, reason: unread(&error) }),
    };
    match front_matter::parse(&head) {
        Ok(mut front_matter) => {
            if source.file != SKILL_FILE {
                let named = hygiene::line(&source.file).text;
                front_matter
                    .warnings
                    .push(format!("the file is named {named}; other programs look for SKILL.md"));
            }
            named(source, front_matter)
        }
        Err(Refusal::NoEnd) if head.len() > front_matter::MAX_BYTES => {
            Err(Skipped { source, reason: Refusal::TooLong.to_string() })
        }
        Err(refusal) => Err(Skipped { source, reason: refusal.to_string() }),
    }
}

/// The first bytes of a SKILL.md, with the whole front matter if it has a valid one.
fn head(skills: &impl Skills, id: u32) -> Result<Vec<u8>, ReadError> {
    let first = skills.read(id, FIRST_READ)?;
    let ended = match front_matter::split(&first) {
        // A last line `---` may be the start of a longer one.
        Ok(parts) => parts.body < first.len() || first.ends_with(b"\n"),
        Err(Refusal::NoEnd) => false,
        Err(_) => true,
    };
    if ended || first.len() < FIRST_READ as usize {
        return Ok(first);
    }
    skills.read(id, SECOND_READ)
}

fn unread(error: &ReadError) -> String {
    match error {
        ReadError::NotFound => "SKILL.md is not there any more".to_owned(),
        ReadError::TooLarge(limit) => format!("SKILL.md is larger than {limit} bytes"),
        ReadError::Unreadable(why) => format!("SKILL.md cannot be read: {}", hygiene::line(why).text),
    }
}

fn named(source: Source, front_matter: FrontMatter) -> Result<Skill, Skipped> {
    let FrontMatter { name, mut description, fields, whole, mut warnings, .. } = front_matter;
    let folder = hygiene::line(&source.folder_name).text;
    let name = match name {
        Some(name) => {
            if name != folder {
                warnings.push(format!("the name {name:?} differs from the folder's name {folder:?}"));
            }
            name
        }
        None if folder.is_empty() => {
            return Err(Skipped { source, reason: "neither a name nor a folder name is usable".to_owned() });
        }
        None => {
            warnings.push(format!("a usable name is missing; the folder's name {folder:?} is used"));
            folder
        }
    };
    if let Some(when) = &fields.when_to_use {
        description.push_str(if description.ends_with(['.', '!', '?', '。']) { " " } else { ". " });
        description.push_str(when);
    }
    let front_matter = serde_json::to_string(&whole).unwrap_or_else(|_| "{}".to_owned());
    Ok(Skill { source, name, description, fields, front_matter, warnings })
}
