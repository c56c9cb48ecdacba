//! Tests of secrets: set by the user, passed to the plugin or to a single host, and never displayed.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use scorpiox_tests::site::{Answer, Site};
use scorpiox_tests::{Program, Started};
use serde_json::{Value, json};

#[cfg(unix)]
use super::install;
use super::{guest, refused, source, with};

const TOKEN: &str = "hunter2-is-a-long-word";
const ASKS: &str = "[secrets]\nTOKEN = \"the key of the weather service\"\n";

/// Runs a command with this standard input; returns `true` if it succeeded, and its complete output.
fn given(program: &Program, arguments: &[&str], input: &[u8]) -> (bool, String) {
    let mut command = program.command();
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    // A command that fails early closes its input before this write.
    let _ = child.stdin.take().expect("an input").write_all(input);
    let output = child.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).expect("UTF-8"))
}

fn set(program: &Program, plugin: &str, key: &str, value: &str) -> String {
    let (done, said) = given(program, &["plugin", "secret", "set", plugin, key], value.as_bytes());
    assert!(done, "{said}");
    said
}

fn secrets(program: &Program, plugin: &str) -> PathBuf {
    program.home().join(format!(".scorpiox/secrets/{plugin}.json"))
}

fn setting(server: &mut Started, name: &str) -> Value {
    server.call("keeper.setting", json!({ "name": name }))
}

/// Collects the files below a directory that contain `bytes`.
fn files_with(folder: &Path, bytes: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files_with(&path, bytes, found);
        } else if fs::read(&path).is_ok_and(|text| String::from_utf8_lossy(&text).contains(bytes)) {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn a_secret_is_given_to_its_plugin_and_shown_nowhere() {
    let (program, mut server) = with(Program::new().with("SCORPIOX_LOG", "debug"), "keeper", ASKS);
    let missing = setting(&mut server, "TOKEN");
    assert!(refused(&missing).contains("`scorpiox-code plugin secret set keeper TOKEN`"), "{missing}");
    let said = set(&program, "keeper", "TOKEN", &format!("{TOKEN}\n"));
    assert!(said.contains("TOKEN of keeper is set.") && !said.contains(TOKEN), "{said}");
    // A running server uses the secret from the next call on.
    assert_eq!(setting(&mut server, "TOKEN")["structuredContent"]["result"], TOKEN);
    let look = server
        .call("Bash", json!({ "command": "cat ~/.scorpiox/secrets/* $HOME/.scorpiox/secrets/keeper.json" }));
    assert!(!look.to_string().contains(TOKEN), "{look}");
    let log = json!({ "context": TOKEN, "message": format!("the key is {TOKEN}"), "times": 1 }).to_string();
    let mut shown = String::new();
    for words in [
        &["plugin", "secret", "list", "keeper"][..],
        &["plugin", "show", "keeper"],
        &["plugin", "list"],
        &["audit"],
        &["doctor"],
        &["call", "keeper.log", &log],
    ] {
        let (_, out, err) = program.run(words);
        assert!(!out.contains(TOKEN) && !err.contains(TOKEN), "{words:?}: {out}{err}");
        shown += &(out + &err);
    }
    assert!(shown.contains("TOKEN  set: the key of the weather service"), "{shown}");
    assert!(shown.contains("the key is [secret TOKEN]"), "{shown}");
    assert!(shown.contains("plugin secret set"), "the audit has a line: {shown}");
    let mut found = Vec::new();
    files_with(&program.home().join(".scorpiox"), TOKEN, &mut found);
    let found: Vec<_> = found.iter().map(PathBuf::from).collect();
    assert_eq!(found, [secrets(&program, "keeper")]);
}

#[test]
fn a_secret_can_be_a_variable_and_is_in_no_result() {
    const VARIABLE: &str = "[capabilities.env]\nwhy = \"asks the weather service\"\nsecrets = [\"TOKEN\"]\n";
    let program = Program::new().with("SCORPIOX_LOG", "debug");
    let (program, mut server) = with(program, "outsider", &format!("{ASKS}{VARIABLE}"));
    let (_, shown, _) = program.run(&["plugin", "show", "outsider"]);
    assert!(shown.contains("    secrets as variables\n      | TOKEN\n"), "{shown}");
    assert!(shown.contains("see 1 secret that you set, as variables"), "{shown}");
    // A value of less than four characters is shown: it would match everywhere.
    set(&program, "outsider", "TOKEN", "abc");
    let variables = |server: &mut Started| server.call("outsider.variables", json!({}));
    assert_eq!(variables(&mut server)["structuredContent"], json!({"result": [["TOKEN", "abc"]]}));
    set(&program, "outsider", "TOKEN", TOKEN);
    let given = variables(&mut server);
    assert_eq!(given["structuredContent"], json!({"result": [["TOKEN", "[secret TOKEN]"]]}));
    assert!(!given.to_string().contains(TOKEN), "{given}");
    for words in [
        &["plugin", "show", "outsider"][..],
        &["plugin", "why", "outsider", "env", "TOKEN"],
        &["call", "outsider.variables"],
        &["audit", "--json"],
    ] {
        let (done, out, err) = program.run(words);
        assert!(done.success() && !out.contains(TOKEN) && !err.contains(TOKEN), "{words:?}: {out}{err}");
    }
    let mut found = Vec::new();
    files_with(&program.home().join(".scorpiox"), TOKEN, &mut found);
    let found: Vec<_> = found.iter().map(PathBuf::from).collect();
    assert_eq!(found, [secrets(&program, "outsider")]);
}

#[test]
fn a_secret_as_a_variable_is_a_setting_as_well() {
    let manifest = format!("{ASKS}[capabilities.env]\nwhy = \"x\"\nsecrets = [\"TOKEN\"]\n");
    let (program, mut server) = with(Program::new(), "keeper", &manifest);
    set(&program, "keeper", "TOKEN", "abc");
    assert_eq!(setting(&mut server, "TOKEN")["structuredContent"]["result"], "abc");
    set(&program, "keeper", "TOKEN", TOKEN);
    assert_eq!(setting(&mut server, "TOKEN")["structuredContent"]["result"], "[secret TOKEN]");
}

#[test]
fn a_changed_and_a_removed_secret_count_from_the_next_call_on() {
    let (program, mut server) = with(Program::new(), "keeper", ASKS);
    set(&program, "keeper", "TOKEN", "first");
    assert_eq!(setting(&mut server, "TOKEN")["structuredContent"]["result"], "first");
    set(&program, "keeper", "TOKEN", "two\nlines\n");
    assert_eq!(setting(&mut server, "TOKEN")["structuredContent"]["result"], "two\nlines");
    let (done, said) = given(&program, &["plugin", "secret", "remove", "keeper", "TOKEN"], b"");
    assert!(done, "{said}");
    assert!(refused(&setting(&mut server, "TOKEN")).contains("plugin secret set keeper TOKEN"));
    assert!(program.run(&["plugin", "secret", "list", "keeper"]).1.contains("TOKEN  missing: "));
    let (again, said) = given(&program, &["plugin", "secret", "remove", "keeper", "TOKEN"], b"");
    assert!(!again && said.contains("TOKEN of keeper is not set"), "{said}");
    set(&program, "keeper", "TOKEN", "third");
    assert!(program.run(&["plugin", "remove", "keeper"]).0.success());
    assert!(!secrets(&program, "keeper").exists());
}

#[test]
fn what_cannot_be_a_secret_is_refused_and_changes_nothing() {
    let (program, _server) = with(Program::new(), "keeper", ASKS);
    set(&program, "keeper", "TOKEN", "first");
    let long = "x".repeat(9000);
    for (words, input, expected) in [
        (["keeper", "OTHER"], "x", "keeper has no secret OTHER; its secrets: TOKEN"),
        (["keeper", "A-B"], "x", "is not the name of a secret"),
        (["nobody", "TOKEN"], "x", "there is no plugin nobody"),
        (["keeper", "TOKEN"], "", "the value is empty; nothing was set"),
        (["keeper", "TOKEN"], "\n", "the value is empty; nothing was set"),
        (["keeper", "TOKEN"], "a\0b", "the value has a NUL character; nothing was set"),
        (["keeper", "TOKEN"], long.as_str(), "the value has more than 8192 bytes; nothing was set"),
    ] {
        let words = ["plugin", "secret", "set", words[0], words[1]];
        let (done, said) = given(&program, &words, input.as_bytes());
        assert!(!done && said.contains(expected), "{words:?}: {said}");
    }
    let (done, said) = given(&program, &["plugin", "secret", "set", "keeper", "TOKEN"], &[0xff]);
    assert!(!done && said.contains("is no UTF-8"), "{said}");
    assert!(fs::read_to_string(secrets(&program, "keeper")).expect("there").contains("first"));
}

/// Starts a server with a plugin that sends requests to a local site, with a secret in a header.
fn sending(site: &Site) -> (Program, Started, String) {
    let authority = site.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", "version = 1\n[web]\nallow_private = [\"127.0.0.1/32\"]\n");
    let manifest = format!(
        "[capabilities.web]\nwhy = \"asks\"\nhosts = [\"{authority}\", \"other.example\"]\n\
         headers = {{ \"{authority}\" = {{ Authorization = \"Bearer ${{TOKEN}}\" }} }}\n{ASKS}"
    );
    let (program, server) = with(program, "outsider", &manifest);
    (program, server, authority)
}

fn request(server: &mut Started, method: &str, authority: &str) -> Value {
    let arguments = json!({
        "method": method, "scheme": "http", "authority": authority, "path": "/", "body": "",
    });
    server.call("outsider.request", arguments)
}

#[test]
fn a_header_is_added_that_the_plugin_never_sees() {
    let site = Site::start(|_| Answer::of("text/plain", "fine"));
    let (program, mut server, authority) = sending(&site);
    let missing = request(&mut server, "GET", &authority);
    assert!(refused(&missing).contains("plugin secret set outsider TOKEN"), "{missing}");
    assert!(site.asked().is_empty(), "nothing was sent");
    set(&program, "outsider", "TOKEN", TOKEN);
    let answer = request(&mut server, "GET", &authority);
    assert_eq!(answer["structuredContent"]["result"], json!([200, "fine"]), "{answer}");
    assert_eq!(site.asked()[0].headers["authorization"], format!("Bearer {TOKEN}"));
    set(&program, "outsider", "TOKEN", "another");
    request(&mut server, "GET", &authority);
    assert_eq!(site.asked()[1].headers["authorization"], "Bearer another");
    // With TRACE, a server echoes the request including its headers.
    let traced = request(&mut server, "TRACE", &authority);
    assert!(refused(&traced).contains("TRACE would give the plugin its secrets back"), "{traced}");
    assert_eq!(site.asked().len(), 2);
    let (_, shown, _) = program.run(&["plugin", "show", "outsider"]);
    assert!(shown.contains("Authorization: Bearer ${TOKEN}"), "{shown}");
    for value in ["two\nlines", "grün"] {
        let (done, said) =
            given(&program, &["plugin", "secret", "set", "outsider", "TOKEN"], value.as_bytes());
        assert!(!done && said.contains("TOKEN is a part of a header; nothing was set"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_policy_says_where_a_secret_is_and_nobody_has_to_set_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let site = Site::start(|_| Answer::of("text/plain", "fine"));
    let authority = site.url("").trim_start_matches("http://").trim_end_matches('/').to_owned();
    let program = Program::new().with("THE_OTHER", "from-a-variable");
    let file = program.put("home/keys/token", format!("{TOKEN}\n"));
    let mode = |bits| fs::set_permissions(&file, fs::Permissions::from_mode(bits)).expect("a mode");
    mode(0o600);
    let policy = format!(
        "version = 1\n[web]\nallow_private = [\"127.0.0.1/32\"]\n[plugins.secrets.outsider]\nTOKEN = {{ file = \"{}\" }}\n\
         OTHER = {{ variable = \"THE_OTHER\" }}\n",
        file.display()
    );
    program.put("home/.scorpiox/policy.toml", policy);
    let manifest = format!(
        "[capabilities.web]\nwhy = \"asks\"\nhosts = [\"{authority}\"]\n\
         headers = {{ \"{authority}\" = {{ Authorization = \"Bearer ${{TOKEN}}\", X-Other = \"${{OTHER}}\" }} }}\n{ASKS}OTHER = \"x\"\n"
    );
    let (program, mut server) = with(program, "outsider", &manifest);
    let answer = request(&mut server, "GET", &authority);
    assert_eq!(answer["structuredContent"]["result"], json!([200, "fine"]), "{answer}");
    let asked = &site.asked()[0].headers;
    assert_eq!(
        (asked["authorization"].as_str(), asked["x-other"].as_str()),
        (format!("Bearer {TOKEN}").as_str(), "from-a-variable")
    );
    let (_, listed, _) = program.run(&["plugin", "secret", "list", "outsider"]);
    assert!(listed.contains("TOKEN  in file ") && listed.contains("as policy.toml line 5 says"), "{listed}");
    // A changed file takes effect with the next call. A file that is readable by others is refused.
    fs::write(&file, "another").expect("written");
    request(&mut server, "GET", &authority);
    assert_eq!(site.asked()[1].headers["authorization"], "Bearer another");
    mode(0o644);
    let refused_for = request(&mut server, "GET", &authority);
    let said = refused(&refused_for);
    assert!(
        said.contains("the secret TOKEN of outsider (policy.toml line 5, file ")
            && said.contains("chmod 600"),
        "{said}"
    );
    assert_eq!(site.asked().len(), 2, "nothing was sent");
    // No secret value appears in the audit, in the logs or in any stored file.
    drop(server);
    let mut found = Vec::new();
    files_with(&program.home().join(".scorpiox"), TOKEN, &mut found);
    files_with(&program.home().join(".scorpiox"), "from-a-variable", &mut found);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_secret_of_a_header_is_no_setting() {
    let manifest = format!(
        "[capabilities.web]\nwhy = \"asks\"\nhosts = [\"api.example.com\"]\n\
         headers = {{ \"api.example.com\" = {{ X-Key = \"${{TOKEN}}\" }} }}\n{ASKS}OTHER = \"a name\"\n"
    );
    let (program, mut server) = with(Program::new(), "keeper", &manifest);
    set(&program, "keeper", "TOKEN", TOKEN);
    set(&program, "keeper", "OTHER", "me");
    let all = server.call("keeper.settings", json!({}));
    assert_eq!(all["structuredContent"]["result"], json!([["OTHER", "me"]]), "{all}");
}

#[test]
fn a_manifest_with_secrets_that_go_nowhere_is_refused() {
    let program = Program::new();
    let bytes = fs::read(guest("keeper")).expect("the component");
    let web = |headers: &str| {
        format!(
            "[capabilities.web]\nwhy = \"asks\"\nhosts = [\"api.example.com\", \"*.example.org\"]\n\
             headers = {{ {headers} }}\n{ASKS}"
        )
    };
    for (manifest, expected) in [
        ("[secrets]\nTOKEN = \" \"\n".to_owned(), "secrets.TOKEN is empty; say what for"),
        ("[secrets]\n\"A B\" = \"x\"\n".to_owned(), "is not the name of a secret"),
        (format!("[config]\nTOKEN = \"x\"\n{ASKS}"), "TOKEN is in config and in secrets"),
        (web("\"api.example.com\" = { X = \"${OTHER}\" }"), "names OTHER, which [secrets] does not have"),
        (web("\"api.example.com\" = { X = \"plain\" }"), "names no secret"),
        (web("\"api.example.com\" = { Host = \"${TOKEN}\" }"), "the host sets this header itself"),
        (web("\"example.net\" = { X = \"${TOKEN}\" }"), "which `hosts` does not have"),
        (web("\"*.example.org\" = { X = \"${TOKEN}\" }"), "which is more than one host"),
    ] {
        let source = source(&program, "keeper", &manifest, &bytes);
        let (status, _, err) = program.run(&["plugin", "add", &source]);
        assert!(!status.success() && err.contains(expected), "{expected}: {err}");
    }
}

#[test]
fn a_trial_of_a_plugin_has_no_secrets_of_one_of_its_name() {
    let (program, _server) = with(Program::new(), "keeper", ASKS);
    set(&program, "keeper", "TOKEN", TOKEN);
    let bytes = fs::read(guest("keeper")).expect("the component");
    let folder = source(&program, "keeper", ASKS, &bytes);
    let arguments = json!({ "name": "TOKEN" }).to_string();
    let (tried, out, err) = program.run(&["plugin", "test", &folder, "setting", &arguments]);
    assert!(
        tried.success() && out.contains("Each secret has the value no-secret-in-a-trial in a trial"),
        "{out}{err}"
    );
    assert!(!out.contains(TOKEN), "{out}");
    // A replacement plugin is shown with the secrets that it would take over.
    let other = source(&program, "keeper", &format!("version = \"2\"\n{ASKS}"), &bytes);
    let (_, out, err) = program.run(&["plugin", "add", &other]);
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains(
            "It replaces keeper, which was approved today, and keeps its stored data and its secrets."
        ),
        "{out}{err}"
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_gives_no_secrets() {
    use std::os::unix::fs::PermissionsExt as _;
    let (program, mut server) = with(Program::new(), "keeper", ASKS);
    set(&program, "keeper", "TOKEN", TOKEN);
    let path = secrets(&program, "keeper");
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("sets");
    let answer = setting(&mut server, "TOKEN");
    assert!(refused(&answer).contains("others can read it; take that away with chmod 600"), "{answer}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("sets");
    fs::write(&path, format!("{{\"version\":1,{TOKEN}")).expect("writes");
    let answer = setting(&mut server, "TOKEN");
    assert!(refused(&answer).contains("remove the file, and set them again"), "{answer}");
    assert!(!answer.to_string().contains(TOKEN), "{answer}");
}

#[cfg(unix)]
#[test]
fn what_a_person_types_is_not_shown() {
    let program = Program::new();
    let bytes = fs::read(guest("keeper")).expect("the component");
    install(&program, &source(&program, "keeper", ASKS, &bytes));
    let words = ["plugin", "secret", "set", "keeper", "TOKEN"];
    let type_it = |keys: &str| super::approval::answering("(not shown): ", &program, &words, "", keys);
    let (cancelled, screen) = type_it("half of it\u{3}");
    assert!(!cancelled && !secrets(&program, "keeper").exists(), "{screen}");
    let (done, screen) = type_it(&format!("{TOKEN}\n"));
    assert!(done && screen.contains("the key of the weather service"), "{screen}");
    assert!(!screen.contains(TOKEN) && screen.contains("TOKEN of keeper is set."), "{screen}");
    assert!(fs::read_to_string(secrets(&program, "keeper")).expect("there").contains(TOKEN));
}
