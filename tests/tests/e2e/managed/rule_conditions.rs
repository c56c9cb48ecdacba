//! Tests of the conditions of `[[rules]]`: programs of a command, and who calls and where.

use std::fs;

use scorpiox_tests::{Program, Served};
use serde_json::{Value, json};

fn program(policy: &str) -> Program {
    let program = Program::new().with("PATH", "/usr/bin:/bin");
    program.put("home/.scorpiox/policy.toml", &format!("version = 1\n{policy}"));
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
