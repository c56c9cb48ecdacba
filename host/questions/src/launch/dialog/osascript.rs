//! <https://developer.apple.com/library/archive/documentation/AppleScript/Conceptual/AppleScriptLangGuide/reference/ASLR_cmds.html>
//!
//! The scripts are constant and receive texts as arguments, so that no text is executed as a script. The
//! first argument is always a fixed word, because it must not start with a hyphen.

use super::{DialogError, OTHER, TITLE, lines};
use crate::launch::Call;
use crate::questions::Question;

/// Prefix of a dialog's output, unless it was closed.
const ANSWERED: &str = "answered";

const CHOOSE: [&str; 8] = [
    "on run argv",
    "activate",
    r#"set several to (item 1 of argv) is "several""#,
    "set picked to choose from list (items 4 thru -1 of argv) with title (item 2 of argv) \
     with prompt (item 3 of argv) multiple selections allowed several",
    r#"if picked is false then return "closed""#,
    "set AppleScript's text item delimiters to linefeed",
    r#"return "answered" & linefeed & (picked as text)"#,
    "end run",
];

const OWN_WORDS: [&str; 9] = [
    "on run argv",
    "activate",
    "try",
    "set reply to display dialog (item 3 of argv) with title (item 2 of argv) default answer \"\"",
    "on error number -128",
    r#"return "closed""#,
    "end try",
    r#"return "answered" & linefeed & (text returned of reply)"#,
    "end run",
];

pub(super) fn choose(call: Call, text: &str, question: &Question) -> Call {
    let several = if question.multi_select { "several" } else { "one" };
    let mut call = script(call, &CHOOSE).args([several, TITLE, text]);
    for (number, label, description) in lines(question) {
        let meaning = if description.is_empty() { description } else { format!(" – {description}") };
        call = call.args([format!("{number}. {label}{meaning}")]);
    }
    call
}

pub(super) fn own_words(call: Call, text: &str) -> Call {
    script(call, &OWN_WORDS).args(["text", TITLE, &format!("{text}\n{OTHER}")])
}

pub(super) fn output(exit_code: Option<i32>, text: &str) -> Result<Option<String>, DialogError> {
    if exit_code != Some(0) {
        return Err(DialogError::Failed(exit_code));
    }
    match text.split_once('\n').unwrap_or((text, "")) {
        (ANSWERED, rest) => Ok(Some(rest.to_owned())),
        ("closed", _) => Ok(None),
        (other, _) => Err(DialogError::Unexpected(other.to_owned())),
    }
}

fn script(call: Call, lines: &[&str]) -> Call {
    call.args(lines.iter().flat_map(|line| ["-e", line]))
}
