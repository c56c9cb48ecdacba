//! What an author is told of a skill's instructions, which the catalogue does not read.

use crate::catalogue::{self, Skill};
use crate::{MAX_SKILL_BYTES, Skills, front_matter, hygiene, invoke};

/// Most lines of instructions that the format advises.
const MAX_LINES: usize = 500;
/// Most files of a skill that its links are compared with, and most links that are named.
const MAX_FILES: u32 = 1000;
const MAX_LINKS: usize = 10;

/// A skill as a model gets it.
#[derive(Debug, PartialEq, Eq)]
pub struct Inspection {
    /// What a model gets that invokes it without arguments.
    pub text: String,
    /// What is wrong with the instructions.
    pub warnings: Vec<String>,
}

/// Inspects the skill that was read from a source; an error says why it cannot be invoked.
pub fn inspect(skills: &impl Skills, id: u32) -> Result<Inspection, String> {
    let catalogue = catalogue::read(skills);
    let skill = catalogue.skills.iter().find(|skill| skill.source.id == id);
    let skill = skill.ok_or_else(|| "it is none of the skills".to_owned())?;
    let given = invoke::give(skills, skill, "").map_err(|failure| failure.to_string())?;
    let bytes = skills.read(id, MAX_SKILL_BYTES).map_err(|error| invoke::reason(&error))?;
    let body = front_matter::split(&bytes).map_err(|refusal| refusal.to_string())?.body;
    let body = String::from_utf8_lossy(&bytes[body..]);
    let mut warnings = Vec::new();
    if given.is_cut {
        warnings.push(
            "the instructions are longer than a result: models have to read the rest from the file"
                .to_owned(),
        );
    }
    for name in given.unknown {
        warnings.push(format!("${{{name}}} stays as written: this server does not know it"));
    }
    of_body(&body, skill, &mut warnings);
    missing_links(skills, skill, &body, &mut warnings);
    Ok(Inspection { text: given.text, warnings })
}

fn of_body(body: &str, skill: &Skill, warnings: &mut Vec<String>) {
    if body.trim().is_empty() {
        warnings.push("there are no instructions after the front matter".to_owned());
    }
    let lines = body.lines().count();
    if lines > MAX_LINES {
        warnings.push(format!(
            "the instructions have {lines} lines; the format advises fewer than {MAX_LINES}, and files for the rest"
        ));
    }
    if body.contains("!`") {
        warnings.push("commands (!`…`) are never executed; they stay as written".to_owned());
    }
    for name in &skill.fields.arguments {
        if !body.contains(&format!("${name}")) {
            warnings.push(format!("the argument {name:?} has no place ${name} in the instructions"));
        }
    }
}

/// Files that the instructions link to and that are not there.
fn missing_links(skills: &impl Skills, skill: &Skill, body: &str, warnings: &mut Vec<String>) {
    let Ok(list) = skills.files(skill.source.id, MAX_FILES) else { return };
    if list.truncated {
        return;
    }
    let is_there = |target: &str| {
        let path = target.trim_start_matches("./");
        let folder = format!("{}/", path.trim_end_matches('/'));
        list.paths.iter().any(|known| known == path || known.starts_with(&folder)) || path == "SKILL.md"
    };
    let links = body.split("](").skip(1).filter_map(|rest| rest.split([')', ' ', '\n', '#']).next());
    let is_file = |target: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
        !target.is_empty()
            && !target.starts_with(['/', '-'])
            && !target.contains("..")
            && target.chars().all(is_plain)
    };
    let mut missing: Vec<&str> = links.filter(is_file).filter(|target| !is_there(target)).collect();
    missing.sort_unstable();
    missing.dedup();
    for target in missing.into_iter().take(MAX_LINKS) {
        warnings.push(format!("it links to {}, which is not in its folder", hygiene::line(target).text));
    }
}
