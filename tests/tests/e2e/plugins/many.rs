//! Measures many plugins: they do not slow down the start, and their tools are listed quickly.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant};

use scorpiox_tests::Program;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{impostor_as, install, listed, source};

const COUNT: usize = 200;
const STORE: &str = "[capabilities.store]\nwhy = \"keeps things\"\n";
/// Number of measured starts; the medians count.
const ROUNDS: usize = 9;

fn stamp(path: &Path) -> Value {
    let about = path.symlink_metadata().expect("a file");
    json!({
        "device": about.dev(), "inode": about.ino(), "size": about.size(),
        "modified": [about.mtime(), about.mtime_nsec()], "changed": [about.ctime(), about.ctime_nsec()],
    })
}

/// Turns one approved plugin into two hundred, as if each had been installed and approved.
fn multiply(program: &Program) {
    let own = program.home().join(".scorpiox");
    let ledger = own.join("plugins.json");
    let mut decisions: Value =
        serde_json::from_slice(&fs::read(&ledger).expect("the decisions")).expect("JSON");
    let component = impostor_as("plain");
    for number in 0..COUNT - 1 {
        let name = format!("many-{number}");
        let folder = own.join("plugins").join(&name);
        fs::DirBuilder::new().mode(0o700).create(&folder).expect("a folder");
        let manifest = format!(
            "name = \"{name}\"\nversion = \"1.{number}.0\"\ndescription = \"Number {number}\"\n\
             component = \"c.wasm\"\n{STORE}[limits]\ncalls = 2\n"
        );
        let files = [folder.join("plugin.toml"), folder.join("c.wasm")];
        for (path, bytes) in files.iter().zip([manifest.as_bytes(), &component]) {
            fs::write(path, bytes).expect("a file");
        }
        let mut record = decisions["plugins"]["many"].clone();
        let approval = &mut record["decision"]["approved"];
        approval["manifest"] =
            Sha256::digest(&manifest).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
        approval["limits"]["calls"] = json!(2);
        let tools = approval["tools"].to_string();
        approval["definitions"] =
            Sha256::digest(&tools).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
        approval["stamps"] = json!(files.each_ref().map(|path| stamp(path)));
        decisions["plugins"][name] = record;
    }
    // Serialized without whitespace, like the text from which the fingerprint is computed.
    let mut own = decisions["plugins"]["many"]["decision"]["approved"].take();
    let tools = own["tools"].to_string();
    own["definitions"] =
        Sha256::digest(&tools).iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    decisions["plugins"]["many"]["decision"]["approved"] = own;
    fs::write(&ledger, decisions.to_string()).expect("writes");
}

/// Returns the median times from the start to the response to `initialize`, and from there to the first list.
fn times(program: &Program) -> (Duration, Duration) {
    let (mut starts, mut lists): (Vec<_>, Vec<_>) = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            let mut server = program.start();
            server.initialize("2025-11-25");
            let started = begun.elapsed();
            let id = server.request("tools/list", json!({}));
            let line = server.raw_line();
            let took = begun.elapsed() - started;
            assert!(line.contains(&format!("\"id\":{id}")), "{line:.100}");
            (started, took)
        })
        .unzip();
    starts.sort_unstable();
    lists.sort_unstable();
    (starts[ROUNDS / 2], lists[ROUNDS / 2])
}

#[test]
fn two_hundred_plugins_do_not_delay_the_handshake() {
    let without = times(&Program::new());
    let program = Program::new();
    install(&program, &source(&program, "many", STORE, &impostor_as("plain")));
    multiply(&program);
    let with = times(&program);
    let mut server = program.start();
    server.initialize("2025-11-25");
    let tools = listed(&mut server);
    assert_eq!(tools.iter().filter(|name| name.ends_with(".version")).count(), COUNT);
    eprintln!(
        "without plugins: {:?} to initialize, {:?} more to the list; with {COUNT}, {} tools: {:?}, {:?}",
        without.0,
        without.1,
        tools.len(),
        with.0,
        with.1
    );
    assert!(with.0 < without.0 * 2 + Duration::from_millis(20), "{with:?}, {without:?}");
    assert!(with.1 < without.1 + Duration::from_millis(500), "{with:?}, {without:?}");
}
