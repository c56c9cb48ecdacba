//! The catalog of skills: names and descriptions, sorted, with unique names.

use crate::fields::Fields;
use crate::front_matter::{self, FrontMatter, Refusal};
use crate::{Caller, ReadError, Skills, Source, hygiene};

/// Number of bytes of a `SKILL.md` in the first read. Nearly every front matter ends within them.
pub const FIRST_READ: u32 = 16 * 1024;
/// Name of the file in the skill format.
pub const SKILL_FILE: &str = "SKILL.md";
/// Number of bytes in the second read, if the front matter does not end within [`FIRST_READ`]: the longest
/// front matter with both `---` lines and the byte order mark.
pub const SECOND_READ: u32 = 64 * 1024 + 64;

/// A skill that can be invoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Source of the skill.
    pub source: Source,
    /// Name for invocation.
    pub name: String,
    /// Purpose of the skill and when to use it, on one line.
    pub description: String,
    /// Other fields of the front matter.
    pub fields: Fields,
    /// The complete front matter as a JSON object.
    pub front_matter: String,
    /// Problems that do not prevent the skill from working.
    pub warnings: Vec<String>,
}

impl Skill {
    /// Returns `true` if `caller` may invoke the skill.
    pub fn is_for(&self, caller: Caller) -> bool {
        match caller {
            Caller::Model => self.fields.for_models,
            Caller::Person => self.fields.for_people,
        }
    }
}

/// A folder whose skill is not in the catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The folder.
    pub source: Source,
    /// Reason why the skill is not in the catalog.
    pub reason: String,
}

/// All skills of this server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    /// Usable skills, sorted by name, with unique names.
    pub skills: Vec<Skill>,
    /// Skipped folders, in lookup order.
    pub skipped: Vec<Skipped>,
}

impl Catalogue {
    /// Returns the skill with this name.
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

/// Reads the front matter of every `SKILL.md`.
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

/// Reads the skill of one source, even if other skills have the same name. The error is the reason why the
/// source has no usable skill.
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

/// Returns the first bytes of a `SKILL.md`. They contain the complete front matter if it is valid.
fn head(skills: &impl Skills, id: u32) -> Result<Vec<u8>, ReadError> {
    let first = skills.read(id, FIRST_READ)?;
    let ended = match front_matter::split(&first) {
        // A final `---` line may be the beginning of a longer line.
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
