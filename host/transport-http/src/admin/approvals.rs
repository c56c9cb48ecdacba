//! Page of an approver: the calls that wait for the approver's answer, and the form that answers one of them.

use askama::Template;
use scorpiox_approvals::{Request, shown};
use scorpiox_audit::time;
use scorpiox_policy::CallRule;
use scorpiox_text::line::escaped;

use super::approving::{ApproverId, InForce, Question, of};
use super::{Frame, rendered};
use crate::pages::Page;

/// Maximum number of calls shown, oldest first.
const MOST: usize = 50;

/// Longer approvals, by their word in a policy.
const OFFERS: [(&str, &str); 2] = [
    ("workspace", "Approve it in this workspace, until it is revoked"),
    ("always", "Approve it for this caller in all workspaces, until it is revoked"),
];

/// Outcome of an answer, as the page says it.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) done: Option<String>,
    pub(crate) mistake: Option<String>,
}

#[derive(Template)]
#[template(path = "approvals.html")]
struct Approvals<'a> {
    frame: Frame<'a>,
    name: &'a str,
    done: Option<String>,
    mistake: Option<String>,
    /// Number of calls that are not shown; `None` on the page of a single call.
    list: Option<usize>,
    cards: Vec<Card>,
}

/// A call that waits.
struct Card {
    number: u64,
    tool: String,
    /// Exact arguments, or the reason why they cannot be shown.
    arguments: Result<Vec<String>, String>,
    rules: Vec<Rule>,
    caller: String,
    client: String,
    workspace: String,
    /// Number of equal calls.
    calls: usize,
    asked: String,
    age: String,
    left: String,
    is_command: bool,
    /// Longer approvals that the rules offer: the value in the form, and the words for it.
    offers: Vec<(&'static str, &'static str)>,
    /// Stands for the call in the form.
    shown: String,
}

struct Rule {
    /// Name, with file and line.
    name: String,
    reason: Option<String>,
    /// Text that the approval is bound to.
    lines: Vec<String>,
}

/// Makes the page of an approver: with one call and the form, or with all calls.
pub(crate) fn page(
    in_force: &InForce,
    id: &ApproverId,
    number: Option<u64>,
    status: u16,
    said: Said,
) -> Page {
    let Said { done, mut mistake } = said;
    let mut cards = Vec::new();
    let mut more = 0;
    let listed = in_force.requests().and_then(|requests| requests.list().map_err(|error| error.to_string()));
    match listed {
        Ok(listed) => in_force.waiting(&listed.requests, listed.now, id, |question| {
            if number.is_some_and(|number| question.request.number != number) {
                return;
            }
            if cards.len() < MOST {
                cards.push(Card::of(question, listed.now));
            } else {
                more += 1;
            }
        }),
        Err(why) => mistake = Some(format!("Approvals cannot be read: {why}")),
    }
    if let Some(number) = number
        && cards.is_empty()
        && done.is_none()
        && mistake.is_none()
    {
        mistake = Some(format!("Approval {number} does not wait for your answer."));
    }
    let list = number.is_none().then_some(more);
    let frame = Frame::of_approver("Approvals", &id.name);
    rendered(status, &Approvals { frame, name: &id.name, done, mistake, list, cards })
}

impl Card {
    fn of(question: &Question<'_>, now: u64) -> Self {
        let Question { request, rules } = question;
        let Request { number, wanted, asked, .. } = request;
        let line = |text: &str| escaped(text).into_owned();
        Self {
            number: *number,
            tool: line(&wanted.tool),
            arguments: shown(&wanted.arguments).map(|text| text.lines().map(line).collect()),
            rules: rules.iter().map(|rule| Rule::of(rule)).collect(),
            caller: wanted.caller.as_deref().map(line).unwrap_or_default(),
            client: if wanted.client.is_empty() { "unknown".to_owned() } else { line(&wanted.client) },
            workspace: line(&wanted.workspace),
            calls: request.calls(),
            asked: time::rfc3339(*asked),
            age: age(now.saturating_sub(*asked)),
            left: request.time_left(now),
            is_command: ["Bash", "BackgroundBash"].contains(&wanted.tool.as_str()),
            offers: OFFERS
                .into_iter()
                .filter(|(word, _)| wanted.remember.iter().any(|offered| offered == word))
                .collect(),
            shown: of(request),
        }
    }
}

impl Rule {
    fn of(rule: &CallRule) -> Self {
        let definition = rule.definition();
        let lines = definition.lines().map(|text| text.rsplit_once(" # ").map_or(text, |(text, _)| text));
        let lines = lines.map(str::trim_end).filter(|text| !text.is_empty());
        Self {
            name: escaped(&rule.to_string()).into_owned(),
            reason: rule.reason.as_deref().map(|reason| escaped(reason).into_owned()),
            lines: lines.map(|text| escaped(text).into_owned()).collect(),
        }
    }
}

/// Returns a time in milliseconds as people read it.
fn age(ms: u64) -> String {
    match ms / 1000 {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        assert_eq!([0, 119_999, 120_000, 7_200_000].map(age), ["0 s", "119 s", "2 min", "2 h"]);
    }
}
