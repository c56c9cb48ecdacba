//! Tests of the systemd unit in docs/operations.md: its exposure score, and the settings that the command
//! sandbox needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::reading::{Document, project};

/// Maximum exposure reported by systemd, in tenths: 3.0 of 10. The table in the document lists the remaining
/// openings with reasons.
const HIGHEST_EXPOSURE: &str = "30";

/// Returns the unit from the document.
fn unit() -> String {
    let blocks = Document::read("docs/operations.md").blocks;
    let unit = blocks.into_iter().find(|block| block.text.contains("[Service]")).expect("a unit");
    // The program is not started, but systemd requires an existing file.
    unit.text.replace("/usr/local/bin/scorpiox-code", "/bin/true")
}

fn analyze(arguments: &[&str]) -> Output {
    let mut command = Command::new("systemd-analyze");
    let output = command.args(arguments).output();
    output.unwrap_or_else(|error| panic!("systemd-analyze: {error}; install systemd"))
}

/// Returns systemd's verdict on a unit, with `true` if its exposure is low enough.
fn exposure(folder: &Path, unit: &str) -> (bool, String) {
    let path = folder.join("scorpiox-code.service");
    fs::write(&path, unit).expect("written");
    let path = path.display().to_string();
    let threshold = format!("--threshold={HIGHEST_EXPOSURE}");
    let output = analyze(&["security", "--offline=true", "--no-pager", &threshold, &path]);
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_unit_is_as_closed_as_the_document_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let unit = unit();
    let (is_closed, said) = exposure(folder.path(), &unit);
    assert!(is_closed && said.contains("Overall exposure level for scorpiox-code.service: 3.0 OK"), "{said}");
    let page = fs::read_to_string(project().join("docs/operations.md")).expect("a document");
    assert!(page.contains("gives this unit 3.0 (\"OK\")"));
    let verified = analyze(&["verify", &folder.path().join("scorpiox-code.service").display().to_string()]);
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success() && !said.contains("scorpiox-code.service:"), "{said}");
    // A unit without the hardening settings exceeds the limit.
    let (before, rest) = unit.split_once("\n# Files:").expect("the lines that close it");
    let (_, install) = rest.split_once("\n[Install]").expect("a part");
    assert!(!exposure(folder.path(), &format!("{before}\n[Install]{install}")).0);
}

/// Returns all system calls of a group, including nested groups.
fn calls_of(group: &str) -> BTreeSet<String> {
    let output = analyze(&["syscall-filter", group]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let members =
        text.lines().skip(1).map(str::trim).filter(|word| !word.is_empty() && !word.starts_with('#'));
    members
        .flat_map(|word| if word.starts_with('@') { calls_of(word) } else { [word.to_owned()].into() })
        .collect()
}

#[test]
fn the_unit_leaves_open_what_the_sandbox_needs() {
    let unit = unit();
    let set = |key: &str| -> Vec<&str> {
        let lines = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        lines.flat_map(str::split_whitespace).collect()
    };
    let page = fs::read_to_string(project().join("docs/operations.md")).expect("a document");
    let rows = page.lines().skip_while(|line| !line.starts_with("| stays open |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with("| "));
    let open: Vec<_> = rows
        .flat_map(|row| row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2))
        .collect();
    // These settings list permitted values. The other settings in the table are not set in the unit.
    let listed = ["RestrictNamespaces", "SystemCallFilter", "RestrictAddressFamilies"];
    assert!(open.len() > 10, "{open:?}");
    for key in &open {
        assert_eq!(!set(key).is_empty(), listed.contains(key), "{key}");
    }
    let filter = set("SystemCallFilter");
    let (groups, single): (Vec<_>, Vec<_>) = filter.into_iter().partition(|word| word.starts_with('@'));
    let mut allowed: BTreeSet<_> = single.into_iter().map(str::to_owned).collect();
    allowed.extend(groups.into_iter().flat_map(calls_of));
    let needed = fs::read_to_string(project().join("deploy/kustomize/components/namespaces/calls.json"));
    let needed: serde_json::Value = serde_json::from_str(&needed.expect("a file")).expect("JSON");
    let needed = needed["names"].as_array().expect("names").iter().filter_map(serde_json::Value::as_str);
    let landlock = ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp"];
    for call in needed.chain(landlock) {
        assert!(allowed.contains(call), "{call} is needed for sandboxes, and the unit forbids it");
    }
    assert_eq!(set("RestrictNamespaces"), ["user", "mnt", "pid", "net", "ipc", "uts"]);
}

#[test]
fn the_template_for_several_servers_changes_lines_that_the_unit_has() {
    let blocks = Document::read("docs/operations.md").blocks;
    let template = blocks.into_iter().find(|block| block.text.contains("SCORPIOX_HOME=/var/lib/scorpiox/%i"));
    let template = template.expect("a template").text.replace("/usr/local/bin/scorpiox-code", "/bin/true");
    let key = |line: &str| line.split(['=', '/']).take(2).collect::<Vec<_>>().join("=");
    let mut unit = unit();
    for line in template.lines() {
        let start = if line.starts_with("Environment") {
            key(line)
        } else {
            line.split('=').next().expect("a key").to_owned() + "="
        };
        let own = unit.lines().find(|own| own.starts_with(&start)).unwrap_or_else(|| panic!("{start}"));
        unit = unit.replace(&format!("\n{own}\n"), &format!("\n{line}\n"));
    }
    assert_eq!(unit.matches("%i").count(), 3, "{unit}");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scorpiox-code@7300.service");
    fs::write(&path, unit).expect("written");
    let verified = analyze(&["verify", &path.display().to_string()]);
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success() && !said.contains("scorpiox-code@"), "{said}");
}
