//! Tests of the command-line interface.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use scorpiox_tests::program::{binary, unwrapped};
use scorpiox_tests::{Canonical as _, Program, Started};
use serde_json::{Value, json};

const TOOLS: [&str; 4] = ["TaskManager", "PlanMode", "InvokeSkill", "SetCallback"];

/// Runs a command that must succeed without warnings, and returns its output.
fn prints(program: &Program, arguments: &[&str]) -> String {
    let (status, out, err) = program.run(arguments);
    assert!(status.success(), "{arguments:?}: {status}\n{out}{err}");
    assert_eq!(err, "", "{arguments:?} complains");
    out
}

/// Runs a command that must fail with this code; returns its standard output and standard error.
fn fails(program: &Program, arguments: &[&str], code: i32) -> (String, String) {
    let (status, out, err) = program.run(arguments);
    assert_eq!(status.code(), Some(code), "{arguments:?}: {out}{err}");
    (out, err)
}

#[test]
fn the_version_is_one_line() {
    let program = Program::new();
    let version = regex::Regex::new(r"^scorpiox-code \d+\.\d+\.\d+(-[a-z0-9.]+)?\n$").expect("a pattern");
    for flag in ["--version", "-V"] {
        let printed = prints(&program, &[flag]);
        assert!(version.is_match(&printed), "{printed:?}");
    }
}

#[test]
fn the_version_is_the_one_that_clients_are_told() {
    let program = Program::new();
    let printed = prints(&program, &["--version"]);
    let hello = program.start().initialize("2025-11-25");
    let told = hello["serverInfo"]["version"].as_str().expect("a version");
    assert_eq!(printed, format!("scorpiox-code {told}\n"));
}

#[test]
fn the_help_names_every_command_and_every_variable() {
    let program = Program::new();
    let help = prints(&program, &["--help"]);
    for word in [
        "doctor",
        "tools",
        "call",
        "config",
        "audit",
        "stats",
        "--workspace",
        "SCORPIOX_HOME",
        "SCORPIOX_LOG",
    ] {
        assert!(help.contains(word), "{word} is not in the help:\n{help}");
    }
    for command in ["doctor", "tools", "call", "config", "audit", "stats"] {
        assert!(prints(&program, &[command, "--help"]).contains("Usage:"), "{command}");
    }
}

#[test]
fn a_command_that_does_not_exist_is_an_error_of_usage() {
    let program = Program::new();
    let (out, err) = fails(&program, &["frobnicate"], 2);
    assert_eq!(out, "");
    assert!(err.contains("frobnicate") && err.contains("--help"), "{err}");
}

#[test]
fn tools_shows_what_each_may_touch() {
    let program = Program::new().with("TOOL_PLANMODE", "0");
    let shown = prints(&program, &["tools"]);
    for tool in TOOLS {
        assert!(
            shown.lines().any(|line| line.split(' ').next() == Some(tool)),
            "{tool} is missing:\n{shown}"
        );
    }
    assert!(shown.contains("PlanMode  (switched off)"), "{shown}");
    assert!(shown.contains("may not: open files, start programs, reach the network"), "{shown}");
}

#[test]
fn doctor_finds_nothing_to_fix_in_a_fresh_home() {
    let program = Program::new();
    program.put("workspace/.claude/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: D\n---\nBody\n");
    let report = unwrapped(&prints(&program, &["doctor", "--all"]));
    for part in
        ["Installation", "Tools", "Store", "Settings", "Skills", "TOOLS = true (default)", "ok    tidy ("]
    {
        assert!(report.contains(part), "{part} is missing:\n{report}");
    }
    assert!(!report.contains("FAIL"), "{report}");
    assert!(report.ends_with("\nEverything works.\n"), "{report}");
    assert!(report.contains("Bash: runs commands in a sandbox of tier T"), "{report}");
    assert!(report.contains("ReadDocs: may fetch pages of the public web"), "{report}");
    for tool in TOOLS {
        assert!(report.contains(&format!("  ok    {tool}: ")), "{tool}:\n{report}");
    }
}

#[test]
fn doctor_and_policy_show_what_differs() {
    let program = Program::new().with("ANSWER_WITHIN", "9");
    program.put("home/.scorpiox/policy.toml", "version = 1\n[shell]\nmax_background_tasks = 2\n");
    let report = unwrapped(&prints(&program, &["doctor"]));
    assert!(report.contains("ANSWER_WITHIN = 9 (environment)"), "{report}");
    assert!(!report.contains("(default)") && !report.contains("ReadDocs: may"), "{report}");
    assert!(report.contains("`scorpiox-code doctor --all` lists them"), "{report}");
    let shown = prints(&program, &["policy", "show"]);
    assert!(shown.contains("\n[shell]\nmax_background_tasks = 2 "), "{shown}");
    let rest = "`scorpiox-code policy show --all` shows them";
    assert!(shown.lines().all(|line| !line.ends_with("# built-in")) && shown.contains(rest), "{shown}");
    let all = prints(&program, &["policy", "show", "--all"]);
    assert!(all.contains("min_tier = ") && all.contains("max_background_tasks = 2 "), "{all}");
    assert!(!all.contains(rest), "{all}");
}

#[test]
fn doctor_is_no_wider_than_a_terminal() {
    let program = Program::new();
    program.put("home/.claude/scorpiox-env.txt", "STREAMING=maybe\n");
    let (report, _) = fails(&program, &["doctor"], 1);
    let wide = |line: &&str| line.chars().count() > 80 && line.trim_start().contains(' ');
    let wide: Vec<_> = report.lines().filter(wide).filter(|line| !line.contains("  ok    ")).collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

#[test]
fn doctor_names_the_file_and_the_line_of_a_broken_setting() {
    let program = Program::new();
    let users = program.put("home/.claude/scorpiox-env.txt", "# mine\nTOOL_PLANMODE=0\nSTREAMING=maybe\n");
    let projects = program.put("workspace/.scorpiox/scorpiox-env.txt", "no equals sign\n\nTOOL_PLANMODE=1\n");
    let report = unwrapped(&fails(&program, &["doctor"], 1).0);
    let workspace = program.workspace().canonical();
    let projects = workspace.join(projects.strip_prefix(program.workspace()).expect("below"));
    for (file, line, word) in [
        (&users, 3, "STREAMING"),
        (&projects, 1, "no \"=\""),
        (&projects, 3, "cannot switch on TOOL_PLANMODE"),
    ] {
        let place = format!("FAIL  {}:{line}: ", file.display());
        let found = report.lines().find(|text| text.contains(&place));
        assert!(found.is_some_and(|text| text.contains(word)), "{place}… {word}:\n{report}");
    }
    assert!(report.contains(&format!("TOOL_PLANMODE = false ({}:2)", users.display())), "{report}");
    assert!(report.ends_with("\n3 things have to be fixed (FAIL above).\n"), "{report}");
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.text("TaskManager", json!({ "action": "list", "query": "" }));
}

#[test]
fn a_call_prints_the_result_and_its_code_says_how_it_went() {
    let program = Program::new();
    assert_eq!(
        prints(&program, &["call", "PlanMode", r#"{"action":"status"}"#]),
        "Plan mode is not active.\n"
    );
    let entered = prints(&program, &["call", "PlanMode", r#"{"action":"enter","goal":"Tidy up"}"#]);
    assert!(entered.starts_with("Plan mode is active. Goal: Tidy up\n"), "{entered}");
    let whole = prints(&program, &["call", "PlanMode", r#"{"action":"json"}"#, "--json"]);
    let whole: Value = serde_json::from_str(&whole).expect("JSON");
    assert_eq!(whole["structuredContent"]["goal"], "Tidy up", "{whole}");
    let (out, err) = fails(&program, &["call", "PlanMode", r#"{"action":"dance"}"#], 1);
    assert!(out.starts_with("action \"dance\" is unknown;"), "{out}");
    assert_eq!(err, "");
}

#[test]
fn a_call_that_cannot_be_made_is_an_error_of_its_own() {
    let program = Program::new();
    for (arguments, word) in [
        (["call", "Bush", "{}"], "tool \"Bush\" is not known; did you mean Bash? Known tools: Bash, "),
        (["call", "bash", "{}"], "tool \"bash\" is not known; did you mean Bash? "),
        (["call", "PlanMode", "{"], "the arguments are not JSON"),
        (["call", "PlanMode", "[]"], "arguments must be an object"),
    ] {
        let (out, err) = fails(&program, &arguments, 1);
        assert_eq!(out, "", "{arguments:?}");
        assert!(err.starts_with("scorpiox-code: ") && err.contains(word), "{arguments:?}: {err}");
    }
}

#[test]
fn a_call_sees_what_a_running_server_stored() {
    let program = Program::new();
    let mut server = program.start();
    server.initialize("2025-11-25");
    server.text("TaskManager", json!({ "action": "create", "query": "", "text": "From the server" }));
    let list = prints(&program, &["call", "TaskManager", r#"{"action":"list","query":""}"#]);
    assert!(list.contains("From the server"), "{list}");
}

const DESKTOP_FILE: &str = if cfg!(target_os = "macos") {
    "home/Library/Application Support/Claude/claude_desktop_config.json"
} else if cfg!(windows) {
    "home/AppData/Roaming/Claude/claude_desktop_config.json"
} else {
    "home/.config/Claude/claude_desktop_config.json"
};

const ZED_FILE: &str =
    if cfg!(windows) { "home/AppData/Roaming/Zed/settings.json" } else { "home/.config/zed/settings.json" };

/// Clients with JSON files: the path of each file, and the object that lists servers.
const CLIENTS: [(&str, &str, &str); 11] = [
    ("claude-desktop", DESKTOP_FILE, "mcpServers"),
    ("claude-code", "workspace/.mcp.json", "mcpServers"),
    ("cursor", "home/.cursor/mcp.json", "mcpServers"),
    ("vscode", "workspace/.vscode/mcp.json", "servers"),
    ("gemini", "home/.gemini/settings.json", "mcpServers"),
    ("qwen", "home/.qwen/settings.json", "mcpServers"),
    ("opencode", "home/.config/opencode/opencode.json", "mcp"),
    ("copilot", "home/.copilot/mcp-config.json", "mcpServers"),
    ("cline", "home/.cline/data/settings/cline_mcp_settings.json", "mcpServers"),
    ("windsurf", "home/.codeium/windsurf/mcp_config.json", "mcpServers"),
    ("zed", ZED_FILE, "context_servers"),
];

fn entry(client: &str) -> Value {
    let command = binary();
    match client {
        "claude-code" => json!({ "command": command, "args": [], "alwaysLoad": true }),
        "vscode" => json!({ "type": "stdio", "command": command, "args": [] }),
        "opencode" => json!({ "type": "local", "command": [command], "enabled": true }),
        "copilot" => json!({ "type": "local", "command": command, "args": [], "tools": ["*"] }),
        "cline" => json!({
            "type": "stdio", "command": command, "args": [], "timeout": 600, "env": { "ANSWER_WITHIN": "580" }
        }),
        _ => json!({ "command": command, "args": [] }),
    }
}

#[test]
fn config_prints_what_to_put_where() {
    let program = Program::new();
    for (client, file, key) in CLIENTS {
        let (status, out, err) = program.run(&["config", client]);
        assert!(status.success(), "{client}: {err}");
        let printed: Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!(printed, json!({ key: { "scorpiox": entry(client) } }), "{client}");
        let (_, name) = file.split_once('/').expect("a folder");
        assert!(err.contains(&native(name)), "{client}: {err}");
        assert!(!Path::new(&program.home().join("..").join(file)).exists(), "{client}: printing wrote");
    }
    fails(&program, &["config", "notepad"], 2);
}

#[test]
fn config_writes_a_file_that_does_not_exist() {
    let program = Program::new();
    for (client, file, key) in CLIENTS {
        let printed = prints(&program, &["config", client, "--write"]);
        assert!(printed.starts_with("created "), "{client}: {printed}");
        assert!(printed.contains("open it again: it starts the server"), "{client}: {printed}");
        let written = fs::read_to_string(program.home().join("..").join(file)).expect("the file");
        let written: Value = serde_json::from_str(&written).expect("JSON");
        assert_eq!(written, json!({ key: { "scorpiox": entry(client) } }), "{client}");
    }
}

#[test]
fn config_keeps_everything_else_in_a_file_and_a_backup() {
    let program = Program::new();
    for (client, file, key) in CLIENTS {
        let before = format!(
            "// mine, do not touch\n{{\n  \"theme\": \"dark\", // as it should be\n  \"{key}\": {{\n    \"other\": {{ \"command\": \
             \"x\",   \"args\": [1,2] }},\n  }},\n  \"last\": null\n}}\n"
        );
        let path = program.put(file, &before);
        let printed = prints(&program, &["config", client, "--write"]);
        assert!(printed.starts_with("updated "), "{client}: {printed}");
        let after = fs::read_to_string(&path).expect("the file");
        for line in before.lines().filter(|line| line.contains("//") || line.contains("\"other\"")) {
            assert!(after.contains(line), "{client} lost {line:?}:\n{after}");
        }
        assert!(after.contains("\"last\": null") && after.contains("\"scorpiox\""), "{client}:\n{after}");
        let backup = printed.split_once("(before: ").expect("a backup").1;
        let backup = backup.split_once(')').expect("its end").0;
        assert_eq!(fs::read_to_string(backup).expect("the backup"), before, "{client}");
        let again = prints(&program, &["config", client, "--write"]);
        assert!(again.contains("already has the entry"), "{client}: {again}");
        assert_eq!(fs::read_to_string(&path).expect("the file"), after, "{client}: a second time");
    }
}

/// Returns the program's path as a string literal of JSON, TOML and YAML.
fn quoted() -> String {
    format!("\"{}\"", binary().display().to_string().replace('\\', "\\\\"))
}

/// Converts a path with `/` into the form that the program prints.
fn native(path: &str) -> String {
    path.replace('/', std::path::MAIN_SEPARATOR_STR)
}

#[test]
fn config_adds_a_table_to_the_toml_of_codex() {
    let program = Program::new();
    let entry = format!("[mcp_servers.scorpiox]\ncommand = {}\nargs = []\n", quoted());
    let (_, printed, err) = program.run(&["config", "codex"]);
    assert_eq!(printed, entry);
    assert!(err.contains(&native(".codex/config.toml")), "{err}");
    let before = "# mine\nmodel = 'x'  # two\n\n[mcp_servers.other]\ncommand = \"npx\"\n";
    let path = program.put("home/.codex/config.toml", before);
    assert!(prints(&program, &["config", "codex", "--write"]).starts_with("updated "));
    assert_eq!(fs::read_to_string(&path).expect("the file"), format!("{before}\n{entry}"));
    let again = prints(&program, &["config", "codex", "--write"]);
    assert!(again.contains("already has the entry"), "{again}");
}

#[test]
fn config_adds_an_item_to_the_yaml_of_continue_and_makes_no_file_of_its_own() {
    let program = Program::new();
    let item = format!("  - name: scorpiox\n    command: {}\n    args: []\n", quoted());
    let (_, printed, err) = program.run(&["config", "continue"]);
    assert_eq!(printed, format!("mcpServers:\n{item}"));
    assert!(err.contains(&native(".continue/config.yaml")), "{err}");
    let (_, err) = fails(&program, &["config", "continue", "--write"], 1);
    assert!(err.contains("set up Continue first") && err.contains("nothing was changed"), "{err}");
    let before =
        "name: mine\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: other # keep\n    command: npx\n";
    let path = program.put("home/.continue/config.yaml", before);
    assert!(prints(&program, &["config", "continue", "--write"]).starts_with("updated "));
    assert_eq!(fs::read_to_string(&path).expect("the file"), format!("{before}{item}"));
}

#[test]
fn config_takes_its_entry_out_and_nothing_else() {
    let program = Program::new();
    for (client, file, key) in CLIENTS {
        let before = format!("{{\n  \"{key}\": {{\n    \"other\": {{ \"command\": \"x\" }}\n  }}\n}}\n");
        let path = program.put(file, &before);
        prints(&program, &["config", client, "--write"]);
        assert!(prints(&program, &["config", client, "--remove"]).starts_with("updated "), "{client}");
        let after: Value = serde_json::from_str(&fs::read_to_string(&path).expect("the file")).expect("JSON");
        assert_eq!(after, json!({ key: { "other": { "command": "x" } } }), "{client}");
        assert!(prints(&program, &["config", client, "--remove"]).contains("has no entry"), "{client}");
    }
    let before = "model = 'x'\n";
    let path = program.put("home/.codex/config.toml", before);
    prints(&program, &["config", "codex", "--write"]);
    prints(&program, &["config", "codex", "--remove"]);
    assert_eq!(fs::read_to_string(path).expect("the file"), before);
    let by_hand = "name: mine\nmcpServers:\n  - name: scorpiox\n    command: x\n";
    let path = program.put("home/.continue/config.yaml", by_hand);
    let (_, err) = fails(&program, &["config", "continue", "--remove"], 1);
    assert!(err.contains("by hand"), "{err}");
    assert_eq!(fs::read_to_string(path).expect("the file"), by_hand);
}

#[test]
fn config_prints_an_address_that_a_client_opens() {
    let program = Program::new();
    let cursor = prints(&program, &["config", "cursor", "--link"]);
    assert!(
        cursor.starts_with("cursor://anysphere.cursor-deeplink/mcp/install?name=scorpiox&config="),
        "{cursor}"
    );
    assert!(prints(&program, &["config", "vscode", "--link"]).starts_with("vscode:mcp/install?%7B"));
    let (_, err) = fails(&program, &["config", "codex", "--link"], 1);
    assert!(err.contains("use --write"), "{err}");
    fails(&program, &["config", "cursor", "--link", "--write"], 2);
}

#[test]
fn shells_complete_the_commands_and_the_manual_has_a_page_for_each() {
    let program = Program::new();
    for (shell, piece) in
        [("bash", "complete -F"), ("zsh", "#compdef scorpiox-code"), ("fish", "complete -c scorpiox-code")]
    {
        let text = prints(&program, &["completions", shell]);
        assert!(text.contains(piece) && text.contains("policy"), "{shell}:\n{text}");
    }
    assert!(prints(&program, &["man"]).contains(".TH scorpiox-code 1"));
    let folder = program.home().join("pages");
    prints(&program, &["man", "--out", folder.to_str().expect("Unicode")]);
    for page in ["scorpiox-code.1", "scorpiox-code-policy-why.1", "scorpiox-code-config.1"] {
        assert!(folder.join(page).is_file(), "{page}");
    }
    // Neither command needs a project or a home.
    assert!(!program.home().join(".scorpiox").exists());
}

#[test]
fn the_self_test_says_only_what_is_to_be_fixed() {
    let program = Program::new();
    let good = prints(&program, &["self-test"]);
    assert!(good.lines().count() == 1 && good.contains(" checks: everything works."), "{good}");
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", "version = 7\n");
    let (bad, _) = fails(&program, &["self-test"], 1);
    assert!(bad.contains("FAIL") && !bad.contains("  ok  "), "{bad}");
}

#[test]
fn config_leaves_a_file_alone_that_it_cannot_read() {
    let program = Program::new();
    let broken = "{\n  \"mcpServers\": {\n    \"other\": \n}\n";
    let path = program.put("workspace/.mcp.json", broken);
    let (_, err) = fails(&program, &["config", "claude-code", "--write"], 1);
    assert!(err.contains(".mcp.json:4:") && err.contains("nothing was changed"), "{err}");
    assert_eq!(fs::read_to_string(path).expect("the file"), broken);
    let entries = fs::read_dir(program.workspace()).expect("a folder");
    assert_eq!(entries.count(), 1, "something was left beside the file");
}

#[test]
fn what_config_writes_starts_this_program() {
    let program = Program::new();
    prints(&program, &["config", "cursor", "--write"]);
    let written = fs::read_to_string(program.home().join(".cursor/mcp.json")).expect("the file");
    let written: Value = serde_json::from_str(&written).expect("JSON");
    let command = written["mcpServers"]["scorpiox"]["command"].as_str().expect("a path");
    let run = std::process::Command::new(command).arg("--version").output().expect("it starts");
    assert_eq!(String::from_utf8(run.stdout).expect("UTF-8"), prints(&program, &["--version"]));
}

#[test]
fn a_workspace_that_is_no_folder_is_an_error_that_says_where_it_came_from() {
    let program = Program::new();
    let file = program.put("workspace/file.txt", "x");
    for folder in ["/does/not/exist", file.to_str().expect("Unicode")] {
        let (out, err) = fails(&program, &["--workspace", folder], 1);
        assert_eq!(out, "");
        assert!(err.contains(folder) && err.contains("--workspace"), "{err}");
    }
    for variable in ["SCORPIOX_WORKSPACE", "CLAUDE_PROJECT_DIR"] {
        let program = Program::new().with(variable, "/does/not/exist");
        let (_, err) = fails(&program, &["doctor"], 1);
        assert!(err.contains(variable), "{err}");
    }
}

#[test]
fn the_workspace_is_named_by_the_argument_then_by_variables_then_by_where_it_starts() {
    let program = Program::new();
    let folder = |name: &str| {
        let file = program.put(&format!("home/{name}/x"), "");
        file.parent().expect("a folder").canonical().display().to_string()
    };
    let (argument, scorpiox, claude) = (folder("argument"), folder("scorpiox"), folder("claude"));
    let own = program.workspace().canonical().display().to_string();
    let used = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = program.command();
        let output =
            command.arg("doctor").args(arguments).envs(variables.iter().copied()).output().expect("it runs");
        let report = unwrapped(&String::from_utf8(output.stdout).expect("UTF-8"));
        let line = report.lines().find_map(|line| line.strip_prefix("  ok    workspace ")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("no workspace:\n{report}"))
    };
    let both = [("SCORPIOX_WORKSPACE", scorpiox.as_str()), ("CLAUDE_PROJECT_DIR", claude.as_str())];
    assert_eq!(used(&["--workspace", &argument], &both), argument);
    assert_eq!(used(&[], &both), scorpiox);
    assert_eq!(used(&[], &both[1..]), claude);
    assert_eq!(used(&[], &[("SCORPIOX_WORKSPACE", ""), ("CLAUDE_PROJECT_DIR", "")]), own);
}

#[test]
fn a_folder_that_is_nobody_s_project_is_replaced_and_the_instructions_say_so() {
    let home = |program: &Program| program.home().display().to_string();
    let system = if cfg!(windows) { ["C:\\", "C:\\windows"] } else { ["/", "/usr"] };
    for folder in [system[0], system[1], "HOME"] {
        let program = Program::new();
        let found = folder.replace("HOME", &home(&program));
        let mut command = program.command();
        command.current_dir(&found);
        let mut server = Started::spawn(command);
        let hello = server.initialize("2025-11-25");
        let used = program.home().join(".scorpiox").join("workspace");
        let sentence = format!("No project is open ({found} is not one), so {} is used", used.display());
        assert!(hello["instructions"].as_str().expect("text").contains(&sentence), "{folder}: {hello}");
        server.text("TaskManager", json!({ "action": "create", "query": "", "text": "T" }));
        let report = program.command().current_dir(&found).arg("doctor").output().expect("it runs");
        let report = unwrapped(&String::from_utf8(report.stdout).expect("UTF-8"));
        let note = format!("note  workspace {}, because {found} is not a project", used.display());
        assert!(report.contains(&note), "{folder}:\n{report}");
    }
}

/// Some clients pass a field's placeholder if the user leaves the field empty.
#[test]
fn what_a_client_left_unfilled_counts_as_not_set() {
    let unfilled = ["SCORPIOX_WORKSPACE", "SCORPIOX_HOME", "SCORPIOX_DURABILITY", "STREAMING"];
    let program = unfilled
        .iter()
        .fold(Program::as_shipped(), |program, name| program.with(name, "${user_config.field}"));
    let program = program.arg("--workspace").arg("${user_config.folder}");
    let (status, out, err) = program.run(&["doctor", "--all"]);
    let out = unwrapped(&out);
    assert!(status.success(), "{out}{err}");
    assert!(out.contains(&format!("workspace {}", program.workspace().display())), "{out}");
    assert!(out.contains("STREAMING = true (default)"), "{out}");
    let arguments = json!({ "action": "create", "query": "", "text": "T" }).to_string();
    let (status, _, err) = program.run(&["call", "TaskManager", &arguments]);
    assert!(status.success() && program.home().join(".scorpiox/state").is_dir(), "{err}");
    assert_eq!(std::fs::read_dir(program.workspace()).expect("a folder").count(), 0);
}

#[test]
fn a_reader_that_goes_away_does_not_change_how_a_command_ends() {
    let program = Program::new();
    let cases = program.put("cases", "allow read /nowhere/at/all\n".repeat(200));
    for (arguments, code) in [
        (vec!["policy", "test", cases.to_str().expect("a path")], 1),
        (vec!["policy", "why", "read", "/root/x"], 1),
    ] {
        let (read, write) = std::io::pipe().expect("a pipe");
        drop(read);
        let mut command = program.command();
        let status = command.args(&arguments).stdout(write).stderr(Stdio::null()).status().expect("it runs");
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}
