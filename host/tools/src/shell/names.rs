//! Notes about names that other programs obey, and about sockets.

use std::path::Path;

use scorpiox_sandbox::{Grounds, Names, Prevented, RawPath, Trap, TrapKind, Why};

use crate::Call;

/// Maximum number of characters of a path, and of its beginning: the end has the name in question.
const MAX_PATH_CHARS: usize = 200;
const BEGINNING_CHARS: usize = 60;

/// Reports files that other programs obey, such as git repositories: refused, unpacked, or newly created.
/// Reports sockets that the command did not reach.
///
/// Each path is listed: only its reader can look at it. If that makes the result too long, all of it is in the
/// file that the result then names.
pub(super) fn about_names(call: &Call<'_>, names: &Names) -> impl Iterator<Item = String> + use<> {
    notes(&call.host.shell().operator().site().workspace, names).into_iter()
}

fn notes(workspace: &Path, names: &Names) -> Vec<String> {
    let list = |paths: &[RawPath], others| named(workspace, paths, others);
    let refused = list(&names.refused, names.refused_others).map(|paths| {
        format!(
            "not created: {paths}: other programs obey files of this name, or write through links there, so \
             commands cannot create them; the person can"
        )
    });
    let prevented = names.prevented.iter().map(|prevented| about_prevented(workspace, prevented));
    let unpacked: Vec<_> =
        names.unpacked.iter().filter(|path| !is_of_repository(names, path.as_path())).cloned().collect();
    let unpacked = list(&unpacked, names.unpacked_others).map(|paths| {
        format!(
            "new: {paths}: programs obey what has such a name when they open the folder; the person should look at it \
             first"
        )
    });
    let reported = |is_made_by_another: bool| {
        let reported = names.repositories.iter();
        let reported = reported
            .filter(|repository| (repository.grounds == Grounds::MadeByAnother) == is_made_by_another);
        let paths: Vec<_> = reported.map(|repository| repository.path.clone()).collect();
        list(&paths, 0)
    };
    let made_by_another = reported(true).map(|paths| {
        format!(
            "new: {paths}: another process made a repository there while the command could put hooks and settings into \
             it: git may have started programs of the command, even if they are gone; the person should look at it"
        )
    });
    let repositories = reported(false).map(|paths| {
        format!(
            "new: {paths}: git starts the programs that the config, the hooks and links of such a repository name, when \
             somebody uses git in it or around it, or makes a repository of the folder; the person should look at these \
             first"
        )
    });
    let unseen = (names.repositories_others > 0).then(|| {
        format!(
            "new: {} more repositories, more than are looked at: git may start programs that they name; the person \
             should look at their config, hooks and links before using git there",
            names.repositories_others
        )
    });
    let more_prevented = (names.prevented_others > 0)
        .then(|| format!("not written or not moved: {} more names", names.prevented_others));
    let traps = names.traps.iter().map(|trap| about_trap(workspace, trap));
    let more_traps = (names.traps_others > 0).then(|| {
        format!(
            "changed: {} more repositories were moved, or have more files than are looked at: git may write elsewhere \
             because of their index or of unfinished operations; the person should look at them before using git there",
            names.traps_others
        )
    });
    let sockets = list(&names.sockets, names.sockets_others).map(|paths| {
        format!(
            "not connected: {paths}: no command listens there, and commands do not reach other programs' sockets"
        )
    });
    let before = [unpacked, made_by_another, repositories, unseen].into_iter().flatten();
    let refused = refused.into_iter().chain(prevented).chain(more_prevented);
    refused.chain(before).chain(traps).chain(more_traps).chain(sockets).collect()
}

/// Describes a file that git trusts and that the command was refused to write.
fn about_prevented(workspace: &Path, Prevented { path, why }: &Prevented) -> String {
    let path = quoted(workspace, path.as_path());
    match why {
        Why::InPlace => format!(
            "not written: {path}: git trusts this file, so commands change it only as git does: by renaming a lock file, \
             such as `git update-index`, `git update-ref` and `git symbolic-ref` do"
        ),
        Why::Stays => format!(
            "not moved: {path}: it was there before the command, and is or holds a repository, or a file that other \
             programs obey; such a folder stays where it is, and the person can move or delete it"
        ),
        Why::Names(text) => format!(
            "not written: {path}: the new content has {}, which git refuses elsewhere and would write for the person",
            quoted(Path::new(""), Path::new(text))
        ),
        Why::Unreadable => {
            format!(
                "not written: {path}: the new content is none that git would write, or is too large to be checked"
            )
        }
    }
}

/// Describes a file by which git would write elsewhere or start a program, and the way to get rid of it.
fn about_trap(workspace: &Path, trap: &Trap) -> String {
    let path = quoted(workspace, trap.path.as_path());
    let text = quoted(Path::new(""), Path::new(&trap.text));
    match trap.kind {
        TrapKind::Index if trap.text.is_empty() => format!(
            "changed: {path}: this is no index that git would write, so git may create files outside of the work tree \
             when the person restores files; the person should delete the index before, and run `git reset` there"
        ),
        TrapKind::Index => format!(
            "changed: {path}: it lists {text}, which git refuses in commits and would create when the person restores \
             files (`git restore`, `git checkout`); the person should delete the index before, and run `git reset` there"
        ),
        TrapKind::Reference => format!(
            "changed: {path}: this reference leads to {text}, outside of `refs/`, so git would write that file of the \
             repository; the person should delete it before using git there"
        ),
        TrapKind::Resolutions => format!(
            "changed: {path}: it lists {text}, which `git rerere` reads and writes at the next commit, wherever links lead; \
             unless a merge of the person is unfinished, the person should delete {path} before"
        ),
        TrapKind::WorkTree => format!(
            "changed: {path}: it names {text} as a work tree, which is none of this repository: `git worktree repair` \
             would write that file; the person should look at it before"
        ),
        TrapKind::Unknown => format!(
            "changed: {path}: git creates nothing of this name in a repository, and a program that looks for it may obey \
             it; the person should look at it before"
        ),
        TrapKind::Replacement => format!(
            "changed: {path}: git shows other objects in the place of some, so `git status`, `git diff` and `git show` can \
             hide changes; the person should look at `git replace --list` and delete what they did not make"
        ),
        TrapKind::Operation if trap.text.is_empty() => format!(
            "changed: {path}: it cannot be read, and may start programs when the person continues the operation; the \
             person should look at it before"
        ),
        TrapKind::Operation => format!(
            "changed: {path}: an operation of git seems to be unfinished, and git may start, write or apply something \
             because of {text} when the person commits or continues it (`git rebase --continue`); the person should \
             look at it before"
        ),
    }
}

/// Returns `true` for a path that the note about repositories covers: that of a reported repository, or one in a
/// reported `.git`.
fn is_of_repository(names: &Names, path: &Path) -> bool {
    names
        .repositories
        .iter()
        .map(|repository| repository.path.as_path())
        .any(|repository| path == repository || repository.ends_with(".git") && path.starts_with(repository))
}

/// Lists paths, and the number of further ones or attempts.
fn named(workspace: &Path, paths: &[RawPath], others: u32) -> Option<String> {
    let mut names: Vec<_> = paths.iter().map(|path| quoted(workspace, path.as_path())).collect();
    if others > 0 {
        names.push(format!("{others} more"));
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// Formats a path so that it cannot pass for a part of the note. A path in the workspace is relative to it. The
/// end of a long path always stays.
fn quoted(workspace: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(workspace).ok().filter(|inside| !inside.as_os_str().is_empty());
    let path = inside.unwrap_or(path).display().to_string();
    let left_out = path.chars().count().saturating_sub(MAX_PATH_CHARS);
    if left_out == 0 {
        return format!("{path:?}");
    }
    let beginning: String = path.chars().take(BEGINNING_CHARS).collect();
    let end: String = path.chars().skip(BEGINNING_CHARS + left_out).collect();
    format!("{:?}", format!("{beginning}…{end}"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use scorpiox_sandbox::Repository;

    use super::*;

    fn raw(path: impl Into<PathBuf>) -> RawPath {
        path.into().into()
    }

    #[test]
    fn every_path_is_listed_with_its_end() {
        let deep = format!("/w/{}/.git", "x".repeat(5000));
        let paths: Vec<_> = (0..63).map(|index| format!("/w/a{index}/.git")).chain([deep]).collect();
        let repositories: Vec<_> = paths
            .iter()
            .map(|path| Repository { path: raw(path), identity: (0, 0), grounds: Grounds::Used })
            .collect();
        let names = Names { repositories, ..Names::default() };
        let notes = notes(Path::new("/w"), &names).join("\n");
        assert!((0..63).all(|index| notes.contains(&format!("\"a{index}/.git\""))), "{notes}");
        assert!(notes.contains("xxx/.git\""), "{notes}");
    }

    #[test]
    fn a_repository_has_one_note() {
        let repository =
            |path: &str| Repository { path: raw(path), identity: (0, 0), grounds: Grounds::Used };
        let names = Names {
            unpacked: ["/w/.git", "/w/.git/hooks", "/w/a/.vscode", "/w/b/.git"].map(raw).into(),
            repositories: vec![repository("/w/.git"), repository("/w/a")],
            ..Names::default()
        };
        let notes = notes(Path::new("/w"), &names);
        let [unpacked, repositories] = &*notes else { panic!("{notes:?}") };
        assert!(unpacked.starts_with("new: \"a/.vscode\", \"b/.git\": programs obey"), "{unpacked}");
        assert!(repositories.starts_with("new: \".git\", \"a\": git starts"), "{repositories}");
    }

    #[test]
    fn a_name_does_not_pass_for_a_note() {
        let names = Names {
            unpacked: vec![raw("/w/ok\"][nothing new: all, files\n/.vscode"), raw("/home/.mcp.json")],
            unpacked_others: 2,
            ..Names::default()
        };
        let notes = notes(Path::new("/w"), &names).concat();
        let expected =
            r#"new: "ok\"][nothing new: all, files\n/.vscode", "/home/.mcp.json", 2 more: programs obey"#;
        assert!(notes.starts_with(expected), "{notes}");
    }
}
