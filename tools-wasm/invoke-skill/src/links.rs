//! Checks files that instructions refer to in links, code spans and commands.
//!
//! Recognized paths have the forms that authors use in Markdown: `[a](a.md)`, a path in a code span, a word
//! of a command. The result only advises the author, so doubtful cases are ignored.

use std::collections::BTreeSet;

use crate::catalogue::{SKILL_FILE, Skill};
use crate::{Skills, hygiene};

/// Maximum number of files of a skill that paths are compared with. `MAX_NAMED` is the maximum number of
/// warnings.
const MAX_FILES: u32 = 1000;
const MAX_NAMED: usize = 10;
/// Standard folders of the format. A path in code that begins with one refers to a file of the skill.
const FOLDERS: [&str; 3] = ["scripts", "references", "assets"];
/// Prefix of paths in commands that work independently of the skill's location.
const SKILL_DIR: &str = "${CLAUDE_SKILL_DIR}/";

/// Warns about missing files, files outside of the skill, and paths that commands would resolve elsewhere.
pub(crate) fn check(skills: &impl Skills, skill: &Skill, body: &str, warnings: &mut Vec<String>) {
    let Ok(list) = skills.files(skill.source.id, MAX_FILES) else { return };
    if list.truncated {
        return;
    }
    let known = Known(list.paths);
    let mut found = BTreeSet::new();
    found.extend(linked(body).filter_map(|target| known.link(&target)));
    found.extend(commands(body).flat_map(|command| known.command(command)));
    let said = found.into_iter().take(MAX_NAMED).map(|warning| hygiene::line(&warning).text);
    warnings.extend(said);
}

/// Files of a skill.
struct Known(Vec<String>);

impl Known {
    /// Returns the problem with a link's target.
    fn link(&self, target: &str) -> Option<String> {
        let target = target.split(['#', '?']).next().unwrap_or_default();
        if target.is_empty() || is_address(target) {
            return None;
        }
        if target.starts_with('/') || target.split('/').any(|part| part == "..") {
            return Some(format!("it links to {target}, which is outside of its folder"));
        }
        (!self.has(target)).then(|| format!("it links to {target}, which is not in its folder"))
    }

    /// Returns the problems with paths in a code span or a line of code.
    fn command(&self, command: &str) -> Vec<String> {
        let words: Vec<&str> = command.split_whitespace().collect();
        let one = |(at, word): (usize, &&str)| {
            let word = word.trim_matches(|c| matches!(c, '"' | '\'' | '`' | '(' | ')' | ',' | ';' | ':'));
            if let Some(path) = word.strip_prefix(SKILL_DIR) {
                return (!self.has(path)).then(|| format!("it names {path}, which is not in its folder"));
            }
            let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
            if !word.chars().all(is_plain) || word.starts_with(['/', '-']) || word.contains("..") {
                return None;
            }
            let is_run = at > 0 || word.starts_with("./");
            match self.has(word) {
                true if is_run && word.trim_start_matches("./").contains('/') => Some(format!(
                    "`{command}`: commands start in the workspace and do not find {word}; write {SKILL_DIR}{}",
                    word.trim_start_matches("./")
                )),
                false if is_in_folder(word) => Some(format!("it names {word}, which is not in its folder")),
                _ => None,
            }
        };
        words.iter().enumerate().filter_map(one).collect()
    }

    fn has(&self, target: &str) -> bool {
        let path = target.trim_start_matches("./").trim_end_matches('/');
        let folder = format!("{path}/");
        let is_it = |known: &String| known == path || known.starts_with(&folder);
        path.is_empty() || path == SKILL_FILE || self.0.iter().any(is_it)
    }
}

/// Returns `true` for a file path in one of the format's folders.
fn is_in_folder(word: &str) -> bool {
    let path = word.trim_start_matches("./");
    let (folder, file) = path.split_once('/').unwrap_or_default();
    FOLDERS.contains(&folder) && file.rsplit('/').next().is_some_and(|name| name.contains('.'))
}

/// Returns `true` if a link's target begins with a URL scheme.
fn is_address(target: &str) -> bool {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    })
}

/// Returns the decoded targets of links and images.
fn linked(body: &str) -> impl Iterator<Item = String> + '_ {
    body.split("](").skip(1).filter_map(|rest| {
        let target = match rest.strip_prefix('<') {
            Some(rest) => rest.split_once('>')?.0,
            // Quoted text is the link's title.
            None => rest.split([')', '"', '\'', '\n']).next()?.trim_end(),
        };
        // Targets with placeholders depend on the arguments.
        (!target.contains(['$', '{', '`'])).then(|| decoded(target))
    })
}

/// Decodes percent escapes such as `%20`.
fn decoded(target: &str) -> String {
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| str::from_utf8(code).ok());
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the code spans, and the lines of code blocks.
fn commands(body: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    body.lines().flat_map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        let found: Vec<&str> = match (is_fence, is_code) {
            (true, _) => Vec::new(),
            (false, true) => vec![line.trim()],
            // Every other piece between backticks is code.
            (false, false) => line.split('`').skip(1).step_by(2).collect(),
        };
        found
    })
}
