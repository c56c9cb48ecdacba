//! Arguments that more than one action takes.

use scorpiox_tool_kit::{Args, Failure, args};

/// Longest name of a task, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 500;
/// Longest text of a step, in characters.
pub(crate) const MAX_STEP_CHARS: usize = 4000;
/// Longest query, in characters: no name is longer.
pub(crate) const MAX_QUERY_CHARS: usize = MAX_NAME_CHARS;

/// The number given as `task_id`. Whether such a task exists is another question,
/// and a better error: so any integer is taken.
pub(crate) fn task_id(args: &Args<'_>) -> Result<Option<i64>, Failure> {
    args.integer("task_id", i64::MIN, i64::MAX)
}

/// The number given as `step_id`.
pub(crate) fn step_id(args: &Args<'_>) -> Result<Option<i64>, Failure> {
    args.integer("step_id", i64::MIN, i64::MAX)
}

/// A task's name.
pub(crate) fn name(args: &Args<'_>) -> Result<String, Failure> {
    wording(args, "create needs the name of the task", "a task's name", MAX_NAME_CHARS)
}

/// A step's text.
pub(crate) fn step_text(args: &Args<'_>) -> Result<String, Failure> {
    wording(args, "add needs what the step is", "a step", MAX_STEP_CHARS)
}

/// What `text` says, or `query` where `text` is blank.
fn wording(args: &Args<'_>, needs: &str, what: &str, max: usize) -> Result<String, Failure> {
    for member in ["text", "query"] {
        let value = cleaned(&args.string(member)?.unwrap_or_default());
        if !value.is_empty() {
            return limited(member, value, what, max);
        }
    }
    Err(Failure::InvalidInput(format!("text is missing; {needs}.")))
}

/// The query; empty where nothing is searched for.
pub(crate) fn query(args: &Args<'_>) -> Result<String, Failure> {
    let query = cleaned(&args.string("query")?.unwrap_or_default());
    limited("query", query, "a query", MAX_QUERY_CHARS)
}

/// The id in a cursor such as `before:81`, which a further page is asked for with.
/// `what` says what the cursor counts.
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

/// Without surrounding white space and without control characters other than line
/// breaks and tabs. They are dropped and not refused: what brings them is pasted
/// text (line ends of Windows, colours of a terminal), where the words are what counts.
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
