//! <https://develop.kde.org/docs/administration/kdialog/>

use super::{DialogError, OTHER, TITLE, lines};
use crate::launch::Call;
use crate::questions::Question;

pub(super) fn choose(call: Call, text: &str, question: &Question) -> Call {
    let title = format!("--title={TITLE}");
    let kind = if question.multi_select { "--checklist" } else { "--menu" };
    let mut call = call.args([&title, "--separate-output", kind, &rich(text), "--"]);
    for (number, label, description) in lines(question) {
        let text =
            if description.is_empty() { label.to_owned() } else { format!("{label} – {description}") };
        call = call.args([number, text]);
        if question.multi_select {
            call = call.args(["off"]);
        }
    }
    call
}

pub(super) fn own_words(call: Call, text: &str) -> Call {
    let title = format!("--title={TITLE}");
    call.args([&title, "--inputbox", &rich(&format!("{text}\n{OTHER}")), "--", ""])
}

pub(super) fn output(exit_code: Option<i32>, text: &str) -> Result<Option<String>, DialogError> {
    match exit_code {
        Some(0) => Ok(Some(text.to_owned())),
        Some(1) => Ok(None),
        other => Err(DialogError::Failed(other)),
    }
}

/// Encodes text as HTML, because kdialog guesses whether a text is HTML. kdialog resolves C escapes first,
/// except in list lines.
fn rich(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<qt>{}</qt>", text.replace('\\', r"\\").replace('\n', "<br>"))
}
