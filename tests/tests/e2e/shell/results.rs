//! Tests of the content of results.

use std::fs;

use scorpiox_tests::program::binary;
use scorpiox_tests::{Canonical as _, Program};
use serde_json::json;

use super::support::{Ran, bash, bash_for, git, in_each_tier, start, with_policy};

#[test]
fn an_argument_that_is_not_known_is_named() {
    let program = Program::new();
    let mut server = start(&program);
    let ran = Ran::of(&server.call("Bash", json!({ "comand": "true" })));
    let text = "command is missing. Bash has no argument `comand`: did you mean `command`? It has ";
    assert!(ran.refused().starts_with(text), "{}", ran.text);
    // A command with an unknown argument runs, but the model may have intended something else.
    for (name, said) in [("colour", "`colour`."), ("cmd", "`cmd`: did you mean `command`?")] {
        let ran = Ran::of(&server.call("Bash", json!({ "command": format!("echo {name}"), name: 1 })));
        assert!(ran.text.contains(&format!("Bash has no argument {said}")), "{}", ran.text);
    }
    let begun = Ran::of(&server.call("BackgroundBash", json!({ "command": "true", "timeout": 1 })));
    assert!(begun.text.contains("BackgroundBash has no argument `timeout`"), "{}", begun.text);
    let armed = json!({ "action": "set", "message": "x", "delay_seconds": 600, "once": true });
    let armed = Ran::of(&server.call("SetCallback", armed));
    assert!(armed.text.contains("SetCallback has no argument `once`"), "{}", armed.text);
    // Some models add a description to each command.
    let ran = Ran::of(&server.call("Bash", json!({ "command": "echo yes", "description": "x" })));
    assert!(!ran.text.contains("description"), "{}", ran.text);
    let listed = Ran::of(&server.call("TaskManager", json!({ "action": "list", "colour": 1 })));
    assert!(!listed.text.contains("colour"), "{}", listed.text);
    let task = Ran::of(&server.call("TaskManager", json!({ "action": "create", "txt": "x" })));
    assert!(task.text.contains("`txt`: did you mean `text`?"), "{}", task.text);
}

#[test]
fn exit_codes_and_signals_are_told_in_words_and_as_data() {
    in_each_tier(|_, server| {
        for (command, code) in
            [("true", 0), ("false", 1), ("exit 42", 42), ("exit 255", 255), ("no-such-program", 127)]
        {
            let ran = bash(server, command);
            assert_eq!(ran.exit_code(), code, "{command}");
            assert!(!ran.is_marked, "{command}: an exit code is a result");
            assert!(ran.text.contains(&format!("[exit code {code} · ")), "{}", ran.text);
            assert!(ran.data["signal"].is_null());
        }
        for (signal, name) in [("TERM", "SIGTERM"), ("KILL", "SIGKILL"), ("SEGV", "SIGSEGV")] {
            let ran = bash(server, &format!("kill -{signal} $$"));
            assert_eq!(ran.data["signal"], name);
            assert!(ran.data["exit_code"].is_null() && !ran.is_marked);
            assert!(ran.text.contains(&format!("[killed by {name} · ")), "{}", ran.text);
        }
    });
}

#[test]
fn the_text_shows_the_output_and_then_how_it_ended() {
    let program = Program::new();
    let mut server = start(&program);
    let ran = bash(&mut server, "echo out; echo err >&2; echo again; exit 3");
    assert_eq!(ran.output(), "out\nerr\nagain\n");
    let (output, end) = ran.text.split_at(ran.output().len());
    assert_eq!(output, ran.output());
    assert!(
        end.starts_with("\n[exit code 3 · ") && end.ends_with(" · sandbox T1, profile workspace]"),
        "{end}"
    );
    assert_eq!(ran.data["timed_out"], false);
    assert_eq!(ran.data["truncated_bytes"], 0);
    assert!(ran.data["full_output_path"].is_null());
}

#[test]
fn a_shell_starts_in_the_workspace_with_nothing_to_read_and_no_terminal() {
    in_each_tier(|program, server| {
        let workspace = program.workspace().canonical();
        let ran = bash(server, "pwd; cd /; pwd");
        assert_eq!(ran.succeeded(), format!("{}\n/\n", workspace.display()));
        assert_eq!(bash(server, "pwd").succeeded(), format!("{}\n", workspace.display()));
        assert_eq!(bash(server, "cat; echo end").succeeded(), "end\n");
        let ran = bash(
            server,
            "test -t 0 || test -t 1 || test -t 2 || echo none; (: </dev/tty) 2>&1; tty; set -o | grep monitor",
        );
        assert!(ran.output().starts_with("none\n"), "{}", ran.text);
        assert!(ran.output().contains("/dev/tty: "), "{}", ran.text);
        assert!(ran.output().contains("not a tty"), "{}", ran.text);
        assert!(ran.output().contains("monitor        \toff"), "{}", ran.text);
    });
}

#[test]
fn a_folder_that_a_command_deletes_under_itself_harms_nobody() {
    let program = Program::new();
    let mut server = start(&program);
    program.put("workspace/keep", "kept");
    let ran = bash(&mut server, "mkdir a && cd a && rm -r ../a && pwd && ls");
    assert!(ran.text.contains("[exit code "), "{}", ran.text);
    assert_eq!(bash(&mut server, "cat keep").succeeded(), "kept");
}

#[test]
fn a_workspace_that_is_gone_is_said_and_works_again_when_it_is_back() {
    let program = Program::new();
    let mut server = start(&program);
    assert_eq!(bash(&mut server, "echo 1").succeeded(), "1\n");
    fs::remove_dir_all(program.workspace()).expect("it is removed");
    let ran = bash(&mut server, "echo 2");
    let workspace = program.workspace();
    assert!(ran.refused().contains(&workspace.display().to_string()), "{}", ran.text);
    assert!(!workspace.exists());
    fs::create_dir(&workspace).expect("it is made again");
    program.put("workspace/new", "new");
    assert_eq!(bash(&mut server, "cat new").succeeded(), "new");
}

#[test]
fn times_are_checked_and_the_text_says_what_is_allowed() {
    let program = Program::new();
    let mut server = start(&program);
    for timeout in
        [json!(0), json!(-1), json!(600_001), json!(u64::MAX), json!(1.5), json!("ten"), json!("0")]
    {
        let ran = Ran::of(&server.call("Bash", json!({ "command": "touch ran", "timeout": timeout })));
        assert!(ran.refused().contains("timeout"), "{}", ran.text);
    }
    assert!(!program.workspace().join("ran").exists());
    assert_eq!(bash_for(&mut server, "echo 1", 600_000).succeeded(), "1\n");
    // Models pass numbers and objects as text too.
    let ran = Ran::of(&server.call("Bash", json!({ "command": "echo 2", "timeout": "5000" })));
    assert_eq!(ran.succeeded(), "2\n");
    let ran = Ran::of(&server.call("Bash", json!(r#"{"command":"echo 3"}"#)));
    assert_eq!(ran.succeeded(), "3\n");
}

#[test]
fn commands_that_cannot_be_are_refused() {
    let program = Program::new();
    let mut server = start(&program);
    for (arguments, why) in [
        (json!({}), "command is missing"),
        (json!({ "command": "" }), "empty"),
        (json!({ "command": " \n" }), "empty"),
        (json!({ "command": "echo a\u{0}b" }), "NUL"),
        (json!({ "command": "x".repeat(200_000) }), "200000 bytes"),
        (json!({ "command": 5 }), "command"),
        (json!({ "command": ["ls"] }), "command"),
    ] {
        for tool in ["Bash", "BackgroundBash"] {
            let result = server.call(tool, arguments.clone());
            let text = result["content"][0]["text"].as_str().expect("a text");
            assert_eq!(result["isError"], true, "{text}");
            assert!(text.contains(why), "{text}");
            assert!(text.len() < 500, "a short text: {text}");
        }
    }
}

#[test]
fn the_longest_command_runs() {
    let program = Program::new();
    let mut server = start(&program);
    let command = format!("echo ${{#v}}; : {}", "x".repeat(128 * 1024 - 1 - 14));
    let command = command.replacen("${#v}", "end", 1);
    assert!(command.len() < 128 * 1024);
    assert_eq!(bash(&mut server, &command).succeeded(), "end\n");
}

#[test]
fn unicode_passes_through_commands_names_and_output() {
    in_each_tier(|program, server| {
        program.put("workspace/フォルダ/there", "");
        let ran =
            bash(server, "cd フォルダ && printf '%s' '日本語 🦂 é' > 'ünï 🦂.txt' && cat 'ünï 🦂.txt' && ls");
        assert_eq!(ran.succeeded(), "日本語 🦂 éthere\nünï 🦂.txt\n");
        let kept = fs::read_to_string(program.workspace().join("フォルダ/ünï 🦂.txt")).expect("a file");
        assert_eq!(kept, "日本語 🦂 é");
    });
}

#[test]
fn the_environment_is_made_from_nothing() {
    for (name, value) in
        [("BASH_ENV", "/tmp/evil"), ("SECRET_TOKEN", "s3cret"), ("BASH_FUNC_ls%%", "() { echo evil; }")]
    {
        let program = Program::new().with(name, value).with("LANG", "C.UTF-8").with("LD_PRELOAD_X", "y");
        let mut server = start(&program);
        let ran = bash(&mut server, "env; ls /nonexistent");
        assert!(!ran.output().contains(value), "{}", ran.text);
        assert!(!ran.output().contains("SCORPIOX"), "{}", ran.text);
        for line in [
            "TERM=dumb",
            "NO_COLOR=1",
            "PAGER=cat",
            "GIT_PAGER=cat",
            "GIT_TERMINAL_PROMPT=0",
            "GIT_EDITOR=true",
            "GIT_SEQUENCE_EDITOR=false",
            "PIP_NO_INPUT=1",
            "npm_config_yes=true",
            "LANG=C.UTF-8",
            "CI=1",
        ] {
            assert!(ran.output().lines().any(|found| found == line), "{line} is missing: {}", ran.text);
        }
    }
}

#[test]
fn every_kind_of_shell_syntax_works() {
    in_each_tier(|_, server| {
        let script = r#"
set -euo pipefail
cat <<EOF
here $((6*7))
EOF
cat <<< "string"
diff <(printf 'a\nb\n') <(printf 'a\nb\n') && echo same
printf 'c\na\nb\n' | sort | head -n 1
( exit 0 ) && { echo group; }
f() { local x=${1^^}; echo "$x"; }; f function
arr=(1 2 3); echo "${#arr[@]}"
for i in {1..3}; do printf '%s ' "$i"; done; echo
[[ abc =~ ^a(.)c$ ]] && echo "${BASH_REMATCH[1]}"
coproc CAT { cat; }; echo hello >&"${CAT[1]}"; read -r line <&"${CAT[0]}"; echo "$line"; exec {CAT[1]}>&-; wait
mkfifo $TMPDIR/p; echo through > $TMPDIR/p & cat $TMPDIR/p; wait; rm $TMPDIR/p
trap 'echo trapped' EXIT
"#;
        let expected = "here 42\nstring\nsame\na\ngroup\nFUNCTION\n3\n1 2 3 \nb\nhello\nthrough\ntrapped\n";
        assert_eq!(bash(server, script).succeeded(), expected);
    });
}

#[test]
fn results_fit_the_schema_that_the_list_declares() {
    let program = Program::new();
    let mut server = start(&program);
    let listed = server.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools").clone();
    let mut checked = Vec::new();
    for (tool, arguments) in [
        ("Bash", json!({ "command": "yes | head -c 100000; exit 1" })),
        ("Bash", json!({ "command": "kill -9 $$" })),
        ("Bash", json!({ "command": "sleep 9", "timeout": 20 })),
        ("BackgroundBash", json!({ "command": "sleep 60" })),
        ("ListBgTasks", json!({})),
        ("ReadBgOutput", json!({ "task_id": 1 })),
        ("KillBgTask", json!({ "task_id": 1 })),
        ("ReadBgOutput", json!({ "task_id": 1 })),
    ] {
        let definition = tools.iter().find(|known| known["name"] == tool).expect("it is listed");
        let schema = jsonschema::validator_for(&definition["outputSchema"]).expect("a schema");
        let result = server.call(tool, arguments);
        let errors: Vec<_> =
            schema.iter_errors(&result["structuredContent"]).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{tool}: {errors:?} {result}");
        checked.push(tool);
    }
    assert_eq!(checked.len(), 8);
}

#[test]
fn where_no_project_is_open_commands_have_a_folder_of_their_own() {
    // Desktop clients start the server in this directory.
    let program = Program::new().with("SCORPIOX_WORKSPACE", "/");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let result = server.call("Bash", json!({"command": "pwd; echo kept > note"}));
    assert_eq!(result["structuredContent"]["exit_code"], 0, "{result}");
    let note = program.home().join(".scorpiox/workspace/note");
    assert_eq!(std::fs::read_to_string(note).expect("the note"), "kept\n");
}

/// Like in a container whose files survive a restart.
#[test]
fn a_server_with_the_process_number_of_an_earlier_one_keeps_whole_outputs() {
    let unshare = "exec /usr/bin/unshare --pid --fork --mount-proc --kill-child";
    let program = Program::new().after(&format!("{unshare} '{}' \"$@\"", binary().display()));
    let whole: String = (1..=20_000).map(|n| format!("{n}\n")).collect();
    let mut paths = Vec::new();
    for _ in 0..2 {
        let mut server = start(&program);
        let ran = bash(&mut server, "seq 1 20000");
        let path = ran.data["full_output_path"].as_str().unwrap_or_else(|| panic!("{}", ran.text));
        assert_eq!(fs::read_to_string(path).expect("the file"), whole);
        paths.push(path.to_owned());
    }
    assert_ne!(paths[0], paths[1]);
}

/// A refused access names its reason, since programs only print that the system refused it.
#[test]
fn a_refused_access_names_the_rule() {
    let policy = "[shell.profile.workspace]\ndeny = [\"**/.env*\", \"secrets/\"]\n";
    let program = with_policy(Program::new(), policy);
    program.put("workspace/.env", "X=1");
    program.put("workspace/secrets/a", "x");
    git(&program.workspace(), &["init", "-q"]);
    let mut server = start(&program);
    for (command, expected) in [
        ("cat .env", "[refused: \"**/.env*\" in `deny`"),
        ("rm .env", "[refused: \"**/.env*\" in `deny`"),
        ("rm -rf secrets", "[refused: \"secrets/\" in `deny`"),
        (
            "cat .env 2> /dev/null || { echo 'PermissionError: [Errno 13] Permission denied'; exit 1; }",
            "[refused: a program does not name the file that it could not open; `deny` closes 2 paths, such as ",
        ),
        ("echo x > .git/hooks/pre-commit", "[protected: \".git/hooks/pre-commit\":"),
        ("echo x >> .git/config", "[protected: \".git/config\":"),
        (
            "echo x > /etc/x",
            "[read-only: commands of profile workspace write only to the workspace, /tmp, $HOME",
        ),
    ] {
        let ran = bash(&mut server, command);
        assert!(ran.is_error && ran.text.contains(expected), "{command}: {}", ran.text);
    }
    for command in ["cat none", "ls /etc/x", "echo x > /tmp/x"] {
        let ran = bash(&mut server, command);
        assert!(
            !ran.text.contains("[refused: ") && !ran.text.contains("[read-only: "),
            "{command}: {}",
            ran.text
        );
    }
}
