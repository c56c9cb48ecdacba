//! What the documents tell people to type.

use std::path::Path;
use std::process::{Command, Stdio};

use scorpiox_tests::program::binary;

/// A machine of its own: what is installed, written and left there vanishes with it.
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

/// The blocks of one section that are marked as a shell's, in their order.
fn commands(document: &str, section: &str) -> String {
    let text = document.split("\n## ").find(|part| part.starts_with(section)).expect("the section");
    let blocks = text.split("```sh\n").skip(1).map(|block| block.split("```").next().expect("an end"));
    blocks.collect()
}

/// Runs what a section of a document says, where the program is installed as `before` does.
#[track_caller]
fn works(document: &str, section: &str, before: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(document);
    let text = std::fs::read_to_string(&path).expect("the document");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(binary(), folder.path().join("scorpiox-code")).expect("a copy");
    let script = folder.path().join("machine");
    std::fs::write(
        &script,
        format!("#!/bin/bash\n{MACHINE}\n{before}\nset -x\n{}", commands(&text, section)),
    )
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
fn a_fleet_is_set_up_as_the_document_says() {
    works("deployment.md", "A fleet", "");
}

#[test]
fn a_developer_sets_it_up_as_the_document_says() {
    works("deployment.md", "One developer", "");
}

#[test]
fn a_job_of_ci_is_set_up_as_the_document_says() {
    works(
        "deployment.md",
        "CI",
        "install -D -m 755 target/release/scorpiox-code /usr/local/bin/scorpiox-code",
    );
}
