//! <https://help.gnome.org/users/zenity/stable/>

use super::{DialogError, OTHER, TITLE, lines};
use crate::launch::Call;
use crate::questions::Question;

/// Exit code of a closed dialog. The default is 1, which also means that no window could be opened.
const CLOSED: i32 = 3;
const CLOSED_ENV: [(&str, &str); 2] = [("ZENITY_CANCEL", "3"), ("ZENITY_ESC", "3")];

pub(super) fn choose(call: Call, text: &str, question: &Question) -> Call {
    let kind = if question.multi_select { "--checklist" } else { "--radiolist" };
    let mut call = common(call, "--list", &markup(text))
        .args([kind, "--column=", "--column=#", "--column=Answer", "--column=Meaning"])
        .args(["--hide-column=2", "--print-column=2", r"--separator=\n", "--width=640", "--height=480"]);
    for (number, label, description) in lines(question) {
        call = call.args(["FALSE", &number, &cell(label), &cell(&description)]);
    }
    call
}

pub(super) fn own_words(call: Call, text: &str) -> Call {
    common(call, "--entry", &mnemonic(&format!("{text}\n{OTHER}")))
}

pub(super) fn output(exit_code: Option<i32>, text: &str) -> Result<Option<String>, DialogError> {
    match exit_code {
        Some(0) => Ok(Some(text.to_owned())),
        Some(CLOSED) => Ok(None),
        other => Err(DialogError::Failed(other)),
    }
}

fn common(mut call: Call, kind: &str, text: &str) -> Call {
    call.env.extend(CLOSED_ENV);
    call.args([kind, &format!("--title={TITLE}"), &format!("--text={text}")])
}

/// Escapes the text of a list, which zenity parses as Pango markup after it resolves C escapes.
fn markup(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('\\', r"\\")
}

/// Protects a cell that starts with a hyphen, which zenity would parse as an option. A preceding `--` would
/// itself become a cell: <https://docs.gtk.org/glib/method.OptionContext.parse.html>.
fn cell(text: &str) -> String {
    if text.starts_with('-') { format!(" {text}") } else { text.to_owned() }
}

/// Escapes the text of an entry, where an underscore marks a mnemonic. zenity resolves C escapes first.
fn mnemonic(text: &str) -> String {
    text.replace('_', "__").replace('\\', r"\\")
}
