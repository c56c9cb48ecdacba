//! Directories that become git repositories without the name `.git`: git looks for `HEAD`, `objects` and
//! `refs` in the directory that it is started in and in each one above.

use std::fs;
use std::path::{Path, PathBuf};

use scorpiox_sandbox::{Grounds, Tier};

use super::absent::grow_old;
use super::replaced::{CHANGES, NEW, attack_around};
use super::{SETTINGS, names};
use crate::bed::{Bed, Finished, Shield, finish, for_each_tier};

/// Different ways to turn the existing directory `$1` into a repository.
const WAYS: [(&str, &str); 12] = [
    ("plain", "mkdir objects refs; echo ref: refs/heads/x > HEAD; $evil > config"),
    ("other order", "$evil > config; echo ref: refs/heads/x > HEAD; mkdir refs objects"),
    ("moved", "mkdir p p/objects p/refs; echo ref: refs/heads/x > p/HEAD; $evil > config; mv p/* .; rmdir p"),
    (
        "moved together",
        "mkdir p; cd p; mkdir objects refs; echo ref: refs/heads/x > HEAD; $evil > config; cd ..; mv p q",
    ),
    ("links", "mkdir a b; ln -s a objects; ln -s b refs; ln -s refs/heads/x HEAD; $evil > config"),
    ("hard link", "mkdir objects refs; echo ref: refs/heads/x > h; ln h HEAD; $evil > config"),
    (
        "exchanged",
        "mkdir objects r; echo > refs; exchange r refs; echo ref: refs/heads/x > HEAD; $evil > config",
    ),
    (
        "node",
        "mkdir objects refs; python3 -c 'import os; os.mknod(\"HEAD\")'; echo ref: refs/heads/x > HEAD; $evil > config",
    ),
    (
        "without a name",
        "mkdir objects refs; $evil > config; python3 -c '
import os
fd, here = os.open(\".\", os.O_TMPFILE | os.O_WRONLY), os.open(\".\", os.O_RDONLY)
os.write(fd, b\"ref: refs/heads/x\")
os.link(f\"/proc/self/fd/{fd}\", \"HEAD\", src_dir_fd=here, dst_dir_fd=here, follow_symlinks=True)'",
    ),
    // Git only checks for execute permission, as for a directory.
    (
        "programs",
        "echo > objects; echo > refs; chmod +x objects refs; echo ref: refs/heads/x > HEAD; $evil > config",
    ),
    ("common", "echo ../plain > commondir; echo ref: refs/heads/x > HEAD"),
    (
        "unpacked",
        "mkdir p p/objects p/refs; echo ref: refs/heads/x > p/HEAD; $evil > p/config; tar cf t -C p .; rm -r p; tar xf t",
    ),
];

/// Returns the folders that a command's result names as repositories.
pub(super) fn repositories(finished: &Finished) -> Vec<PathBuf> {
    let found = finished.outcome.as_ref().expect("an outcome").names.repositories.iter();
    let told = found.filter(|found| found.grounds != Grounds::Harmless);
    let mut told: Vec<_> = told.map(|found| found.path.as_path().to_owned()).collect();
    told.sort();
    told
}

/// Returns the folders whose files may change elsewhere, relative to the workspace. The host decides if one can.
fn may_change(bed: &Bed, finished: &Finished) -> Vec<String> {
    let outcome = finished.outcome.as_ref().expect("an outcome");
    let inside = |path: &Path| path.strip_prefix(bed.at("")).map(|path| path.display().to_string());
    let told = outcome.names.repositories.iter().filter(|found| found.grounds == Grounds::Harmless);
    let mut told: Vec<_> = told.map(|found| inside(found.path.as_path()).expect("a path inside")).collect();
    told.sort();
    told
}

#[test]
fn a_folder_that_becomes_a_repository_is_told_however_that_is_done() {
    for_each_tier(|bed| {
        let (mut script, mut expected) = (String::new(), Vec::new());
        for (name, way) in WAYS {
            let name = name.replace(' ', "-");
            bed.put(&format!("{name}/file"), "mine\n");
            expected.push(if name == "moved-together" { format!("{name}/q") } else { name.clone() });
            script.extend(["cd \"$WORKSPACE/", &name, "\"\n", way, "\n"]);
        }
        bed.put("later/file", "mine\n");
        expected.push("moved-later/in".into());
        script += "cd \"$WORKSPACE\"; mkdir later/in; (cd later/in; mkdir objects refs; echo > HEAD); mv later moved-later\n";
        // The host decides about one that is not complete.
        expected.push("half".into());
        script += "mkdir -p gone/objects gone/refs; echo > gone/HEAD; rm -r gone; mkdir half half/objects; echo > half/HEAD\n";
        // A directory as young as the command could have been created by another process.
        grow_old(&bed.put("other/file", "mine\n"));
        bed.shield.names = vec![".vscode"];
        let finished = bed.attack(&format!("evil='printf [core]\\nfsmonitor=x\\n'\n{script}"));
        let told = repositories(&finished);
        expected.sort();
        let expected: Vec<_> = expected.iter().map(|name| bed.at(name)).collect();
        assert_eq!(told, expected, "{finished:?}");
    });
}

/// Rules do not make a directory a git directory, and neither do some of its signs.
/// Somebody makes a repository of each directory later, after other commands.
#[test]
fn a_prepared_folder_is_told_whatever_else_is_in_it() {
    for_each_tier(|bed| {
        bed.put("theirs/README", "mine\n");
        bed.shield.names = vec![".vscode"];
        let finished = bed.attack(
            r"
            hook() { mkdir -p $1/hooks; echo x > $1/hooks/post-update; }
            mkdir -p begun/objects; printf '[include]\n\tpath = ../x\n' > begun/config
            hook readme; echo x > readme/README
            hook theirs
            mkdir link; echo x > link/README; ln -s ../x link/config
            mkdir closed; printf '[alias]\n\tst = !x\n' > closed/config; chmod 0 closed/config
            mkdir tree; printf '[extensions]\n\tworktreeConfig = true\n' > tree/config
            printf '[core]\n\tfsmonitor = x\n' > tree/config.worktree
            mkdir other; echo '[database]' > other/config
            ",
        );
        let told = repositories(&finished);
        let expected = ["begun", "closed", "link", "readme", "theirs", "tree"].map(|name| bed.at(name));
        assert_eq!(told, expected, "{finished:?}");
    });
}

/// The content can change under the other name after the command that gave it.
#[test]
fn a_configuration_that_gives_or_gets_a_second_name_is_found() {
    for_each_tier(|bed| {
        for path in ["old/config", "opened/config", "old/remotes/x"] {
            grow_old(&bed.put(path, "\n"));
        }
        bed.shield.names = vec![".vscode"];
        let finished = bed.attack(
            r#"
            mkdir from to tree remote; echo > from/config; ln from/config a
            echo > b; ln b to/config
            echo > c; ln c tree/config.worktree; printf '[extensions]\n\tworktreeConfig = true\n' > tree/config
            mkdir remote/remotes; echo > d; ln d remote/remotes/x
            ln old/config e
            python3 -c '
import os
fd, here = os.open("opened/config", os.O_RDONLY), os.open(".", os.O_RDONLY)
os.link(f"/proc/self/fd/{fd}", "f", src_dir_fd=here, dst_dir_fd=here, follow_symlinks=True)'
            mkdir alone; echo > alone/config; ln alone/config g; rm g
            "#,
        );
        let found = may_change(bed, &finished);
        // In T2 nothing gets a second name by a descriptor.
        let opened = (bed.tier != Tier::T2).then_some("opened");
        let expected = ["alone", "from", "old"].into_iter().chain(opened).chain(["remote", "to", "tree"]);
        assert_eq!(found, expected.collect::<Vec<_>>(), "{finished:?}");
        let finished = bed.attack("ln old/remotes/x h");
        assert_eq!(may_change(bed, &finished), ["old"], "{finished:?}");
    });
}

/// Another command that still runs can change the content through the open file.
#[test]
fn a_configuration_that_a_running_command_has_open_is_found() {
    for_each_tier(|bed| {
        bed.shield.names = vec![".vscode"];
        let mut writer = bed.start("exec 3> data; echo > ready; while [ ! -e go ]; do sleep .01; done");
        let finished = bed.attack(
            "while [ ! -e ready ]; do sleep .01; done; mkdir prep closed; mv data prep/config; echo > closed/config",
        );
        assert_eq!(may_change(bed, &finished), ["closed", "prep"], "{finished:?}");
        bed.put("go", "");
        finish(&mut writer);
    });
}

#[test]
fn a_folder_with_rules_that_becomes_a_repository_is_told() {
    for_each_tier(|bed| {
        for folder in ["half/objects", "half/refs", "lock/objects", "lock/refs", "dev/hooks"] {
            bed.put(&format!("{folder}/file"), "mine\n");
        }
        for folder in ["half", "lock"] {
            bed.put(&format!("{folder}/config"), SETTINGS);
        }
        // A directory as young as the command could have been created by another process.
        grow_old(&bed.put(".github/workflows/ci.yml", "mine\n"));
        bed.shield = Shield {
            freeze: ["half/config", "lock/config", "dev/hooks"].map(|name| bed.at(name)).into(),
            absent: vec![bed.at(".github/hooks")],
            names: vec![".vscode"],
            ..Shield::default()
        };
        let finished = bed.attack(
            r"
            for folder in half lock; do
                (cd $folder; echo ref: refs/heads/x > HEAD.lock; mv HEAD.lock HEAD)
            done
            for folder in dev .github; do
                (cd $folder; mkdir objects refs; echo ref: refs/heads/x > HEAD; printf '[core]\nfsmonitor=x\n' > config)
            done
            ",
        );
        let told = repositories(&finished);
        assert_eq!(told, [".github", "dev", "half", "lock"].map(|name| bed.at(name)), "{finished:?}");
    });
}

/// The supervisor does not learn when a program has bound a socket.
#[test]
fn a_socket_is_no_sign_of_a_repository() {
    for_each_tier(|bed| {
        bed.put("src/file", "mine\n");
        bed.shield.names = vec![".vscode"];
        bed.attack(
            r#"
            bound() { python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$1"; }
            cd src; mkdir refs; echo ref: refs/heads/x > HEAD
            must_fail "objects as a socket" bound objects
            must_fail "in other letters" bound Objects
            must_fail "with an address that can only be written" python3 -c '
import ctypes, mmap, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype, PAGE = ctypes.c_void_p, mmap.PAGESIZE
at = libc.mmap(None, PAGE, mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, ctypes.c_long(0))
address = struct.pack("=H", 1) + b"objects" + bytes(1)
ctypes.memmove(at, address, len(address))
sys.exit(libc.bind(libc.socket(1, 1, 0), ctypes.c_void_p(at), len(address)) != 0)'
            "#,
        );
        assert!(bed.at("src/objects").symlink_metadata().is_err());
    });
}

/// `git refs migrate` removes `HEAD` and the references before it moves a directory with others there.
#[test]
fn references_of_an_older_repository_are_not_migrated_halfway() {
    for_each_tier(|bed| {
        for folder in [".git", "bare"] {
            for name in ["HEAD", "objects/00/1", "refs/heads/main"] {
                bed.put(&format!("{folder}/{name}"), "x\n");
            }
            bed.put(&format!("{folder}/config"), SETTINGS);
        }
        bed.shield.freeze = [".git/config", "bare/config"].map(|name| bed.at(name)).into();
        bed.shield.names = vec![".vscode"];
        let finished = bed.attack(
            r#"
            must_fail "a migration" mkdir .git/ref_migration.AbCdEf
            must_fail "a migration of a bare repository" mkdir bare/ref_migration.AbCdEf
            may "another folder" mkdir .git/ref_migration
            mkdir -p own/.git/objects own/.git/refs; echo ref: refs/heads/x > own/.git/HEAD
            may "a migration of its own repository" mkdir own/.git/ref_migration.AbCdEf
            may "a folder of a project" mkdir ref_migration.AbCdEf
            "#,
        );
        let outcome = finished.outcome.as_ref().expect("an outcome");
        assert!(
            outcome.names.refused.iter().any(|path| path.as_path() == bed.at(".git/ref_migration.AbCdEf")),
            "the result says so: {finished:?}"
        );
    });
}

/// The user's git writes through links among its own files, wherever they lead.
#[test]
fn no_link_comes_among_the_files_of_git() {
    for_each_tier(|bed| {
        bed.put("outside", "mine\n");
        for name in ["HEAD", "objects/00/1", "refs/heads/main", "logs/refs/heads/main"] {
            bed.put(&format!(".git/{name}"), "x\n");
            bed.put(&format!("bare/{name}"), "x\n");
        }
        for folder in [".git", "bare"] {
            bed.put(&format!("{folder}/config"), SETTINGS);
        }
        bed.shield.freeze = [".git/config", "bare/config"].map(|name| bed.at(name)).into();
        bed.shield.names = vec![".vscode"];
        let finished = bed.attack(
            r#"
            may "a link elsewhere" ln -s "$WORKSPACE/outside" link
            may "a folder with a link" mkdir logs
            may "a link in it" ln -s "$WORKSPACE/outside" logs/HEAD
            for folder in .git bare; do
                must_fail "a link in $folder" ln -s ../outside "$folder/COMMIT_EDITMSG"
                must_fail "a link below it" ln -s ../../outside "$folder/logs/HEAD"
                must_fail "a link that is moved" move link "$folder/FETCH_HEAD"
                must_fail "a link with a second name" link link "$folder/ORIG_HEAD"
                must_fail "a folder with links" move logs "$folder/logs2"
                must_fail "an exchange" exchange logs "$folder/logs"
                must_fail "an exchange from there" exchange "$folder/logs" logs
                must_fail "a folder that could hold links from before" move "$folder/logs" "$folder/l"
                may "what git does" bash -c "echo x > $folder/t && mv $folder/t $folder/ORIG_HEAD"
                may "a move between folders" bash -c "echo x > $folder/logs/t && mv $folder/logs/t $folder/objects/00/2"
                may "git's test of the file system" ln -s testing "$folder/tAb09Zz"
                must_fail "the test under another name" ln -s testing "$folder/FETCH_HEAD"
                must_fail "another target" ln -s ../testing "$folder/tAb09Zy"
                must_fail "the test's link under another name" move "$folder/tAb09Zz" "$folder/FETCH_HEAD"
            done
            may "links in a project" bash -c "mkdir -p node_modules/.bin && ln -s ../a node_modules/.bin/a"
            mkdir own; cd own
            may "its own repository" bash -c "mkdir .git && ln -s ../../outside .git/x"
            "#,
        );
        let outcome = finished.outcome.as_ref().expect("an outcome");
        assert!(
            outcome.names.refused.iter().any(|path| path.as_path() == bed.at(".git/COMMIT_EDITMSG")),
            "the result says so: {finished:?}"
        );
        assert_eq!(names(&bed.at(".git/logs")), ["refs"]);
    });
}

/// The number of tracked directories in which a name is protected has a limit.
#[test]
fn more_folders_than_are_remembered_are_told() {
    for_each_tier(|bed| {
        bed.shield.names = vec![".hg/hgrc"];
        let finished = bed.attack(
            r"
            for i in $(seq 70); do mkdir -p d$i/.hg; done; rm -r d*
            mkdir p; echo '[hooks]' > p/hgrc; mv p .hg
            ",
        );
        let outcome = finished.outcome.as_ref().expect("an outcome");
        let is_named = outcome.names.unpacked.iter().any(|path| path.as_path() == bed.at(".hg/hgrc"));
        assert!(is_named || outcome.names.unpacked_others > 0, "{finished:?}");
    });
}

/// Otherwise git would search the directories above.
#[test]
fn what_makes_a_repository_one_stays_in_it() {
    for_each_tier(|bed| {
        for folder in [".git", "bare"] {
            bed.put(&format!("{folder}/config"), SETTINGS);
            bed.put(&format!("{folder}/HEAD"), "ref: refs/heads/main\n");
            bed.put(&format!("{folder}/refs/heads/main"), "0\n");
            bed.put(&format!("{folder}/objects/00/1"), "x\n");
        }
        bed.put("own/spare/file", "mine\n");
        bed.shield = Shield {
            freeze: vec![bed.at(".git/config"), bed.at("bare/config")],
            pin: [".git/objects", ".git/refs", "bare/objects", "bare/refs"].map(|name| bed.at(name)).into(),
            ..Shield::default()
        };
        bed.attack(
            r#"
            for folder in .git bare; do
                for name in objects refs HEAD config; do
                    must_fail "move $folder/$name" move "$folder/$name" "own/$name"
                    must_fail "exchange $folder/$name" exchange "$folder/$name" own/spare
                    must_fail "exchange with $folder/$name" exchange own/spare "$folder/$name"
                done
                rm -r "$folder/objects" 2>/dev/null
                must_fail "no $folder/objects" test ! -e "$folder/objects"
                echo "ref: refs/heads/other" > "$folder/HEAD.lock"
                may "another branch" move "$folder/HEAD.lock" "$folder/HEAD"
                may "a branch" bash -c "echo 1 > $folder/refs/heads/new.lock && mv $folder/refs/heads/new.lock $folder/refs/heads/new"
                may "an object" bash -c "mkdir -p $folder/objects/01 && echo x > $folder/objects/01/t && mv $folder/objects/01/t $folder/objects/01/2"
            done
            "#,
        );
        assert_eq!(names(&bed.at("own")), ["spare"]);
    });
}

/// Creates a repository as another program does.
fn repository(path: &Path) {
    for folder in ["objects", "refs", "hooks"] {
        fs::create_dir_all(path.join(folder)).expect("a folder");
    }
    for (name, text) in [("HEAD", "ref: refs/heads/main\n"), ("config", NEW), ("hooks/pre-commit", NEW)] {
        fs::write(path.join(name), text).expect("a file");
    }
}

/// Only files that the command created itself are its own.
#[test]
fn what_the_person_adds_meanwhile_is_not_the_commands_to_change() {
    for_each_tier(|bed| {
        bed.put(".git/config", SETTINGS);
        bed.put("file", "mine\n");
        bed.put("plain/file", "mine\n");
        repository(&bed.at(".git/modules/libs/a"));
        bed.shield.freeze = [".git/config", ".git/modules/libs/a/config", ".git/modules/libs/a/hooks"]
            .map(|name| bed.at(name))
            .into();
        bed.shield.names = vec![".vscode"];
        // A repository that is older than the command, in another directory.
        let moved = bed.outside.join("moved");
        repository(&moved.join(".git"));
        repository(&bed.outside.join("bare-moved"));
        grow_old(&bed.outside.join("bare-moved/config"));
        // The command created the directories around the last one, and git creates names with a trailing
        // slash.
        let made = [
            ".git/modules/mine/deep/c",
            ".git/modules/libs/b",
            "separate",
            "moved/.git",
            "bare-moved",
            "clone.git",
            "plain",
        ];
        let change = |bed: &Bed| {
            for path in [".git/modules/libs/b", "separate", "clone.git", "plain", ".git/modules/mine/deep/c"]
            {
                repository(&bed.at(path));
            }
            for name in ["moved", "bare-moved"] {
                fs::rename(bed.outside.join(name), bed.at(name)).expect("moves");
            }
        };
        let script = format!(
            r#"
            for folder in {}; do
                path=$folder/config; {CHANGES}
                path=$folder/hooks/pre-commit; {CHANGES}
                must_fail "another hook in $folder" write "$folder/hooks/post-checkout"
                must_fail "other hooks in $folder" move "$folder/hooks" "$folder/hooks.old"
                must_fail "its lock in $folder" write "$folder/config.lock"
                must_fail "a common folder in $folder" write "$folder/commondir"
                must_fail "attributes in $folder" mkdir "$folder/info"
            done
            for folder in separate clone.git bare-moved; do
                mv "$folder" "$folder.x"
                must_fail "under another name" write "$folder.x/config"
                mv "$folder.x" "$folder"
            done
            mkdir own; cd own
            may "a repository of its own" mkdir objects refs hooks
            may "its head" write HEAD
            may "its configuration" write config
            may "its configuration again" write config
            may "its hook" write hooks/pre-commit
            "#,
            made.join(" ")
        );
        attack_around(bed, "mkdir -p .git/modules/mine/deep", change, &script);
        for path in made {
            for name in ["config", "hooks/pre-commit"] {
                assert_eq!(
                    fs::read_to_string(bed.at(path).join(name)).expect("a file"),
                    NEW,
                    "{path}/{name}"
                );
            }
        }
    });
}
