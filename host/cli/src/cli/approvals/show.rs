//! Approvals on the screen.

use std::fmt::Write as _;

use anyhow::{Result, anyhow};
use scorpiox_approvals::{Answer, Decision, Extent, Request, shown};
use scorpiox_audit::time;
use scorpiox_policy::{Approved, Policy, Sourced};
use scorpiox_terminal::{Shown, Table};
use scorpiox_text::line::escaped;
use serde_json::{Value, json};

/// Formats requests as JSON.
pub(super) fn json(requests: &[Request], now: u64) -> Shown {
    Shown::json(&json!({ "approvals": listed(requests, now) }).to_string())
}

fn listed(requests: &[Request], now: u64) -> Vec<Value> {
    requests
        .iter()
        .map(|request| {
            let wanted = &request.wanted;
            let rules: Vec<_> = wanted
                .rules
                .iter()
                .map(|rule| json!({ "name": rule.name, "source": rule.source, "reason": rule.reason }))
                .collect();
            json!({
                "number": request.number,
                "state": state(request, now),
                "asked": time::rfc3339(request.asked),
                "until": time::rfc3339(request.until),
                "workspace": wanted.workspace,
                "principal": wanted.caller,
                "client": wanted.client,
                "tool": wanted.tool,
                "arguments": serde_json::from_str::<Value>(&wanted.arguments).unwrap_or_default(),
                "rules": rules,
                "channel": channel(request),
                "remember": wanted.remember,
                "answer": request.answer(),
            })
        })
        .collect()
}

/// Formats requests as a table, with the command that answers them.
pub(super) fn table(requests: &[Request], now: u64) -> Shown {
    if requests.is_empty() {
        return Shown::line("No call waits for an approval.");
    }
    let mut table = Table::new(["number", "state", "left", "tool", "rule", "arguments"], &[5]).with_details();
    let rows: Vec<_> = requests.iter().map(|request| row(request, now)).collect();
    let table = Shown::text(&table.render(&rows));
    if !requests.iter().any(|request| request.is_open(now)) {
        return table;
    }
    let hint = "`scorpiox-code approvals show NUMBER` shows all arguments; `approvals approve NUMBER` and `approvals \
                deny NUMBER` answer.";
    table.and(&Shown::line(hint))
}

fn row(request: &Request, now: u64) -> [String; 6] {
    let wanted = &request.wanted;
    let left = if request.is_open(now) { request.time_left(now) } else { String::new() };
    let rules: Vec<_> = wanted.rules.iter().map(|rule| rule.name.as_str()).collect();
    [
        request.number.to_string(),
        state(request, now).to_owned(),
        left,
        escaped(&wanted.tool).into_owned(),
        escaped(&rules.join(", ")).into_owned(),
        arguments(request),
    ]
}

/// Formats remembered approvals as JSON, and those that hold always.
pub(super) fn remembered_json(requests: &[Request], policy: &Policy, now: u64) -> Shown {
    let always = policy.approved.iter().map(|(number, entry)| {
        let Approved { tool, arguments, by, at, .. } = &entry.value;
        json!({
            "number": number,
            "tool": tool,
            "arguments": serde_json::from_str::<Value>(arguments).unwrap_or_default(),
            "by": by,
            "at": at,
            "source": entry.source.to_string(),
        })
    });
    let always: Vec<_> = always.collect();
    Shown::json(&json!({ "approvals": listed(requests, now), "always": always }).to_string())
}

/// Formats remembered approvals, and those that hold always.
pub(super) fn remembered(requests: &[Request], policy: &Policy) -> Shown {
    if requests.is_empty() && policy.approved.iter().next().is_none() {
        return Shown::line("No approval is remembered.");
    }
    let mut table =
        Table::new(["number", "since", "by", "tool", "workspace", "arguments"], &[4, 5]).with_details();
    let always = policy.approved.iter().map(|(number, Sourced { value, source })| {
        let everywhere = format!("all ({source})");
        let texts = [&value.at, &value.by, &value.tool, &everywhere, &value.arguments];
        let [at, by, tool, workspace, arguments] = texts.map(|text| escaped(text).into_owned());
        [number.to_string(), at, by, tool, workspace, arguments]
    });
    let rows: Vec<_> = requests
        .iter()
        .map(|request| {
            let wanted = &request.wanted;
            let (at, by) = request.answer().map_or((0, ""), |answer| (answer.at, answer.by.as_str()));
            [
                request.number.to_string(),
                time::rfc3339(at),
                if by.is_empty() { "-".to_owned() } else { escaped(by).into_owned() },
                escaped(&wanted.tool).into_owned(),
                match request.answer().map(|answer| answer.extent) {
                    Some(Extent::Always) => "all".to_owned(),
                    _ => escaped(&wanted.workspace).into_owned(),
                },
                arguments(request),
            ]
        })
        .chain(always)
        .collect();
    Shown::text(&table.render(&rows))
        .and(&Shown::line("`scorpiox-code approvals revoke NUMBER` lets equal calls ask again."))
}

/// Formats everything that an answer depends on. Fails if the arguments cannot be shown completely.
pub(super) fn whole(request: &Request, now: u64) -> Result<Shown> {
    let wanted = &request.wanted;
    let arguments = shown(&wanted.arguments)
        .map_err(|why| anyhow!("approval {} cannot be shown: {why}", request.number))?;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:<10} {}", escaped(value));
    };
    line("approval", &format!("{} ({})", request.number, state(request, now)));
    line("tool", &wanted.tool);
    arguments.lines().for_each(|argument| line("argument", argument));
    if request.calls() > 1 {
        line("calls", &format!("{} equal calls wait", request.calls()));
    }
    line("workspace", &wanted.workspace);
    if let Some(caller) = &wanted.caller {
        line("caller", caller);
    }
    line("client", if wanted.client.is_empty() { "unknown" } else { &wanted.client });
    // The text that an approval is bound to: everything else in the store may be forged.
    for rule in &wanted.rules {
        let lines =
            rule.definition.lines().map(|text| text.rsplit_once(" # ").map_or(text, |(text, _)| text));
        lines.filter(|text| !text.is_empty()).for_each(|text| line("rule", text.trim_end()));
    }
    let proof = if wanted.is_strong { "the signature of an approver (--key)" } else { "none" };
    line("proof", proof);
    line("asked", &time::rfc3339(request.asked));
    if request.is_open(now) {
        line("left", &request.time_left(now));
    }
    if let Some(answer) = request.answer() {
        line("answer", &answered(answer));
    }
    if ["Bash", "BackgroundBash"].contains(&wanted.tool.as_str()) {
        line("note", "The content of files that the command runs is not part of the approval.");
    }
    Ok(Shown::text(&text))
}

/// Returns an answer as a sentence.
fn answered(answer: &Answer) -> String {
    let by = if answer.by.is_empty() { String::new() } else { format!(" by {}", answer.by) };
    let words = answer.words.as_deref().map_or_else(String::new, |words| format!(": {words}"));
    let decision = match answer.decision {
        Decision::Approve => "approved",
        Decision::Deny => "denied",
    };
    let extent = match answer.extent {
        Extent::Once => "",
        Extent::Session => ", for a session",
        Extent::Workspace => ", for the workspace",
        Extent::Always => ", always",
    };
    format!("{decision}{by} ({}{extent}) at {}{words}", answer.channel, time::rfc3339(answer.at))
}

/// Returns the state as a word.
fn state(request: &Request, now: u64) -> &'static str {
    match request.answer() {
        Some(answer) if answer.decision == Decision::Deny => "denied",
        Some(_) if request.calls() == 0 => "used",
        _ if !request.is_current(now) => "expired",
        Some(_) => "approved",
        None => "waits",
    }
}

/// Returns the arguments on one row.
fn arguments(request: &Request) -> String {
    shown(&request.wanted.arguments)
        .map_or_else(|_| "(cannot be shown)".to_owned(), |shown| escaped(&shown).into_owned())
}

fn channel(request: &Request) -> &'static str {
    if request.wanted.is_strong { "strong" } else { "weak" }
}
