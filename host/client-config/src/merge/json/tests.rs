use jsonc_parser::{JsonValue, ParseOptions, parse_to_value};
use proptest::prelude::*;

use super::super::bare::{fresh, merge};
use crate::{Client, Refusal};

fn cursor(text: &str) -> Result<String, Refusal> {
    merge(text, Client::Cursor, "/bin/sx")
}

#[track_caller]
fn becomes(before: &str, after: &str) {
    let merged = cursor(before).expect("merged");
    assert_eq!(merged, after, "\n{merged}");
    assert_eq!(cursor(&merged).as_deref(), Ok(after), "a second merge");
}

#[test]
fn other_servers_and_comments_stay_in_their_order() {
    becomes(
        r#"{
    // ours
    "zebra": 1, /* two */
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "x"]} // keep
    },
    "alpha": [1,2 , 3]
}
"#,
        r#"{
    // ours
    "zebra": 1, /* two */
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "x"]}, // keep
        "scorpiox": {
            "command": "/bin/sx",
            "args": []
        }
    },
    "alpha": [1,2 , 3]
}
"#,
    );
}

#[test]
fn a_list_of_servers_is_added_where_there_is_none() {
    becomes(
        "{\r\n\t\"theme\": \"dark\"\r\n}\r\n",
        "{\r\n\t\"theme\": \"dark\",\r\n\t\"mcpServers\": {\r\n\t\t\"scorpiox\": {\r\n\t\t\t\"command\": \"/bin/sx\",\r\n\t\t\t\"args\": []\r\n\t\t}\r\n\t}\r\n}\r\n",
    );
}

#[test]
fn trailing_commas_are_used_where_the_file_uses_them_and_not_elsewhere() {
    becomes(
        "{\n  \"mcpServers\": {\n    \"a\": 1,\n  },\n}",
        "{\n  \"mcpServers\": {\n    \"a\": 1,\n    \"scorpiox\": {\n      \"command\": \"/bin/sx\",\n      \"args\": [],\n    },\n  },\n}",
    );
}

#[test]
fn a_text_without_content_keeps_its_comments_and_mark() {
    let fresh = fresh(Client::Cursor, "/bin/sx");
    becomes("", &fresh);
    becomes(" \n", &fresh);
    becomes("// later", &format!("// later\n{fresh}"));
    becomes("\u{feff}{}", &format!("\u{feff}{}", fresh.trim_end()));
}

#[test]
fn an_existing_entry_gets_the_command_and_keeps_what_a_person_added() {
    becomes(
        r#"{"mcpServers": {"scorpiox": {"command": "/old", "args": ["--x"], "env": {"TOOLS": "0"}}}}"#,
        r#"{"mcpServers": {"scorpiox": {"command": "/bin/sx", "args": ["--x"], "env": {"TOOLS": "0"}}}}"#,
    );
    let same = r#"{"mcpServers": {"scorpiox": {"args": ["--x"], "command": "\/bin\u002fsx"}}}"#;
    becomes(same, same);
}

#[test]
fn vscode_wants_a_type() {
    let merged = merge(
        r#"{"servers": {"scorpiox": {"type": "http", "command": "/bin/sx"}}, "inputs": []}"#,
        Client::VsCode,
        "/bin/sx",
    );
    let expected = r#"{"servers": {"scorpiox": {"type": "stdio", "command": "/bin/sx"}}, "inputs": []}"#;
    assert_eq!(merged.as_deref(), Ok(expected));
}

#[test]
fn open_code_has_the_program_and_its_arguments_in_one_list() {
    let becomes = |before: &str, after: &str| {
        assert_eq!(merge(before, Client::OpenCode, "/bin/sx").as_deref(), Ok(after));
        assert_eq!(merge(after, Client::OpenCode, "/bin/sx").as_deref(), Ok(after), "a second merge");
    };
    becomes(
        r#"{"mcp": {"scorpiox": {"type": "local", "command": ["/old", "--x"], "enabled": false}}}"#,
        r#"{"mcp": {"scorpiox": {"type": "local", "command": ["/bin/sx", "--x"], "enabled": false}}}"#,
    );
    for wrong in [r#""/old""#, "[]", "[1]", "{}"] {
        let before = format!(r#"{{"mcp": {{"scorpiox": {{"type": "local", "command": {wrong}}}}}}}"#);
        let merged = merge(&before, Client::OpenCode, "/bin/sx").expect("merged");
        let value: serde_json::Value = serde_json::from_str(&merged).expect("JSON");
        assert_eq!(value["mcp"]["scorpiox"]["command"], serde_json::json!(["/bin/sx"]), "{wrong}");
    }
}

#[test]
fn what_a_person_chose_stays_and_what_is_missing_is_added() {
    let chosen = r#"{"mcpServers": {"scorpiox": {"command": "/bin/sx", "alwaysLoad": false}}}"#;
    assert_eq!(merge(chosen, Client::ClaudeCode, "/bin/sx").as_deref(), Ok(chosen));
    let chosen =
        r#"{"mcpServers": {"scorpiox": {"type": "local", "command": "/bin/sx", "tools": ["Bash"]}}}"#;
    assert_eq!(merge(chosen, Client::Copilot, "/bin/sx").as_deref(), Ok(chosen));
    let older = "{\"mcpServers\": {\n  \"scorpiox\": {\n    \"command\": \"/bin/sx\"\n  }\n}}";
    let newer = older.replace("\n  }", ",\n    \"alwaysLoad\": true\n  }");
    assert_eq!(merge(older, Client::ClaudeCode, "/bin/sx"), Ok(newer));
}

#[test]
fn what_cannot_be_edited_with_certainty_is_refused_with_its_line() {
    let refused = |text: &str| cursor(text).expect_err("refused").to_string();
    assert_eq!(refused("{\n  'a': 1\n}"), "2:3: not valid JSON: Single-quoted strings are not allowed");
    assert_eq!(
        refused("{\"a\": 1} {}"),
        "1:10: not valid JSON: Text cannot contain more than one JSON value"
    );
    assert_eq!(refused("\n[1]"), "2: the file's content must be an object, { … }");
    assert_eq!(refused("{\"a\": 1,\n\"mcpServers\": null}"), "2: \"mcpServers\" must be an object, { … }");
    assert_eq!(
        refused("{\n\"mcpServers\": {\n\"a\": {\n},\n\"scorpiox\": \"x\"}}"),
        "5: \"scorpiox\" must be an object, { … }"
    );
    assert_eq!(
        refused("{\"mcpServers\": {},\n\"mcpServers\": {}}"),
        "2: \"mcpServers\" stands here a second time; remove one of them"
    );
    assert_eq!(
        refused("{\"mcpServers\": {\"scorpiox\": {\"command\": 1,\n\n\"comm\\u0061nd\": 2}}}"),
        "3: \"command\" stands here a second time; remove one of them"
    );
}

#[test]
fn deep_nesting_is_refused_and_not_a_crash() {
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(cursor(&deep).expect_err("refused").to_string().contains("nesting"));
}

/// Generates white space and comments.
fn gap() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just(""),
        1 => Just(" "),
        2 => Just("\n  "),
        1 => Just("\r\n\t"),
        1 => Just(" // } note\n"),
        1 => Just("/*\"{*/"),
    ]
}

fn value() -> impl Strategy<Value = String> {
    let leaf =
        prop_oneof![Just("null"), Just("-1.5e3"), Just("\"//no,comment}\\\"\""), Just("{}"), Just("[ ]")];
    leaf.prop_map(str::to_owned).prop_recursive(3, 12, 3, |inner| {
        let items =
            proptest::collection::vec((gap(), inner.clone()).prop_map(|(gap, v)| gap.to_owned() + &v), 0..3);
        prop_oneof![enclosed('[', items, ']'), object(inner)]
    })
}

fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("a"),
        Just("b"),
        Just("mcpServers"),
        Just("scorpiox"),
        Just("command"),
        Just("args")
    ];
    let member = (name, gap(), gap(), gap(), value);
    let members = proptest::collection::vec(member, 0..4).prop_map(|mut members| {
        members.sort_by_key(|(name, ..)| *name);
        members.dedup_by_key(|(name, ..)| *name);
        members.into_iter().map(|(name, a, b, c, value)| format!("{a}\"{name}\"{b}:{c}{value}")).collect()
    });
    enclosed('{', members, '}')
}

/// Joins items in brackets, with or without a trailing comma.
fn enclosed(
    open: char,
    items: impl Strategy<Value = Vec<String>>,
    close: char,
) -> impl Strategy<Value = String> {
    (items, any::<bool>(), gap(), gap()).prop_map(move |(items, comma, before, after)| {
        let comma = if comma && !items.is_empty() { "," } else { "" };
        format!("{open}{}{before}{comma}{after}{close}", items.join(","))
    })
}

/// Parses a text with another parser than the editor's.
fn meaning(text: &str) -> serde_json::Value {
    fn plain(value: JsonValue<'_>) -> serde_json::Value {
        match value {
            JsonValue::Null => serde_json::Value::Null,
            JsonValue::Boolean(value) => value.into(),
            JsonValue::Number(text) => text.into(),
            JsonValue::String(text) => text.into(),
            JsonValue::Array(items) => items.into_iter().map(plain).collect(),
            JsonValue::Object(members) => {
                members.into_iter().map(|(k, v)| (k.into_owned(), plain(v))).collect()
            }
        }
    }
    let value = parse_to_value(text, &ParseOptions::default()).expect("JSON");
    value.map_or_else(|| serde_json::json!({}), plain)
}

/// Returns `true` if `part` is a subsequence of `whole`, ignoring white space in `part`.
fn is_contained(part: &str, whole: &str) -> bool {
    let mut whole = whole.chars();
    part.chars().filter(|c| !c.is_whitespace()).all(|wanted| whole.any(|c| c == wanted))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn everything_else_stays(before in object(value()), around in (gap(), gap())) {
        let text = format!("{}{before}{}", around.0, around.1);
        if let Ok(merged) = cursor(&text) {
            let mut expected = meaning(&text);
            let entry = &mut expected["mcpServers"]["scorpiox"];
            if entry.is_null() {
                entry["args"] = serde_json::json!([]);
            }
            entry["command"] = "/bin/sx".into();
            prop_assert_eq!(meaning(&merged), expected, "{}", merged);
            prop_assert_eq!(cursor(&merged), Ok(merged.clone()), "a second merge");
            if !text.contains("scorpiox") {
                prop_assert!(is_contained(&text, &merged), "{}", merged);
            }
        }
    }

    #[test]
    fn any_text_is_edited_or_refused_without_a_panic(text in "([{}\\[\\],:\"/* \n\ra\u{feff}]|\"mcpServers\"|\"scorpiox\"|//|1){0,30}") {
        let _ = cursor(&text);
    }
}
