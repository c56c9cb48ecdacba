//! Tests of the content of audit lines, and of data that they never contain.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use scorpiox_tests::program::{ends_within, modern};
use scorpiox_tests::site::{Answer, Site};
use scorpiox_tests::{Canonical as _, Program, Started};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::plugins;
use super::super::shell::support::comes_true;
use super::{create, folder, lines, start, text, with_policy};

/// Word that appears only in arguments.
const SECRET: &str = "hush-7f3a";

const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn every_kind_of_call_has_a_line() {
    let program = Program::new();
    plugins::install_kinds(&program, "[limits]\ncpu_seconds = 1\n");
    let mut server = start(&program);
    // Discards the lines of the plugin's installation.
    std::fs::remove_dir_all(folder(&program)).expect("removes");
    server.ask("tools/list", json!({}));
    assert!(!folder(&program).exists(), "nothing is opened before the first call");
    create(&mut server, "a task");
    server.call("TaskManager", json!({ "action": "nonsense" }));
    server.call("ListBgTasks", json!({}));
    server.call("kinds.divide", json!({ "a": 6, "b": 3 }));
    server.call("kinds.hostile.spin", json!({}));
    server.ask("tools/call", json!({ "name": "NoSuchTool", "arguments": {} }));
    let lines = lines(&program, 6);
    let told: Vec<_> = lines.iter().map(|line| (&line["tool"], &line["outcome"])).collect();
    let expected = [
        ("TaskManager", "ok"),
        ("TaskManager", "error"),
        ("ListBgTasks", "ok"),
        ("kinds.divide", "ok"),
        ("kinds.hostile.spin", "fault"),
        ("NoSuchTool", "refused"),
    ]
    .map(|(tool, outcome)| (json!(tool), json!(outcome)));
    assert_eq!(told, expected.iter().map(|(tool, outcome)| (tool, outcome)).collect::<Vec<_>>());
    let first = &lines[0];
    assert_eq!(first["client"], json!({ "name": "tests", "version": "1" }));
    assert_eq!(first["pid"], server.child.id());
    assert_eq!(first["workspace"], json!(program.workspace().canonical()));
    assert_eq!(first["uses"], json!([{ "capability": "store", "allowed": true, "rule": "built-in" }]));
    assert!(first["duration_ms"].as_f64().is_some_and(|ms| ms > 0.0 && ms < 10_000.0), "{first}");
    assert!(first["memory_bytes"].as_u64().is_some_and(|bytes| bytes >= 64 * 1024), "{first}");
    let time = regex::Regex::new(r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$").expect("a pattern");
    assert!(time.is_match(first["time"].as_str().expect("a time")), "{first}");
    let components: Vec<_> = lines.iter().map(|line| line["component"].clone()).collect();
    let plugin = plugins::kinds_hash();
    let own = components[0].as_str().and_then(|component| component.strip_prefix("built-in:"));
    let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(own.is_some_and(is_hash) && components[0] == components[1], "{components:?}");
    assert_eq!(components[2..], [Value::Null, json!(plugin), json!(plugin), Value::Null]);
    let listed = plugins::hash_of(&program, &program.workspace().join("sources/kinds").display().to_string());
    assert_eq!(lines[3]["plugin"], json!({ "name": "kinds", "hash": listed }));
    assert!(lines[0].get("plugin").is_none() && lines[5].get("plugin").is_none());
    assert_eq!(lines[5]["fault"], "unknown-tool");
    // The rule that allows the plugin to run.
    let runs = json!([{ "capability": "plugins", "what": "kinds", "allowed": true, "rule": "approval" }]);
    assert_eq!(lines[3]["uses"], runs);
    assert_eq!(lines[4]["fault"], "deadline");
    assert!(lines[4]["duration_ms"].as_f64().is_some_and(|ms| ms > 500.0), "{}", lines[4]);
    assert!(lines[2].get("memory_bytes").is_none() && lines[2].get("uses").is_none(), "{}", lines[2]);
}

#[test]
fn what_a_background_command_is_refused_is_recorded_when_it_ends() {
    let program = Program::new();
    let mut server = start(&program);
    server.call("BackgroundBash", json!({ "command": "true" }));
    server.call("BackgroundBash", json!({ "command": "mkdir .idea; true" }));
    let lines = lines(&program, 3);
    let [first, second, ended] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&first["tool"], &second["tool"]), (&json!("BackgroundBash"), &json!("BackgroundBash")));
    assert_eq!((&ended["tool"], &ended["outcome"]), (&json!("background command"), &json!("ok")));
    let refused = ended["uses"].as_array().and_then(|uses| uses.first()).expect("a use");
    assert_eq!((&refused["capability"], &refused["allowed"]), (&json!("shell"), &json!(false)), "{ended}");
    assert!(refused["what"].as_str().is_some_and(|what| what.ends_with("/.idea")), "{ended}");
    assert_eq!(ended["client"], json!({ "name": "tests", "version": "1" }), "{ended}");
}

#[test]
fn a_client_of_either_era_is_named_without_control_characters() {
    let program = Program::new();
    let mut server = program.start();
    let evil = json!({ "name": "ev\u{1b}[31mil\n\u{202e}", "version": "9".repeat(1000) });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": evil });
    server.ask("initialize", params);
    server.call("ListBgTasks", json!({}));
    server.ask("tools/call", modern(json!({ "name": "ListBgTasks", "arguments": {} })));
    // A client name that is not an object counts as unknown.
    let mut odd = modern(json!({ "name": "ListBgTasks", "arguments": {} }));
    odd["_meta"]["io.modelcontextprotocol/clientInfo"] = json!("somebody");
    assert_eq!(server.ask("tools/call", odd)["result"]["isError"], false);
    let lines = lines(&program, 3);
    assert_eq!(lines[0]["client"]["name"], "ev[31mil");
    assert!(lines[0]["client"]["version"].as_str().is_some_and(|version| version.len() < 110));
    assert_eq!(lines[1]["client"], json!({ "name": "tests", "version": "1" }));
    assert_eq!(lines[2]["client"], Value::Null);
    assert!(!text(&program).contains(|c: char| c.is_control() && c != '\n'));
}

/// Makes calls with the word at every position that a client controls.
fn whisper(server: &mut Started, program: &Program) -> usize {
    let outside = program.put(&format!("home/{SECRET}.png"), "no image");
    let inside = program.put(&format!("workspace/{SECRET}.png"), "no image");
    let calls = [
        ("TaskManager", json!({ "action": "create", "text": SECRET })),
        ("TaskManager", json!({ "action": SECRET })),
        ("Bash", json!({ "command": format!("echo {SECRET} >&2; exit 3") })),
        ("Bash", json!({ "command": format!(": {SECRET} \0") })),
        ("ReadDocs", json!({ "url": format!("http://127.0.0.1:9/{SECRET}?q={SECRET}") })),
        ("ReadDocs", json!({ "url": format!("file:///{SECRET}") })),
        ("ReadImage", json!({ "file_path": outside })),
        ("ReadImage", json!({ "file_path": inside })),
        ("InvokeSkill", json!({ "skill_name": SECRET })),
        ("AskUserQuestion", json!({ "questions_json": SECRET })),
        ("KillBgTask", json!({ "task_id": SECRET })),
        ("SetCallback", json!({ "action": "set", "message": SECRET, "delay_seconds": 3600 })),
    ];
    for (tool, arguments) in &calls {
        server.call(tool, arguments.clone());
    }
    calls.len()
}

#[test]
fn no_argument_is_recorded_unless_the_operator_switches_that_on() {
    let program = Program::new();
    let mut server = start(&program);
    let count = whisper(&mut server, &program);
    lines(&program, count);
    assert!(!text(&program).contains(SECRET), "{}", text(&program));

    let program = with_policy("[audit]\narguments = true\n");
    let mut server = start(&program);
    let count = whisper(&mut server, &program);
    let lines = lines(&program, count);
    assert_eq!(lines[0]["arguments"], json!({ "action": "create", "text": SECRET }));
    assert!(lines.iter().all(|line| line["arguments"].to_string().contains(SECRET)), "{lines:?}");
    let long = "é".repeat(100_000);
    server.call("TaskManager", json!({ "action": "nonsense", "text": long }));
    let line = super::lines(&program, count + 1).pop().expect("a line");
    assert!(line.get("arguments").is_none());
    assert!(line["arguments_begin"].as_str().is_some_and(|begin| begin.len() <= 16 * 1024));
}

#[test]
fn what_was_allowed_and_what_was_denied_is_told() {
    let site = Site::start(|_| Answer::html("<h1>Words</h1><p>Some words of a page that can be read.</p>"));
    let program = with_policy("[web]\nallow_private = [\"127.0.0.1/32\"]\ndeny = [\"*.example.com\"]\n");
    let mut server = start(&program);
    server.text("ReadDocs", json!({ "url": site.url("/page") }));
    server.call("ReadDocs", json!({ "url": "http://www.example.com/page" }));
    server.call("ReadImage", json!({ "file_path": "/etc/passwd" }));
    server.text("Bash", json!({ "command": "true" }));
    let lines = lines(&program, 4);
    let uses = |index: usize| lines[index]["uses"].as_array().cloned().unwrap_or_default();
    let host = format!("127.0.0.1:{}", site.address.port());
    assert!(
        uses(0)
            .iter()
            .any(|used| used["capability"] == "web" && used["what"] == host && used["allowed"] == true),
        "{}",
        lines[0]
    );
    let denied = uses(1);
    assert_eq!((&denied[0]["what"], &denied[0]["allowed"]), (&json!("www.example.com:80"), &json!(false)));
    assert!(denied[0]["why"].as_str().is_some_and(|why| why.contains("*.example.com")), "{denied:?}");
    assert_eq!(denied[0]["rule"], "policy.toml line 4");
    let denied = uses(2);
    assert_eq!((&denied[0]["capability"], &denied[0]["allowed"]), (&json!("files"), &json!(false)));
    assert!(denied[0]["why"].as_str().is_some_and(|why| why.contains("`read` of [files]")), "{denied:?}");
    assert_eq!((&denied[0]["what"], &denied[0]["rule"]), (&json!("/etc"), &json!("built-in")));
    let ran = uses(3);
    assert!(ran[0]["what"].as_str().is_some_and(|what| what.starts_with("profile workspace, sandbox T")));
    assert_eq!(lines.iter().map(|line| &line["outcome"]).collect::<Vec<_>>(), ["ok", "error", "error", "ok"]);
    let used = lines.iter().flat_map(|line| line["uses"].as_array().cloned().unwrap_or_default());
    assert!(used.into_iter().all(|used| used["rule"].is_string()), "{lines:?}");
}

#[test]
fn a_line_says_who_recorded_it_and_under_which_policy() {
    let text = "version = 1\n[audit]\narguments = true\n";
    let program = with_policy("[audit]\narguments = true\n");
    let mut server = start(&program);
    create(&mut server, "a task");
    let line = lines(&program, 1).remove(0);
    let own = |name: &str| fs::read_to_string(name).expect("a file");
    assert_eq!(line["machine"], json!(own("/proc/sys/kernel/hostname").trim()));
    assert_eq!(line["uid"], rustix::process::geteuid().as_raw());
    let user = line["user"].as_str().expect("a name");
    assert!(own("/etc/passwd").lines().any(|known| known.starts_with(&format!("{user}:"))), "{line}");
    let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(line["policy"], json!(hash));
    let program = Program::new();
    let mut server = start(&program);
    create(&mut server, "a task");
    assert_eq!(lines(&program, 1)[0]["policy"], "built-in");
}

#[test]
fn calls_that_were_refused_before_they_ran_have_lines() {
    let program = Program::new();
    let mut server = program.start();
    // Before the client has identified itself.
    server.ask("tools/call", json!({ "name": "Bash", "arguments": {} }));
    server.initialize("2025-11-25");
    server.ask("tools/call", json!({ "name": "No\u{1b}Such\n", "arguments": { "a": SECRET } }));
    server.ask("tools/call", json!({ "arguments": {} }));
    server.ask("tools/call", json!({ "name": "Bash", "arguments": [SECRET] }));
    let id = server.request("tools/call", json!({ "name": "Bash", "arguments": { "command": "sleep 5" } }));
    let again = json!({ "name": "ListBgTasks", "arguments": {} });
    server.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": again }));
    server.notify("notifications/cancelled", json!({ "requestId": id }));
    let lines = lines(&program, 6);
    let told: Vec<_> = lines.iter().map(|line| (line["tool"].as_str(), line["fault"].as_str())).collect();
    let expected = [
        ("tools/call", "bad-request"),
        ("NoSuch", "unknown-tool"),
        ("tools/call", "bad-request"),
        ("Bash", "bad-request"),
        ("ListBgTasks", "bad-request"),
    ];
    assert_eq!(told[..5], expected.map(|(tool, fault)| (Some(tool), Some(fault))));
    assert!(lines[..5].iter().all(|line| line["outcome"] == "refused"), "{lines:?}");
    assert!(!text(&program).contains(SECRET), "{}", text(&program));
}

#[test]
fn the_hosts_and_the_denied_files_of_a_command_are_in_its_line() {
    let program = with_policy(
        "[shell.profile.workspace]\nnetwork = { mode = \"allowlist\", hosts = [\"allowed.invalid\"] }\n",
    );
    program.put("workspace/sub/.env", SECRET);
    let mut server = start(&program);
    let command =
        "for host in allowed.invalid other.invalid; do curl -s -m 5 http://$host/; done; cat sub/.env; true";
    server.call("Bash", json!({ "command": command }));
    server.call("BackgroundBash", json!({ "command": "sleep 0.2; cat sub/.env" }));
    let lines = lines(&program, 3);
    let uses = lines[0]["uses"].as_array().expect("uses");
    let told: Vec<_> = uses.iter().map(|used| (&used["what"], &used["allowed"], &used["rule"])).collect();
    let folder = program.workspace().canonical().join("sub");
    for expected in [
        (&json!("allowed.invalid:80"), &json!(true), &json!("policy.toml line 3")),
        (&json!("other.invalid:80"), &json!(false), &json!("policy.toml line 3")),
        // The command may have read a copy.
        (&json!(folder), &json!(null), &json!("built-in")),
    ] {
        assert!(told.contains(&expected), "{expected:?}: {told:?}");
    }
    assert_eq!(lines[2]["tool"], "background command");
    assert_eq!(lines[2]["uses"][0]["what"], json!(folder), "{}", lines[2]);
    assert_eq!(lines[2]["uses"][0]["hidden"], json!(true), "{}", lines[2]);
    assert!(!text(&program).contains(SECRET) && !text(&program).contains(".env\","), "{}", text(&program));
}

#[test]
fn cancelled_and_refused_calls_have_lines() {
    let program = Program::new();
    plugins::install_kinds(&program, "[limits]\ncpu_seconds = 2\ncalls = 1\n");
    std::fs::remove_dir_all(folder(&program)).expect("removes");
    let mut server = start(&program);
    let id = server.request("tools/call", json!({ "name": "Bash", "arguments": { "command": "sleep 60" } }));
    server.notify("notifications/cancelled", json!({ "requestId": id }));
    lines(&program, 1);
    for _ in 0..2 {
        server.request("tools/call", json!({ "name": "kinds.hostile.spin", "arguments": {} }));
    }
    server.next().and_then(|_| server.next()).expect("two answers");
    let lines = lines(&program, 3);
    assert_eq!(lines[0]["outcome"], "cancelled");
    let mut rest: Vec<_> =
        lines[1..].iter().map(|line| (line["outcome"].clone(), line["fault"].clone())).collect();
    rest.sort_by_key(|(outcome, _)| outcome.to_string());
    assert_eq!(rest, [(json!("fault"), json!("deadline")), (json!("refused"), json!("busy"))]);
}

/// Closing the terminal ends the server, or the program of one call, while a command runs.
#[test]
fn a_call_that_a_signal_ended_has_a_line() {
    use rustix::process::{Pid, Signal, kill_process};
    let run = json!({ "command": "touch begun; sleep 60" });
    // Under `nohup`, programs survive the end of the terminal.
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a line").trim();
    let ignores_hang_up = u64::from_str_radix(ignored, 16).expect("a number") & 1 == 1;
    let others = [Signal::QUIT, Signal::TERM, Signal::INT].into_iter();
    for signal in others.chain((!ignores_hang_up).then_some(Signal::HUP)) {
        let program = Program::new();
        let begun = program.workspace().join("begun");
        let waits = || assert!(comes_true(PATIENCE, || begun.exists()), "no command has begun");
        let mut server = start(&program);
        server.request("tools/call", json!({ "name": "Bash", "arguments": run }));
        waits();
        server.signal(signal);
        server.wait();
        assert_eq!(lines(&program, 1)[0]["tool"], "Bash", "{signal:?}");
        fs::remove_file(&begun).expect("removed");
        let mut call = program.command().args(["call", "Bash", &run.to_string()]).spawn().expect("it starts");
        waits();
        kill_process(Pid::from_child(&call), signal).expect("a signal");
        let ended = ends_within(&mut call, PATIENCE).expect("it ends");
        assert_eq!(ended.code(), Some(130), "{signal:?}");
        assert_eq!(lines(&program, 2)[1]["outcome"], "cancelled", "{signal:?}");
    }
}

/// Its line is like any other to each reader of the audit.
#[test]
fn a_call_without_a_name_has_a_line_that_is_read() {
    let program = Program::new();
    let mut server = start(&program);
    for name in ["", "\u{200b}", "\0"] {
        server.ask("tools/call", json!({ "name": name, "arguments": {} }));
    }
    create(&mut server, "a task");
    let lines = lines(&program, 4);
    assert!(lines[..3].iter().all(|line| line["tool"] == "(no name)"), "{lines:?}");
    let audit = folder(&program).join("audit.jsonl");
    let copy = program.put("copy.jsonl", fs::read(&audit).expect("an audit"));
    let (whole, out, err) = program.run(&["audit", "verify", "--file", &copy.display().to_string()]);
    assert!(whole.success(), "{out}{err}");
    let (_, report, _) = program.run(&["audit", "report"]);
    assert!(report.contains("(no name)") && !report.contains("damaged"), "{report}");
}

#[test]
fn only_the_operator_switches_it_off() {
    let program = Program::new();
    let off = "version = 1\n[audit]\nenabled = false\n";
    for path in ["workspace/policy.toml", "workspace/.claude/policy.toml"] {
        program.put(path, off);
    }
    for path in ["workspace/.scorpiox/scorpiox-env.txt", "workspace/.claude/scorpiox-env.txt"] {
        program.put(path, "AUDIT=false\nAUDIT_ENABLED=0\nSCORPIOX_AUDIT=0\n");
    }
    let mut server = start(&program);
    let policy = program.home().join(".scorpiox/policy.toml");
    let attack = format!(
        "mkdir -p {0}; printf '%s' '{off}' > {1}",
        policy.parent().expect("a folder").display(),
        policy.display()
    );
    server.call("Bash", json!({ "command": attack }));
    assert!(!policy.exists());
    let mut server = start(&program);
    create(&mut server, "a task");
    assert_eq!(lines(&program, 2)[1]["tool"], "TaskManager");
    // A repository's file that tries closes all tools, and the refused calls are recorded.
    program.put("workspace/.scorpiox/policy.toml", off);
    let refused = server.call("TaskManager", json!({ "action": "list", "query": "" }));
    assert!(refused.to_string().contains("key `audit` cannot be in a repository's file"), "{refused}");
    let recorded = lines(&program, 4);
    assert_eq!(
        (&recorded[2]["tool"], &recorded[3]["outcome"]),
        (&json!("changed policy"), &json!("refused"))
    );

    let program = with_policy("[audit]\nenabled = false\n");
    let mut server = start(&program);
    create(&mut server, "a task");
    server.close_input();
    assert!(server.wait().0.success() && !folder(&program).exists());
}

#[test]
fn a_policy_that_cannot_be_used_records_as_without_one() {
    let program = with_policy("[audit]\nenabled = false\nenabeld = false\n");
    let mut server = start(&program);
    server.call("Bash", json!({ "command": "true" }));
    server.call("ListBgTasks", json!({}));
    server.ask("prompts/list", json!({}));
    for line in lines(&program, 3) {
        assert_eq!((&line["outcome"], &line["fault"]), (&json!("refused"), &json!("policy")), "{line}");
    }
    assert!(fs::exists(folder(&program)).expect("a folder"));
}

#[test]
fn what_skills_hold_leaves_a_line_by_whatever_way_it_is_got() {
    let program = Program::new();
    let skill = "---\nname: tidy\ndescription: D\n---\nBody\n";
    program.put("workspace/.claude/skills/tidy/SKILL.md", skill);
    program.put(&format!("workspace/.claude/skills/tidy/{SECRET}.txt"), "x");
    let mut server = start(&program);
    server.ask("tools/list", json!({}));
    server.ask("prompts/list", json!({}));
    server.ask("prompts/get", json!({ "name": "tidy", "arguments": { "arguments": SECRET } }));
    server.ask("prompts/get", json!({ "name": "none" }));
    for (method, uri) in [
        ("skills/list", ""),
        ("skills/get", "skill://tidy/SKILL.md"),
        ("resources/list", ""),
        ("resources/read", &format!("skill://tidy/{SECRET}.txt")),
        ("resources/directory/read", "skill://tidy"),
        ("resources/templates/list", ""),
    ] {
        server.ask(method, modern(json!({ "uri": uri })));
    }
    let mut lines = lines(&program, 9);
    let told: Vec<_> = lines.iter().map(|line| (line["tool"].as_str(), line["outcome"].as_str())).collect();
    let expected = [
        ("prompts/list", "ok"),
        ("prompts/get", "ok"),
        ("prompts/get", "error"),
        ("skills/list", "ok"),
        ("skills/get", "ok"),
        ("resources/list", "ok"),
        ("resources/read", "ok"),
        ("resources/directory/read", "ok"),
        ("resources/templates/list", "ok"),
    ];
    assert_eq!(told, expected.map(|(tool, outcome)| (Some(tool), Some(outcome))));
    // Templates are those of plugins.
    lines.pop();
    let folder = program.workspace().canonical().join(".claude/skills");
    for line in &lines {
        let uses = line["uses"].as_array().unwrap_or_else(|| panic!("no uses: {line}"));
        assert!(uses.iter().any(|used| used["what"] == json!(folder)), "{line}");
        assert!(!line.to_string().contains(SECRET), "{line}");
    }
}

#[test]
fn where_links_lead_is_told() {
    let program = with_policy("[files]\nread = [\"@workspace\"]\ndeny = [\"**/.env*\"]\n");
    program.put("home/own/SKILL.md", "---\nname: own\ndescription: D\n---\nBody\n");
    program.put("home/.claude/skills/other", "");
    program.put("workspace/.env.png", "x");
    let home = program.home().canonical();
    symlink(home.join("own"), home.join(".claude/skills/own")).expect("a link");
    symlink(".env.png", program.workspace().join("shown.png")).expect("a link");
    let mut server = start(&program);
    server.call("InvokeSkill", json!({ "skill_name": "own", "arguments": "" }));
    server.call("ReadImage", json!({ "file_path": "shown.png" }));
    let lines = lines(&program, 2);
    let led =
        format!("{}, by a link to {}", home.join(".claude/skills").display(), home.join("own").display());
    let uses = lines[0]["uses"].as_array().expect("uses");
    assert!(uses.iter().any(|used| used["what"] == json!(led)), "{}", lines[0]);
    assert_eq!(lines[1]["uses"][0]["rule"], "policy.toml line 4", "{}", lines[1]);
}
