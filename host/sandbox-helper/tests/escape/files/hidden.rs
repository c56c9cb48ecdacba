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
