//! Tests of the conditions of `[[rules]]`: programs of a command, and who calls and where.

use std::fs;

use scorpiox_tests::{Program, Served};
use serde_json::{Value, json};

use crate::audit::lines;

fn program(policy: &str) -> Program {
    let program = Program::new().with("PATH", "/usr/bin:/bin");
    program.put("home/.scorpiox/policy.toml", format!("version = 1\n{policy}"));
    program
}

fn serve(program: Program) -> Served {
    let mut server = program.serve();
    server.initialize("2025-11-25");
    server
}

fn call(server: &mut Served, tool: &str, command: &str) -> Value {
    let id = server.request("tools/call", json!({"name": tool, "arguments": {"command": command}}));
    server.answer(id)["result"].clone()
}

fn said(result: &Value) -> String {
    result["content"][0]["text"].as_str().expect("text").to_owned()
}

fn is_refused(result: &Value) -> bool {
    result["isError"] == true && said(result).contains("was not run: rule \"r\"")
}

#[test]
fn programs_are_found_wherever_a_command_has_them() {
    let policy =
        "[[rules]]\nname = \"r\"\nprograms = [\"git push *\"]\nunknown = \"deny\"\nthen = \"deny\"\n";
    let mut server = serve(program(policy));
    for command in [
        "git push origin main",
        "cd /tmp && FOO=1 /usr/bin/git -C x push",
        "echo $(sudo git push)",
        "sh -c 'nohup git push'",
        "for x in a; do\ngit push\ndone",
        "cat <<A\n`git push`\nA",
    ] {
        for tool in ["Bash", "BackgroundBash"] {
            let result = call(&mut server, tool, command);
            assert!(
                is_refused(&result) && !said(&result).contains("may start any program"),
                "{command}: {result}"
            );
        }
    }
    for (command, why) in [
        ("./x.sh", "`./x.sh`, a program by its path"),
        ("eval x", "`eval`"),
        ("git $x", "an argument that is not written out"),
        ("(", "an incomplete command"),
    ] {
        let result = call(&mut server, "Bash", command);
        let wanted = format!("because the command may start any program: it has {why}");
        assert!(is_refused(&result) && said(&result).contains(&wanted), "{command}: {result}");
    }
    let result = call(&mut server, "Bash", "echo 'git push' # git push");
    assert!(said(&result).starts_with("git push\n"), "{result}");
}

#[test]
fn a_script_is_asked_about_unless_the_rule_leaves_it_out() {
    for (keys, asks) in [("", true), ("unknown = \"allow\"\n", false)] {
        let policy = format!("[[rules]]\nname = \"r\"\nprograms = [\"git push *\"]\n{keys}then = \"deny\"\n");
        let program = program(&policy);
        program.put("workspace/x.sh", "echo ran\n");
        let mut server = program.serve();
        server.initialize_with("2025-11-25", json!({"elicitation": {}}));
        let id = server.request("tools/call", json!({"name": "Bash", "arguments": {"command": "sh x.sh"}}));
        if asks {
            let form = server.notification("elicitation/create");
            let message = form["params"]["message"].as_str().expect("a message");
            let wanted = "Asked by rule \"r\" (policy.toml line 2), because the command may start any program: it has \
                          a script of `sh`.";
            assert!(message.contains(wanted), "{message}");
            let result = json!({"action": "accept", "content": {"q1": "Allow this call"}});
            server.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": result}));
        }
        assert!(said(&server.answer(id)["result"]).starts_with("ran\n"));
    }
}

#[test]
fn remotes_are_those_of_the_repository_in_every_form() {
    let policy = "[[rules]]\nname = \"r\"\ntools = [\"Bash\"]\nremotes = [\"https://GitHub.com/acme/*\"]\nthen = \"deny\"\n";
    let program = program(policy);
    let config = program.workspace().join(".git/config");
    program.put("workspace/.git/HEAD", "ref: refs/heads/main\n");
    program.put("workspace/.git/objects/x", "");
    program.put("workspace/.git/refs/x", "");
    let mut server = serve(program);
    // Changes count while the server runs.
    for (text, refused) in [
        ("", false),
        ("[remote \"origin\"]\n\turl = git@github.com:acme/tools.git\n", true),
        ("[remote \"origin\"]\n\turl = git@github.com:other/tools.git\n", false),
        ("[remote \"o\"]\n\turl = /x\n\tpushurl = ssh://me@github.com:22/Acme/Tools\n", true),
        (
            "[remote \"o\"]\n\turl = gh:acme/x\n[url \"https://me:secret@github.com/\"]\n\tinsteadOf = gh:\n",
            true,
        ),
        ("[remote \"o\"]\n\turl = ssh://git@[github.com]/acme/x\n", true),
        ("[remote \"o\"]\n\turl = https:///github.com/acme/x\n", true),
        ("[remote \"o\"]\n\turl = https://ｇithub.com/acme/x\n", true),
        ("[remote \"o\"]\n\turl = https://ｇithub.com/other/x\n", false),
        // The configuration of ssh may give the name any host.
        ("[remote \"o\"]\n\turl = gh:other/x\n", true),
        ("[remote \"o\"\n", true),
    ] {
        fs::write(&config, text).expect("a configuration");
        let result = call(&mut server, "Bash", "echo ran");
        assert_eq!(is_refused(&result), refused, "{text}: {result}");
        assert!(!result.to_string().contains("secret"), "{result}");
    }
}

#[cfg(unix)]
#[test]
fn accounts_and_clients_are_told_apart() {
    let uid = user_id();
    for (keys, refused) in [
        (format!("unix_users = [\"{uid}\"]"), true),
        ("unix_users = [\"nobody-has-this-name\"]".to_owned(), false),
        ("unix_groups = [\"nobody-has-this-name\"]".to_owned(), cfg!(target_os = "macos")),
        ("clients = [\"test*\"]".to_owned(), true),
        ("clients = [\"other*\"]".to_owned(), false),
        ("principals = [\"*\"]".to_owned(), false),
        ("groups = [\"ops\"]".to_owned(), false),
    ] {
        let policy = format!("[[rules]]\nname = \"r\"\ntools = [\"Bash\"]\n{keys}\nthen = \"deny\"\n");
        let mut server = serve(program(&policy));
        let result = call(&mut server, "Bash", "echo ran");
        assert_eq!(is_refused(&result), refused, "{keys}: {result}");
    }
}

/// Returns the number of the user who runs the tests.
#[cfg(unix)]
fn user_id() -> u32 {
    use std::os::unix::fs::MetadataExt as _;
    let own = tempfile::tempfile().expect("a file");
    own.metadata().expect("metadata").uid()
}

const PUSH: &str = "[[rules]]\nname = \"push\"\nprograms = [\"git push *\"]\nthen = \"ask\"\n\
     [[rules]]\nname = \"force\"\nprograms = [\"git push * --force\"]\nunknown = \"allow\"\nthen = \"deny\"\n\
     [[rules]]\nname = \"quiet\"\ntools = [\"Bash\"]\nclients = [\"cursor*\"]\nthen = \"deny\"\nmode = \"report\"\n";

#[test]
fn a_concrete_call_is_explained_with_its_rules() {
    let program = program(PUSH);
    for (arguments, code, said) in [
        (&["Bash", "command=ls"][..], 0, "Bash {\"command\":\"ls\"}: allowed: no rule covers it"),
        (&["Bash", "command=git push"], 0, "asked about: rule \"push\" (policy.toml line 2) asks first"),
        (
            &["Bash", "{\"command\": \"./x\"}"],
            0,
            "asks first, because the command may start any program: it has `./x`",
        ),
        (
            &["BackgroundBash", "command=git push --force"],
            1,
            "denied: rule \"force\" (policy.toml line 6) denies it",
        ),
        (
            &["Bash", "command=ls", "--client", "cursor-x"],
            0,
            "rule \"quiet\" (policy.toml line 11) only reports: it would deny",
        ),
        (&["Bash", "command=git push", "--as", "ann"], 1, "requires an approval, and no approver"),
        (&["TaskManager"], 0, "TaskManager {}: allowed"),
    ] {
        let (status, out, err) = program.run(&[&["policy", "why", "call"], arguments].concat());
        assert!(status.code() == Some(code) && out.contains(said), "{arguments:?}: {out}{err}");
    }
    for (arguments, said) in [
        (&["policy", "why", "call", "Bsh"][..], "did you mean Bash?"),
        (&["policy", "why", "call", "Bash", "command"], "neither a JSON object nor NAME=VALUE"),
        (&["policy", "why", "tool", "Bash", "command=ls"], "belong to `policy why call`"),
    ] {
        let (status, _, err) = program.run(arguments);
        assert!(status.code() == Some(2) && err.contains(said), "{arguments:?}: {err}");
    }
}

#[test]
fn cases_about_calls_are_tested() {
    let program = program("");
    let rules = "[[rules]]\nname = \"acme\"\ntools = [\"WebSearch\"]\nremotes = [\"github.com/acme/*\"]\nthen = \"deny\"\n\
                 [[rules]]\nname = \"ann\"\ntools = [\"ReadDocs\"]\nprincipals = [\"ann\"]\ngroups = [\"ops\"]\nthen = \"deny\"\n";
    program.put("workspace/team.toml", format!("version = 1\n{PUSH}{rules}"));
    program.put(
        "workspace/good.cases",
        "ask call Bash command='git push origin'\nallow call Bash command='echo \"git push\"'\nask call Bash command=./x\n\
         deny call Bash command='git push x --force'\nallow call WebSearch query=x\n\
         deny call WebSearch query=x remote git@github.com:acme/x.git\nallow call WebSearch query=x remote github.com/b/x\n\
         deny call ReadDocs url=https://a.example.com as ann group ops\nallow call ReadDocs url=https://a.example.com as ann\n\
         allow call ReadDocs url=https://a.example.com\n",
    );
    let (status, out, err) = program.run(&["policy", "test", "good.cases", "--policy", "team.toml"]);
    assert!(status.success() && out == "10 cases, all as expected.\n", "{out}{err}");
    program.put(
        "workspace/bad.cases",
        "allow call Bash command='git push'\ndeny call Bash command='git push'\n",
    );
    let (status, out, _) = program.run(&["policy", "test", "bad.cases", "--policy", "team.toml"]);
    assert!(status.code() == Some(1) && out.contains("2 cases, 2 not as expected."), "{out}");
    assert!(
        out.contains("line 1: allow call Bash command='git push': is asked about: rule \"push\""),
        "{out}"
    );
}

#[test]
fn a_rule_that_only_reports_is_in_the_audit_and_nowhere_else() {
    let policy = "[[rules]]\nname = \"r\"\nprograms = [\"echo *\"]\nthen = \"deny\"\nmode = \"report\"\n";
    let mut server = serve(program(policy));
    assert!(said(&call(&mut server, "Bash", "echo ran")).starts_with("ran\n"));
    let line = lines(&server.program, 1).pop().expect("a line");
    let uses = line["uses"].as_array().expect("uses");
    let reported = uses.iter().find(|used| used["capability"] == "rules").expect("a use");
    assert_eq!(reported["reported"], "deny");
    assert_eq!(reported["why"], "rule r");
    assert_eq!(reported["rule"], "policy.toml line 2");
    assert!(reported.get("allowed").is_none() && line["outcome"] == "ok", "{line}");
    let (_, table, _) = server.program.run(&["audit"]);
    assert!(table.contains("rules Bash: would deny by rule r (policy.toml line 2"), "{table}");
    let (_, table, _) = server.program.run(&["audit", "--denied"]);
    assert!(!table.contains("would deny"), "{table}");
    let (_, table, _) = server.program.run(&["audit", "--line", "policy.toml:2"]);
    assert!(table.contains("would deny"), "{table}");
    let (_, report, _) = server.program.run(&["audit", "report"]);
    assert!(report.contains("1 outcomes of rules that only report"), "{report}");
}

#[test]
fn tools_and_the_doctor_name_the_rules_about_a_tool() {
    let program = program(PUSH);
    for arguments in [["tools"], ["doctor"]] {
        let (_, out, _) = program.run(&arguments);
        // The doctor breaks lines.
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        for effect in [
            "rule \"push\" (policy.toml line 2) asks before calls with its arguments or programs",
            "rule \"force\" (policy.toml line 6) denies calls with its arguments or programs",
        ] {
            assert!(out.contains(effect), "{effect}: {out}");
        }
        assert!(!out.contains("rule \"quiet\""), "{out}");
    }
    let (_, out, _) = program.run(&["policy", "why", "tool", "Bash"]);
    assert!(out.contains("Bash: allowed") && out.contains("asks before calls with its"), "{out}");
}

#[test]
fn conditions_that_hold_for_less_than_they_seem_to_are_noted() {
    let program = program(
        "[[rules]]\nname = \"r\"\nprograms = [\"git push\", \"git -C x push *\"]\n\
         remotes = [\"github.com\"]\nthen = \"deny\"\n",
    );
    let (status, out, _) = program.run(&["policy", "check"]);
    assert!(status.success(), "{out}");
    for note in [
        "[rules \"r\"] names the remote \"github.com\" (policy.toml line 2), which matches no repository",
        "[rules \"r\"] names the program \"git push\" (policy.toml line 2), which matches no further arguments",
        "[rules \"r\"] names the program \"git -C x push *\" (policy.toml line 2), and git's options before",
    ] {
        assert!(out.contains(note), "{note}: {out}");
    }
}
