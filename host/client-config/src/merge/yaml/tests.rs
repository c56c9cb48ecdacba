use proptest::prelude::*;

use super::super::bare::{fresh, merge};
use crate::{Client, Refusal};

const ENTRY: &str = "  - name: scorpiox\n    command: \"/bin/sx\"\n    args: []\n";

fn continued(text: &str) -> Result<String, Refusal> {
    merge(text, Client::Continue, "/bin/sx")
}

#[track_caller]
fn becomes(before: &str, after: &str) {
    let merged = continued(before).expect("merged");
    assert_eq!(merged, after, "\n{merged}");
    assert_eq!(continued(&merged).as_deref(), Ok(after), "a second merge");
}

const HEAD: &str =
    "name: mine # yes\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: a\n    provider: \"b\"\n";

#[test]
fn a_list_of_servers_is_added_where_there_is_none() {
    assert_eq!(fresh(Client::Continue, "/bin/sx"), format!("mcpServers:\n{ENTRY}"));
    becomes(HEAD, &format!("{HEAD}mcpServers:\n{ENTRY}"));
    becomes(HEAD.trim_end(), &format!("{HEAD}mcpServers:\n{ENTRY}"));
    let windows = |text: &str| text.replace('\n', "\r\n");
    becomes(&windows(HEAD), &windows(&format!("{HEAD}mcpServers:\n{ENTRY}")));
    becomes("--- # one\na: |\n  text\n", &format!("--- # one\na: |\n  text\nmcpServers:\n{ENTRY}"));
}

#[test]
fn the_entry_follows_the_last_server_in_its_indentation() {
    let before = "mcpServers:\n# first\n- name: files # f\n  command: npx\n  args: [\"-y\",\n    x]\n  env:\n    A: \"1\" # one\n\n# models\nmodels: []\n";
    let after = "mcpServers:\n# first\n- name: files # f\n  command: npx\n  args: [\"-y\",\n    x]\n  env:\n    A: \"1\" # one\n- name: scorpiox\n  command: \"/bin/sx\"\n  args: []\n\n# models\nmodels: []\n";
    becomes(before, after);
    becomes(
        "mcpServers:\n    - uses: a/b\n    - name: é\n      command: ü",
        "mcpServers:\n    - uses: a/b\n    - name: é\n      command: ü\n    - name: scorpiox\n      command: \"/bin/sx\"\n      args: []\n",
    );
}

#[test]
fn an_existing_entry_gets_the_command_and_keeps_what_a_person_added() {
    becomes(
        "mcpServers:\n  - command: /old # here\n    name: 'scorpiox'\n    args: [--x]\n  - name: b\n    command: c\n",
        "mcpServers:\n  - command: \"/bin/sx\" # here\n    name: 'scorpiox'\n    args: [--x]\n  - name: b\n    command: c\n",
    );
    becomes(
        "mcpServers: [{name: scorpiox, command: '/old'}]",
        "mcpServers: [{name: scorpiox, command: \"/bin/sx\"}]",
    );
    let same = "mcpServers:\n  - name: scorpiox\n    command: /bin/sx\n";
    becomes(same, same);
}

#[test]
fn what_cannot_be_edited_with_certainty_is_refused_with_its_line() {
    let refused = |text: &str| continued(text).expect_err("refused").to_string();
    for (text, expected) in [
        ("a: 1\nb: [\n", "not valid YAML: "),
        ("- a\n", "1: the file's content must be a mapping, key: value"),
        ("a: 1\nmcpServers:\n", "mcpServers must be a list, - name: …"),
        ("mcpServers: {}\n", "1: mcpServers must be a list, - name: …"),
        ("a: 1\nmcpServers: []\n", "2: \"mcpServers\" is written as [ … ], which is not edited here"),
        ("a: 1\n---\nb: 2\n", "2: a second document begins, which is not edited here"),
        ("mcpServers:\n- name: a\nmcpServers:\n- name: b\n", ""),
        ("mcpServers:\n  - name: scorpiox\n    url: x\n", "2: the server \"scorpiox\" has no command"),
        (
            "mcpServers:\n  - name: scorpiox\n    command: >\n      /old\n",
            "command is written over several lines",
        ),
        ("a: 1\n...\n", "the list of servers cannot be found with certainty"),
        ("a: |\n  text", "the text at the end lacks the end of its line"),
        ("mcpServers:\n  -\n    name: a\n", "the first server does not begin on a line of its own"),
    ] {
        let refusal = refused(text);
        assert!(refusal.contains(expected), "{text:?}: {refusal}");
    }
}

#[test]
fn deep_nesting_is_refused_and_not_a_crash() {
    for open in ["[", "- ", "{a: ", "? "] {
        assert!(continued(&open.repeat(100_000)).is_err(), "{open}");
        assert!(continued(&format!("a: {}", open.repeat(100))).is_err(), "{open}");
    }
}

fn line() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("# note"),
        Just(""),
        Just("a: 1"),
        Just("b: |"),
        Just("    text: x"),
        Just("mcpServers:"),
        Just("mcpServers: &m"),
        Just("  - name: a"),
        Just("- name: a"),
        Just("    command: x # c"),
        Just("    args: [1,"),
        Just("      2]"),
        Just("  - name: scorpiox"),
        Just("    command: '/old'"),
        Just("    env: { A: \"1\" }"),
        Just("c: *m"),
        Just("  "),
    ]
}

/// Returns `true` if `part` is a subsequence of `whole`.
fn is_contained<T: PartialEq>(part: impl Iterator<Item = T>, mut whole: impl Iterator<Item = T>) -> bool {
    part.into_iter().all(|wanted| whole.any(|item| item == wanted))
}

/// Returns the parser's events of a text, without positions.
fn said(text: &str) -> Vec<String> {
    let events = saphyr_parser::Parser::new_from_str(text);
    events.map(|event| format!("{:?}", event.expect("YAML").0)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn everything_else_stays(lines in proptest::collection::vec(line(), 0..9), end in "(\n|\r\n)") {
        let text: String = lines.iter().flat_map(|line| [*line, end.as_str()]).collect();
        if let Ok(merged) = continued(&text) {
            prop_assert_eq!(continued(&merged), Ok(merged.clone()), "a second merge");
            if !text.contains("scorpiox") && !text.trim().is_empty() {
                prop_assert!(is_contained(text.lines(), merged.lines()), "{}", merged);
                prop_assert!(is_contained(said(&text).iter(), said(&merged).iter()), "{}", merged);
            }
        }
    }

    #[test]
    fn any_text_is_edited_or_refused_without_a_panic(text in "([{}\\[\\],:\"'>|*&!%#?\n -é\u{feff}]|mcpServers|scorpiox|name|command|---|1){0,30}") {
        let _ = continued(&text);
    }
}
