//! Files that another program puts in the place of protected ones while a command runs. Mounts and Landlock
//! rules follow the original file: git and editors create another one under its name.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::absent::grow_old;
use super::{SETTINGS, names};
use scorpiox_sandbox::Tier;

use crate::bed::{Bed, Finished, comes_true, finish_attack, for_each_tier};

/// Content that the other program writes.
pub(super) const NEW: &str = "[core]\n\teditor = mine\n";

/// Runs attacks that start after `change`.
#[track_caller]
pub(super) fn attack_after(bed: &mut Bed, change: impl Fn(&Bed), script: &str) {
    attack_around(bed, "", change, script);
}

/// Runs attacks in two parts, before and after `change`.
#[track_caller]
pub(super) fn attack_around(bed: &mut Bed, before: &str, change: impl Fn(&Bed), after: &str) -> Finished {
    let script = format!("{LINK_OPEN}{before}\necho > ready; until [ -e go ]; do sleep 0.02; done\n{after}");
    let mut running = bed.start_attack(&script);
    let ready = bed.at("ready");
    assert!(comes_true(Duration::from_secs(30), || ready.exists()), "the command did not start");
    change(bed);
    fs::write(bed.at("go"), "").expect("a file");
    finish_attack(&mut running)
}

/// Replaces a file as git and editors do.
fn replace(path: &Path) {
    let new = path.with_extension("lock");
    fs::write(&new, NEW).expect("a file");
    fs::rename(&new, path).expect("a file");
}

/// Bash function that links a file by a descriptor.
pub(super) const LINK_OPEN: &str = r#"
link_open() {
    python3 -c 'import os, sys
fd, here = os.open(sys.argv[1], os.O_RDONLY), os.open(".", os.O_RDONLY)
os.link(f"/proc/self/fd/{fd}", sys.argv[2], src_dir_fd=here, dst_dir_fd=here)' "$1" "$2"
}
"#;

/// Every way to change the file `$path`, or to get another name for it.
pub(super) const CHANGES: &str = r#"
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
fn a_protected_name_goes_along_with_its_folder() {
    for_each_tier(|bed| {
        bed.put("file", "mine\n");
        bed.shield.freeze = vec![bed.put("module/config", SETTINGS)];
        let moved = bed.at("moved/config");
        let change = |bed: &Bed| {
            fs::rename(bed.at("module"), bed.at("moved")).expect("moved");
            replace(&moved);
        };
        attack_after(bed, change, &format!("path=moved/config; {CHANGES}"));
        assert_eq!(fs::read_to_string(&moved).expect("a file"), NEW);
    });
}

/// A command may change files in its own repository, as `git init` and `git clone` do.
#[test]
fn a_repository_that_somebody_else_makes_meanwhile_is_not_to_be_changed() {
    for_each_tier(|bed| {
        bed.put(".git/config", SETTINGS);
        bed.put("sub/file", "mine\n");
        bed.put("file", "mine\n");
        bed.shield.freeze = vec![bed.at(".git/config")];
        let made = ["sub/.git/config", ".git/worktrees/tree/commondir", "tree/.git"];
        let change = |bed: &Bed| made.iter().for_each(|name| drop(bed.put(name, NEW)));
        let script = format!(
            r#"
            for path in {}; do {CHANGES} done
            must_fail "make a hook" bash -c 'mkdir sub/.git/hooks && echo > sub/.git/hooks/pre-commit'
            may "its own" mkdir -p own/.git/hooks
            may "its own configuration" write own/.git/config
            may "its own tree" bash -c 'mkdir wt && echo gitdir: x > wt/.git && echo gitdir: y > wt/.git && mv wt/.git wt/git'
            may "another name" bash -c 'mkdir n && mv n own/.git/worktrees && mkdir own/.git/worktrees/x'
            may "what lies there" write own/.git/worktrees/x/commondir
            "#,
            made.join(" ")
        );
        attack_after(bed, change, &script);
        for name in made {
            assert_eq!(fs::read_to_string(bed.at(name)).expect("a file"), NEW, "{name}");
        }
    });
}

/// A mount moves with the directory that it pins. Another directory with its name must stay protected.
#[test]
fn a_folder_that_takes_the_place_of_one_with_protected_files_stays_there() {
    for_each_tier(|bed| {
        let config = bed.put(".git/config", SETTINGS);
        let hook = bed.put("tools/hooks/pre-commit", "#!/bin/sh\n");
        bed.put("evil/config", SETTINGS);
        bed.shield.freeze = vec![config.clone(), bed.at("tools/hooks")];
        bed.shield.absent = vec![bed.at(".git/config.worktree"), bed.at("sub/.vscode")];
        let change = |bed: &Bed| {
            for (folder, file) in [(".git", &config), ("tools", &hook)] {
                fs::rename(bed.at(folder), bed.at(&format!("{folder}.old"))).expect("moved");
                fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
                fs::write(file, NEW).expect("a file");
            }
        };
        let script = r#"
            for folder in .git tools tools/hooks; do
                must_fail "move $folder away" move "$folder" away
                must_fail "exchange $folder" exchange evil "$folder"
            done
            must_fail "another configuration" write .git/config.worktree
            must_fail "what lies beside it" write .git/index
            may "what lies beside the hooks" write tools/file
            rm -r .git tools 2>/dev/null
            must_fail "a folder in its place" move evil .git
            must_fail "a link in its place" ln -sT evil .git
            must_fail "a file in its place" write .git
            must_fail "a folder of hooks" bash -c 'mkdir tools && mkdir tools/hooks'
            "#;
        attack_after(bed, change, script);
        let found = [&config, &hook].map(|path| fs::read_to_string(path).ok());
        // With mounts, the new files can be removed.
        let left = (bed.tier == Tier::T2).then(|| NEW.to_owned());
        assert_eq!(found, [left.clone(), left]);
    });
}

#[test]
fn what_comes_to_an_absent_name_is_protected() {
    for_each_tier(|bed| {
        bed.put(".git/config", SETTINGS);
        bed.put("file", "mine\n");
        bed.put("sub/file", "mine\n");
        bed.shield.freeze = vec![bed.at(".git/config")];
        bed.shield.absent = vec![bed.at(".git/config.worktree"), bed.at(".claude")];
        bed.shield.names = vec![".vscode"];
        bed.put("node_modules/p/file", "mine\n");
        grow_old(&bed.at("node_modules/p"));
        bed.shield.names.push(".mcp.json");
        let made = [
            ".git/config.lock",
            ".git/config.worktree.lock",
            ".claude/settings.local.json",
            "sub/.vscode/tasks.json",
            "sub/.mcp.json",
        ];
        let change = |bed: &Bed| made.iter().for_each(|name| drop(bed.put(name, NEW)));
        let among_packages = r#"
            mv sub node_modules/
            must_fail "change it among packages" write node_modules/sub/.vscode/tasks.json
            must_fail "replace it among packages" move file node_modules/sub/.mcp.json
            mv node_modules/sub .
            "#;
        let script = format!("for path in {}; do {CHANGES} done {among_packages}", made.join(" "));
        attack_after(bed, change, &script);
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
        let script = r##"
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
            # Landlock has no rule about a descriptor's file.
            [ "$TIER" = T2 ] || may "link what is open" link_open file another
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
            may "a signal while it waits for a pipe" timeout --preserve-status -k 5 0.3 \
                bash -c 'trap "exit 0" TERM; echo lost > pipe; exit 1'
            may "an alarm while it waits for a pipe" timeout 5 python3 -c '
import os, signal
def over(*_): raise TimeoutError
signal.signal(signal.SIGALRM, over)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try: os.open("pipe", os.O_WRONLY)
except TimeoutError: raise SystemExit(0)
raise SystemExit(1)'
            may "run what was just written" python3 -c '
import os, shutil
for n in range(300):
    fd = os.open("program", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o755)
    os.write(fd, b"#!/bin/sh\nexit 0\n")
    os.close(fd)
    pid = os.posix_spawn("./program", ["program"], {})
    assert os.waitpid(pid, 0)[1] == 0, n'
            may "read only and cut" python3 -c 'import os; os.open("file", os.O_RDONLY | os.O_TRUNC)'
            [ ! -s file ] || echo "BROKEN it is not cut"
            may "keep what there is no room for" python3 -c '
import os, resource
open("full", "w").write("content")
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
try:
    while True: os.dup(0)
except OSError: pass
for name, flags in [("full", os.O_WRONLY | os.O_TRUNC), ("none", os.O_WRONLY | os.O_CREAT | os.O_EXCL)]:
    try: os.open(name, flags)
    except OSError as error: assert error.errno == 24, error
    else: raise SystemExit(1)
assert os.stat("full").st_size == 7 and not os.path.exists("none")'
            may "ask for flags" python3 -c '
import fcntl, os
fd = os.open("file", os.O_WRONLY | os.O_APPEND)
assert fcntl.fcntl(fd, fcntl.F_GETFL) & ~0o100000 == os.O_WRONLY | os.O_APPEND, oct(fcntl.fcntl(fd, fcntl.F_GETFL))'
            for n in 1 2 3; do bash -c 'echo lost > pipe' & done; sleep 0.1; kill %1 %2 %3
            "##;
        let finished = bed.attack(&format!("{LINK_OPEN}{script}"));
        let outcome = finished.outcome.expect("an outcome");
        assert_eq!(outcome.leftover, 0, "who waits for a pipe can be ended");
    });
}
