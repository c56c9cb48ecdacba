//! The files of a skill: their list, and the text of a file.
//!
//! A model that may not run commands reads the files with the skill tool: `skill_name` is the skill's name
//! and the path of the file, and `arguments` is the first line.

use std::fmt::Write as _;

use scorpiox_tool_kit::Failure;
use scorpiox_tool_kit::args::shown;

use crate::catalogue::Skill;
use crate::invoke::{attribute, contained, cut, origin, reason};
use crate::nearest::nearest;
use crate::{FileList, ReadError, Skills, hygiene};

/// Maximum number of files of a skill that are considered. `MAX_LISTED` is the maximum number in a result.
const MAX_KNOWN: u32 = 1000;
const MAX_LISTED: usize = 50;
/// Maximum length of the list, in characters. `LIST_PART` limits it to a fraction of the result.
const LIST_CHARS: usize = 2000;
const LIST_PART: usize = 8;
/// Maximum size of a file that is read. Larger files are not text for a model.
const MAX_FILE_BYTES: u32 = 1024 * 1024;
/// Characters of a result that are reserved for the text around a file's content, in addition to its path.
const AROUND_CHARS: usize = 500;
/// Minimum number of characters of a file, even if the result has less room.
const MIN_CHARS: usize = 1000;
/// Maximum number of similar files in an error.
const NEAR: usize = 5;
/// Extensions of executable files.
const SCRIPTS: &[&str] = &[
    "sh", "bash", "zsh", "fish", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "lua", "r", "jl", "ps1",
    "bat", "cmd", "wasm",
];

/// Extensions of binary files that occur in skills.
const BINARIES: &[&str] = &[
    "wasm", "png", "jpg", "jpeg", "gif", "webp", "ico", "pdf", "zip", "gz", "tar", "xz", "7z", "docx",
    "xlsx", "pptx", "ttf", "otf", "woff", "woff2", "mp3", "mp4", "wav", "so", "dll", "exe", "pyc", "jar",
    "db", "sqlite",
];

/// Lists the files of a skill for its result, sorted. If not all fit, scripts come first.
pub(crate) fn list(skills: &impl Skills, skill: &Skill) -> Result<String, ReadError> {
    let FileList { mut paths, truncated } = skills.files(skill.source.id, MAX_KNOWN)?;
    if paths.iter().any(|path| is_component(path)) {
        paths.retain(|path| !is_component(path) && !is_of_component(path));
    }
    if paths.is_empty() {
        return Ok(String::new());
    }
    let most = LIST_CHARS.min(skills.room() / LIST_PART);
    let chars: usize = paths.iter().map(|path| row(path).chars().count()).sum();
    let is_capped = truncated || paths.len() > MAX_LISTED || chars > most;
    if is_capped {
        paths.sort_by_key(|path| !is_script(path));
    }
    let example = paths.iter().find(|path| !is_binary(path)).map(|path| hygiene::line(path).text);
    let mut text = "\nFiles:".to_owned();
    let mut left = most;
    let mut listed = 0;
    for path in paths.iter().take(MAX_LISTED) {
        let row = row(path);
        let Some(rest) = left.checked_sub(row.chars().count()) else { break };
        left = rest;
        listed += 1;
        text.push_str(&row);
    }
    if truncated || paths.len() > listed {
        text.push_str("\n… and more");
    }
    if let Some(example) = example {
        let tool = skills.tool_name("InvokeSkill");
        let _ = write!(
            text,
            "\nTo read one, invoke {tool} with a skill_name such as \"{}/{example}\".",
            skill.name
        );
    }
    text.push_str(
        "\nPaths in the skill are relative to its folder. Commands start in the workspace: give them whole paths.",
    );
    Ok(text)
}

/// Returns `true` if the file is the component of the skill.
fn is_component(path: &str) -> bool {
    !path.contains('/') && ending(path).as_deref() == Some("wasm")
}

/// Returns `true` if the file belongs to a component. The host reads these files, and models do not need
/// them.
fn is_of_component(path: &str) -> bool {
    path == "plugin.toml" || path.starts_with("plugin.hash") || path.starts_with("wit/")
}

fn is_binary(path: &str) -> bool {
    ending(path).is_some_and(|ending| BINARIES.contains(&ending.as_str()))
}

fn ending(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase())
}

fn row(path: &str) -> String {
    format!("\n- {}", hygiene::line(path).text)
}

fn is_script(path: &str) -> bool {
    let is_in_scripts = path.split('/').rev().skip(1).any(|folder| folder == "scripts" || folder == "bin");
    is_in_scripts || ending(path).is_some_and(|ending| SCRIPTS.contains(&ending.as_str()))
}

/// Returns the text of a file, starting at the line `from`.
pub(crate) fn read(skills: &impl Skills, skill: &Skill, path: &str, from: &str) -> Result<String, Failure> {
    let name = hygiene::line(path).text;
    let first = first_line(from)?;
    let bytes = match skills.read_file(skill.source.id, path, MAX_FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(ReadError::NotFound) => return Err(Failure::NotFound(absent(skills, skill, path))),
        Err(error) => return Err(Failure::Failed(format!("{name} cannot be read: {}.", reason(&error)))),
    };
    let folder = hygiene::line(&skill.source.path).text;
    let Ok(text) = str::from_utf8(&bytes) else {
        let size = bytes.len();
        return Err(Failure::Failed(format!(
            "{name} is no text ({size} bytes). For commands its path is {folder}/{name}."
        )));
    };
    let count = text.lines().count();
    if first > count.max(1) {
        return Err(Failure::InvalidInput(format!(
            "arguments is {first}, the line to begin at; {name} has {}.",
            if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }
        )));
    }
    Ok(shown_from(skills, skill, &name, text, first))
}

fn first_line(from: &str) -> Result<usize, Failure> {
    match from.trim() {
        "" => Ok(1),
        text => text.parse().ok().filter(|line| *line > 0).ok_or_else(|| {
            Failure::InvalidInput(format!(
                "arguments is {:?}; for a file of a skill it is the number of the line to begin at, such as 120.",
                shown(&hygiene::line(text).text)
            ))
        }),
    }
}

fn shown_from(skills: &impl Skills, skill: &Skill, name: &str, text: &str, first: usize) -> String {
    let start = text.split_inclusive('\n').take(first - 1).map(str::len).sum();
    let rest = &text[start..];
    let room = skills.room().saturating_sub(AROUND_CHARS + 2 * name.chars().count()).max(MIN_CHARS);
    let end = cut(rest, room);
    let cleaned = hygiene::text(&rest[..end]);
    let mut result = format!(
        "<skill_file skill=\"{}\" path=\"{}\">\n{}\n</skill_file>",
        attribute(&skill.name),
        attribute(name),
        contained(&cleaned.text)
    );
    if end < rest.len() {
        let next = first + rest[..end].matches('\n').count();
        // Reading cannot resume within a line that is longer than a result.
        let cut = if rest[..end].ends_with('\n') { "" } else { " within a line" };
        let _ = write!(
            result,
            "\nNote: The file goes on; it was cut{cut}. For the rest give the same skill_name and arguments \"{}\".",
            next + usize::from(!cut.is_empty())
        );
    }
    if cleaned.stripped {
        result.push_str("\nNote: Control or invisible characters were removed.");
    }
    result + origin(skill)
}

fn absent(skills: &impl Skills, skill: &Skill, path: &str) -> String {
    let mut text =
        format!("The skill {:?} has no file {:?}.", shown(&skill.name), shown(&hygiene::line(path).text));
    let known = skills.files(skill.source.id, MAX_KNOWN).map(|list| list.paths).unwrap_or_default();
    let known: Vec<String> = known.iter().map(|path| hygiene::line(path).text).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    match known.as_slice() {
        [] => text.push_str(" It has none but SKILL.md."),
        known => {
            let _ = write!(text, " Nearest: {}.", nearest(path, known, NEAR).join(", "));
        }
    }
    text
}
