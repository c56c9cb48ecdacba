//! Whether a repository starts programs.

use std::fs;
use std::path::Path;

use crate::obeyed::{Met, Seen, Walk};
use crate::read::{self, is_absent, is_read_if_there};
use crate::user::User;

/// Files that lead git on, each of which it reads.
const READ: [&str; 3] = ["config", "config.worktree", "commondir"];
/// Folders whose files git obeys: hooks, and what remote repositories were written into once.
const FOLDERS: [&str; 3] = ["hooks", "remotes", "branches"];

/// Reports whether git may start programs because of what lies at `path`, which is called `.git`: hooks, or anything in its
/// configuration that is not known to start none. What cannot be followed to its end does.
pub fn starts_programs(path: &Path, home: Option<&Path>) -> bool {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) => return !is_absent(&error),
    };
    let (own, none) = ([path.to_owned()], []);
    let (folders, pointers): (&[_], &[_]) = if found.is_dir() { (&own, &none) } else { (&none, &own) };
    let user = User::at_home(home);
    let walk = Walk::through(Seen { folders, pointers, user: &user });
    if walk.is_cut() || (!found.is_dir() && walk.met.is_empty() && !is_read_if_there(path)) {
        return true;
    }
    let tree = path.parent().and_then(|tree| dunce::canonicalize(tree).ok());
    walk.met.iter().any(|(folder, met)| starts(folder, met, tree.as_deref()))
}

/// Reports whether a folder of git's starts programs, or leads git out of the work tree around it.
fn starts(folder: &Path, met: &Met, tree: Option<&Path>) -> bool {
    let is_elsewhere = |path: &Path| dunce::canonicalize(folder.join(path)).ok().as_deref() != tree;
    met.named
        .iter()
        .any(|named| named.starts || named.is_cut || named.work_trees.iter().any(|path| is_elsewhere(path)))
        || READ.iter().any(|name| !is_read_if_there(&folder.join(name)))
        || FOLDERS.iter().any(|name| holds_more_than_examples(&folder.join(name)))
}

fn holds_more_than_examples(folder: &Path) -> bool {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return !is_absent(&error) || read::is_link(folder),
    };
    entries.flatten().any(|entry| !entry.file_name().as_encoded_bytes().ends_with(b".sample"))
}

#[cfg(test)]
mod tests {
    use scorpiox_bed::Bed;

    use super::*;

    #[test]
    fn what_git_makes_starts_nothing_and_hooks_and_commands_do() {
        let bed = Bed::with(&["a/.git/hooks", "a/sub"]);
        let starts = |path: &str| starts_programs(&bed.at(path), None);
        let plain = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x.git\n\
                     [user]\n\tname = A\n[pager]\n\tlog = false\n";
        bed.put("a/.git/config", plain);
        bed.put("a/.git/hooks/pre-commit.sample", "");
        assert!(!starts("a/.git"));
        bed.put("a/sub/.git", "gitdir: ../.git\n");
        assert!(!starts("a/sub/.git") && !starts("none/.git"));
        for command in
            ["[core]\nfsmonitor = \"echo x > y; false\"", "[alias]\ng = !x", "[core]\nhooksPath = h"]
        {
            bed.put("a/.git/config", &format!("{plain}{command}\n"));
            assert!(starts("a/.git") && starts("a/sub/.git"), "{command}");
        }
        bed.put("a/.git/config", plain);
        bed.put("a/.git/hooks/pre-commit", "");
        assert!(starts("a/.git") && starts("a/sub/.git"));
    }

    #[test]
    fn what_is_not_known_to_start_nothing_starts_something() {
        let bed = Bed::with(&["a/.git", "b/.git", "b/else"]);
        for config in [
            "# a\\\n[core]\nfsmonitor = x",
            "[a] [core] fsmonitor = x",
            "[include]\npath = more",
            "[remote \"origin\"]\nurl = ext::x",
            "[core \"fsmonitor\0\"]\nb = c",
            "[core]\nworktree = ../../b",
            "[not-yet]\nknown = 1",
            "[core",
        ] {
            bed.put("a/.git/config", config);
            assert!(starts_programs(&bed.at("a/.git"), None), "{config}");
        }
        // As submodules have it.
        bed.put("b/.git/modules/x/config", "[core]\n\tworktree = ../../../x\n");
        bed.put("b/x/.git", "gitdir: ../.git/modules/x\n");
        assert!(!starts_programs(&bed.at("b/x/.git"), None));
        bed.put("b/.git/modules/x/config", "[core]\n\tworktree = ../../../else\n");
        assert!(starts_programs(&bed.at("b/x/.git"), None));
    }

    #[test]
    fn files_that_lead_git_are_read_to_where_git_reads_them() {
        let bed = Bed::with(&["a", "b", "c/.git"]);
        for folder in ["a/ evil", "b/evil", "d"] {
            bed.put(format!("{folder}/config"), "[core]\nfsmonitor = x\n");
        }
        for (path, text) in [
            ("a/.git", "gitdir:  evil\n"),
            ("b/.git", "gitdir: evil\0more"),
            ("c/.git/commondir", "../../d\r\n\n"),
        ] {
            bed.put(path, text);
        }
        for path in ["a/.git", "b/.git", "c/.git"] {
            assert!(starts_programs(&bed.at(path), None), "{path}");
        }
        bed.put("b/.git", "no pointer");
        assert!(!starts_programs(&bed.at("b/.git"), None), "git does not accept it");
    }

    #[cfg(unix)]
    #[test]
    fn what_leads_nowhere_yet_may_lead_somewhere() {
        let bed = Bed::with(&["a/.git", "b/.git", "c", "d/.git/remotes", "e/.git/config"]);
        bed.link("../../none", "a/.git/config");
        bed.link("../../none", "b/.git/hooks");
        bed.link("none", "c/.git");
        bed.put("d/.git/remotes/origin", "URL: ext::x\n");
        for path in ["a/.git", "b/.git", "c/.git", "d/.git", "e/.git"] {
            assert!(starts_programs(&bed.at(path), None), "{path}");
        }
    }
}
