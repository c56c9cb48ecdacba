//! Asks a person whether commands may reach a host that the policy does not list.

use scorpiox_capabilities::ask::Asked;
use scorpiox_executor::Cancel;
use scorpiox_questions::{Asker, Questions};
use scorpiox_shell::{HostAnswer, Target};
use scorpiox_text::line::escaped;
use scorpiox_text::shorten;
use serde_json::json;

use crate::Call;

/// Maximum length of the shown beginning of a command in bytes.
const MAX_COMMAND_BYTES: usize = 400;
/// Labels of the answers.
const ALLOW: &str = "Allow while the server runs";
const DENY: &str = "Deny";

/// Asks the question, and waits for the answer.
pub(super) fn ask(call: &Call<'_>, command: &str, (host, port): &Target, withdrawn: &Cancel) -> HostAnswer {
    let command = shorten(escaped(command).into_owned(), MAX_COMMAND_BYTES);
    let text = format!(
        "May commands connect to {host}, port {port}? The policy does not list it.\nThis command runs; one in the \
         background may be the one that connects: {command}"
    );
    let questions = json!([{"question": text, "header": "Network", "options": [ALLOW, DENY]}]);
    let questions = match Questions::parse(&questions.to_string()) {
        Ok(questions) => questions.asked_by(Asker::Policy),
        Err(error) => return HostAnswer::NotAsked(error.to_string()),
    };
    match call.host.ask_about_host(&questions, withdrawn) {
        Asked::Answered(answers) if answers.is_only(ALLOW) => HostAnswer::Allowed,
        Asked::Answered(_) => HostAnswer::Denied,
        Asked::Cancelled | Asked::Later => HostAnswer::NotAsked("the question was withdrawn".to_owned()),
        Asked::NoWay(why) => HostAnswer::NotAsked(why),
    }
}
