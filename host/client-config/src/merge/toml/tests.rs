use proptest::prelude::*;

use super::super::bare::{fresh, merge};
use crate::{Client, Refusal};

const ENTRY: &str = "[mcp_servers.scorpiox]\ncommand = \"/bin/sx\"\nargs = []\n";

fn codex(text: &str) -> Result<String, Refusal> {
    merge(text, Client::Codex, "/bin/sx")
}

#[track_caller]
fn becomes(before: &str, after: &str) {
    let merged = codex(before).expect("merged");
    assert_eq!(merged, after, "\n{merged}");
    assert_eq!(codex(&merged).as_deref(), Ok(after), "a second merge");
}

#[test]
fn the_entry_follows_what_is_there() {
    assert_eq!(fresh(Client::Codex, "/bin/sx"), ENTRY);
    becomes(" \n", ENTRY);
    let before = "# mine\nmodel = \"x\"   # two\n\n[mcp_servers.files]\ncommand = 'npx'\nargs = [\"-y\" ,\"x\"]\n\n[tui]\ntheme = \"a\"\n";
    becomes(before, &format!("{before}\n{ENTRY}"));
    becomes("model = \"x\"", &format!("model = \"x\"\n\n{ENTRY}"));
    becomes("\u{feff}a = 1\n", &format!("\u{feff}a = 1\n\n{ENTRY}"));
    becomes("mcp_servers.a.command = \"x\"\n", &format!("mcp_servers.a.command = \"x\"\n\n{ENTRY}"));
    let windows = |text: &str| text.replace('\n', "\r\n");
    becomes(&windows(before), &windows(&format!("{before}\n{ENTRY}")));
}

#[test]
fn an_existing_entry_gets_the_command_and_keeps_what_a_person_added() {
    becomes(
        "[mcp_servers.scorpiox] # ours\ncommand = '/old' # here\nargs = [\"--x\"]\nenabled = false\n\n[a]\n",
        "[mcp_servers.scorpiox] # ours\ncommand = \"/bin/sx\" # here\nargs = [\"--x\"]\nenabled = false\n\n[a]\n",
    );
    becomes(
        "mcp_servers = { scorpiox = { command = \"/old\", args = [] } }\n",
        "mcp_servers = { scorpiox = { command = \"/bin/sx\", args = [] } }\n",
    );
    for same in [
        "[mcp_servers.scorpiox]\ncommand = '/bin/sx'\n",
        "mcp_servers.\"scorpiox\".command=\"\\u002Fbin/sx\"",
    ] {
        becomes(same, same);
    }
}

#[test]
fn the_entry_goes_and_the_rest_stays() {
    let before = "# mine\nmodel = 'x'\n\n[mcp_servers.other]\ncommand = \"npx\"\n";
    let with = codex(before).expect("valid TOML");
    assert_eq!(super::without(&with).expect("valid TOML").as_deref(), Some(before));
    let deeper = format!("{with}\n[mcp_servers.scorpiox.env]\nA = '1'\n\n[last]\na = 1\n");
    let expected = format!("{before}\n[last]\na = 1\n");
    assert_eq!(super::without(&deeper).expect("valid TOML").as_deref(), Some(expected.as_str()));
    let alone = codex("").expect("valid TOML");
    assert_eq!(super::without(&alone).expect("valid TOML").as_deref(), Some(""));
    // Syntax that is not supported for editing.
    for odd in ["mcp_servers.scorpiox.command = 'x'\n", "[mcp_servers]\nscorpiox = { command = 'x' }\n"] {
        assert_eq!(super::without(odd).expect("valid TOML"), None, "{odd}");
    }
    // A line inside a string that looks like our header.
    let text = "a = \"\"\"\n[mcp_servers.scorpiox]\nb\n\"\"\"\n";
    assert_eq!(super::without(text).expect("valid TOML"), None);
}

#[test]
fn a_command_with_any_characters_is_quoted() {
    let command = "C:\\Users\\\"me\"\\\u{1}\u{7f}é\u{2028}\u{feff}.exe";
    let value: toml::Table = fresh_with(command).parse().expect("TOML");
    assert_eq!(value["mcp_servers"]["scorpiox"]["command"].as_str(), Some(command));
}

fn fresh_with(command: &str) -> String {
    fresh(Client::Codex, command)
}

#[test]
fn what_cannot_be_edited_with_certainty_is_refused_with_its_line() {
    let refused = |text: &str| codex(text).expect_err("refused").to_string();
    assert!(
        refused("a = 1\nb = = 2\n").starts_with("2:5: not valid TOML: "),
        "{}",
        refused("a = 1\nb = = 2\n")
    );
    assert!(
        refused("a = 1\n\na = 2\n").starts_with("3:1: not valid TOML: duplicate key"),
        "{}",
        refused("a = 1\n\na = 2\n")
    );
    assert_eq!(refused("\nmcp_servers = 1\n"), "2: \"mcp_servers\" must be a table, [mcp_servers.NAME]");
    assert_eq!(
        refused("mcp_servers = { a = { command = \"x\" } }\n"),
        "1: \"mcp_servers\" is written as { … }, which is not edited here"
    );
    assert_eq!(
        refused("[mcp_servers]\nscorpiox = \"x\"\n"),
        "2: \"scorpiox\" must be a table, [mcp_servers.NAME]"
    );
    assert!(
        refused("[mcp_servers.scorpiox]\nurl = \"x\"\n").contains("\"mcp_servers.scorpiox\" has no command")
    );
    assert!(refused("[[mcp_servers]]\n").contains("must be a table"));
}

#[test]
fn deep_nesting_is_refused_and_not_a_crash() {
    let deep = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(codex(&deep).is_err());
}

fn line() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("# note [x]"),
        Just(""),
        Just("a = 1"),
        Just("  b = [1,\n  2, # two\n]"),
        Just("[mcp_servers]"),
        Just("[mcp_servers.other]"),
        Just("[mcp_servers.scorpiox]"),
        Just("command = '/old'"),
        Just("mcp_servers = {}"),
        Just("mcp_servers.x.command = \"\"\"\n[mcp_servers.scorpiox]\n\"\"\""),
        Just("[mcp_servers.scorpiox.env]"),
        Just("[[list]]"),
        Just("scorpiox = { command = '/old' }"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn everything_else_stays(lines in proptest::collection::vec(line(), 0..7), end in "(\n|\r\n)") {
        let text: String = lines.iter().flat_map(|line| [*line, end.as_str()]).collect();
        if let Ok(merged) = codex(&text) {
            let mut expected: toml::Table = text.parse().expect("what was merged was valid");
            let servers = expected.entry("mcp_servers").or_insert_with(|| toml::Table::new().into());
            let servers = servers.as_table_mut().expect("a table");
            let is_new = !servers.contains_key("scorpiox");
            let entry = servers.entry("scorpiox").or_insert_with(|| toml::Table::new().into());
            let entry = entry.as_table_mut().expect("a table");
            entry.insert("command".to_owned(), "/bin/sx".into());
            if is_new {
                entry.insert("args".to_owned(), toml::Value::Array(Vec::new()));
                prop_assert!(merged.starts_with(text.trim_end_matches(['\r', '\n'])), "{}", merged);
            }
            prop_assert_eq!(merged.parse::<toml::Table>().expect("TOML"), expected, "{}", merged);
            prop_assert_eq!(codex(&merged), Ok(merged.clone()), "a second merge");
        }
    }
}
