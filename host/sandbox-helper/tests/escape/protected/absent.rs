//! Unused names that no command may create. No placeholder for them exists in the workspace.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use scorpiox_sandbox::{Ended, RawPath, Status, Tier};

use super::names;
use crate::bed::{Bed, Finished, Shield, comes_true, finish, for_each_tier, parent_of, set_mode};

/// Creates a bed with absent names, and with directories to move something from.
pub(super) fn with_absent_names(bed: &mut Bed) -> Vec<PathBuf> {
    bed.put("own/file", "mine\n");
    bed.put("own/folder/file", "mine\n");
    bed.put("own/spare", "mine\n");
    bed.put("repository/.git/HEAD", "ref: refs/heads/main\n");
    let absent = [".mcp.json", ".claude", "repository/.git/hooks", "settings/deep/file"];
    let absent: Vec<_> = absent.iter().map(|name| bed.at(name)).collect();
    bed.shield = Shield { absent: absent.clone(), pin: vec![bed.at("repository/.git")], ..Shield::default() };
    absent
}

#[track_caller]
fn assert_gone(absent: &[PathBuf]) {
    for path in absent {
        assert!(path.symlink_metadata().is_err(), "{} is there", path.display());
    }
}

const FILL: &str = r#"
    for path in .mcp.json .claude repository/.git/hooks "$WORKSPACE/.claude" ./own/../.claude \
        "/proc/self/root$WORKSPACE/.claude" /proc/self/cwd/.claude /proc/thread-self/cwd/.claude \
        .MCP.JSON .Claude settings settings/; do
        must_fail "a file at $path" overwrite "$path"
        must_fail "a folder at $path" mkdir "$path"
        must_fail "a folder at $path/" mkdir "$path/"
        must_fail "a link at $path" ln -sT ../own/folder "$path"
        must_fail "a forced link at $path" ln -sfT ../own/folder "$path"
        must_fail "a hard link at $path" link own/file "$path"
        must_fail "a pipe at $path" mkfifo "$path"
        must_fail "a file moved to $path" move own/file "$path"
        must_fail "a folder moved to $path" move own/folder "$path"
        must_fail "a folder moved to $path/" move own/folder "$path/"
        must_fail "an exchange with $path" exchange own/folder "$path"
        must_fail "a file below $path" overwrite "$path/settings.json"
        must_fail "a folder below $path" mkdir "$path/new"
        must_fail "a move below $path" move own/file "$path/settings.json"
        must_fail "the mode of $path" chmod 777 "$path"
        must_fail "taking $path away" move "$path" own/taken
        must_fail "removing $path" rmdir "$path"
        must_fail "removing $path as a file" unlink "$path"
    done
    mkdir own/with; echo x > own/with/file
    must_fail "a folder that has the name in it" move own/with settings
    ln -s ../.mcp.json own/link; ln -s link own/chain; ln -s . own/here
    for path in own/link own/chain own/here/link; do
        must_fail "through $path" overwrite "$path"
        must_fail "at the end of $path" touch "$path"
    done
    must_fail "another folder above" move repository/.git own/git
    "#;

#[test]
fn absent_names_stay_absent() {
    for_each_tier(|bed| {
        let absent = with_absent_names(bed);
        let finished = bed.attack(&format!("may 'a file of its own' write own/new\n{FILL}"));
        assert_gone(&absent);
        let refused = finished.outcome.expect("an outcome").names.refused;
        let refused: Vec<_> = refused.iter().map(|path| path.as_path().to_owned()).collect();
        for path in [".mcp.json", ".claude", "repository/.git/hooks", "settings"] {
            assert!(refused.contains(&bed.at(path)), "{path} is not among {refused:?}");
        }
        bed.end();
        assert_gone(&absent);
        assert_eq!(
            names(&bed.at("own")),
            ["chain", "file", "folder", "here", "link", "new", "spare", "with"]
        );
    });
}

#[test]
fn no_system_call_makes_an_absent_name() {
    for_each_tier(|bed| {
        let absent = with_absent_names(bed);
        bed.arm("names");
        bed.run("./names each .mcp.json .claude repository/.git/hooks").assert_nothing_escaped();
        assert_gone(&absent);
        assert_eq!(names(&bed.at("own")), ["file", "folder", "spare"]);
    });
}

/// The test checks the name from outside all the time.
#[test]
fn a_path_that_changes_after_the_look_makes_no_absent_name() {
    for_each_tier(|bed| {
        let absent = with_absent_names(bed);
        bed.arm("names");
        bed.shield.names = vec![".zed"];
        bed.put("repository/deep/file", "mine\n");
        let (over, seen) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    // Owners bind sockets themselves, and the supervisor removes them in the end.
                    let found = absent[0].symlink_metadata();
                    let is_there = found.is_ok_and(|found| !found.file_type().is_socket());
                    seen.fetch_or(is_there, Ordering::Relaxed);
                }
            });
            let finished = bed.run("./names race .mcp.json");
            over.store(true, Ordering::Relaxed);
            finished.assert_nothing_escaped();
        });
        assert!(!seen.load(Ordering::Relaxed), "the name was there for a moment");
        assert_gone(&absent);
        bed.run("./names race repository/deep/.zed").assert_nothing_escaped();
        assert!(!bed.at("repository/deep/.zed").exists(), "a name that counts in every folder");
    });
}

#[test]
fn a_process_with_hidden_memory_makes_no_absent_name() {
    for_each_tier(|bed| {
        let absent = with_absent_names(bed);
        bed.arm("names");
        // The kernel hides the memory of a program that nobody may read.
        set_mode(&bed.at("names"), 0o111);
        let elsewhere = if bed.tier == Tier::T2 { bed.scratch.join("x") } else { "/tmp/x".into() };
        bed.environment = vec![("ELSEWHERE".to_owned(), elsewhere.display().to_string())];
        bed.run("./names hidden .mcp.json own/new").assert_nothing_escaped();
        assert_gone(&absent);
    });
}

/// Returns the entries of the workspace and of a repository's directory.
fn listing(bed: &Bed) -> [Vec<String>; 2] {
    [names(&bed.workspace), names(&bed.at("repository/.git"))]
}

#[test]
fn nothing_stands_in_the_workspace_while_a_command_runs_and_after_it() {
    for_each_tier(|bed| {
        with_absent_names(bed);
        let before = listing(bed);
        let mut running =
            bed.start("echo now; ls -A; ls -A repository/.git; until [ -e own/go ]; do sleep 0.01; done");
        assert_eq!(listing(bed), before);
        bed.put("own/go", "");
        let inside = finish(&mut running).text;
        let expected = before.concat().join("\n");
        assert_eq!(inside.trim(), format!("now\n{expected}"));
        assert_eq!(listing(bed), before);
        bed.end();
        assert_eq!(listing(bed), before);
    });
}

#[test]
fn nothing_is_left_when_a_command_or_its_helper_is_killed() {
    for_each_tier(|bed| {
        with_absent_names(bed);
        let before = listing(bed);
        let mut running = bed.start("sleep 100 & sleep 100");
        running.stop(false);
        let outcome = finish(&mut running).outcome.expect("an outcome");
        assert_eq!(outcome.ended, Some(Ended::Stopped));
        assert_eq!(listing(bed), before);

        let mut running = bed.start("while true; do mkdir .claude; echo > .mcp.json; done 2>/dev/null");
        let shell = bed.processes_when(1)[0];
        let above = std::iter::successors(parent_of(shell), |pid| parent_of(*pid));
        let above: Vec<_> = above.take_while(|pid| *pid != std::process::id() && *pid > 1).collect();
        for pid in above.iter().rev() {
            let pid = Pid::from_raw(i32::try_from(*pid).expect("a number")).expect("a number");
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        finish(&mut running);
        assert_eq!(listing(bed), before);
        bed.end();
        assert!(comes_true(Duration::from_secs(10), || bed.processes().is_empty()), "a process was left");
        assert_eq!(listing(bed), before);
    });
}

#[test]
fn a_name_that_came_since_the_look_is_looked_at_again() {
    for_each_tier(|bed| {
        with_absent_names(bed);
        let path = bed.at(".mcp.json");
        bed.meanwhile = Some(Box::new(move || fs::write(&path, "theirs").expect("a file")));
        let refused = bed.try_start("echo changed > .mcp.json").expect_err("a refusal");
        assert!(refused.is_worth_repeating(), "{refused}");
        assert_eq!(fs::read_to_string(bed.at(".mcp.json")).expect("a file"), "theirs");
    });
}

#[test]
fn a_folder_that_moves_takes_no_absent_name_along() {
    for_each_tier(|bed| {
        let absent = with_absent_names(bed);
        bed.attack(
            r#"
            must_fail "moved" move repository moved
            must_fail "exchanged" exchange repository own
            must_fail "moved inside" move repository/.git repository/git
            must_fail "a file in it" overwrite repository/.git/hooks/pre-commit
            may "another file in it" overwrite repository/.git/description
            "#,
        );
        assert_gone(&absent);
    });
}

/// A file that the supervisor creates equals one that the program itself would create.
#[test]
fn what_is_made_is_as_the_program_asked() {
    for_each_tier(|bed| {
        with_absent_names(bed);
        bed.run(
            r"
            echo one > plain; (umask 077; echo two > private; mkdir closed); mkdir open
            echo three >> plain; echo four > plain2; echo x > plain2
            python3 - <<'P'
import os, stat
fd = os.open('exact', os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o640)
os.write(fd, b'exact'); os.lseek(fd, 0, 0); print(os.read(fd, 9).decode(), os.get_inheritable(fd))
try: os.open('exact', os.O_CREAT | os.O_EXCL)
except FileExistsError: print('there')
try: os.open('own', os.O_CREAT | os.O_WRONLY)
except IsADirectoryError: print('a folder')
try: os.open('nowhere/x', os.O_CREAT | os.O_WRONLY)
except FileNotFoundError: print('no folder')
try: os.mkdir('own')
except FileExistsError: print('there')
fd = os.open('appended', os.O_CREAT | os.O_APPEND | os.O_WRONLY)
os.write(fd, b'a'); fd2 = os.open('appended', os.O_CREAT | os.O_APPEND | os.O_WRONLY); os.write(fd2, b'b'); os.write(fd, b'c')
print(open('appended').read())
os.mkdir('x'); os.rename('x/', 'y/'); print(sorted(os.listdir('y')))
os.link('exact', 'second'); print(os.stat('second').st_nlink)
os.symlink('made-through', 'leads'); open('leads', 'w').write('through'); print(open('made-through').read())
fd = os.open('.', os.O_TMPFILE | os.O_WRONLY); os.write(fd, b'late'); top = os.open('/', os.O_PATH)
os.link('/proc/self/fd/%d' % fd, 'late', src_dir_fd=top, follow_symlinks=True); print(open('late').read())
d = os.open('own', os.O_RDONLY); os.mkdir('by-folder', dir_fd=d); os.rename('by-folder', 'new', src_dir_fd=d, dst_dir_fd=d)
os.replace('plain2', 'plain3'); open('/dev/null', 'w').write('x'); open('/proc/self/cwd/here', 'w').write('h')
P
            mkfifo pipe; (echo piped > pipe &); cat pipe
            echo to-stderr > /dev/stderr; echo to-fd > /dev/fd/1
            deep=own; for i in $(seq 30); do deep=$deep/deeper-and-deeper-still; done; mkdir -p $deep && echo x > $deep/file
            mv own/folder own/moved && cp -r own/moved own/copied && ln -s a own/b && ls own/copied
            ",
        );
        let mode = |name: &str| bed.at(name).metadata().expect("a file").permissions().mode() & 0o7777;
        let modes: Vec<_> =
            ["plain", "private", "closed", "open", "exact"].iter().map(|name| mode(name)).collect();
        assert_eq!(modes, [0o644, 0o600, 0o700, 0o755, 0o640]);
        assert_eq!(fs::read_to_string(bed.at("plain")).expect("a file"), "one\nthree\n");
        assert!(bed.at("here").exists() && bed.at("own/new").is_dir() && bed.at("plain3").exists());
        assert_eq!(
            bed.at("second").metadata().expect("a file").ino(),
            bed.at("exact").metadata().expect("a file").ino()
        );
        let said = bed.run("cat late made-through; ls own");
        assert_eq!(said.outcome.as_ref().map(|outcome| outcome.status), Some(Status::Code(0)), "{said:?}");
        assert!(said.text.starts_with("latethrough"), "{said:?}");
    });
}

/// The kernel takes an argument wherever it lies.
const ARGUMENTS: &str = r"
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
PAGE = mmap.PAGESIZE
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
base = libc.mmap(None, 4 * PAGE, 3, 0x22, -1, 0)
def made(at, name):
    ctypes.memmove(at, name + bytes(1), len(name) + 1)
    fd = libc.open(ctypes.c_void_p(at), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    return 0 if fd >= 0 and os.close(fd) is None else ctypes.get_errno()
def check(what, good):
    if not good: print('WRONG', what)
check('across two pages', made(base + PAGE - 5, b'across-pages') == 0 and os.path.exists('across-pages'))
long = b'./' * 1900 + b'long'
check('across three pages', made(base + PAGE - 7, long) == 0 and os.path.exists('long'))
libc.mprotect(ctypes.c_void_p(base + 3 * PAGE), PAGE, 0)
check('up to the end', made(base + 3 * PAGE - 7, b'at-end') == 0 and os.path.exists('at-end'))
ctypes.memmove(base + 3 * PAGE - 3, b'abc', 3)
unreadable = libc.open(ctypes.c_void_p(base + 3 * PAGE - 3), os.O_CREAT | os.O_WRONLY, 0o644)
check('into memory that cannot be read', unreadable < 0 and not os.path.exists('abc'))
check('nowhere', libc.open(ctypes.c_void_p(8), os.O_CREAT | os.O_WRONLY, 0o644) < 0)
print('finished')
";

#[test]
fn a_path_is_read_from_wherever_it_lies() {
    for_each_tier(|bed| {
        with_absent_names(bed);
        bed.put("arguments.py", ARGUMENTS);
        let finished = bed.run("python3 arguments.py");
        assert!(finished.text.contains("finished") && !finished.text.contains("WRONG"), "{finished:?}");
    });
}

#[test]
fn a_link_that_hangs_leads_to_no_absent_name() {
    for_each_tier(|bed| {
        let absent = with_absent_names(bed);
        let elsewhere = if bed.tier == Tier::T2 { bed.scratch.clone() } else { "/tmp".into() };
        symlink(bed.at(".mcp.json"), bed.at("own/absolute")).expect("a link");
        bed.attack(&format!(
            r#"
            ln -s "$WORKSPACE/.mcp.json" {0}/hangs; ln -s "$WORKSPACE/own/made" {0}/free
            must_fail "through it" overwrite {0}/hangs
            must_fail "through an absolute one" overwrite own/absolute
            may "to a name of its own" overwrite {0}/free
            "#,
            elsewhere.display()
        ));
        assert_gone(&absent);
        assert!(bed.at("own/made").exists());
    });
}

#[test]
fn a_second_name_of_a_protected_file_is_not_made() {
    for_each_tier(|bed| {
        let file = bed.put(".mcp.json", "theirs\n");
        let hidden = bed.put("sub/.env", "theirs\n");
        bed.put("own/file", "mine\n");
        bed.shield = Shield {
            freeze: vec![file.clone()],
            hide: vec![hidden.clone()],
            absent: vec![bed.at(".claude")],
            ..Shield::default()
        };
        bed.attack(
            r#"
            exec 9< .mcp.json
            for path in .mcp.json /proc/self/fd/9 sub/.env; do
                must_fail "a second name of $path" link "$path" own/second
                must_fail "the same, by ln" ln -L "$path" own/second
                must_fail "and here" link "$path" second
            done
            perl -e 'link("/proc/self/fd/9", "own/second")'
            [ -e own/second ] && echo changed > own/second
            true
            "#,
        );
        for path in [&file, &hidden] {
            assert_eq!(fs::read_to_string(path).expect("a file"), "theirs\n");
            assert_eq!(path.metadata().expect("a file").nlink(), 1);
        }
        assert_eq!(names(&bed.at("own")), ["file"]);
    });
}

/// Waits until a file, and everything created before it, is older than the next command by more than the lag
/// of file system clocks.
pub(super) fn grow_old(path: &Path) {
    let made = path.metadata().and_then(|found| found.created()).expect("a time");
    let is_old = || made.elapsed().is_ok_and(|age| age > Duration::from_millis(50));
    assert!(comes_true(Duration::from_secs(5), is_old), "it stays young");
}

/// Names that are protected in every directory, except in directories that the command created.
#[test]
fn absent_names_of_all_folders_stay_absent() {
    for_each_tier(|bed| {
        for folder in ["own", "packages/app", "packages/app/node_modules/one"] {
            bed.put(&format!("{folder}/file"), "mine\n");
        }
        grow_old(&bed.put("own/theirs/.vscode/file", "mine\n"));
        bed.shield.names = vec![".vscode", ".mcp.json"];
        bed.arm("names");
        bed.run("./names each .vscode .mcp.json packages/app/.mcp.json").assert_nothing_escaped();
        let finished = bed.attack(
            r#"
            for path in .vscode own/.vscode packages/app/.VSCode "packages/app/.vscode "; do
                must_fail "a folder at $path" mkdir "$path"
                must_fail "a file at $path" overwrite "$path"
                must_fail "a move to $path" move own/file "$path"
            done
            may "what is unpacked" mkdir -p unpacked/deep/.vscode
            may "a file of it" overwrite unpacked/deep/.vscode/settings.json
            may "a package" mkdir packages/app/node_modules/one/.vscode
            must_fail "what was there" overwrite own/theirs/.vscode/file
            may "asking for what is there" mkdir -p own/theirs/.vscode
            "#,
        );
        assert_eq!(names(&bed.at("packages/app")), ["file", "node_modules"]);
        assert_eq!(unpacked(bed, &finished), ["unpacked/deep/.vscode"]);
    });
}

/// Names that are protected by a pattern, or only in directories of a given name.
#[test]
fn names_by_patterns_and_by_their_folders_stay_absent() {
    for_each_tier(|bed| {
        for path in ["own/.hub/flows/file", ".config/file", "own/file"] {
            grow_old(&bed.put(path, "mine\n"));
        }
        for path in ["led/.jj/file", "work/.jj/repo"] {
            grow_old(&bed.put(path, "mine\n"));
        }
        bed.shield.names = vec!["*.work-space", ".hub/hooks", ".config/a/set", ".jj/repo/set"];
        let finished = bed.attack(
            r#"
            for path in x.work-space own/.Work-Space own/.hub/hooks own/.HUB/Hooks; do
                must_fail "a folder at $path" mkdir "$path"
                must_fail "a file at $path" overwrite "$path"
                must_fail "a move to $path" move own/file "$path"
            done
            may "what is beside it" overwrite own/.hub/flows/file
            must_fail "a file in the place of a folder" overwrite led/.jj/repo
            must_fail "a move of a file there" move own/file led/.jj/Repo
            must_fail "another file there" overwrite work/.jj/repo
            may "the folder" mkdir led/.jj/repo
            mkdir -p jj/.jj; echo > jj/.jj/repo
            may "a name of one alone" mkdir own/hooks
            may "a folder for another" mkdir own/.config
            mkdir -p n/hooks m/a; echo > m/a/set; mv n .hub; mv m own/b; mkdir -p .config/a; echo > .config/a/set
            mkdir -p p; mv own/b/a p/a; mv p other; mkdir c; mv other/a c/a; mv c own/.config/c; mv own/.config/c/a own/.config/a
            "#,
        );
        assert_eq!(
            unpacked(bed, &finished),
            [".config/a/set", ".hub/hooks", "jj/.jj/repo", "own/.config/a/set"]
        );
    });
}

/// Returns the reported unpacked names, relative to the workspace.
pub(super) fn unpacked(bed: &Bed, finished: &Finished) -> Vec<String> {
    let names = &finished.outcome.as_ref().expect("an outcome").names;
    let inside = |path: &RawPath| path.as_path().strip_prefix(&bed.workspace).expect("inside").to_owned();
    names.unpacked.iter().map(|path| inside(path).display().to_string()).collect()
}

/// A directory that is new, or lies among packages, can replace an existing one. The result therefore reports
/// the final paths of such names.
#[test]
fn names_that_come_by_moving_folders_are_told() {
    for_each_tier(|bed| {
        for folder in ["swapped", "carried", "fresh"] {
            bed.put(&format!("{folder}/file"), "mine\n");
        }
        bed.shield.names = vec![".vscode"];
        let finished = bed.run(
            r"
            mkdir n n/.vscode; mv swapped/* n/; rmdir swapped; mv n swapped
            mkdir node_modules; mv carried node_modules/; mkdir node_modules/carried/.vscode
            mv node_modules/carried carried
            mkdir -p node_modules/new/.vscode gone/.vscode; rm -r gone
            mkdir -p closed/.vscode; chmod 000 closed
            ",
        );
        assert_eq!(unpacked(bed, &finished), ["carried", "closed/.vscode", "swapped/.vscode"]);
        set_mode(&bed.at("closed"), 0o755);
        let finished = bed.run("mkdir -p node_modules/more/.vscode; ls > node_modules/list");
        assert!(unpacked(bed, &finished).is_empty(), "packages bring such names along");
    });
}

/// Only directories inside the workspace count as packages.
#[test]
fn a_workspace_among_packages_is_a_workspace() {
    let packages = crate::bed::ground().join("node_modules");
    fs::create_dir_all(&packages).expect("a folder");
    for tier in crate::bed::TIERS {
        eprintln!("--- {tier}");
        let mut bed = Bed::below(tier, &packages);
        let folder = bed.put("own/file", "mine\n");
        bed.shield.names = vec![".vscode"];
        grow_old(&folder);
        bed.attack(r#"must_fail "a folder" mkdir own/.vscode; may "another" mkdir own/other"#);
    }
}

/// A name below a file, as `core.hooksPath` may set it: the path cannot exist while the file does.
#[test]
fn a_name_below_a_file_stays_absent() {
    for_each_tier(|bed| {
        bed.put("README", "one\n");
        bed.put("own/with/hooks/pre-commit", "mine\n");
        bed.shield.absent = vec![bed.at("README/hooks"), bed.at("README/deep/er")];
        bed.attack(
            r#"
            may "changed" write README
            echo two > own/new; may "replaced by a file" move own/new README
            rm README
            must_fail "a folder" mkdir README
            must_fail "a folder with it" move own/with README
            echo > README
            must_fail "an exchange" exchange own/with README
            rm README
            must_fail "a link to a folder with it" ln -s own/with README
            must_fail "another spelling" mkdir readme.
            may "made again" overwrite README
            "#,
        );
        assert_eq!(fs::read_to_string(bed.at("README")).expect("a file"), "changed\n");
    });
}

/// Tests a workspace in a directory that commands have for themselves.
#[test]
fn absent_names_stay_absent_in_a_workspace_below_tmp() {
    for tier in crate::bed::TIERS {
        eprintln!("--- {tier}");
        let mut bed = Bed::below(tier, Path::new("/tmp"));
        let absent = with_absent_names(&mut bed);
        bed.arm("names");
        bed.run("./names each .mcp.json .claude").assert_nothing_escaped();
        assert_gone(&absent);
        bed.attack("may 'a file' overwrite own/new; may 'in /tmp' overwrite $HOME/x");
    }
}

/// The processor lets a program, and the kernel on its behalf, read memory that is mapped only for writing.
const UNREADABLE: &str = r"
import ctypes, errno, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
PAGE = mmap.PAGESIZE
at = libc.mmap(None, PAGE, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, ctypes.c_long(0))
def path(name):
    libc.mprotect(ctypes.c_void_p(at), PAGE, mmap.PROT_READ | mmap.PROT_WRITE)
    ctypes.memmove(at, name + b'\0', len(name) + 1)
    libc.mprotect(ctypes.c_void_p(at), PAGE, mmap.PROT_WRITE)
    return ctypes.c_void_p(at)
calls = [
    ('openat', lambda name: libc.openat(-100, path(name), 0o101, 0o644)),
    ('mkdirat', lambda name: libc.mkdirat(-100, path(name), 0o755)),
    ('symlinkat', lambda name: libc.symlinkat(b'x', -100, path(name))),
    ('text of symlinkat', lambda name: libc.symlinkat(path(name), -100, b'link')),
    ('linkat', lambda name: libc.linkat(-100, b'mine', -100, path(name), 0)),
    ('renameat', lambda name: libc.renameat(-100, b'mine', -100, path(name))),
]
open('mine', 'w').close()
for name in [b'.mcp.json', b'other']:
    for what, call in calls:
        done, error = call(name), ctypes.get_errno()
        if done != -1 or error != errno.EFAULT: print('WRONG', what, name, done, error)
print('tried')
";

#[test]
fn a_path_in_memory_that_may_not_be_read_is_no_path() {
    for_each_tier(|bed| {
        with_absent_names(bed);
        bed.put("unreadable.py", UNREADABLE);
        let finished = bed.run("python3 unreadable.py");
        assert!(finished.text.contains("tried") && !finished.text.contains("WRONG"), "{finished:?}");
    });
}
