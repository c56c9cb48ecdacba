//! Arguments of several actions.

use scorpiox_tool_kit::{Args, Failure, args};

/// Maximum length of a task's name, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 500;
/// Maximum length of a step's text, in characters.
pub(crate) const MAX_STEP_CHARS: usize = 4000;
/// Maximum length of a query, in characters: no name is longer.
pub(crate) const MAX_QUERY_CHARS: usize = MAX_NAME_CHARS;

/// Returns the `task_id`. Any integer is accepted, because the error for a missing task is more helpful than
/// a range error.
pub(crate) fn task_id(args: &Args<'_>) -> Result<Option<i64>, Failure> {
    args.integer("task_id", i64::MIN, i64::MAX)
}

/// Returns the `step_id`.
pub(crate) fn step_id(args: &Args<'_>) -> Result<Option<i64>, Failure> {
    args.integer("step_id", i64::MIN, i64::MAX)
}

/// Returns a task's name.
pub(crate) fn name(args: &Args<'_>) -> Result<String, Failure> {
    wording(args, "create needs the name of the task", "a task's name", MAX_NAME_CHARS)
}

/// Returns a task's new name. It is never taken from `query`, which may select the task.
pub(crate) fn new_name(args: &Args<'_>) -> Result<String, Failure> {
    new_wording(args, "a task's name", MAX_NAME_CHARS)
}

/// Returns a step's new text.
pub(crate) fn new_step_text(args: &Args<'_>) -> Result<String, Failure> {
    new_wording(args, "a step", MAX_STEP_CHARS)
}

fn new_wording(args: &Args<'_>, what: &str, max: usize) -> Result<String, Failure> {
    let value = cleaned(&args.string("text")?.unwrap_or_default());
    if value.is_empty() {
        return Err(Failure::InvalidInput("text is missing; rename needs the new words in it.".to_owned()));
    }
    limited("text", value, what, max)
}

/// Returns a step's text.
pub(crate) fn step_text(args: &Args<'_>) -> Result<String, Failure> {
    wording(args, "add needs what the step is", "a step", MAX_STEP_CHARS)
}

/// Returns `text`, or `query` if `text` is blank.
fn wording(args: &Args<'_>, needs: &str, what: &str, max: usize) -> Result<String, Failure> {
    for member in ["text", "query"] {
        let value = cleaned(&args.string(member)?.unwrap_or_default());
        if !value.is_empty() {
            return limited(member, value, what, max);
        }
    }
    Err(Failure::InvalidInput(format!("text is missing; {needs}.")))
}

/// Returns the query; empty if it is missing.
pub(crate) fn query(args: &Args<'_>) -> Result<String, Failure> {
    let query = cleaned(&args.string("query")?.unwrap_or_default());
    limited("query", query, "a query", MAX_QUERY_CHARS)
}

/// Returns the ID in a cursor such as `before:81`, which requests another page. `what` names the counted
/// items in the error.
pub(crate) fn cursor(args: &Args<'_>, word: &str, what: &str) -> Result<Option<u32>, Failure> {
    let Some(text) = args.trimmed("text")? else { return Ok(None) };
    let digits = text.strip_prefix(word).and_then(|rest| rest.strip_prefix(':'));
    let id = digits.filter(|d| d.bytes().all(|b| b.is_ascii_digit())).and_then(|d| d.parse().ok());
    id.map(Some).ok_or_else(|| {
        Failure::InvalidInput(format!(
            "text {:?} is not a place to go on from; {what} go on from \"{word}:<id>\" as a page before gave it. Leave text out for the first page.",
            args::shown(&text)
        ))
    })
}

/// Removes surrounding whitespace, and control characters other than line breaks and tabs. They are dropped
/// and not refused, because they come from pasted text (Windows line ends, terminal colors), in which only
/// the words matter.
fn cleaned(text: &str) -> String {
    let kept: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    kept.trim().to_owned()
}

fn limited(member: &str, value: String, what: &str, max: usize) -> Result<String, Failure> {
    let length = value.chars().count();
    if length > max {
        return Err(Failure::InvalidInput(format!(
            "{member} has {length} characters; {what} has at most {max}. Shorten it: {:?}",
            args::shown(&value)
        )));
    }
    Ok(value)
}
