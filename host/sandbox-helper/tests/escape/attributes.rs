//! Modes and times of files. Without mounts, no rule of the kernel protects them: the supervisor changes them
//! on the command's behalf, and only where the command may write.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use scorpiox_sandbox::Tier;

use crate::bed::{Bed, Shield, for_each_tier, set_mode};

/// Bash functions for these tests: `is PATH MODE`, and ways to change the file that is open as descriptor 9.
const WORDS: &str = r#"
is() { [ "$(stat -c %a "$1")" = "$2" ]; }
mode_of_9() { python3 -c 'import os; os.fchmod(9, 0o777)'; }
times_of_9() { python3 -c 'import os; os.utime(9, (1, 1))'; }
owner_of_9() { python3 -c 'import os; os.fchown(9, os.getuid(), -1)'; }
now_of_9() { python3 -c 'import os; os.utime(9)'; }
by_proc() { chmod 777 /proc/self/fd/9; }
"#;

/// Runs a test with and without protected names.
fn with_and_without_names(test: impl Fn(&mut Bed)) {
    for names in [vec![], vec![".vscode", ".mcp.json"]] {
        for_each_tier(|bed| {
            bed.shield.names.clone_from(&names);
            test(bed);
        });
    }
}

#[test]
fn own_files_get_modes_and_times() {
    with_and_without_names(|bed| {
        bed.put("own/file", "mine\n");
        bed.put("old", "mine\n");
        set_mode(&bed.at("old"), 0o644);
        symlink("own", bed.at("to-folder")).expect("a link");
        symlink("to-folder/file", bed.at("to-file")).expect("a link");
        bed.attack(&format!(
            r#"{WORDS}
            set_mode() {{ chmod "$1" "$2" && is "$2" "${{1#0}}"; }}
            for folder in . "$HOME"; do
                cd "$folder"; mkdir -p own; echo > own/file; ln -sfn own to-folder; ln -sf to-folder/file to-file
                may "a file" set_mode 600 own/file
                may "a file by its whole path" set_mode 751 "$PWD/own/file"
                may "a file by its folder's way back" set_mode 711 own/../own/./file
                may "what a link leads to" bash -c 'chmod 640 to-file && [ "$(stat -c %a own/file)" = 640 ]'
                may "a folder" set_mode 750 own
                may "a folder with a slash" set_mode 751 own/
                may "a folder by a link" bash -c 'chmod 755 to-folder/ && [ "$(stat -c %a own)" = 755 ]'
                may "the folder itself" bash -c 'cd own && chmod 711 . && [ "$(stat -c %a .)" = 711 ]'
                may "a folder above" bash -c 'mkdir own/sub && cd own/sub && chmod 755 .. && [ "$(stat -c %a ..)" = 755 ]'
                may "a folder, closed and opened" bash -c 'chmod 000 own && chmod 755 own && cat own/file'
                may "all below" chmod -R u+rwX,go-w own
                may "a pipe" bash -c 'mkfifo -m 600 pipe && chmod 640 pipe && [ "$(stat -c %a pipe)" = 640 ]'
                may "a sticky folder" bash -c 'mkdir s && chmod 1777 s && [ "$(stat -c %a s)" = 1777 ]'
                may "run what was made" bash -c 'echo echo ran > run && chmod +x run && [ "$(./run)" = ran ]'
                may "touch what is there" bash -c 'touch -d @1000 own/file && [ "$(stat -c %Y own/file)" = 1000 ]'
                may "touch with parts of a second" bash -c 'touch -d @7.5 own/file && [ "$(stat -c %.1Y own/file)" = 7.5 ]'
                may "touch for now" bash -c 'touch own/file && [ "$(stat -c %Y own/file)" -gt 1000000 ]'
                may "touch a link itself" bash -c 'touch -h -d @2000 to-file && [ "$(stat -c %Y to-file)" = 2000 ]'
                may "only one of the times" bash -c 'touch -m -d @5 own/file && touch -a -d @6 own/file && [ "$(stat -c %X-%Y own/file)" = 6-5 ]'
                may "touch a folder" bash -c 'touch -d @3000 own && [ "$(stat -c %Y own)" = 3000 ]'
                may "copy with what is known" bash -c 'chmod 604 own/file && cp -p own/file copy && [ "$(stat -c %a-%Y copy)" = "$(stat -c %a-%Y own/file)" ]'
                may "copy a tree" cp -a own copied
                may "install" bash -c 'install -D -m 0751 own/file made/bin/tool && [ "$(stat -c %a made/bin/tool)" = 751 ]'
                may "archive and unpack" bash -c '
                    mkdir -p pack/shut unpacked && echo x > pack/shut/file && touch -d @4000 pack/shut/file &&
                    chmod 400 pack/shut/file && ln -s file pack/shut/link && chmod 711 pack/shut &&
                    tar cf pack.tar pack && tar xpf pack.tar -C unpacked &&
                    [ "$(stat -c %a-%Y unpacked/pack/shut/file)" = 400-4000 ] && [ "$(stat -c %a unpacked/pack/shut)" = 711 ]'
                may "its own owner" bash -c 'chown "$(id -u):$(id -g)" own own/file && chown -h "$(id -u)" to-file && chgrp "$(id -g)" own'
                must_fail "another owner" chown 1234 own/file
                must_fail "another group" chgrp 1234 own/file
                may "every way there is" python3 - <<'P'
import os, ctypes, platform, stat
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    if libc.syscall(ctypes.c_long(number), *words) != 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def mode(): return stat.S_IMODE(os.stat('own/file').st_mode)
def times(): return os.stat('own/file').st_atime_ns, os.stat('own/file').st_mtime_ns
fd, bare, folder = os.open('own/file', os.O_RDONLY), os.open('own/file', os.O_PATH), os.open('own', os.O_PATH)
os.fchmod(fd, 0o611); assert mode() == 0o611
os.chmod('file', 0o612, dir_fd=folder); assert mode() == 0o612
os.chmod('/proc/self/fd/%d' % bare, 0o613); assert mode() == 0o613
call(452, ctypes.c_long(bare), b'', ctypes.c_long(0o614), ctypes.c_long(0x1000)); assert mode() == 0o614
call(452, ctypes.c_long(folder), b'file', ctypes.c_long(0o615), ctypes.c_long(0)); assert mode() == 0o615
os.utime(fd, ns=(1500000001, 2500000002)); assert times() == (1500000001, 2500000002)
os.utime('file', ns=(3, 4), dir_fd=folder); assert times() == (3, 4)
os.utime(fd); assert times()[1] > 10**18
def fails(number, do):
    try: do()
    except OSError as error: assert error.errno == number, error
    else: raise SystemExit('no error %d' % number)
AT = ctypes.c_long(-100)
fails(2, lambda: os.chmod('none', 0o600)); fails(20, lambda: os.chmod('own/file/', 0o600)); fails(2, lambda: os.chmod('', 0o600))
fails(9, lambda: os.fchmod(900, 0o600)); fails(22, lambda: call(452, AT, b'own/file', ctypes.c_long(0o600), ctypes.c_long(1)))
os.symlink('loop', 'loop'); fails(40, lambda: os.chmod('loop', 0o600))
fails(95, lambda: call(452, AT, b'loop', ctypes.c_long(0o600), ctypes.c_long(0x100)))
if platform.machine() == 'x86_64':
    call(90, b'own/file', ctypes.c_long(0o616)); assert mode() == 0o616
    call(132, b'own/file', (ctypes.c_int64 * 2)(5, 6)); assert times() == (5 * 10**9, 6 * 10**9)
    call(235, b'own/file', (ctypes.c_int64 * 4)(7, 1, 8, 2)); assert times() == (7000001000, 8000002000)
    call(261, ctypes.c_long(folder), b'file', (ctypes.c_int64 * 4)(9, 0, 10, 0)); assert times() == (9 * 10**9, 10**10)
    call(261, ctypes.c_long(fd), None, (ctypes.c_int64 * 4)(11, 0, 12, 0)); assert times() == (11 * 10**9, 12 * 10**9)
    fails(22, lambda: call(235, b'own/file', (ctypes.c_int64 * 4)(7, 1000000, 8, 2)))
    call(132, b'own/file', None); assert times()[1] > 10**18
os.unlink('own/file'); os.fchmod(fd, 0o600); os.utime(fd, (1, 1)); assert stat.S_IMODE(os.fstat(fd).st_mode) == 0o600
nameless = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600); os.fchmod(nameless, 0o640)
assert stat.S_IMODE(os.fstat(nameless).st_mode) == 0o640
P
            done
            may "a file from before" set_mode 700 "$WORKSPACE/old"
            "#
        ));
    });
}

/// Sets the identity for git commits.
fn as_somebody(bed: &mut Bed) {
    for who in ["AUTHOR", "COMMITTER"] {
        bed.environment.push((format!("GIT_{who}_NAME"), "a".into()));
        bed.environment.push((format!("GIT_{who}_EMAIL"), "a@b".into()));
    }
}

#[test]
fn git_makes_and_clones_repositories() {
    with_and_without_names(|bed| {
        bed.put("project/.git/config", "[core]\n\trepositoryformatversion = 0\n");
        bed.put("project/.git/HEAD", "ref: refs/heads/main\n");
        for folder in ["project/.git/objects", "project/.git/refs", "project/.git/hooks"] {
            fs::create_dir_all(bed.at(folder)).expect("a folder");
        }
        bed.shield.freeze = vec![bed.at("project/.git/config"), bed.at("project/.git/hooks")];
        as_somebody(bed);
        bed.attack(
            r#"
            may "a new repository" git init made
            may "its program bit is known" bash -c '[ "$(git -C made config core.fileMode)" = true ]'
            may "a commit" bash -c 'cd made && echo x > file && chmod 755 file && git add . && git commit -m one'
            may "a clone" git clone made cloned
            may "one by links" git clone --local made cloned-by-links
            may "a bare one" git clone --bare made bare
            may "a work tree" git -C made worktree add ../tree -b other
            may "a setting" git -C cloned config user.name somebody
            may "the file with its mode" bash -c '[ "$(stat -c %a cloned/file)" = 755 ]'
            may "another mode" bash -c 'cd cloned && git config core.sharedRepository 0640 && git repack -adf'
            may "a commit in a repository from before" bash -c 'cd project && echo x > new && git add new && git commit -m one'
            must_fail "a setting of one from before" git -C project config user.name somebody
            may "one in the home folder" bash -c 'git init ~/repository && git clone made ~/cloned'
            "#,
        );
    });
}

/// Landlock denies reading new files next to a denied file until the next command.
#[test]
fn git_commits_beside_a_denied_file() {
    for_each_tier(|bed| {
        bed.put("file", "mine\n");
        as_somebody(bed);
        bed.run("git init . && git add file && git commit -m one && git repack -adf");
        bed.shield.hide = vec![bed.put(".env", "theirs\n")];
        bed.shield.freeze = vec![bed.at(".git/config"), bed.at(".git/hooks")];
        bed.attack(
            r#"
            may "a commit" bash -c 'echo more >> file && chmod 755 file && git commit -a -m two'
            may "the time of what was just made" bash -c 'echo > new && touch -d @1 new && chmod 600 new'
            [ "$TIER" = T2 ] || may "a new repository" git init made
            "#,
        );
    });
}

/// Mode, modification time and change time.
type State = (u32, (i64, i64), (i64, i64));

/// Returns the attributes that would reveal a change of a file.
fn state(path: &Path) -> State {
    let found = path.symlink_metadata().expect("a file");
    (found.mode(), (found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()))
}

/// Creates a bed with a protected file of each kind.
fn with_protected(bed: &mut Bed) -> Vec<PathBuf> {
    let names = [".mcp.json", ".vscode/tasks.json", "sub/.env", "secrets/key", "sub/.git/config"];
    let files = names.map(|name| bed.put(name, "theirs\n")).to_vec();
    bed.put("own/file", "mine\n");
    symlink("../.mcp.json", bed.at("own/old-link")).expect("a link");
    bed.shield = Shield {
        freeze: [".mcp.json", ".vscode", "sub/.git/config"].map(|name| bed.at(name)).to_vec(),
        hide: ["sub/.env", "secrets"].map(|name| bed.at(name)).to_vec(),
        absent: vec![bed.at("sub/.git/config.worktree")],
        names: vec![".vscode"],
        ..Shield::default()
    };
    let folders = [".vscode", "secrets"].map(|name| bed.at(name));
    let outside = [bed.outside.clone(), bed.victim.clone(), "/usr/bin/env".into(), "/usr/bin".into()];
    files.into_iter().chain(folders).chain(outside).collect()
}

#[test]
fn other_files_keep_their_modes_and_times() {
    for_each_tier(|bed| {
        let watched = with_protected(bed);
        let before: Vec<_> = watched.iter().map(|path| state(path)).collect();
        bed.attack(&format!(
            r#"{WORDS}
            for path in .mcp.json .vscode .vscode/tasks.json sub/.env secrets secrets/key sub/.git/config \
                sub/.git/../.git/config "$VICTIM" "$OUTSIDE" "$OUTSIDE/" "$OUTSIDE/." ../outside/victim .. / /usr/bin/env \
                /usr/bin /proc/self/root/usr/bin/env "/proc/self/cwd/.mcp.json" "/proc/self/cwd/../outside/victim" \
                own/old-link /proc/self/fd /proc/self/environ; do
                rm -f link; case $path in /*) ln -s "$path" link;; *) ln -s "$PWD/$path" link;; esac
                for name in "$path" link; do
                    must_fail "the mode of $name" chmod 777 "$name"
                    must_fail "its right to run" chmod +x "$name"
                    must_fail "the time of $name" stamp "$name"
                    must_fail "now as the time of $name" perl -e 'utime(undef, undef, $ARGV[0]) or exit 1' "$name"
                    must_fail "the owner of $name" chown "$(id -u)" "$name"
                    must_fail "a copy over $name" cp -p own/file "$name"
                    must_fail "its mode by git's way" perl -e 'chmod((stat $ARGV[0])[2] & 07777, $ARGV[0]) or exit 1' "$name"
                done
                [ -r "$path" ] && exec 9< "$path" || continue
                must_fail "the mode of what is open of $path" mode_of_9
                must_fail "the times of what is open of $path" times_of_9
                must_fail "the owner of what is open of $path" owner_of_9
                must_fail "now as the times of what is open of $path" now_of_9
                must_fail "the mode of what is open of $path by /proc" by_proc
                exec 9<&-
            done
            must_fail "the times of a link itself" touch -h -d @1 "$OUTSIDE/../workspace/../outside"
            # By folders that are open.
            python3 - <<'P'
import os
for folder, name in [('.', '.mcp.json'), ('.vscode', 'tasks.json'), (os.environ['OUTSIDE'], 'victim'), ('/usr/bin', 'env'), ('sub', '.env')]:
    try: fd = os.open(folder, os.O_PATH)
    except FileNotFoundError: continue
    for act in [lambda: os.chmod(name, 0o777, dir_fd=fd), lambda: os.utime(name, (1, 1), dir_fd=fd),
                lambda: os.chmod('/proc/self/fd/%d/%s' % (fd, name), 0o777), lambda: os.utime('/proc/thread-self/fd/%d/%s' % (fd, name))]:
        try:
            act(); print('ESCAPED', folder, name)
        except OSError as error:
            print('refused', error)
P
            may "its own file" chmod 600 own/file
            may "the folder around" chmod 755 sub
            may "one with something protected in it" chmod 755 sub/.git
            true
            "#
        ));
        assert_eq!(watched.iter().map(|path| state(path)).collect::<Vec<_>>(), before);
    });
}

/// A file has a single mode for all of its names.
#[test]
fn a_second_name_changes_no_protected_file() {
    let mut bed = Bed::new(Tier::T2);
    let watched = with_protected(&mut bed);
    for (number, path) in watched[..5].iter().enumerate() {
        fs::hard_link(path, bed.at(&format!("own/second{number}"))).expect("a link");
    }
    let before: Vec<_> = watched.iter().map(|path| state(path)).collect();
    // The scan finds other names of files in a protected directory, and gives them their own rules.
    bed.attack(&format!(
        r#"{WORDS}
        for number in 0 2 4; do
            must_fail "the mode of $number" chmod 777 own/second$number
            must_fail "the time of $number" stamp own/second$number
            [ $number = 2 ] && continue
            exec 9< own/second$number
            must_fail "the mode of $number, open" mode_of_9
            must_fail "the times of $number, open" times_of_9
            rm own/second$number
            must_fail "the mode of $number, open and removed" mode_of_9
        done
        "#
    ));
    let after: Vec<_> = watched.iter().map(|path| state(path)).collect();
    // Removing a name changes the inode, too.
    let unchanged =
        |states: &[State]| states.iter().map(|(mode, time, _)| (*mode, *time)).collect::<Vec<_>>();
    assert_eq!(unchanged(&after), unchanged(&before));
    bed.assert_outside_is_whole();
}

#[test]
fn what_lies_nowhere_and_what_is_the_machines_is_left_alone() {
    for_each_tier(|bed| {
        bed.put("own/file", "mine\n");
        let devices = ["null", "zero", "full", "random", "urandom"].map(|name| Path::new("/dev").join(name));
        let modes = || devices.each_ref().map(|path| state(path).0);
        let before = modes();
        bed.attack(
            r#"
            may "write to a device" bash -c 'echo x > /dev/null && cat /dev/null && head -c 9 /dev/zero /dev/urandom'
            # Bubblewrap mounts no device read-only.
            [ "$TIER" = T1b ] && devices= || devices="null zero full random urandom"
            for device in $devices; do
                # The mode that it has, so that the machine keeps it where this works.
                must_fail "the mode of $device" chmod "$(stat -c %a /dev/$device)" /dev/$device
                must_fail "the owner of $device" chown "$(id -u)" /dev/$device
                must_fail "the time of $device" perl -e 'utime(undef, undef, $ARGV[0]) or exit 1' /dev/$device
                must_fail "the mode of $device, open" perl -e \
                    'open(my $f, "<", $ARGV[0]); chmod((stat $f)[2] & 07777, $f) or exit 1' /dev/$device
            done
            python3 - <<'P'
import os, socket
pipe, other = os.pipe()
ours, theirs = socket.socketpair()
for fd in [0, 1, 2, pipe, other, ours.fileno(), os.memfd_create('x')]:
    for act in [lambda: os.fchmod(fd, 0o777), lambda: os.utime(fd, (1, 1)), lambda: os.chmod('/proc/self/fd/%d' % fd, 0o777)]:
        try:
            act(); print(fd, 'changed')
        except OSError as error:
            print(fd, 'left', error)
P
            "#,
        );
        assert_eq!(modes(), before);
    });
}

/// The supervisor must change exactly the file that it checked, while the attack keeps swapping a name, a
/// link, a path in memory and a descriptor.
#[test]
fn no_race_changes_a_protected_file() {
    for_each_tier(|bed| {
        let watched = with_protected(bed);
        bed.arm("attributes");
        let before: Vec<_> = watched.iter().map(|path| state(path)).collect();
        bed.attack(
            r#"
            ./attributes races own/file .mcp.json
            ./attributes races own/file "$VICTIM"
            mkdir -p "$HOME/own"; cp own/file "$HOME/own/file"; cp attributes "$HOME"; here=$PWD; cd "$HOME"
            "$here/attributes" races own/file "$here/.mcp.json"
            "$here/attributes" races own/file /usr/bin/env
            "#,
        );
        assert_eq!(watched.iter().map(|path| state(path)).collect::<Vec<_>>(), before);
    });
}

#[test]
fn a_workspace_that_was_closed_can_be_opened_again() {
    for_each_tier(|bed| {
        bed.put("own/file", "mine\n");
        // Bubblewrap does not enter such a workspace. The product opens it before.
        let folders = if bed.tier == Tier::T1b { &["/own"][..] } else { &["/own", ""] };
        for folder in folders {
            let finished = bed.run(&format!("chmod 000 .{folder} && echo closed"));
            assert!(finished.says("closed"), "{finished:?}");
            let open = format!("chmod 755 \"$WORKSPACE{folder}\" && cat \"$WORKSPACE/own/file\"");
            let finished = bed.run(&open);
            assert!(finished.says("mine"), "{finished:?}");
        }
        let finished = bed.run("chmod 000 ~ && chmod 700 ~ && echo > ~/file && echo made");
        assert!(finished.says("made"), "{finished:?}");
        assert_eq!(bed.at("own").metadata().expect("a folder").permissions().mode() & 0o777, 0o755);
    });
}
