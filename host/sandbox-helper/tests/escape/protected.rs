//! Paths in the workspace with their own rules: frozen files do not change, pinned directories do not move,
//! and absent names do not appear, even after the command has ended.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::bed::{Bed, Shield, for_each_tier, set_mode};

mod absent;
mod became;
mod brought;
mod exchanged;
mod replaced;
mod stalled;
mod trusted;
mod umasks;

const SETTINGS: &str = "the host's own settings\n";

/// Creates frozen files and directories, directories that pin them, and writable ones.
fn with_frozen_files(bed: &mut Bed) -> Vec<PathBuf> {
    let names = [".mcp.json", ".vscode/tasks.json", ".vscode/deep/more", "conf/inner/real", ".git/config"];
    let files: Vec<_> = names.iter().map(|name| bed.put(name, SETTINGS)).collect();
    set_mode(&files[0], 0o644);
    bed.put("own/file", "mine\n");
    bed.put("conf/other/file", "mine\n");
    bed.put(".git/hooks/pre-commit", SETTINGS);
    let freeze = [".mcp.json", ".vscode", "conf/inner/real", ".git/config", ".git/hooks"];
    let pin = [".git", "conf", "conf/inner"];
    bed.shield = Shield {
        freeze: freeze.map(|name| bed.at(name)).to_vec(),
        pin: pin.map(|name| bed.at(name)).to_vec(),
        ..Shield::default()
    };
    files
}

#[test]
fn frozen_files_keep_their_content_and_place() {
    for_each_tier(|bed| {
        let files = with_frozen_files(bed);
        let before: Vec<_> = files.iter().map(|path| state(path)).collect();
        bed.attack(
            r#"
            may "a file of its own" write own/file
            ln -s ../.mcp.json own/link; ln -s ../.vscode own/folder
            for path in .mcp.json "$WORKSPACE/.mcp.json" ./own/../.mcp.json /proc/self/cwd/.mcp.json \
                "/proc/self/root$WORKSPACE/.mcp.json" "/proc/1/cwd/.mcp.json" .vscode/tasks.json \
                .vscode/deep/more conf/inner/real .git/config .git/hooks/pre-commit own/link \
                own/folder/tasks.json; do
                [ "$path" = "/proc/1/cwd/.mcp.json" ] || may "read $path" cat "$path"
                must_fail "append to $path" write "$path"
                must_fail "overwrite $path" overwrite "$path"
                must_fail "truncate $path" shorten "$path"
                must_fail "edit $path" sed -i s/host/guest/ "$path/" "$(realpath "$path")"
                must_fail "copy over $path" cp own/file "$path"
                must_fail "the mode of $path" chmod 777 "$path"
                must_fail "the time of $path" stamp "$path"
                must_fail "write to a descriptor" write /dev/fd/9 9<"$path"
            done
            for path in .mcp.json .vscode .vscode/tasks.json .vscode/deep conf/inner/real conf/inner conf \
                .git/config .git/hooks .git; do
                must_fail "move $path away" move "$path" own/moved
                must_fail "rename $path" move "$path" "$path.old"
                must_fail "replace $path" move own/file "$path"
                must_fail "exchange $path for a file" exchange own/file "$path"
                must_fail "exchange $path for a folder" exchange conf/other "$path"
                must_fail "replace $path by a folder" mv -T conf/other "$path"
                must_fail "replace $path by a link" ln -sfn own/file "$path/." "$path"
                must_fail "a link in place of $path" ln -sfT own/file "$path"
                must_fail "hard link $path" link "$path" own/second
                must_fail "unlink $path" unlink "$path"
                must_fail "rmdir $path" rmdir "$path"
            done
            must_fail "a file in a frozen folder" write .vscode/new
            must_fail "a folder in a frozen folder" mkdir .git/hooks/new
            must_fail "a link in a frozen folder" ln -s /bin/true .git/hooks/post-commit
            must_fail "a move into a frozen folder" move own/file .git/hooks/post-commit
            must_fail "a hard link into a frozen folder" link own/file .git/hooks/post-commit
            rm -rf .mcp.json .vscode conf .git 2>/dev/null
            "#,
        );
        assert_eq!(files.iter().map(|path| state(path)).collect::<Vec<_>>(), before);
        assert!(files.iter().all(|path| fs::read_to_string(path).is_ok_and(|text| text == SETTINGS)));
        assert_eq!(names(&bed.at(".git/hooks")), ["pre-commit"]);
        assert_eq!(names(&bed.at(".vscode")), ["deep", "tasks.json"]);
        assert_eq!(fs::read_to_string(bed.at("own/file")).expect("a file"), "mine\nchanged\n");
    });
}

#[test]
fn what_is_known_about_frozen_files_is_not_changed() {
    for_each_tier(|bed| {
        let files = with_frozen_files(bed);
        bed.arm("files");
        let before: Vec<_> = files.iter().map(|path| state(path)).collect();
        bed.attack(
            "./files metadata .mcp.json; ./files metadata .vscode/tasks.json; ./files metadata .vscode",
        );
        assert_eq!(files.iter().map(|path| state(path)).collect::<Vec<_>>(), before);
    });
}

#[test]
fn nothing_is_mounted_over_frozen_files() {
    for_each_tier(|bed| {
        let files = with_frozen_files(bed);
        bed.put("place/file", "mine\n");
        bed.arm("files");
        bed.attack(
            r#"
            ./files mounts .mcp.json; ./files mounts .vscode
            must_fail "a mount over it" unshare -rm mount --bind own/file .mcp.json
            may "read it" grep -q host .mcp.json
            "#,
        );
        assert_eq!(fs::read_to_string(&files[0]).expect("a file"), SETTINGS);
    });
}

/// A pinned directory keeps its place, and new files may be created in it.
#[test]
fn a_pinned_folder_stays_and_may_be_filled() {
    for_each_tier(|bed| {
        with_frozen_files(bed);
        let before = bed.at(".git").metadata().expect("a folder").ino();
        let script = r#"
            must_fail "moved" move .git own/git
            must_fail "replaced" mv -T own .git
            must_fail "exchanged" exchange .git own
            mkdir own/a own/b
            may "exchanged elsewhere" exchange own/a own/b
            may "filled" write .git/description
            "#;
        bed.attack(script);
        assert_eq!(bed.at(".git").metadata().expect("a folder").ino(), before);
    });
}

#[test]
fn a_frozen_link_and_its_target_stay() {
    for_each_tier(|bed| {
        let target = bed.put("conf/real", SETTINGS);
        bed.put("own/file", "mine\n");
        symlink("conf/real", bed.at(".mcp.json")).expect("a link");
        bed.shield.freeze = vec![bed.at(".mcp.json"), target.clone()];
        bed.shield.pin = vec![bed.at("conf")];
        let attack = r#"
            must_fail "write through the link" write .mcp.json
            must_fail "write the target" write conf/real
            must_fail "remove the link" unlink .mcp.json
            must_fail "move the link" move .mcp.json own/link
            must_fail "replace the link" move own/file .mcp.json
            must_fail "another link" ln -sfn own/file .mcp.json
            must_fail "hard link the link" link .mcp.json own/link
            must_fail "move the target" move conf/real own/real
            must_fail "move the target's folder" move conf own/conf
            must_fail "the time of the link" touch -h -c -d 2001-01-01 .mcp.json/ .mcp.json
            may "a file of its own" write own/file
            may "read through the link" grep -q host .mcp.json
            "#;
        let before = (link_state(&bed.at(".mcp.json")), state(&target));
        bed.attack(attack);
        assert_eq!((link_state(&bed.at(".mcp.json")), state(&target)), before);
        assert_eq!(fs::read_link(bed.at(".mcp.json")).expect("a link"), Path::new("conf/real"));
    });
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the attributes that would reveal a change of a file.
fn state(path: &Path) -> (u64, u32, u64, String, i64, (i64, i64)) {
    let found = path.symlink_metadata().expect("a file");
    let content = fs::read_to_string(path).unwrap_or_default();
    let changed = (found.ctime(), found.ctime_nsec());
    (found.ino(), found.permissions().mode(), found.nlink(), content, found.mtime(), changed)
}

fn link_state(path: &Path) -> (u64, PathBuf) {
    (path.symlink_metadata().expect("a link").ino(), fs::read_link(path).expect("a link"))
}
