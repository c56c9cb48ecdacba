//! Files outside of the workspace: none is changed, and no private one is read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use crate::bed::{Bed, for_each_tier, leak_a_descriptor};

mod hidden;

/// Content that commands are allowed to see.
const ORDINARY: &str = "an-ordinary-line";

#[test]
fn a_file_outside_is_not_written_whatever_its_path_is_called() {
    for_each_tier(|bed| {
        bed.attack(
            r#"
            may "a file inside" write "$WORKSPACE/inside"
            mkdir sub; may "a file inside by a relative path" write "./sub/../inside"
            for path in "$VICTIM" ../outside/victim "$WORKSPACE/../outside/victim" \
                ".///../outside/./victim" "/proc/self/root$VICTIM" "/proc/self/cwd/../outside/victim" \
                "/proc/1/root$VICTIM" "/proc/$$/root$VICTIM" "/proc/thread-self/root$VICTIM" \
                "/proc/1/cwd/../outside/victim" "/proc/$PPID/root$VICTIM" "/usr/..$VICTIM"; do
                must_fail "append to $path" write "$path"
                must_fail "overwrite $path" overwrite "$path"
                must_fail "truncate $path" shorten "$path"
                must_fail "remove $path" unlink "$path"
                must_fail "take $path away" move "$path" taken
                must_fail "replace $path" move inside "$path"
                must_fail "read $path" cat "$path"
            done
            "#,
        );
        assert_eq!(fs::read_to_string(bed.at("inside")).expect("a file"), "changed\nchanged\n");
    });
}

#[test]
fn nothing_new_appears_outside() {
    for_each_tier(|bed| {
        bed.attack(
            r#"
            may "a folder inside" mkdir made
            may "a link inside" ln -s /etc made/link
            may "a pipe inside" mkfifo made/pipe
            for place in "$OUTSIDE" "$OUTSIDE/.." "$WORKSPACE/.." .. "/proc/self/root$OUTSIDE" /usr /etc \
                /var /root /home /run /opt /boot /; do
                must_fail "a file in $place" write "$place/$ESCAPE_MARK"
                must_fail "a folder in $place" mkdir "$place/$ESCAPE_MARK"
                must_fail "a link in $place" ln -s /etc "$place/$ESCAPE_MARK"
                must_fail "a pipe in $place" mkfifo "$place/$ESCAPE_MARK"
                must_fail "a copy in $place" cp -r made "$place/$ESCAPE_MARK"
                must_fail "a move to $place" move made "$place/$ESCAPE_MARK"
            done
            # Their own, or none at all.
            for place in /tmp /var/tmp /dev/shm /home/user; do echo x > "$place/$ESCAPE_MARK"; done
            "#,
        );
        assert!(bed.at("made").is_dir());
        let places = ["/usr", "/etc", "/var", "/root", "/home", "/run", "/opt", "/boot", "/"];
        for place in places.into_iter().chain(["/tmp", "/var/tmp", "/dev/shm", "/home/user"]) {
            let path = Path::new(place).join(&bed.mark);
            assert!(path.symlink_metadata().is_err(), "{} was made", path.display());
        }
    });
}

#[test]
fn links_to_the_outside_lead_nowhere() {
    for_each_tier(|bed| {
        bed.put("inside", ORDINARY);
        symlink(&bed.victim, bed.at("old-file")).expect("a link");
        symlink("../outside", bed.at("old-folder")).expect("a link");
        symlink("/", bed.at("old-root")).expect("a link");
        bed.attack(
            r#"
            ln -s inside fine
            may "through a link inside" write fine
            ln -s "$VICTIM" new-file; ln -s "$OUTSIDE" new-folder; ln -s /proc/self/root new-root
            ln -s new-folder chain; mkdir -p a/b; ln -s ../../../outside a/b/up
            for path in old-file new-file old-folder/victim new-folder/victim chain/victim a/b/up/victim \
                "old-root$VICTIM" "new-root$VICTIM" /proc/self/cwd/new-file; do
                must_fail "write through $path" write "$path"
                must_fail "read through $path" cat "$path"
                must_fail "copy over $path" cp inside "$path"
                must_fail "truncate through $path" shorten "$path"
                must_fail "hard link through $path" ln -L "$path" taken
                must_fail "change through $path" chmod 777 "$path"
            done
            for folder in old-folder new-folder chain a/b/up; do
                must_fail "list $folder" ls "$folder/"
                must_fail "a file through $folder" write "$folder/new"
                must_fail "a folder through $folder" mkdir "$folder/new"
                must_fail "remove through $folder" unlink "$folder/victim"
                must_fail "into $folder" move inside "$folder/new"
            done
            ln -s "$OUTSIDE/made-by-a-dangling-link" dangling
            must_fail "a file at a dangling link's target" write dangling
            rm -rf old-folder/ new-folder a chain old-file
            "#,
        );
        assert_eq!(fs::read_to_string(bed.at("inside")).expect("a file"), format!("{ORDINARY}changed\n"));
    });
}

#[test]
fn files_outside_get_no_second_name_inside() {
    for_each_tier(|bed| {
        bed.put("inside", ORDINARY);
        let before = state(Path::new("/usr/bin/env"));
        bed.attack(
            r#"
            may "a hard link inside" link inside second
            for path in "$VICTIM" "/proc/self/root$VICTIM" /usr/bin/env /etc/passwd /etc/shadow; do
                must_fail "a hard link to $path" link "$path" taken
                must_fail "$path moved in" move "$path" taken
                must_fail "a hard link in place of $path" ln -f inside "$path"
            done
            must_fail "a hard link to a descriptor" ln -L /proc/self/fd/3 taken 3<"$VICTIM"
            "#,
        );
        assert!(!bed.at("taken").exists());
        assert_eq!(bed.at("second").metadata().expect("a file").nlink(), 2);
        assert_eq!(state(Path::new("/usr/bin/env")), before);
    });
}

#[test]
fn the_workspace_and_the_folders_above_it_stay_where_they_are() {
    for_each_tier(|bed| {
        bed.put("inside", ORDINARY);
        bed.environment.push(("ABOVE".into(), bed.workspace.parent().expect("above").display().to_string()));
        bed.attack(
            r#"
            mkdir from && may "a folder inside moves" move from to
            must_fail "the workspace moves" move "$WORKSPACE" "$WORKSPACE-moved"
            must_fail "the workspace moves into itself" move "$WORKSPACE" "$WORKSPACE/to/x"
            must_fail "the workspace moves to /tmp" move "$WORKSPACE" /tmp/moved
            must_fail "the folder above moves" move "$ABOVE" "$ABOVE-moved"
            must_fail "the outside moves" move "$OUTSIDE" "$OUTSIDE-moved"
            must_fail "the outside moves in" move "$OUTSIDE" "$WORKSPACE/taken"
            must_fail "a folder replaces the outside" move to "$OUTSIDE"
            must_fail "the workspace is removed" rmdir "$WORKSPACE"
            rm -rf "$ABOVE" "$OUTSIDE" 2>/dev/null
            cd / && rm -rf --no-preserve-root "$OUTSIDE" "$ABOVE/outside" 2>/dev/null
            "#,
        );
        // Commands may remove everything inside the workspace.
        assert!(bed.workspace.is_dir());
    });
}

#[test]
fn what_is_known_about_a_file_outside_cannot_be_changed() {
    for_each_tier(|bed| {
        bed.put("inside", ORDINARY);
        bed.arm("files");
        let watched = [bed.victim.clone(), bed.outside.clone(), "/usr/bin/env".into(), "/etc/passwd".into()];
        let before = watched.each_ref().map(|path| state(path));
        bed.attack(
            r#"
            may "the mode of a file inside" chmod 600 inside
            may "the time of a file inside" stamp inside
            for path in "$VICTIM" "$OUTSIDE" "/proc/self/root$VICTIM" /usr/bin/env /etc/passwd; do
                must_fail "the mode of $path" chmod 777 "$path"
                must_fail "the owner of $path" chown "$(id -u)" "$path"
                must_fail "the group of $path" chgrp "$(id -g)" "$path"
                must_fail "the time of $path" stamp "$path"
                must_fail "the length of $path" shorten "$path"
            done
            ./files metadata "$VICTIM"
            ./files metadata "$OUTSIDE"
            "#,
        );
        // Includes the change time of the inode.
        assert_eq!(watched.each_ref().map(|path| state(path)), before);
    });
}

#[test]
fn descriptors_and_handles_open_nothing_outside() {
    for_each_tier(|bed| {
        bed.put("inside", ORDINARY);
        bed.arm("files");
        bed.attack("./files descriptors");
        assert!(!bed.at("taken").exists());
        assert_eq!(fs::read_to_string(bed.at("inside")).expect("a file"), ORDINARY);
    });
}

#[test]
fn open_files_of_the_host_are_not_inherited() {
    for_each_tier(|bed| {
        let _leaked = [leak_a_descriptor(&bed.victim), leak_a_descriptor(&bed.outside)];
        bed.attack(
            r#"
            may "its own descriptors" cat /dev/fd/0
            perl -e 'for (3..4095) { print "ESCAPED descriptor $_ is open\n" if open(my $file, "<&=", $_) }'
            for process in /proc/[0-9]*; do
                must_fail "the victim by the root of $process" look "$process/root$VICTIM"
                must_fail "the victim by the folder of $process" look "$process/cwd/../outside/victim"
                for fd in {0..15}; do
                    must_fail "the victim by descriptor $fd of $process" look "$process/fd/$fd/victim"
                    must_fail "above descriptor $fd of $process" look "$process/fd/$fd/../outside/victim"
                done
            done
            "#,
        );
    });
}

#[test]
fn nothing_can_be_mounted() {
    for_each_tier(|bed| {
        bed.put("inside", ORDINARY);
        bed.put("place/file", ORDINARY);
        bed.arm("files");
        let before = mounts();
        bed.attack(
            r#"
            ./files mounts inside
            ./files mounts /usr
            must_fail "mount" mount --bind "$OUTSIDE" place
            must_fail "unshare and mount" unshare -rm mount --bind "$OUTSIDE" place
            cat place/*
            "#,
        );
        assert_eq!(mounts(), before);
        assert_eq!(fs::read_to_string(bed.at("place/file")).expect("a file"), ORDINARY);
    });
}

#[test]
fn no_device_can_be_made_or_opened() {
    for_each_tier(|bed| {
        bed.arm("files");
        bed.attack("./files devices");
        assert!(!bed.at("disk").exists() && !bed.at("memory").exists());
        assert!(!Path::new("/tmp/disk").exists());
    });
}

/// Landlock does not restrict file watches, which would reveal names of files outside. In T2 nothing can be
/// watched.
#[test]
fn folders_outside_are_not_watched() {
    for_each_tier(|bed| {
        bed.arm("files");
        bed.attack(r#"./files watch "$OUTSIDE""#);
    });
}

#[test]
fn private_files_of_the_machine_are_not_read() {
    for_each_tier(|bed| {
        let home = std::env::home_dir().expect("a home folder");
        let private = private_files(&home);
        assert!(!private.is_empty(), "there is something to read");
        let list: Vec<_> = private.iter().map(|path| path.display().to_string()).collect();
        bed.environment.push(("PRIVATE".into(), list.join(":")));
        bed.environment.push(("HOST_HOME".into(), home.display().to_string()));
        bed.put("mine", ORDINARY);
        let finished = bed.attack(
            r#"
            may "its own file" cat mine
            IFS=:
            for path in $PRIVATE; do
                must_fail "read $path" cat "$path"
                must_fail "copy $path" cp "$path" "$WORKSPACE/copy"
                must_fail "read $path by the process's root" cat "/proc/self/root$path"
                must_fail "read $path by process 1's root" cat "/proc/1/root$path"
            done
            must_fail "list the outside" ls "$OUTSIDE"
            for place in "$HOST_HOME" /home /root /etc/ssh /var/lib /var/log "$WORKSPACE/.."; do
                ls -A "$place" 2>/dev/null | sed 's/^/seen /'
            done
            "#,
        );
        // The parents of the workspace, and the home directory of this cell.
        let way: Vec<_> = bed.workspace.iter().filter_map(|name| name.to_str()).chain(["user"]).collect();
        let seen: Vec<_> = finished.text.lines().filter_map(|line| line.strip_prefix("seen ")).collect();
        assert!(seen.iter().all(|name| way.contains(name)), "names outside were listed: {seen:?}");
    });
}

/// Returns files that this process can read, and commands may not.
fn private_files(home: &Path) -> Vec<PathBuf> {
    let folders = [Path::new("/home"), Path::new("/etc/ssh"), home];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let mut found: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    let homes = fs::read_dir("/home").into_iter().flatten().flatten();
    found.extend(homes.flat_map(|entry| {
        let files = fs::read_dir(entry.path()).into_iter().flatten().flatten();
        files.map(|file| file.path()).filter(|path| path.is_file())
    }));
    found.extend(["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/proc/1/environ"].map(PathBuf::from));
    found.retain(|path| fs::File::open(path).is_ok());
    found.truncate(20);
    found
}

/// Returns the mounts that this process sees.
fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").expect("the mounts")
}

/// Returns the attributes that would reveal a change of a file.
fn state(path: &Path) -> (u64, u32, u64, u64, (i64, i64), (i64, i64)) {
    let found = path.symlink_metadata().expect("a file");
    let changed = (found.ctime(), found.ctime_nsec());
    (found.ino(), found.mode(), found.nlink(), found.len(), (found.mtime(), found.mtime_nsec()), changed)
}

/// Outside of the sandbox, such a file would grant its owner's privileges to any user that runs it.
#[test]
fn no_file_gets_a_setuid_or_setgid_bit() {
    for names in [vec![], vec![".mcp.json"]] {
        for_each_tier(|bed| {
            bed.shield.names.clone_from(&names);
            assert_no_file_gets_a_set_id_bit(bed);
        });
    }
}

fn assert_no_file_gets_a_set_id_bit(bed: &mut Bed) {
    bed.put("program", "");
    bed.run(
        r#"
        chmod u+s program; chmod 6755 program; chmod g+s program
        install -m 4755 /bin/true installed; cp /bin/true copied && chmod u+s copied
        python3 -c 'import os; os.open("opened", os.O_CREAT | os.O_WRONLY, 0o4755)'
        python3 -c 'import os; os.mknod("node", 0o104755)'
        python3 -c 'import os; os.mkfifo("pipe", 0o6755)'
        python3 -c 'import os; os.link("/proc/self/fd/%d" % os.open(".", os.O_TMPFILE | os.O_RDWR, 0o6755), "nameless", follow_symlinks=True)'
        python3 -c 'import os; os.open("plain", os.O_CREAT | os.O_WRONLY, 0o755)'
        "#,
    );
    assert!(bed.at("plain").exists(), "an ordinary file can be made");
    for entry in fs::read_dir(&bed.workspace).expect("a folder") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o6000, 0, "{}", entry.path().display());
    }
}

/// Programs that copy modes keep working: a shared repository, an archive, an installation.
#[test]
fn a_mode_is_set_without_those_bits_and_a_folder_keeps_its_own() {
    for_each_tier(|bed| {
        // With protected names, as in each workspace, the supervisor creates files for the command.
        bed.shield.names = vec![".mcp.json"];
        bed.put("file", "");
        for folder in ["plain", "group"] {
            fs::create_dir(bed.at(folder)).expect("a folder");
        }
        fs::set_permissions(bed.at("group"), fs::Permissions::from_mode(0o2700)).expect("a mode");
        let finished = bed.run(
            r#"
            set -e
            chmod 6750 file; chmod 2750 plain; chmod 2770 group; install -d -m 2755 new
            mkdir packed && tar cf packed.tar --mode=2711 packed && rmdir packed && tar xpf packed.tar
            python3 -c 'import os; os.fchmod(os.open("plain", os.O_RDONLY), 0o3750)'
            python3 -c 'import os; os.open("opened", os.O_CREAT | os.O_WRONLY, 0o6711)'
            python3 -c 'import os; os.mknod("node", 0o102755)'
            echo finished"#,
        );
        assert!(finished.says("finished"), "{finished:?}");
        let modes = [
            ("file", 0o750),
            ("plain", 0o1750),
            ("group", 0o2770),
            ("new", 0o755),
            ("packed", 0o711),
            ("opened", 0o711),
            ("node", 0o755),
        ];
        for (name, mode) in modes {
            let found = fs::metadata(bed.at(name)).expect("it is there").permissions().mode() & 0o7777;
            assert_eq!(found, mode, "{name}: {found:o}");
        }
    });
}

/// A lease blocks other processes that open the file, until its holder releases it.
#[test]
fn no_lease_is_taken_on_a_file() {
    for_each_tier(|bed| {
        bed.put("file", "");
        let finished = bed.run(
            r#"python3 -c '
import fcntl, os
for path in ["file", "/usr/bin/env"]:
    for kind in [fcntl.F_RDLCK, fcntl.F_WRLCK]:
        try:
            fcntl.fcntl(os.open(path, os.O_RDONLY), fcntl.F_SETLEASE, kind)
            print("ESCAPED", path, kind)
        except OSError as error:
            print("refused", error)
print("finished")'"#,
        );
        finished.assert_nothing_escaped();
    });
}

/// Commands have a separate `/tmp`, and `/var/tmp` leads to it unless something of the machine is visible
/// there.
#[test]
fn a_workspace_below_var_tmp_is_itself() {
    for tier in crate::bed::TIERS {
        eprintln!("--- {tier}");
        let mut bed = Bed::below(tier, Path::new("/var/tmp"));
        let finished = bed.run("echo mine > file && pwd");
        assert!(finished.text.contains("/var/tmp/"), "{}", finished.text);
        assert_eq!(fs::read_to_string(bed.workspace.join("file")).expect("the file"), "mine\n");
    }
}
