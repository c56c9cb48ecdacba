//! Reports about skills for users: `skills list`, `skills show`, `skills check`, and `doctor`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use scorpiox_runtime::bindings::skill_reader::exports::scorpiox::tool::skill_catalogue::{Inspection, Skill};
use scorpiox_terminal::{Shown, columns, rows, wrapped};
use scorpiox_workspace_config::marketplace_faults;

use crate::skills::library::Library;

/// Maximum number of rows of a description.
const MOST_ROWS: usize = 24;
/// Maximum number of skills named in a remark about several.
const MOST_NAMES: usize = 5;
/// Maximum number of names to look at in a folder of a repository.
const MOST_ENTRIES: usize = 1000;
/// Description in the template of `skills new`.
const PLACEHOLDER: &str = "(say when, in the words that people use for it)";
/// Approximate number of ASCII characters in a token. Each other character counts as one token.
const TOKEN_CHARS: usize = 4;

/// A row of `doctor`.
#[derive(Debug, PartialEq, Eq)]
pub enum Finding {
    /// The skill works.
    Good(String),
    /// The skill works differently than the user may expect.
    Note(String),
}

/// Lists all skills, each with the description by which models choose it.
pub fn list(library: &Library<'_>) -> Shown {
    let skills = &library.catalogue.skills;
    let mut out = String::new();
    for skill in skills {
        say(&mut out, 0, &format!("{}, {}{}", skill.name, library.whose(skill), audience(skill)));
        match &skill.listed {
            Some(listed) => rows(&mut out, "    ", described(skill, listed), MOST_ROWS),
            None => say(&mut out, 4, "models are not told of it"),
        }
        let warnings = skill.warnings.len() + skill.ignored.len();
        if warnings > 0 {
            let said = counted(warnings, "warning");
            say(&mut out, 4, &format!("{said} about its front matter: see `skills show {}`", skill.name));
        }
    }
    for skipped in &library.catalogue.skipped {
        say(&mut out, 0, &format!("{} is skipped: {}", skipped.path, skipped.reason));
    }
    if !skills.is_empty() {
        out.push('\n');
    }
    say(&mut out, 0, &summary(library));
    Shown::text(&out)
}

/// Returns the description after a skill's name, as a model sees it.
fn described<'a>(skill: &Skill, listed: &'a str) -> &'a str {
    let after = listed.strip_prefix(skill.name.as_str()).unwrap_or(listed);
    match after.strip_prefix(": ") {
        Some(described) => described,
        None => "(its name alone)",
    }
}

fn summary(library: &Library<'_>) -> String {
    let skills = &library.catalogue.skills;
    if skills.is_empty() {
        let folders: Vec<_> = library.folders().roots().map(|(path, _)| path.display().to_string()).collect();
        return format!("no skills; they are looked for in {}", folders.join(", "));
    }
    let for_models = skills.iter().filter(|skill| skill.for_models).count();
    let is_whole = |skill: &&Skill| {
        skill.listed.as_ref().is_some_and(|listed| described(skill, listed) == skill.description)
    };
    let whole = skills.iter().filter(is_whole).count();
    let mut text = format!("{}, {for_models} for models", counted(skills.len(), "skill"));
    if whole == for_models {
        text.push_str("; models see their full descriptions");
    } else {
        let more = library.catalogue.more.len();
        let _ = write!(
            text,
            "; InvokeSkill's description has {whole} of their descriptions whole, the server's instructions {more} more"
        );
    }
    text
}

fn audience(skill: &Skill) -> &'static str {
    match (skill.for_models, skill.for_people) {
        (true, true) => "",
        (true, false) => ", only for models",
        (false, true) => ", only for people",
        (false, false) => ", for nobody",
    }
}

/// Shows a skill as a model sees it, with its result for these arguments; `None` if it does not exist.
pub fn show(library: &Library<'_>, name: &str, arguments: &str) -> Option<Shown> {
    let skill = library.catalogue.skills.iter().find(|skill| skill.name == name)?;
    let mut out = String::new();
    say(&mut out, 0, &format!("{}, {}{}", skill.name, library.whose(skill), audience(skill)));
    if let Some(source) = library.source(skill) {
        say(&mut out, 2, &format!("file: {}", source.path.join(source.file).display()));
    }
    for argument in &skill.arguments {
        say(&mut out, 2, &format!("argument: {argument}"));
    }
    if let Some(hint) = &skill.argument_hint {
        say(&mut out, 2, &format!("arguments as its author hints: {hint}"));
    }
    let inspected = library.inspect(skill, arguments);
    remarks(&mut out, skill, inspected.as_ref().ok());
    match &skill.listed {
        Some(listed) => {
            say(&mut out, 2, &format!("among InvokeSkill's skills, {}:", size(listed)));
            rows(&mut out, "    ", listed, MOST_ROWS);
        }
        None => say(&mut out, 2, "InvokeSkill does not list it"),
    }
    Some(match inspected {
        Ok(Inspection { text, .. }) => {
            say(&mut out, 2, &format!("{}, {}:", given(skill), size(&text)));
            Shown::text(&out).and(&Shown::text("\n")).and(&Shown::said(&text))
        }
        Err(why) => {
            say(&mut out, 2, &format!("it cannot be invoked: {why}"));
            Shown::text(&out)
        }
    })
}

/// Describes the recipient of the text shown.
fn given(skill: &Skill) -> &'static str {
    match (skill.for_models, skill.for_people) {
        (true, _) => "what a model gets that invokes it",
        (false, true) => "what a model gets when a person picks it as a prompt",
        (false, false) => "what it would give, if somebody could invoke it",
    }
}

/// Result of the checks that the installers of skills and plugins make.
#[derive(Debug, Default)]
pub struct Installable {
    /// Reason why the component in the skill's folder cannot run.
    pub component: Option<String>,
    /// Warnings about files and names.
    pub warnings: Vec<String>,
}

/// Checks the skills of a folder, and returns `true` if all of them work.
///
/// `installable` makes the checks of an installation, for a skill's name and folder.
pub fn check(
    library: &Library<'_>,
    folder: &Path,
    installable: impl Fn(&str, &Path) -> Installable,
) -> (Shown, bool) {
    let catalogue = &library.catalogue;
    let mut out = String::new();
    let (mut errors, mut warnings) = (0, 0);
    let mut fails = |out: &mut String, what: String| {
        errors += 1;
        say(out, 0, &format!("error: {what}"));
    };
    for skipped in &catalogue.skipped {
        fails(&mut out, format!("{}: {}", skipped.path, skipped.reason));
    }
    for skill in &catalogue.skills {
        let inspected = library.inspect(skill, "");
        match &inspected {
            Ok(Inspection { text, .. }) => say(&mut out, 0, &sizes(skill, text)),
            Err(why) => fails(&mut out, format!("{}: it cannot be invoked: {why}", skill.name)),
        }
        warnings += remarks(&mut out, skill, inspected.as_ref().ok());
        let file = library.source(skill).map(|source| source.path.join(source.file));
        if let Some((file, end)) = file.and_then(|file| Some((file.clone(), fs::read_link(file).ok()?))) {
            say(&mut out, 2, &format!("{} is a link to {}", file.display(), end.display()));
        }
        let checked = library.source(skill).map(|source| installable(&skill.name, &source.path));
        let Installable { component, warnings: others } = checked.unwrap_or_default();
        warnings += others.len();
        for warning in others {
            say(&mut out, 2, &format!("warning: {warning}"));
        }
        if let Some(why) = component {
            fails(&mut out, format!("{}: its component cannot run: {why}", skill.name));
        }
    }
    for (file, why) in library.folders().beyond() {
        warnings += 1;
        say(&mut out, 0, &format!("warning: {} is not used: {why}", file.display()));
    }
    for fault in of_repository(library, folder) {
        warnings += 1;
        say(&mut out, 0, &format!("warning: {fault}"));
    }
    if catalogue.skills.is_empty() && catalogue.skipped.is_empty() {
        let folder = folder.display();
        let none = "is no skill and has none: there is no SKILL.md in it, nor in a folder in it";
        fails(&mut out, format!("{folder} {none}"));
    }
    let (skills, said) = (counted(catalogue.skills.len(), "skill"), counted(errors, "error"));
    say(&mut out, 0, &format!("{skills}, {said}, {}", counted(warnings, "warning")));
    (Shown::text(&out), errors == 0)
}

/// Returns what a folder has as a repository and nothing is read of, as sentences without a full stop.
pub fn of_repository(library: &Library<'_>, folder: &Path) -> Vec<String> {
    let is_here = |skill: &Skill| library.source(skill).is_some_and(|source| source.path == folder);
    let holds = |name: &str| {
        let entries = fs::read_dir(folder.join(name)).into_iter().flatten().flatten();
        entries
            .take(MOST_ENTRIES)
            .any(|entry| ["SKILL.md", "skills"].iter().any(|part| entry.path().join(part).exists()))
    };
    let hidden: Vec<_> = ["skills", "plugins"].into_iter().filter(|name| holds(name)).collect();
    if !hidden.is_empty() && library.catalogue.skills.iter().any(is_here) {
        return vec![format!(
            "{} is a skill itself, so the skills below it are not read ({}/); move its SKILL.md into skills/NAME/",
            folder.display(),
            hidden.join("/, ")
        )];
    }
    marketplace_faults(folder)
}

/// Describes the size of a skill in a model's context: in the list, and when invoked.
fn sizes(skill: &Skill, invoked: &str) -> String {
    let listed = size(&format!("{}: {}", skill.name, skill.description));
    format!("{}: in the list {listed}; invoked {}{}", skill.name, size(invoked), audience(skill))
}

/// Appends warnings about a skill that works, and returns their number.
fn remarks(out: &mut String, skill: &Skill, inspection: Option<&Inspection>) -> usize {
    let of_instructions = inspection.map(|inspection| inspection.warnings.as_slice()).unwrap_or_default();
    let warnings = skill.warnings.iter().chain(of_instructions).map(|warning| format!("warning: {warning}"));
    let ignored =
        skill.ignored.iter().map(|field| format!("warning: {} is ignored: {}", field.key, field.why));
    let unwritten = skill.description.contains(PLACEHOLDER).then(|| {
        "warning: its description is still that of the template; say when to use the skill".to_owned()
    });
    let all: Vec<String> = warnings.chain(ignored).chain(unwritten).collect();
    for remark in &all {
        say(out, 2, remark);
    }
    all.len()
}

/// Returns the rows of `doctor`: one per skill, and one per ignored front matter member.
pub fn findings(library: &Library<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut ignored: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for skill in &library.catalogue.skills {
        let path = library.source(skill).map(|source| source.path.display().to_string()).unwrap_or_default();
        found.push(Finding::Good(format!("{} ({path}){}", skill.name, audience(skill))));
        let warnings = skill.warnings.iter().map(|warning| format!("{}: {warning}", skill.name));
        found.extend(warnings.map(Finding::Note));
        for field in &skill.ignored {
            ignored.entry((&field.key, &field.why)).or_default().push(&skill.name);
        }
    }
    for ((key, why), names) in ignored {
        found.push(Finding::Note(format!("{key} in {} is ignored: {why}", among(&names))));
    }
    for skipped in &library.catalogue.skipped {
        found.push(Finding::Note(format!("{} is skipped: {}", skipped.path, skipped.reason)));
    }
    for (file, why) in library.folders().beyond() {
        found.push(Finding::Note(format!("{} is not used: {why}", file.display())));
    }
    for link in library.folders().unfollowed() {
        let link = link.display();
        found.push(Finding::Note(format!(
            "{link} is a symbolic link, and those of a workspace are not followed"
        )));
    }
    for left in library.folders().left_out() {
        found.push(Finding::Note(format!(
            "skills of Claude Code's plugin {} are not read: {}; to read them, add {} to ADDITIONAL_SKILLS",
            left.name,
            left.why,
            left.skills.display()
        )));
    }
    if library.catalogue.skills.is_empty() {
        found.push(Finding::Note(summary(library)));
    }
    found
}

/// Joins the names of skills, up to a limit.
fn among(names: &[&str]) -> String {
    match names {
        [one] => (*one).to_owned(),
        several if several.len() <= MOST_NAMES => several.join(", "),
        several => {
            let more = several.len() - MOST_NAMES;
            format!("{} and {more} more", several[..MOST_NAMES].join(", "))
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Describes the length of a text for users and for models.
fn size(text: &str) -> String {
    let ascii = text.chars().filter(char::is_ascii).count();
    let chars = text.chars().count();
    format!("{chars} characters (about {} tokens)", ascii.div_ceil(TOKEN_CHARS) + chars - ascii)
}

/// Appends a sentence, with a hanging indent.
fn say(out: &mut String, indent: usize, text: &str) {
    let text = text.replace('\n', " ");
    for (index, piece) in wrapped(&text, columns() - indent - 2).into_iter().enumerate() {
        let indent = if index == 0 { indent } else { indent + 2 };
        let _ = writeln!(out, "{}{piece}", " ".repeat(indent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_for_people_and_models() {
        assert_eq!(size("four four"), "9 characters (about 3 tokens)");
        assert_eq!(size("漢字"), "2 characters (about 2 tokens)");
    }

    #[test]
    fn no_more_than_some_skills_are_named() {
        assert_eq!(among(&["a"]), "a");
        assert_eq!(among(&["a", "b", "c", "d", "e"]), "a, b, c, d, e");
        assert_eq!(among(&["a", "b", "c", "d", "e", "f", "g"]), "a, b, c, d, e and 2 more");
    }

    #[test]
    fn a_long_sentence_goes_on_further_in() {
        let mut out = String::new();
        say(&mut out, 2, &format!("one\ntwo {}", "word ".repeat(20)));
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[0].starts_with("  one two word") && lines[1].starts_with("    word"), "{out}");
        assert!(lines.iter().all(|line| line.len() <= 80), "{out}");
    }
}
