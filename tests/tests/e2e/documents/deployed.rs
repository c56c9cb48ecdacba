//! Runs the three setups in docs/deployment.md, each on a separate simulated machine.

use std::process::{Command, Stdio};

use scorpiox_tests::program::install;

use super::reading::Document;
use super::running::checked;

/// Script of a simulated machine: files installed or created there are removed afterwards.
const MACHINE: &str = r#"set -e
[ "$1" = inside ] || exec unshare --mount $2 /bin/bash "$0" inside
fs="$(dirname "$0")/fs"
mkdir "$fs"; mount -t tmpfs tmpfs "$fs"
for folder in /etc /usr/local; do
    mkdir -p "$fs$folder/upper" "$fs$folder/work"
    mount -t overlay overlay -o "lowerdir=$folder,upperdir=$fs$folder/upper,workdir=$fs$folder/work" "$folder"
done
mount -t tmpfs tmpfs /root
export HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
mkdir -p /root/src/project/target/release; cd /root/src/project
cp "$(dirname "$0")/scorpiox-code" target/release/
"#;

/// Returns the shell blocks of a section, in order.
fn commands(section: &str) -> String {
    let document = Document::read("docs/deployment.md");
    let from = document.heading(section);
    let to = document.headings.iter().find(|heading| heading.level == 2 && heading.line > from);
    let to = to.map_or(usize::MAX, |heading| heading.line);
    let blocks =
        document.blocks.iter().filter(|block| block.language == "sh" && (from..to).contains(&block.line));
    blocks.map(|block| checked(&document.name, block).text).collect()
}

/// Runs the commands of a section, after `before` has installed the program.
#[track_caller]
fn works(section: &str, before: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    install(&folder.path().join("scorpiox-code"));
    let script = folder.path().join("machine");
    std::fs::write(&script, format!("#!/bin/bash\n{MACHINE}\n{before}\nset -x\n{}", commands(section)))
        .expect("it");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("sets");
    let map = if rustix::process::geteuid().is_root() { "" } else { "--map-root-user" };
    let ran = Command::new("/bin/bash")
        .arg(&script)
        .args(["outside", map])
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{}{}", shown(&ran.stdout), shown(&ran.stderr));
}

#[test]
fn every_command_of_the_document_is_in_one_of_these_sections() {
    let document = Document::read("docs/deployment.md");
    let blocks = document.blocks.iter().filter(|block| block.language == "sh" && block.marker.is_none());
    let text: String = blocks.map(|block| checked(&document.name, block).text).collect();
    assert_eq!(text, ["A fleet", "One developer", "CI"].map(commands).concat());
}

#[test]
fn a_fleet_is_set_up_as_the_document_says() {
    works("A fleet", "");
}

#[test]
fn a_developer_sets_it_up_as_the_document_says() {
    works("One developer", "");
}

#[test]
fn a_job_of_ci_is_set_up_as_the_document_says() {
    works("CI", "install -D -m 755 target/release/scorpiox-code /usr/local/bin/scorpiox-code");
}
