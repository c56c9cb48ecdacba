//! Denied files in the workspace: no command reads them, by whatever name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{ORDINARY, state};
use crate::bed::{Bed, SECRET, Shield, command, for_each_tier};

/// Creates denied files and directories, with the secret in each.
fn with_hidden_files(bed: &mut Bed) -> Vec<PathBuf> {
    let names = [".env", "secrets/key", "secrets/deep/key", "folder/below/.env.local"];
    let files: Vec<_> = names.iter().map(|name| bed.put(name, SECRET)).collect();
    bed.put("ordinary", ORDINARY);
    bed.put("folder/ordinary", ORDINARY);
    bed.put("own/ordinary", ORDINARY);
    let hide = [".env", "secrets", "folder/below/.env.local"].map(|name| bed.at(name)).to_vec();
    bed.shield = Shield { hide, ..Shield::default() };
    files
}

#[test]
fn hidden_files_are_not_read() {
    for_each_tier(|bed| {
        let files = with_hidden_files(bed);
        symlink(".env", bed.at("old-link")).expect("a link");
        let before: Vec<_> = files.iter().map(|path| state(path)).collect();
        let finished = bed.attack(
            r#"
            may "an ordinary file" cat ordinary
            ln -s ../.env own/link; ln -s "$WORKSPACE/secrets" own/folder
            for path in .env "$WORKSPACE/.env" ./own/../.env /proc/self/cwd/.env \
                "/proc/self/root$WORKSPACE/.env" /proc/1/cwd/.env "/proc/1/root$WORKSPACE/.env" \
                "/proc/$PPID/cwd/.env" secrets/key secrets/deep/key folder/below/.env.local own/link \
                own/folder/key old-link; do
                must_fail "read $path" cat "$path"
                must_fail "copy $path" cp "$path" own/copy
                must_fail "hard link $path" ln -L "$path" own/copy
                must_fail "archive $path" tar -chf own/archive.tar "$path"
                must_fail "search $path" grep -a . "$path"
                must_fail "run $path" bash "$path"
                must_fail "write $path" write "$path"
                must_fail "truncate $path" shorten "$path"
                must_fail "open up $path" chmod 777 "$path"
                must_fail "a descriptor of $path" cat /dev/fd/9 9<"$path"
            done
            must_fail "read inside of a folder" bash -c "cd secrets && cat key"
            must_fail "change a folder" chmod 777 secrets
            must_fail "a file in a folder" write secrets/new
            must_fail "remove a file" unlink .env
            must_fail "remove a file in a folder" unlink secrets/key
            must_fail "remove a folder" rm -rf secrets
            must_fail "move a file" move .env own/moved
            must_fail "move a folder" move secrets own/moved
            must_fail "move over a file" move own/ordinary .env
            echo "everything: $(grep -rah . . 2>/dev/null)"
            tar -cf own/all.tar --exclude=own . 2>/dev/null; grep -a . own/all.tar
            cp -r . own/all 2>/dev/null; grep -rah . own/all
            "#,
        );
        assert!(finished.text.contains(ORDINARY), "ordinary files are found");
        assert_eq!(files.iter().map(|path| state(path)).collect::<Vec<_>>(), before);
    });
}

/// In T2, permission to list the parent directory includes everything below, so names are visible there, and
/// nothing else.
#[test]
fn names_in_hidden_folders_are_not_told() {
    for_each_tier(|bed| {
        with_hidden_files(bed);
        bed.attack(
            r#"
            may "list an ordinary folder" ls own
            if [ "$TIER" != T2 ]; then
                must_fail "list a folder" ls secrets
                must_fail "list a folder below" ls secrets/deep
            fi
            must_fail "read a file whose name is known" cat secrets/key
            "#,
        );
    });
}

#[test]
fn hidden_files_stay_hidden_when_a_folder_above_moves() {
    for_each_tier(|bed| {
        let files = with_hidden_files(bed);
        bed.attack(
            r#"
            mkdir own/a; may "an ordinary folder moves" move own/a own/b
            move folder moved; move moved/below moved/again; mkdir -p folder/below 2>/dev/null
            for folder in folder moved; do
                for below in below again; do
                    must_fail "read in $folder/$below" cat "$folder/$below/.env.local"
                    must_fail "copy from $folder/$below" cp "$folder/$below/.env.local" own/copy
                    must_fail "move out of $folder/$below" move "$folder/$below/.env.local" own/copy
                    (cd "$folder/$below" 2>/dev/null && must_fail "read in there" cat .env.local)
                done
            done
            rm -rf moved folder 2>/dev/null
            grep -rah . . 2>/dev/null
            "#,
        );
        let kept = [&files[3], &bed.at("moved/again/.env.local")];
        let found: Vec<_> = kept.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
        assert_eq!(found, [SECRET], "the hidden file is somewhere, whole");
    });
}

#[test]
fn git_does_not_store_hidden_files() {
    for_each_tier(|bed| {
        let files = with_hidden_files(bed);
        let made = command(Path::new("git")).args(["init", "-q", "--bare"]).arg(bed.at("own/git")).status();
        assert!(made.expect("git").success());
        let finished = bed.attack(
            r#"
            export GIT_DIR="$WORKSPACE/own/git" GIT_WORK_TREE="$WORKSPACE" GIT_CONFIG_NOSYSTEM=1
            must_fail "an object of a hidden file" git hash-object -w .env
            may "an object of an ordinary file" git hash-object -w ordinary
            git add --ignore-errors -A . 2>/dev/null
            git -c user.name=x -c user.email=x@y commit -qm all
            git cat-file --batch --batch-all-objects
            git diff --no-index ordinary .env
            git diff --no-index sub secrets
            git grep --no-index -a . -- . ':!own'
            "#,
        );
        assert!(finished.text.contains(ORDINARY), "an ordinary file was stored");
        assert!(files.iter().all(|path| fs::read_to_string(path).is_ok_and(|text| text == SECRET)));
    });
}

/// Without mounts, Landlock grants the temporary directory completely, and no survey searches it. A file that
/// had names on both sides would stay readable there, whatever its name in the workspace becomes.
#[test]
fn no_file_has_names_in_the_workspace_and_in_the_temporary_folder() {
    for_each_tier(|bed| {
        bed.shield.names = vec![".git"];
        bed.put("here/file", ORDINARY);
        let attack = r#"
            [ "$TIER" = T2 ] || HOME=/tmp
            echo "TOKEN=" > $HOME/y; mkdir -p $HOME/folder/deep; echo > $HOME/folder/deep/y
            ln $HOME/folder/deep/y $HOME/z
            may "a second name in the temporary folder" ln $HOME/y $HOME/y2
            may "a second name in the workspace" ln here/file here/other
            may "a move in the temporary folder" move $HOME/y2 $HOME/folder/y2
            must_fail "a link to the workspace" link $HOME/y .env
            must_fail "a link to a plain name" link $HOME/y notes
            must_fail "a link to the temporary folder" link here/file $HOME/file
            must_fail "a move to the workspace" move $HOME/y .env
            must_fail "a move to the temporary folder" move here/file $HOME/file
            must_fail "a folder to the workspace" move $HOME/folder here/folder
            must_fail "a folder to the temporary folder" move here $HOME/here
            mkdir here/empty $HOME/empty
            must_fail "an exchange" exchange here/empty $HOME/empty
            must_fail "an exchange in the other direction" exchange $HOME/y here/file
            may "a copy" mv $HOME/folder/y2 copied
            perl -e '
                use Fcntl; my ($home) = @ARGV;
                my %at = (x86_64 => [257, 265], aarch64 => [56, 37]);
                my $machine = `uname -m`; chomp $machine; my ($openat, $linkat) = @{$at{$machine}};
                sub nameless { my ($in) = @_; syscall($openat, -100, $in, $machine eq "aarch64" ? 020040002 : 020200002, 0600) }
                sub name { my ($from, $to) = ("/proc/self/fd/$_[0]", $_[1]); syscall($linkat, -100, $from, -100, $to, 0x400) == 0 }
                my $file = nameless($home);
                print name($file, "made") ? "ESCAPED" : "refused", " an unnamed file\n";
                print name($file, "$home/made") ? "worked" : "BROKEN", " an unnamed file at home\n";
                $file = nameless("here");
                print name($file, "$home/from-here") ? "ESCAPED" : "refused", " an unnamed file of the workspace\n";
                print name($file, "here/made") ? "worked" : "BROKEN", " an unnamed file here\n";
            ' "$HOME"
            "#;
        let finished = bed.attack(attack);
        finished.assert_nothing_escaped();
        assert!(!finished.text.contains("BROKEN"), "{}", finished.text);
        assert!(finished.says("worked an unnamed file here"), "{}", finished.text);
        for name in [".env", "notes", "made", "here/folder"] {
            assert!(bed.at(name).symlink_metadata().is_err(), "{name}");
        }
        // A person renames a file of the command, and fills it.
        fs::rename(bed.at("copied"), bed.at(".env")).expect("a move");
        fs::write(bed.at(".env"), SECRET).expect("a file");
        bed.shield.hide = vec![bed.at(".env")];
        let finished = bed.attack(
            r#"
            [ "$TIER" = T2 ] || HOME=/tmp
            must_fail "the denied file" grep -q . .env
            cat $HOME/* $HOME/folder/* $HOME/folder/deep/* here/* 2>/dev/null; echo
            echo PLANTED | tee $HOME/y $HOME/z $HOME/folder/deep/y > /dev/null
            "#,
        );
        finished.assert_nothing_escaped();
        assert_eq!(fs::read_to_string(bed.at(".env")).expect("a file"), SECRET);
    });
}
