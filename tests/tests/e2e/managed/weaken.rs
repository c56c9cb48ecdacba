//! Tests of attempts by a non-root user to weaken the policy: all of them fail.

use std::fs;

use scorpiox_tests::Program;
use scorpiox_tests::managed::managed;
use serde_json::json;

use super::{CLOSED, SECRET, closed, program, told};

/// User policy with every permission that the file can grant.
const WIDE: &str = "version = 1\n[shell]\nallow_unsandboxed = true\nmin_tier = \"T2\"\n\
    [shell.profile.workspace]\nread = [\"@system\", \"/\"]\ndeny = []\nnetwork = { mode = \"open\" }\n\
    [shell.profile.readonly]\nread = [\"/\"]\ndeny = []\n\
    [web]\nenabled = true\nallow = [\"*\"]\nallow_private = [\"127.0.0.0/8\", \"10.0.0.0/8\"]\n\
    [files]\nread = [\"/\"]\ndeny = []\n[tools]\nallow = [\"*\"]\ndeny = []\n\
    [plugins]\nallow = [\"*\"]\napprove = \"person\"\n[audit]\nenabled = false\nrequired = false\n";

/// Asserts that denied resources stay denied in a server started this way. A server that does not start, or
/// that refuses its tools, grants nothing. Returns `true` if the server started.
#[track_caller]
fn holds(what: &str, program: &Program) -> bool {
    let mut server = program.start();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    if !server.try_send(&hello) || server.next().is_none_or(|answer| !answer["result"].is_object()) {
        return false;
    }
    let outside = program.home().join("../outside/notes").display().to_string();
    let command = format!("cat secret; cat {outside}; cat link; cat .env; true");
    let read = told(&mut server, "Bash", json!({ "command": command }));
    assert!(!read.contains(SECRET), "{what}: a command read it: {read}");
    let page = told(&mut server, "ReadDocs", json!({ "url": "https://example.com/" }));
    let is_refused =
        |text: &str| ["enabled = false", "refused", "was not run"].iter().any(|word| text.contains(word));
    assert!(is_refused(&page), "{what}: {page}");
    let found = told(&mut server, "WebSearch", json!({ "query": "x" }));
    assert!(
        found.contains("denied by \"WebSearch\" in `deny` of [tools]") || is_refused(&found),
        "{what}: {found}"
    );
    let image = told(&mut server, "ReadImage", json!({ "file_path": "secret" }));
    assert!(image.contains("denied by \"**/secret\"") || is_refused(&image), "{what}: {image}");
    true
}

fn scripts(ways: &[(&str, &str)]) {
    for (what, script) in ways {
        let program = program();
        let policy = closed(&program);
        assert!(holds(what, &managed(program, &policy, script)), "{what}: it did not start");
    }
}

#[test]
fn the_file_itself_stays_as_it_is() {
    scripts(&[
        ("removed", "rm -f /etc/scorpiox/policy.toml"),
        ("renamed", "mv /etc/scorpiox/policy.toml /etc/scorpiox/gone"),
        ("its folder renamed", "mv /etc/scorpiox /etc/gone"),
        (
            "replaced",
            "echo 'version = 1' > /tmp/p.$$; mv -f /tmp/p.$$ /etc/scorpiox/policy.toml; rm -f /tmp/p.$$",
        ),
        ("a link in its place", "ln -sfn /dev/null /etc/scorpiox/policy.toml"),
        ("a link in its folder's place", "ln -sfn \"$HOME\" /etc/scorpiox"),
        ("emptied", ": > /etc/scorpiox/policy.toml"),
        ("appended to", "echo '[web]' >> /etc/scorpiox/policy.toml"),
        ("its mode", "chmod 666 /etc/scorpiox/policy.toml"),
        ("made unreadable", "chmod 000 /etc/scorpiox/policy.toml /etc/scorpiox"),
        ("its owner", "chown 65534 /etc/scorpiox/policy.toml"),
        (
            "an attribute",
            "setfattr -n user.x -v 1 /etc/scorpiox/policy.toml; chattr +i /etc/scorpiox/policy.toml",
        ),
        ("a mount over it", "mount --bind /dev/null /etc/scorpiox/policy.toml"),
        ("locked", "flock -x /etc/scorpiox/policy.toml true"),
    ]);
}

#[test]
fn the_persons_own_files_only_narrow() {
    let own = |name: &str, text: &str| {
        let program = program();
        program.put(name, text);
        let policy = closed(&program);
        managed(program, &policy, "")
    };
    holds("every key at once", &own("home/.scorpiox/policy.toml", WIDE));
    for table in WIDE.split("\n[").skip(1) {
        let text = format!("version = 1\n[{table}");
        holds(&text, &own("home/.scorpiox/policy.toml", &text));
    }
    let more = "version = 1\n[shell.profile.wide]\nread = [\"/\"]\ndeny = []\nnetwork = { mode = \"open\" }\n\
                [grant.\"Bash\"]\nshell = { profile = \"wide\" }\n";
    holds("a profile and a grant of one's own", &own("home/.scorpiox/policy.toml", more));
    holds("settings of the workspace", &own("workspace/scorpiox-env.txt", "TOOLS=true\nWEBSEARCH=true\n"));
    holds("settings of the person", &own("home/scorpiox-env.txt", "TOOLS=true\nWEBSEARCH=true\n"));
    holds("settings beside the program", &own("bin/scorpiox-env.txt", "TOOLS=true\nWEBSEARCH=true\n"));
    holds("a policy of the workspace", &own("workspace/policy.toml", WIDE));
    holds("a policy of the workspace's folder", &own("workspace/.scorpiox/policy.toml", WIDE));
}

#[test]
fn links_and_names_of_the_workspace_lead_nowhere_else() {
    scripts(&[
        ("a link to it", "ln -sfn secret \"$HOME/../workspace/link\""),
        ("a link outside", "ln -sfn \"$HOME/../outside/notes\" \"$HOME/../workspace/link\""),
        ("a second name", "ln \"$HOME/../workspace/secret\" \"$HOME/../workspace/link\""),
        ("another case", "mv \"$HOME/../workspace/secret\" \"$HOME/../workspace/.ENV\""),
        ("a mode", "chmod 000 \"$HOME/../workspace/secret\""),
    ]);
}

#[test]
fn no_variable_of_the_environment_opens_anything() {
    let wide = |program: Program| {
        program.put("other/policy.toml", WIDE);
        program.put("workspace/other/policy.toml", WIDE);
        program
    };
    let at = |program: &Program, path: &str| program.home().join("..").join(path).display().to_string();
    let with = |name: &str, path: &str| {
        let program = wide(program());
        let value = if path.contains('/') { at(&program, path) } else { path.to_owned() };
        program.with(name, &value)
    };
    for (name, path) in [
        ("SCORPIOX_HOME", "./other"),
        ("SCORPIOX_HOME", "./workspace/other"),
        ("SCORPIOX_HOME", "./nothing"),
        ("SCORPIOX_HOME", ""),
        ("HOME", "./other"),
        ("HOME", ""),
        ("XDG_CONFIG_HOME", "./other"),
        ("SCORPIOX_POLICY", "./other/policy.toml"),
        ("SCORPIOX_MANAGED", "false"),
        ("SCORPIOX_WORKSPACE", "./outside"),
        ("CLAUDE_PROJECT_DIR", "./outside"),
        ("ADDITIONAL_SKILLS", "./outside"),
        ("TMPDIR", "./outside"),
        ("PATH", "./workspace"),
        ("TOOLS", "true"),
        ("WEBSEARCH", "true"),
        ("SCORPIOX_DURABILITY", "power"),
    ] {
        let program = with(name, path);
        let policy = closed(&program);
        holds(&format!("{name}={path}"), &managed(program, &policy, ""));
    }
}

#[test]
fn no_argument_opens_anything() {
    for arguments in [
        &["--managed", "required"][..],
        &["--workspace", "/"],
        &["--workspace", "/etc"],
        &["--managed", "no"],
    ] {
        let program = arguments.iter().fold(program(), |program, argument| program.arg(argument));
        let policy = closed(&program);
        holds(&format!("{arguments:?}"), &managed(program, &policy, ""));
    }
    let program = program();
    let outside = program.home().join("../outside").display().to_string();
    let limited = CLOSED
        .replace("[web]", &format!("[workspaces]\nallow = [\"{}\"]\n[web]", program.workspace().display()));
    let program = managed(program.arg("--workspace").arg(&outside), &limited, "");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let refused = told(&mut server, "Bash", json!({ "command": "cat notes" }));
    assert!(refused.contains("is in none of the folders that `allow` of [workspaces]"), "{refused}");
}

#[test]
fn no_command_of_the_program_opens_anything() {
    for command in [
        "policy forget",
        "policy init --example developer",
        "plugin add ../workspace/p",
        "config claude-code --write",
    ] {
        let script = format!("cd \"$HOME/../workspace\"; \"$HOME/../bin/scorpiox-code\" {command}");
        holds(command, &managed(program(), CLOSED, &script));
    }
    let program = program();
    program.put("home/.scorpiox/policy.toml", WIDE);
    holds(
        "the own file goes while it starts",
        &managed(program, CLOSED, "(sleep 0.01; rm -f \"$SCORPIOX_HOME/policy.toml\") & disown"),
    );
}

#[test]
fn a_program_elsewhere_reads_the_same_file() {
    scripts(&[
        (
            "a copy of the program",
            "cp \"$HOME/../bin/scorpiox-code\" \"$HOME/copy\"; \"$HOME/copy\" policy show >/dev/null",
        ),
        ("few descriptors", "ulimit -n 16"),
        ("every mode", "umask 0"),
    ]);
    let program = managed(program(), CLOSED, "");
    let (status, shown, err) = program.run(&["policy", "show"]);
    assert!(status.success() && shown.starts_with("# /etc/scorpiox/policy.toml\n"), "{shown}{err}");
    assert!(shown.contains("# /etc/scorpiox/policy.toml line 6"), "{shown}");
    let newer = CLOSED.replace("version = 1\n", "version = 1\nmin_version = \"99.0.0\"\n");
    let program = managed(super::program(), &newer, "");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let refused = told(&mut server, "Bash", json!({ "command": "true" }));
    assert!(refused.contains("`min_version` is 99.0.0, and this program is"), "{refused}");
    fs::remove_dir_all(program.home().join(".scorpiox/run")).ok();
}

#[test]
fn an_approval_from_before_does_not_outlive_what_the_policy_says_of_approving() {
    use crate::plugins::{hash_of, install, install_kinds, listed, source};
    let plugin = std::fs::read(crate::plugins::guest("kinds")).expect("the component");
    let before = Program::new();
    install_kinds(&before, "");
    let folder = source(&before, "kinds", "", &plugin);
    let hash = hash_of(&before, &folder);
    install(&before, &folder);
    let mut server = before.start();
    server.initialize("2025-11-25");
    assert!(!listed(&mut server).is_empty());
    drop(server);
    for (allow, runs) in [("\"kinds\"".to_owned(), false), (format!("\"kinds@sha256:{hash}\""), true)] {
        let text = format!("version = 1\n[plugins]\nallow = [{allow}]\napprove = \"policy\"\n");
        before.put("home/.scorpiox/policy.toml", &text);
        let mut server = before.start();
        server.initialize("2025-11-25");
        assert_eq!(!listed(&mut server).is_empty(), runs, "{allow}");
    }
    // A manually edited ledger of decisions grants nothing.
    let ledger = before.home().join(".scorpiox/plugins.json");
    let text = std::fs::read_to_string(&ledger).expect("the decisions");
    let mut decisions: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let approved = &mut decisions["plugins"]["kinds"]["decision"]["approved"];
    approved["limits"]["cpu_seconds"] = json!(60);
    let forged = decisions.to_string();
    std::fs::write(&ledger, forged).expect("writes");
    let mut server = before.start();
    server.initialize("2025-11-25");
    assert!(listed(&mut server).is_empty());
    // Nor does a trial of an unlisted plugin.
    before.put("home/.scorpiox/policy.toml", "version = 1\n[plugins]\nallow = []\n");
    let (tried, _, err) = before.run(&["plugin", "test", &folder, "divide", "{\"a\": 6, \"b\": 3}"]);
    assert!(!tried.success() && err.contains("is not in `allow` of [plugins]"), "{err}");
}

#[test]
fn a_narrower_path_of_the_person_leads_nowhere_by_a_link() {
    let program = program();
    let team = program.put("home/team/file", "the team's").parent().expect("a folder").to_owned();
    let customer = program.put("outside/customer/file", SECRET).parent().expect("a folder").to_owned();
    std::os::unix::fs::symlink(&customer, team.join("link")).expect("a link");
    let own = format!(
        "version = 1\n[shell.profile.workspace]\nread = [\"@system\", \"{0}/link\"]\n[files]\nread = [\"{0}/link\"]\n",
        team.display()
    );
    program.put("home/.scorpiox/policy.toml", own);
    let managed_policy = format!(
        "version = 1\n[shell.profile.workspace]\nread = [\"@system\", \"{0}\"]\n[files]\nread = [\"{0}\"]\n",
        team.display()
    );
    let program = managed(program, &managed_policy, "");
    let mut server = program.start();
    server.initialize("2025-11-25");
    let read =
        told(&mut server, "Bash", json!({ "command": format!("cat {}/file; true", customer.display()) }));
    assert!(!read.contains(SECRET), "{read}");
}

#[test]
fn a_link_made_in_one_workspace_opens_nothing_in_another() {
    let program = Program::new();
    let secret = program.put("home/private/id", SECRET);
    program.put("home/a/file", "");
    let docs = program.home().join("a/docs");
    program.put(
        "home/.scorpiox/policy.toml",
        format!("version = 1\n[shell.profile.workspace]\nread = [\"@system\", \"{}\"]\n", docs.display()),
    );
    let mut command = program.command();
    command.arg("--workspace").arg(program.home().join("a"));
    let mut first = scorpiox_tests::Started::spawn(command);
    first.initialize("2025-11-25");
    let link = format!("ln -s {} docs; echo made", secret.parent().expect("a folder").display());
    let made = told(&mut first, "Bash", json!({ "command": link }));
    drop(first);
    let mut second = program.start();
    second.initialize("2025-11-25");
    let read = told(
        &mut second,
        "Bash",
        json!({ "command": format!("cat {}/id {}; true", docs.display(), secret.display()) }),
    );
    assert!(!read.contains(SECRET), "{made}\n{read}");
    assert!(docs.symlink_metadata().is_ok(), "the link is there, so that the attack is one: {made}");
}
