//! Directories that another command replaces after the scan of the workspace, and before the found paths are
//! protected.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{SETTINGS, names};
use crate::bed::{Bed, SECRET, TIERS, comes_true, finish, for_each_tier};

/// Creates a directory in the workspace, and one outside with files of the same names.
fn with_twins(bed: &mut Bed) -> (PathBuf, PathBuf) {
    bed.put("area/sub/.git/config", SETTINGS);
    bed.put("area/sub/file", "mine\n");
    bed.put("area/sub/folder/file", "mine\n");
    let twin = bed.outside.join("twin");
    for name in [".git/config", "file", "folder/file"] {
        fs::create_dir_all(twin.join(name).parent().expect("a parent")).expect("a folder");
        fs::write(twin.join(name), SECRET).expect("a file");
    }
    // A second command that still runs may do this at any time.
    let (sub, there) = (bed.at("area/sub"), twin.clone());
    bed.meanwhile = Some(Box::new(move || {
        fs::rename(&sub, sub.with_file_name("moved")).expect("moved");
        symlink(&there, &sub).expect("a link");
    }));
    (bed.at("area/sub"), twin)
}

/// Runs a command that is started while a directory is replaced by a link to the outside.
fn attack_twins(bed: &mut Bed, twin: &Path) {
    let started = bed.try_start(
        r#"
        for path in area/sub/file area/sub/folder/file area/sub/.git/config "$OUTSIDE/twin/file" \
            "$OUTSIDE/twin/folder/file" "$OUTSIDE/twin/.git/config"; do
            cat "$path"; echo changed > "$path"; echo new > "${path%/*}/new"
        done 2>/dev/null
        ls -A area/sub/ "$OUTSIDE/twin" 2>/dev/null
        "#,
    );
    let text = match started {
        Ok(mut running) => finish(&mut running).text,
        Err(error) => {
            eprintln!("refused: {error}");
            String::new()
        }
    };
    let contents = [".git/config", "file", "folder/file"].map(|name| fs::read_to_string(twin.join(name)));
    let (all, hooks) = (names(twin), names(&twin.join(".git")));
    #[allow(clippy::disallowed_methods, reason = "a test knows what it removes")]
    fs::remove_dir_all(twin).expect("a folder");
    for content in contents {
        assert_eq!(content.expect("a file outside"), SECRET);
    }
    assert_eq!(all, [".git", "file", "folder"]);
    assert_eq!(hooks, ["config"]);
    assert!(!text.contains(SECRET), "a file outside was read: {text}");
}

#[test]
fn a_frozen_file_whose_folder_becomes_a_link_lets_nobody_out() {
    for_each_tier(|bed| {
        let (sub, twin) = with_twins(bed);
        bed.shield.freeze = vec![sub.join(".git/config")];
        bed.shield.pin = vec![sub.join(".git")];
        attack_twins(bed, &twin);
    });
}

#[test]
fn a_hidden_file_whose_folder_becomes_a_link_lets_nobody_out() {
    for_each_tier(|bed| {
        let (sub, twin) = with_twins(bed);
        bed.shield.hide = vec![sub.join("folder/file")];
        attack_twins(bed, &twin);
    });
}

#[test]
fn an_absent_name_whose_folder_becomes_a_link_is_not_made_outside() {
    for_each_tier(|bed| {
        let (sub, twin) = with_twins(bed);
        bed.shield.absent = vec![sub.join(".git/hooks")];
        attack_twins(bed, &twin);
    });
}

/// Bubblewrap resolves a mount's source in the host's tree, and its target in the new one. Both contain a
/// different `/tmp`.
#[test]
fn a_pinned_folder_that_becomes_one_in_tmp_is_not_the_hosts() {
    for_each_tier(|bed| {
        let theirs = tempfile::tempdir().expect("a folder of the host");
        fs::create_dir(theirs.path().join(".git")).expect("a folder");
        fs::write(theirs.path().join(".git/file"), SECRET).expect("a file");
        let made =
            finish(&mut bed.start(&format!("mkdir -p {0}/.git; echo finished", theirs.path().display())));
        assert!(made.says("finished"));
        bed.put("area/sub/.git/config", SETTINGS);
        bed.shield.pin = vec![bed.at("area/sub/.git")];
        // Leads up to the root, and into /tmp.
        let up: PathBuf = bed.at("area").iter().skip(1).map(|_| "..").collect();
        let link = up.join(theirs.path().strip_prefix("/").expect("absolute"));
        let sub = bed.at("area/sub");
        bed.meanwhile = Some(Box::new(move || {
            fs::rename(&sub, sub.with_file_name("moved")).expect("moved");
            symlink(&link, &sub).expect("a link");
        }));
        let text = match bed
            .try_start("ls -A area/sub/.git/; cat area/sub/.git/file; echo x > area/sub/.git/file")
        {
            Ok(mut running) => finish(&mut running).text,
            Err(error) => error.to_string(),
        };
        let kept = fs::read_to_string(theirs.path().join(".git/file")).expect("a file");
        assert_eq!(kept, SECRET, "a file of the host was changed");
        assert!(!text.contains(SECRET), "a file of the host was read: {text}");
    });
}

/// Lets another command with the same rules replace `area/sub` by its own directory, immediately before the
/// next command starts.
fn let_another_move(bed: &mut Bed, name: &str) -> scorpiox_sandbox::Running {
    bed.put("own/file", "mine\n");
    let running = bed.start(&format!(
        "until [ -e own/go ]; do sleep 0.01; done
        mv area/sub area/moved && mkdir -p area/sub/.git && echo mine > area/sub/{name}
        touch own/done; sleep 100"
    ));
    let (go, done) = (bed.at("own/go"), bed.at("own/done"));
    bed.meanwhile = Some(Box::new(move || {
        fs::write(&go, "").expect("a file");
        assert!(comes_true(Duration::from_secs(20), || done.exists()), "the other command did not get there");
    }));
    running
}

#[test]
fn a_hidden_file_that_moves_before_a_command_starts_is_not_read() {
    for_each_tier(|bed| {
        let hidden = bed.put("area/sub/.env", SECRET);
        bed.shield.hide = vec![hidden];
        let other = let_another_move(bed, ".env");
        if let Ok(mut running) = bed.try_start("cat area/moved/.env; cat area/sub/.env; echo finished") {
            finish(&mut running).assert_nothing_escaped();
        }
        drop(other);
    });
}

#[test]
fn a_frozen_file_that_moves_before_a_command_starts_is_not_changed() {
    for_each_tier(|bed| {
        let frozen = bed.put("area/sub/.git/config", SETTINGS);
        bed.shield.freeze = vec![frozen.clone()];
        bed.shield.pin = vec![bed.at("area/sub/.git")];
        let other = let_another_move(bed, ".git/config");
        let script =
            "for path in area/moved area/sub; do echo changed > $path/.git/config; done; echo finished";
        if let Ok(mut running) = bed.try_start(script) {
            finish(&mut running);
        }
        drop(other);
        let moved = bed.at("area/moved/.git/config");
        let now = if moved.exists() { moved } else { frozen };
        assert_eq!(fs::read_to_string(now).expect("a file"), SETTINGS);
    });
}

/// Commands have a separate `/tmp` that is completely writable, including the parents of a workspace below
/// it.
#[test]
fn a_workspace_below_tmp_is_not_exchanged_for_another() {
    for tier in TIERS {
        eprintln!("--- {tier}");
        let mut bed = Bed::below(tier, Path::new("/tmp"));
        let settings = bed.put("sub/.git/config", SETTINGS);
        bed.shield.freeze = vec![settings.clone()];
        bed.shield.pin = vec![bed.at("sub/.git")];
        bed.run(
            r#"
            cd /; above=${WORKSPACE%/*}
            mv "$above" /tmp/moved
            mkdir -p "$WORKSPACE/sub/.git"; echo decoy > "$WORKSPACE/sub/.git/config"
            "#,
        );
        let attack = r#"
            find / -path /proc -prune -o -path '*/sub/.git/config' -print 2>/dev/null |
                while read -r path; do echo evil > "$path"; done
        "#;
        if let Ok(mut running) = bed.try_start(attack) {
            finish(&mut running);
        }
        bed.end();
        assert_eq!(fs::read_to_string(&settings).expect("the file"), SETTINGS, "{tier}");
    }
}
