//! What somebody else puts in the place of something protected while a command runs. Mounts and Landlock's
//! rules follow the file that was there: git and editors put another one under its name.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::absent::grow_old;
use super::{SETTINGS, names};
use crate::bed::{Bed, comes_true, finish_attack, for_each_tier};

/// What the other program writes.
const NEW: &str = "[core]\n\teditor = mine\n";

/// Runs attacks that begin when `change` has been made.
#[track_caller]
fn attack_after(bed: &mut Bed, change: impl Fn(&Bed), script: &str) {
    let script = format!("{LINK_OPEN}echo > ready; until [ -e go ]; do sleep 0.02; done\n{script}");
    let mut running = bed.start_attack(&script);
    let ready = bed.at("ready");
    assert!(comes_true(Duration::from_secs(30), || ready.exists()), "the command did not start");
    change(bed);
    fs::write(bed.at("go"), "").expect("a file");
    finish_attack(&mut running);
}

/// As git and editors do it.
fn replace(path: &Path) {
    let new = path.with_extension("lock");
    fs::write(&new, NEW).expect("a file");
    fs::rename(&new, path).expect("a file");
}

/// Gives a second name to a file by a descriptor of it.
const LINK_OPEN: &str = r#"
link_open() {
    python3 -c 'import os, sys
fd, here = os.open(sys.argv[1], os.O_RDONLY), os.open(".", os.O_RDONLY)
os.link(f"/proc/self/fd/{fd}", sys.argv[2], src_dir_fd=here, dst_dir_fd=here)' "$1" "$2"
}
"#;

/// Every way to change the file `$path`, or to get another name for it.
const CHANGES: &str = r#"
    must_fail "append to $path" write "$path"
    must_fail "overwrite $path" overwrite "$path"
    must_fail "truncate $path" shorten "$path"
    must_fail "open $path to read and write" perl -e 'open(my $f, "+<", $ARGV[0]) or exit 1' "$path"
    must_fail "open $path by a link" bash -c 'ln -s "$1" by-link; echo changed >> by-link' - "$PWD/$path"
    rm -f by-link
    must_fail "link $path" link "$path" second
    must_fail "link what is open of $path" link_open "$path" third
    must_fail "change what is open of $path" bash -c 'exec 7< "$1"; echo changed >> /proc/self/fd/7' - "$path"
    must_fail "exchange $path" exchange file "$path"
    must_fail "move over $path" move file "$path"
"#;

#[test]
fn what_takes_the_place_of_a_protected_file_is_protected() {
    for_each_tier(|bed| {
        let config = bed.put(".git/config", SETTINGS);
        let secret = bed.put("sub/.env", "TOKEN=old\n");
        bed.put("file", "mine\n");
        bed.shield.freeze = vec![config.clone()];
        bed.shield.hide = vec![secret.clone()];
        let change = |_: &Bed| [&config, &secret].into_iter().for_each(|path| replace(path));
        attack_after(bed, change, &format!("for path in .git/config sub/.env; do {CHANGES} done"));
        for path in [&config, &secret] {
            assert_eq!(fs::read_to_string(path).expect("a file"), NEW, "{}", path.display());
        }
    });
}

#[test]
fn what_takes_the_place_of_a_protected_folder_is_protected() {
    for_each_tier(|bed| {
        let hook = bed.put(".git/hooks/pre-commit", "#!/bin/sh\n");
        bed.put("file", "mine\n");
        let hooks = bed.at(".git/hooks");
        bed.shield.freeze = vec![hooks.clone()];
        let change = |bed: &Bed| {
            fs::rename(&hooks, bed.at("hooks.old")).expect("moved");
            fs::create_dir(&hooks).expect("a folder");
            fs::write(&hook, NEW).expect("a file");
        };
        let script = format!(
            r#"
            path=.git/hooks/pre-commit; {CHANGES}
            must_fail "make a hook" write .git/hooks/post-index-change
            must_fail "make a folder of hooks" mkdir .git/hooks/a
            "#
        );
        attack_after(bed, change, &script);
        assert_eq!(fs::read_to_string(&hook).expect("a file"), NEW);
        assert_eq!(names(&hooks), ["pre-commit"]);
    });
}

#[test]
fn what_comes_to_an_absent_name_is_protected() {
    for_each_tier(|bed| {
        bed.put(".git/config", SETTINGS);
        bed.put("file", "mine\n");
        bed.put("sub/file", "mine\n");
        bed.shield.absent = vec![bed.at(".git/config.lock"), bed.at(".claude")];
        bed.shield.names = vec![".vscode"];
        grow_old(&bed.at("sub"));
        bed.shield.names.push(".mcp.json");
        let made = [".git/config.lock", ".claude/settings.local.json", "sub/.vscode/tasks.json", "sub/.mcp.json"];
        let change = |bed: &Bed| made.iter().for_each(|name| drop(bed.put(name, NEW)));
        attack_after(bed, change, &format!("for path in {}; do {CHANGES} done", made.join(" ")));
        for name in made {
            assert_eq!(fs::read_to_string(bed.at(name)).expect("a file"), NEW, "{name}");
        }
    });
}

#[test]
fn other_files_can_be_opened_in_every_way() {
    for_each_tier(|bed| {
        bed.put(".git/config", SETTINGS);
        bed.shield.freeze = vec![bed.at(".git/config")];
        bed.shield.names = vec![".mcp.json"];
        bed.put("file", "mine\n");
        let script = r#"
            may "append" write file
            may "read and write" perl -e 'open(my $f, "+<", "file") or exit 1; print $f "x" or exit 1'
            may "truncate" shorten file
            may "by a link" bash -c 'ln -s file by-link && echo changed >> by-link && [ "$(cat file)" = changed ]'
            may "what is open" bash -c 'exec 7< file; echo more >> /proc/self/fd/7 && [ "$(wc -l < file)" = 2 ]'
            may "what has no name" bash -c 'exec 7<> nameless; rm nameless; echo text > /proc/self/fd/7; cat <&7'
            may "a file without a name" python3 -c '
import os
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
os.write(fd, b"text")
here = os.open(".", os.O_RDONLY)
os.link(f"/proc/self/fd/{fd}", "named", src_dir_fd=here, dst_dir_fd=here, follow_symlinks=True)
assert open("named").read() == "text"'
            may_change "link what is open" link_open file another
            mkfifo pipe
            (sleep 0.2; cat pipe > got) &
            may "wait for the reader of a pipe" bash -c 'echo through > pipe'
            wait
            may "what came through it" grep -q through got
            (cat pipe > got) &
            may "a pipe that is read" timeout 10 bash -c 'echo again > pipe'
            wait
            may "what came through it then" grep -q again got
            may "a pipe for both" bash -c 'exec 7<> pipe && echo both >&7 && read -r line <&7 && [ "$line" = both ]'
            must_fail "a pipe without a reader, at once" python3 -c 'import os; os.open("pipe", os.O_WRONLY | os.O_NONBLOCK)'
            must_fail "a pipe that nobody reads" timeout 0.3 bash -c 'echo lost > pipe'
            for n in 1 2 3; do bash -c 'echo lost > pipe' & done; sleep 0.1; kill %1 %2 %3
            "#;
        let finished = bed.attack(&format!("{LINK_OPEN}{script}"));
        let outcome = finished.outcome.expect("an outcome");
        assert_eq!(outcome.leftover, 0, "who waits for a pipe can be ended");
    });
}
