//! Tests of registry credentials, audit lines of downloads, and download progress.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use scorpiox_tests::site::{Answer, Site};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::packed::{Bed, CALL, component};

/// `me:a-long-secret` in base64, and the password.
const BASIC: &str = "Basic bWU6YS1sb25nLXNlY3JldA==";
const PASSWORD: &str = "a-long-secret";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

/// Starts a registry that serves the `kinds` component to `me` alone.
fn private() -> Site {
    let wasm = component();
    let layer = digest(&wasm);
    let manifest = format!(
        "{{\"schemaVersion\": 2, \"mediaType\": \"{MANIFEST}\", \"config\": {{\"mediaType\": \
         \"application/vnd.wasm.config.v0+json\", \"digest\": \"{layer}\", \"size\": 2}}, \"layers\": \
         [{{\"mediaType\": \"application/wasm\", \"digest\": \"{layer}\", \"size\": {}}}]}}",
        wasm.len()
    );
    Site::start(move |asked| {
        if asked.headers.get("authorization").is_none_or(|given| given != BASIC) {
            return Answer::html("no")
                .status("401 Unauthorized")
                .header("WWW-Authenticate", "Basic realm=\"x\"");
        }
        match asked.path.rsplit('/').next().unwrap_or_default() {
            "1" => Answer::of(MANIFEST, manifest.clone()),
            at if at == layer => Answer::of("application/wasm", wasm.clone()),
            _ => Answer::not_found(),
        }
    })
}

/// Writes a file with these permissions.
fn put(bed: &Bed, path: &str, text: &str, mode: u32) -> String {
    bed.program.put(path, text);
    let path = bed.program.home().parent().expect("a folder").join(path);
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
    path.display().to_string()
}

/// Writes a policy that allows requests to the local machine, followed by `more`.
fn policy(bed: &Bed, more: &str) {
    let text = format!("version = 1\n[web]\nallow_private = [\"127.0.0.1/32\"]\n{more}");
    bed.program.put("home/.scorpiox/policy.toml", text);
}

/// Returns the audit lines of downloads and uploads.
fn lines(bed: &Bed) -> Vec<Value> {
    let text = fs::read_to_string(bed.program.home().join(".scorpiox/audit/audit.jsonl")).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line"));
    lines.filter(|line| ["download", "upload"].iter().any(|tool| line["tool"] == *tool)).collect()
}

/// Asserts that no file below the directory contains the password.
fn keeps_no_secret(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            keeps_no_secret(&entry.path());
        } else {
            let bytes = fs::read(entry.path()).expect("a file");
            let has = bytes.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes());
            assert!(!has, "{}", entry.path().display());
        }
    }
}

#[test]
fn a_registry_is_told_who_somebody_is_by_a_file_a_program_or_what_docker_has() {
    let (bed, registry) = (Bed::new(), private());
    let (host, file) = (registry.address.to_string(), put(&bed, "home/key", &format!("{PASSWORD}\n"), 0o600));
    let address = format!("oci://{host}/acme/kinds:1");
    let program = put(&bed, "home/print-key", &format!("#!/bin/sh\ncat '{file}'\n"), 0o700);
    put(
        &bed,
        "home/.docker/config.json",
        &format!("{{\"auths\": {{\"{host}\": {{\"auth\": \"{}\"}}}}}}", BASIC.trim_start_matches("Basic ")),
        0o600,
    );
    let table = format!("[plugins.registries.\"{host}\"]");
    policy(&bed, "");
    let said = bed.refused(&["plugin", "add", &address], "there are no credentials for");
    assert!(said.contains(&table) && said.contains("`password_file`"), "{said}");
    for lines in [
        "user = \"me\"\npassword_file = \"~/key\"".to_owned(),
        format!("user = \"me\"\ncommand = [\"{program}\"]"),
        "credentials = \"docker\"".to_owned(),
    ] {
        policy(&bed, &format!("{table}\n{lines}"));
        bed.add(&address);
        assert!(bed.done(&CALL).contains('2'), "{lines}");
        bed.done(&["plugin", "remove", "kinds"]);
        assert!(!bed.done(&["policy", "show"]).contains(PASSWORD), "{lines}");
    }
    // The password is read only after the registry demands it: public content needs no credentials.
    let without = |asked: &&scorpiox_tests::site::Asked| !asked.headers.contains_key("authorization");
    assert!(registry.asked().iter().filter(without).count() > 3);
    keeps_no_secret(&bed.program.home().join(".scorpiox"));
}

#[test]
fn credentials_that_cannot_be_used_are_said_without_the_secret() {
    let (bed, registry) = (Bed::new(), private());
    let host = registry.address.to_string();
    let address = format!("oci://{host}/acme/kinds:1");
    let file = put(&bed, "home/key", PASSWORD, 0o604);
    let wrong = put(&bed, "home/wrong", "another-secret", 0o600);
    let shared = put(&bed, "workspace/key", PASSWORD, 0o600);
    let fails =
        put(&bed, "home/fails", &format!("#!/bin/sh\necho {PASSWORD}; echo locked >&2; exit 1\n"), 0o700);
    for (user, from, why) in [
        ("me", format!("password_file = \"{file}\""), "others may read it"),
        ("me", format!("password_file = \"{shared}\""), "lies where commands can write"),
        ("me", "password_file = \"~/none\"".to_owned(), "cannot be read"),
        ("me", format!("password_file = \"{wrong}\""), "the credentials for 127.0.0.1"),
        ("you", format!("command = [\"{fails}\"]"), "ended with exit status: 1: locked"),
        ("me", "command = [\"/no/such/program\"]".to_owned(), "/no/such/program does not exist"),
    ] {
        policy(&bed, &format!("[plugins.registries.\"{host}\"]\nuser = \"{user}\"\n{from}\n"));
        let said = bed.refused(&["plugin", "add", &address], why);
        assert!(said.contains("policy.toml line 4") && !said.contains("secret"), "{said}");
    }
    keeps_no_secret(&bed.program.home().join(".scorpiox"));
}

#[test]
fn each_download_leaves_a_line_with_its_host_its_rule_and_what_arrived() {
    let bed = Bed::new();
    let file = bed.pack("1.0.0", "");
    let bytes = fs::read(&file).expect("a pack");
    let served = bytes.clone();
    let site = Site::start(move |asked| match asked.path.as_str() {
        "/kinds.plugin?key=a-long-secret" => Answer::of("application/octet-stream", served.clone()),
        "/moved.plugin" => Answer::redirect("http://127.0.0.2:9/x"),
        _ => Answer::not_found(),
    });
    policy(&bed, "");
    bed.done(&["plugin", "test", &site.url("/kinds.plugin?key=a-long-secret")]);
    bed.refused(&["plugin", "add", &site.url("/none.plugin")], "does not exist");
    bed.refused(&["plugin", "add", &site.url("/moved.plugin")], "127.0.0.2");
    let found = lines(&bed);
    let [fetched, missing, denied] = found.as_slice() else { panic!("{found:#?}") };
    let host = site.address.to_string();
    assert_eq!((&fetched["tool"], &fetched["outcome"]), (&"download".into(), &"ok".into()));
    let uses: Vec<_> = fetched["uses"].as_array().expect("uses").iter().map(|used| &used["what"]).collect();
    let what = format!("{}, {} bytes", digest(&bytes), bytes.len());
    assert_eq!(uses, [&*host, &*site.url("/kinds.plugin"), &*what]);
    assert_eq!(fetched["uses"][0]["rule"], "built-in");
    assert_eq!((&missing["outcome"], &missing["uses"][1]["allowed"]), (&"error".into(), &false.into()));
    assert_eq!((&denied["outcome"], &denied["fault"]), (&"refused".into(), &"policy".into()));
    assert_eq!(denied["uses"][1]["what"], "127.0.0.2:9");
    let text = fs::read_to_string(bed.program.home().join(".scorpiox/audit/audit.jsonl")).expect("lines");
    assert!(!text.contains("a-long-secret"), "what stands behind a question mark is in no line");
    // If audit lines are required and the audit fails, no request is sent.
    let asked = site.asked().len();
    let audit = bed.program.home().join(".scorpiox/audit");
    fs::remove_dir_all(&audit).expect("removed");
    bed.program.put("home/.scorpiox/audit", "no folder");
    policy(&bed, "[audit]\nrequired = true\n");
    bed.refused(&["plugin", "test", &site.url("/kinds.plugin")], "requires a line in the audit");
    assert_eq!(site.asked().len(), asked);
}

/// Starts a server that sends half of a file and then waits until the client disconnects.
fn half(whole: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let (mut line, mut request) = (String::new(), BufReader::new(&stream));
                while request.read_line(&mut line).is_ok_and(|read| read > 2) {
                    line.clear();
                }
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {whole}\r\n\r\n");
                let half = vec![b'x'; whole / 2];
                let sent = (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(&half));
                // Waits for the client to disconnect.
                sent.and_then(|()| (&stream).read(&mut [0])).map(drop)
            });
        }
    });
    format!("http://{address}/kinds.plugin")
}

#[test]
fn at_a_terminal_a_download_says_how_far_it_is_and_whoever_ends_it_leaves_nothing() {
    let bed = Bed::new();
    policy(&bed, "");
    let url = half(2 << 20);
    let plugins = bed.program.home().join(".scorpiox/plugins");
    let interrupt = |_: &mut fs::File, child: &std::process::Child| {
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("a process");
        kill_process(pid, Signal::INT).expect("it runs");
    };
    let awaited = "50 % of 2.0 MiB";
    let (ended_well, screen) =
        super::approval::watching(awaited, &bed.program, &["plugin", "add", &url], "", interrupt);
    assert!(!ended_well && screen.contains("\rdownloading http://127.0.0.1:"), "{screen:?}");
    let left = fs::read_dir(plugins)
        .map_or(0, |entries| entries.flatten().filter(|entry| entry.file_name() != *".lock").count());
    assert_eq!(left, 0);
}

#[test]
fn without_a_terminal_nothing_of_a_download_is_seen() {
    let bed = Bed::new();
    let file = bed.pack("1.0.0", "");
    let bytes = fs::read(file).expect("a pack");
    let site = Site::start(move |asked| match asked.path.as_str() {
        "/kinds.plugin" => Answer::of("application/octet-stream", bytes.clone()),
        _ => Answer::not_found(),
    });
    policy(&bed, "");
    let (status, out, err) = bed.program.run(&["plugin", "hash", &site.url("/kinds.plugin")]);
    assert!(status.success() && out.trim().len() == 64 && err.is_empty(), "{out}{err}");
}

#[test]
fn rules_for_tools_know_a_plugin_by_its_author_s_name_too() {
    let bed = Bed::new();
    let file = bed.pack("1.0.0", "");
    let hash = bed.done(&["plugin", "hash", &file, "--name", "sky"]);
    bed.done(&["plugin", "add", &file, "--name", "sky", "--yes", &hash]);
    let call = ["call", "sky.divide", CALL[2]];
    assert!(bed.done(&call).contains('2'));
    for rules in
        ["deny = [\"kinds.*\"]", "deny = [\"sky.*\"]", "allow = [\"sky.*\"]", "allow = [\"kinds.*\"]"]
    {
        policy(&bed, &format!("[tools]\n{rules}\n"));
        bed.refused(&call, "policy.toml line 5");
        assert!(bed.done(&["tools"]).contains("sky.divide (closed: tool "), "{rules}");
        let (status, out, err) = bed.program.run(&["policy", "why", "tool", "sky.divide"]);
        assert!(!status.success() && out.contains("line 5"), "{rules}: {out}{err}");
    }
    policy(&bed, "[tools]\nallow = [\"sky.*\", \"kinds.*\"]\ndeny = [\"weather.*\"]\n");
    assert!(bed.done(&call).contains('2'));
}
