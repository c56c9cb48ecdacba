use super::*;
use serde_json::{Value, json};

fn told(uses: &Uses) -> Value {
    let mut out = b"{\"x\":0".to_vec();
    uses.push(&mut out, &RuleTexts::default());
    out.push(b'}');
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn what_was_hidden_is_neither_allowed_nor_denied() {
    let uses = Uses::default();
    uses.hidden("files", "/w/finance", "hidden by \"finance/\"", "policy.toml line 4");
    let line = told(&uses);
    assert_eq!(
        line["uses"],
        json!([{"capability": "files", "what": "/w/finance", "hidden": true, "why": "hidden by \"finance/\"",
                "rule": "policy.toml line 4"}])
    );
    assert!(!uses.was_denied() && uses.refusals().is_empty());
    assert_eq!(uses.lines(), ["files /w/finance, hidden: hidden by \"finance/\""]);
    let text = format!("{{\"tool\":\"Bash\",\"uses\":{}}}", line["uses"]);
    assert_eq!(crate::Record::parse(&text).unwrap().denied().count(), 0);
}

#[test]
fn an_outcome_that_is_only_reported_is_neither_allowed_nor_denied() {
    let uses = Uses::default();
    uses.reported("rules", "Bash", "deny", "rule push", "policy.toml line 4");
    let line = told(&uses);
    assert_eq!(
        line["uses"],
        json!([{"capability": "rules", "what": "Bash", "reported": "deny", "why": "rule push",
                "rule": "policy.toml line 4"}])
    );
    assert!(!uses.was_denied() && uses.refusals().is_empty());
    assert_eq!(uses.lines(), ["rules Bash, reported: rule push"]);
    let record = crate::Record::parse(&format!("{{\"tool\":\"Bash\",\"uses\":{}}}", line["uses"])).unwrap();
    assert_eq!((record.denied().count(), record.reported().count()), (0, 1));
}

#[test]
fn repeated_uses_are_counted_and_denials_say_why() {
    let uses = Uses::default();
    assert_eq!(told(&uses), json!({"x": 0}));
    assert!(uses.is_empty());
    for _ in 0..3 {
        uses.allowed("web", format_args!("{}:{}", "example.com", 443), "policy.toml line 4");
        uses.once("store", BUILT_IN);
    }
    uses.denied("web", "10.0.0.1:80", "is private\u{1b}[31m", BUILT_IN);
    assert_eq!(
        told(&uses)["uses"],
        json!([
            {"capability": "web", "what": "example.com:443", "allowed": true, "rule": "policy.toml line 4", "count": 3},
            {"capability": "store", "allowed": true, "rule": "built-in"},
            {"capability": "web", "what": "10.0.0.1:80", "allowed": false, "why": "is private[31m", "rule": "built-in"},
        ])
    );
}

#[test]
fn refusals_are_told_with_what_decides() {
    let uses = Uses::default();
    uses.allowed("web", "example.com:443", APPROVAL);
    assert!(uses.refusals().is_empty());
    uses.denied("files", "read /srv", "it is not granted", APPROVAL);
    uses.denied("files", "read /srv", "it is not granted", APPROVAL);
    uses.denied("web", "example.net:443", "`deny` has it", "policy.toml line 3");
    uses.denied("web", "10.0.0.1:80", "it is private", BUILT_IN);
    uses.denied("web", "10.0.0.2:80", "it is private", BUILT_IN);
    assert_eq!(
        uses.refusals(),
        [
            "This server refused files read /srv: it is not granted.",
            "This server refused web example.net:443: `deny` has it (policy.toml line 3 decides that).",
            "This server refused web 10.0.0.1:80: it is private.",
            "It refused 1 more; the audit has them all.",
        ]
    );
}

#[test]
fn only_who_called_is_told_the_whole_name() {
    let uses = Uses::default();
    uses.denied_by_name("files", "read /srv", "read /srv/b/../a.txt", "it is not granted", APPROVAL);
    uses.denied_by_name("files", "read /srv", "read /srv/c.txt", "it is not granted", APPROVAL);
    assert_eq!(uses.refusals(), ["This server refused files read /srv/b/../a.txt: it is not granted."]);
    let audit = told(&uses);
    assert_eq!((&audit["uses"][0]["what"], &audit["uses"][0]["count"]), (&json!("read /srv"), &json!(2)));
    assert!(!audit.to_string().contains(".txt") && !uses.lines().concat().contains(".txt"));
}

#[test]
fn what_a_language_tried_by_itself_is_for_the_audit_alone() {
    let uses = Uses::default();
    uses.denied_to_language("files", "read .", "it has no files", APPROVAL);
    uses.once("store", BUILT_IN);
    assert!(uses.refusals().is_empty() && uses.lines() == ["store"], "{:?}", uses.lines());
    assert_eq!(told(&uses)["uses"][0]["allowed"], false);
    uses.denied_by_name("files", "read .", "read a.txt", "it has no files", APPROVAL);
    assert_eq!(uses.refusals(), ["This server refused files read a.txt: it has no files."]);
}

#[test]
fn uses_are_bounded_in_number_and_length() {
    let uses = Uses::default();
    for index in 0..1000 {
        let what = format!("{index}-{}", "é".repeat(100_000));
        if index % 2 == 0 {
            uses.allowed("web", what, BUILT_IN);
        } else {
            uses.denied("web", what, "no", BUILT_IN);
        }
    }
    let told = told(&uses);
    assert_eq!(told["uses"].as_array().unwrap().len(), 2 * MAX_USES);
    assert_eq!((&told["more_uses"], &told["more_denied"]), (&json!(872), &json!(436)));
    assert!(told["uses"][5]["what"].as_str().unwrap().len() <= MAX_BYTES + 3);
}

#[test]
fn many_refusals_displace_nothing_else() {
    let uses = Uses::default();
    for index in 0..100 {
        uses.denied("network", format_args!("h{index}:80"), "no", BUILT_IN);
    }
    uses.allowed("network", "reached:80", BUILT_IN);
    uses.denied("shell", "/w/.mcp.json", "no", BUILT_IN);
    uses.left_out(1, 2);
    let told = told(&uses);
    let whats: Vec<_> = told["uses"].as_array().unwrap().iter().map(|used| &used["what"]).collect();
    assert!(whats.contains(&&json!("reached:80")) && whats.contains(&&json!("/w/.mcp.json")), "{whats:?}");
    assert_eq!((&told["more_uses"], &told["more_denied"]), (&json!(39), &json!(38)));
}

#[test]
fn the_most_memory_stays() {
    let uses = Uses::default();
    uses.took_memory(5);
    uses.clone().took_memory(3);
    assert_eq!(uses.memory(), 5);
}
