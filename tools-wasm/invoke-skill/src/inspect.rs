//! Checks of a skill's instructions for its author. The catalog does not read the instructions.

use crate::catalogue::{self, Skill};
use crate::{MAX_SKILL_BYTES, Skills, front_matter, hygiene, invoke, links};

/// Maximum number of lines of instructions that the format recommends.
const MAX_LINES: usize = 500;
/// Variables that have a value only for some skills, and for which skills.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "CLAUDE_SESSION_ID",
        "it has a value where Claude Code started the server, and stays as written elsewhere",
    ),
    (
        "CLAUDE_PLUGIN_ROOT",
        "it has a value in a plugin that is enabled in Claude Code, and stays as written elsewhere",
    ),
];

/// Result of inspecting a skill.
#[derive(Debug, PartialEq, Eq)]
pub struct Inspection {
    /// Text of the invocation with these arguments.
    pub text: String,
    /// Problems of the instructions.
    pub warnings: Vec<String>,
}

/// Inspects the skill of a source. The error is the reason why the skill cannot be invoked.
pub fn inspect(skills: &impl Skills, id: u32, arguments: &str) -> Result<Inspection, String> {
    let skill = catalogue::one(skills, id)?;
    let given = invoke::give(skills, &skill, arguments).map_err(|failure| failure.to_string())?;
    // One extra byte shows that the file is larger than the limit.
    let bytes = skills.read(id, MAX_SKILL_BYTES + 1).map_err(|error| invoke::reason(&error))?;
    let body = front_matter::split(&bytes).map_err(|refusal| refusal.to_string())?.body;
    let body = String::from_utf8_lossy(&bytes[body..]);
    let mut warnings = Vec::new();
    if bytes.len() > MAX_SKILL_BYTES as usize {
        warnings.push(format!("SKILL.md has more than {MAX_SKILL_BYTES} bytes; no tool reads the rest"));
    } else if given.is_cut {
        warnings.push(
            "the instructions are longer than a result: models have to read the rest from the file"
                .to_owned(),
        );
    }
    warnings.extend(given.unknown.iter().map(|name| unknown(name)));
    warnings.extend(given.notes.iter().map(|note| note.trim_end_matches('.').to_owned()));
    of_body(&body, &skill, &mut warnings);
    links::check(skills, &skill, &body, &mut warnings);
    Ok(Inspection { text: given.text, warnings })
}

fn unknown(name: &str) -> String {
    let elsewhere = ELSEWHERE.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
    format!("${{{name}}}: {}", elsewhere.unwrap_or("this server does not know it; it stays as written"))
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
            let name = hygiene::line(name).text;
            warnings.push(format!("the argument {name:?} has no place ${name} in the instructions"));
        }
    }
}
