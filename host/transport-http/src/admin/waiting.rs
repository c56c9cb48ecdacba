//! Calls that wait for the answer of a person, on the first page. Arguments are only for their callers.

use scorpiox_approvals::{Listed, Request, Requests};
use scorpiox_audit::time;
use scorpiox_text::line::escaped;

/// Maximum number of calls shown, oldest first.
const MOST: usize = 100;

/// Calls that wait for an answer.
pub(crate) struct Waiting {
    pub(crate) rows: Vec<Row>,
    /// Number of calls that are not shown.
    pub(crate) more: usize,
}

/// A call that waits.
pub(crate) struct Row {
    pub(crate) number: u64,
    pub(crate) tool: String,
    /// Name in the policy; empty for calls over standard input and output.
    pub(crate) principal: String,
    pub(crate) workspace: String,
    /// Rules that ask, each with its file and line.
    pub(crate) rules: Vec<String>,
    pub(crate) since: String,
    pub(crate) left: String,
    /// Commands that show the call, and answer it.
    pub(crate) commands: [String; 3],
}

impl Waiting {
    /// Reads the calls that wait.
    pub(crate) fn of(requests: &Requests) -> Result<Self, String> {
        let listed = requests.list().map_err(|error| format!("approvals cannot be read: {error}"))?;
        Ok(Self::at(&listed))
    }

    fn at(Listed { requests, now }: &Listed) -> Self {
        let open: Vec<_> = requests.iter().filter(|request| request.is_open(*now)).collect();
        let rows: Vec<_> = open.iter().take(MOST).map(|request| Row::of(request, *now)).collect();
        Self { more: open.len() - rows.len(), rows }
    }
}

impl Row {
    fn of(request: &Request, now: u64) -> Self {
        let (wanted, number) = (&request.wanted, request.number);
        let key = if wanted.is_strong { " --key FILE" } else { "" };
        Self {
            number,
            tool: shown(&wanted.tool),
            principal: wanted.caller.as_deref().map(shown).unwrap_or_default(),
            workspace: shown(&wanted.workspace),
            rules: wanted
                .rules
                .iter()
                .map(|rule| shown(&format!("{} ({})", rule.name, rule.source)))
                .collect(),
            since: time::rfc3339(request.asked),
            left: request.time_left(now),
            commands: [
                format!("scorpiox-code approvals show {number}"),
                format!("scorpiox-code approvals approve {number}{key}"),
                format!("scorpiox-code approvals deny {number}{key}"),
            ],
        }
    }
}

/// Returns a text in which nothing is hidden.
fn shown(text: &str) -> String {
    escaped(text).into_owned()
}

#[cfg(test)]
mod tests {
    use scorpiox_approvals::{Asking, State, Wanted};

    use super::*;

    fn request(number: u64, is_strong: bool, until: u64) -> Request {
        let rule = Asking {
            name: "push".to_owned(),
            source: "policy.toml line 2".to_owned(),
            definition: "name = \"push\"".to_owned(),
            reason: None,
        };
        let wanted = Wanted {
            workspace: "/w".to_owned(),
            principal: Some("key of ann".to_owned()),
            caller: Some("ann".to_owned()),
            client: String::new(),
            tool: "Bash".to_owned(),
            component: String::new(),
            arguments: "{\"command\":\"secret\"}".to_owned(),
            rules: vec![rule],
            is_strong,
            within_ms: 600_000,
            remember: Vec::new(),
        };
        Request {
            number,
            id: "00".to_owned(),
            wanted,
            asked: 1_000,
            until,
            state: State::Open { seats: Vec::new(), away: 1 },
        }
    }

    #[test]
    fn calls_that_wait_are_listed_up_to_a_bound_with_the_commands_that_answer() {
        let mut requests: Vec<_> = (3..=102).map(|number| request(number, number == 3, 61_000)).collect();
        requests.insert(0, request(1, false, 1_500));
        requests.push(request(103, false, 61_000));
        requests[2].wanted.workspace = "/w\u{3000}\u{e000}".to_owned();
        let waiting = Waiting::at(&Listed { requests, now: 2_000 });
        assert_eq!((waiting.rows.len(), waiting.more), (MOST, 1), "the first is over");
        let first = &waiting.rows[0];
        assert_eq!((first.number, &*first.tool, &*first.principal), (3, "Bash", "ann"));
        assert_eq!(first.rules, ["push (policy.toml line 2)"]);
        assert_eq!((&*first.since, &*first.left), ("1970-01-01T00:00:01.000Z", "59 s"));
        assert_eq!(first.commands[1], "scorpiox-code approvals approve 3 --key FILE");
        assert_eq!(waiting.rows[1].commands[2], "scorpiox-code approvals deny 4");
        assert_eq!(waiting.rows[1].workspace, "/w\\u{3000}\\u{e000}");
    }
}
