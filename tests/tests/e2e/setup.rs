//! Tests of `setup`: the clients and registries that are found, what is shown and written, and the handshake.

use std::fs;

use scorpiox_tests::Program;
use serde_json::{Value, json};

/// Returns a program of a user with two clients and two registries.
fn with_clients() -> Program {
    let program = Program::as_shipped();
    program.put("home/.cursor/mcp.json", "{\n  // mine\n  \"mcpServers\": {}\n}\n");
    program.put("home/.claude.json", "{\"theme\":\"dark\",\"projects\":{\"/x\":{}}}");
    program
        .put("home/.npmrc", "registry=https://npm.example.com/\n//npm.example.com/:_authToken=secret-word\n");
    program.put(
        "home/.config/pip/pip.conf",
        "[global]\nindex-url = https://user:secret-word@pip.example.com:8443/simple\n",
    );
    program
}

fn reported(program: &Program, arguments: &[&str]) -> Value {
    let (ran, out, err) = program.run(arguments);
    assert!(ran.success(), "{out}{err}");
    assert!(!out.contains("secret-word"), "{out}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

fn client<'a>(report: &'a Value, name: &str) -> &'a Value {
    let clients = report["clients"].as_array().expect("a list");
    clients.iter().find(|client| client["client"] == name).unwrap_or_else(|| panic!("{report}"))
}

#[test]
fn nothing_is_written_without_a_yes() {
    let program = with_clients();
    let (ran, out, err) = program.run(&["setup"]);
    assert!(!ran.success() && err.contains("nothing was changed"), "{out}{err}");
    for words in
        ["cursor", "would add the entry to ", ".claude.json", "npm.example.com", "closed to commands"]
    {
        assert!(out.contains(words), "{words}: {out}");
    }
    assert!(!out.contains("secret-word"), "{out}");
    let report = reported(&program, &["setup", "--json"]);
    assert_eq!(client(&report, "cursor")["state"], "would update", "{report}");
    assert_eq!(report["server"]["answers"], true, "{report}");
    let kept = fs::read_to_string(program.home().join(".cursor/mcp.json")).expect("the client's file");
    assert!(!kept.contains("scorpiox"), "{kept}");
    assert!(!program.home().join(".scorpiox/policy.toml").exists());
}

#[test]
fn entries_and_registries_are_written_once_and_can_be_removed() {
    let program = with_clients();
    let report = reported(&program, &["setup", "--yes", "--json"]);
    for name in ["cursor", "claude-code"] {
        let client = client(&report, name);
        assert_eq!(client["state"], "updated", "{report}");
        assert!(client["backup"].as_str().is_some_and(|path| fs::exists(path).expect("looks")), "{report}");
    }
    let tools = report["server"]["tools"].as_u64().expect("a number");
    assert!(tools >= 13, "{report}");
    let read = |name: &str| fs::read_to_string(program.home().join(name)).expect("a file");
    let code: Value = serde_json::from_str(&read(".claude.json")).expect("JSON");
    assert_eq!((&code["theme"], &code["projects"]), (&json!("dark"), &json!({"/x": {}})));
    assert!(code["mcpServers"]["scorpiox"]["command"].is_string(), "{code}");
    assert!(read(".cursor/mcp.json").contains("// mine"));
    let policy = read(".scorpiox/policy.toml");
    assert!(
        policy.contains("\"npm.example.com\"") && policy.contains("\"pip.example.com:8443\""),
        "{policy}"
    );
    let report = reported(&program, &["setup", "--yes", "--json"]);
    assert_eq!(client(&report, "claude-code")["state"], "present", "{report}");
    let closed: Vec<_> =
        report["registries"].as_array().expect("a list").iter().map(|registry| &registry["closed"]).collect();
    assert!(closed.iter().all(|closed| **closed == json!([])), "{report}");
    assert_eq!(read(".scorpiox/policy.toml"), policy);
    let (ran, out, err) = program.run(&["uninstall", "--yes"]);
    assert!(ran.success(), "{out}{err}");
    assert!(!read(".claude.json").contains("scorpiox") && !read(".cursor/mcp.json").contains("scorpiox"));
}

#[test]
fn a_client_can_be_named_and_a_file_that_cannot_be_edited_is_told() {
    let program = with_clients();
    program.put("home/.codex/config.toml", "[mcp_servers\n");
    let (ran, out, err) = program.run(&["setup", "--client", "codex", "--client", "windsurf", "--yes"]);
    assert!(!ran.success(), "{out}{err}");
    assert!(
        out.contains("codex") && out.contains("cannot be set up: ") && out.contains("not valid TOML"),
        "{out}"
    );
    assert!(out.contains("created ") && out.contains("The server starts and lists"), "{out}");
    assert_eq!(
        fs::read_to_string(program.home().join(".codex/config.toml")).expect("a file"),
        "[mcp_servers\n"
    );
    assert!(
        !fs::read_to_string(program.home().join(".cursor/mcp.json")).expect("a file").contains("scorpiox")
    );
    let (ran, _, err) = program.run(&["setup", "--client", "notepad"]);
    assert!(!ran.success() && err.contains("possible values"), "{err}");
}

#[test]
fn harmless_tools_are_allowed_only_on_request_and_go_with_the_program() {
    let program = Program::as_shipped();
    let before = "{\n  \"permissions\": {\n    \"allow\": [\"Bash(ls)\"]\n  }\n}\n";
    program.put("home/.claude/settings.json", before);
    program.put("home/.claude.json", "{\"theme\":\"dark\"}");
    let clients =
        ["--client", "claude-code", "--client", "codex", "--client", "gemini", "--client", "cursor"];
    let with = |more: &[&'static str]| {
        let arguments: Vec<_> = ["setup"].iter().chain(&clients).chain(more).copied().collect();
        program.run(&arguments)
    };
    let read = |name: &str| fs::read_to_string(program.home().join(name)).expect("a file");
    assert!(with(&["--yes"]).0.success());
    assert_eq!(read(".claude/settings.json"), before);
    let (_, out, err) = with(&["--allow-harmless"]);
    assert!(err.contains("nothing was changed") && out.contains("would add the list to "), "{out}{err}");
    assert!(out.contains("AskUserQuestion, TaskManager") && out.contains("we know: cursor"), "{out}");
    assert_eq!(read(".claude/settings.json"), before);
    let (ran, out, err) = with(&["--allow-harmless", "--yes", "--json"]);
    assert!(ran.success(), "{out}{err}");
    let report: Value = serde_json::from_str(&out).expect("JSON");
    let states: Vec<_> =
        report["allow"]["lists"].as_array().expect("lists").iter().map(|list| &list["state"]).collect();
    assert_eq!(states, ["updated", "updated", "created"], "{report}");
    let rules: Value = serde_json::from_str(&read(".claude/settings.json")).expect("JSON");
    let rules = rules["permissions"]["allow"].to_string();
    assert!(rules.contains("\"Bash(ls)\"") && rules.contains("\"mcp__scorpiox__TaskManager\""), "{rules}");
    assert!(!rules.contains("mcp__scorpiox__Bash") && !rules.contains("ReadDocs"), "{rules}");
    assert!(
        read(".codex/config.toml")
            .contains("[mcp_servers.scorpiox.tools.PlanMode]\napproval_mode = \"approve\"")
    );
    assert!(read(".gemini/policies/scorpiox-code.toml").contains("decision = \"allow\""));
    let (ran, out, err) = program.run(&["uninstall", "--yes"]);
    assert!(ran.success(), "{out}{err}");
    assert_eq!(
        serde_json::from_str::<Value>(&read(".claude/settings.json")).expect("JSON"),
        serde_json::from_str::<Value>(before).expect("JSON")
    );
    for name in [".codex/config.toml", ".gemini/policies/scorpiox-code.toml", ".cursor/mcp.json"] {
        assert!(!program.home().join(name).exists(), "{name}: {out}");
    }
}
