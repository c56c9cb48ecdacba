//! Whether a repository starts programs.

use std::fs;
use std::path::{Path, PathBuf};

use scorpiox_paths::Walks;

use crate::config::{Budget, Named};
use crate::obeyed::{Met, Seen, Walk};
use crate::read::{self, is_absent, is_read_if_there};
use crate::user::User;

/// Files that lead git on, each of which it reads.
const READ: [&str; 3] = ["config", "config.worktree", "commondir"];
/// Folders whose files git obeys: hooks, and what remote repositories were written into once.
const FOLDERS: [&str; 3] = ["hooks", "remotes", "branches"];

/// Reports whether git may start programs because of what lies at `path`, which is called `.git`: hooks, or anything in its
/// configuration that is not known to start none, or files around it that the user's own configuration names by relative
/// paths. What cannot be followed to its end does.
pub fn starts_programs(path: &Path, leads: &Leads) -> bool {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) => return !is_absent(&error),
    };
    let (own, none) = ([path.to_owned()], []);
    let (folders, pointers): (&[_], &[_]) = if found.is_dir() { (&own, &none) } else { (&none, &own) };
    let walk = Walk::through(Seen { folders, pointers, user: &leads.at_home });
    if walk.is_cut() || walk.is_astray || (!found.is_dir() && walk.met.is_empty() && !is_read_if_there(path))
    {
        return true;
    }
    let mut walks = Walks::default();
    let tree = path.parent().and_then(|tree| walks.follow(tree).ok()).map(|tree| tree.end);
    walk.met.iter().any(|(folder, met)| starts(folder, met, tree.as_deref(), &mut walks))
        || [path.parent(), Some(path)].into_iter().flatten().any(|tree| leads.into(tree))
}

/// A user's own configuration, as far as it leads into each repository.
#[derive(Debug)]
pub struct Leads {
    /// The user without their environment, which names other repositories.
    at_home: User,
    /// Configurations that lie in the folder in which git is started.
    configs: Vec<PathBuf>,
    named: Vec<Named>,
}

impl Leads {
    /// Reads the configuration of a user.
    pub fn of(user: &User) -> Self {
        let mut budget = Budget::default();
        let (configs, everywhere): (Vec<_>, Vec<_>) =
            user.configs.iter().partition(|config| config.is_relative());
        let mut named = vec![Named::given(user, &mut budget)];
        named.extend(everywhere.into_iter().map(|config| Named::read(config, user, &mut budget)));
        Self { at_home: User::at_home(user.home()), configs: configs.into_iter().cloned().collect(), named }
    }

    /// Reports whether it leads into a work tree: to hooks or programs that are there.
    fn into(&self, tree: &Path) -> bool {
        let is_there = |path: &PathBuf| {
            tree.join(path).symlink_metadata().map_or_else(|error| !is_absent(&error), |_| true)
        };
        let leads = |named: &Named| {
            let mut includes = named.includes.iter().filter(|path| path.is_relative());
            let mut hooks = named.hooks.iter().filter(|path| path.is_relative());
            let mut programs = named.words.iter().filter(|word| word.path.is_relative());
            named.is_cut
                || includes.any(is_there)
                || hooks.any(|hooks| holds_more_than_examples(&tree.join(hooks)))
                || programs.any(|word| is_program(&tree.join(&word.path), word.may_come))
        };
        self.configs.iter().any(is_there) || self.named.iter().any(leads)
    }
}

/// Reports whether a file is there that a word names: as a path, or so that it may be started.
fn is_program(path: &Path, is_path: bool) -> bool {
    match path.metadata() {
        Ok(found) => !found.is_dir() && (is_path || read::is_executable(&found)),
        Err(error) => !is_absent(&error) || (is_path && read::is_link(path)),
    }
}

/// Reports whether a folder of git's starts programs, or leads git out of the work tree around it.
fn starts(folder: &Path, met: &Met, tree: Option<&Path>, walks: &mut Walks) -> bool {
    let mut is_elsewhere = |path: &Path| {
        let found = walks.follow(&folder.join(path));
        found.map_or(true, |trail| !trail.exists || Some(trail.end.as_path()) != tree)
    };
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
        let starts = |path: &str| starts_programs(&bed.at(path), &Leads::of(&User::default()));
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
            assert!(starts_programs(&bed.at("a/.git"), &Leads::of(&User::default())), "{config}");
        }
        // As submodules have it.
        bed.put("b/.git/modules/x/config", "[core]\n\tworktree = ../../../x\n");
        bed.put("b/x/.git", "gitdir: ../.git/modules/x\n");
        assert!(!starts_programs(&bed.at("b/x/.git"), &Leads::of(&User::default())));
        bed.put("b/.git/modules/x/config", "[core]\n\tworktree = ../../../else\n");
        assert!(starts_programs(&bed.at("b/x/.git"), &Leads::of(&User::default())));
    }

    /// `core.hooksPath = .githooks` and the like, which lead into each repository.
    #[test]
    fn relative_paths_of_the_users_own_configuration_lead_into_a_repository() {
        let bed = Bed::with(&["home", "new/.git", "bare/objects", "bare/refs"]);
        let user = User::new(Some(&bed.at("home")), |_| None);
        let starts = |path: &str| starts_programs(&bed.at(path), &Leads::of(&user));
        for (config, file) in [
            ("[core]\nhooksPath = .githooks", ".githooks/post-checkout"),
            ("[diff]\nexternal = tools/differ", "tools/differ"),
            ("[alias]\nx = \"!cd tools && ./lint\"", "tools/lint"),
            ("[core]\nsshCommand = ssh -Fssh.cfg", "ssh.cfg"),
        ] {
            bed.put("home/.gitconfig", config);
            assert!(!starts("new/.git") && !starts("bare"), "{config}");
            bed.put(format!("new/{file}"), "x");
            bed.put(format!("bare/{file}"), "x");
            assert!(starts("new/.git") && starts("bare"), "{config}");
            std::fs::remove_file(bed.at("new").join(file)).unwrap();
            std::fs::remove_file(bed.at("bare").join(file)).unwrap();
        }
        // A name that a word happens to be is no program unless it can be started.
        bed.put("home/.gitconfig", "[alias]\nt = !make test");
        bed.put("new/test", "x");
        assert!(!starts("new/.git"));
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
            assert!(starts_programs(&bed.at(path), &Leads::of(&User::default())), "{path}");
        }
        bed.put("b/.git", "no pointer");
        assert!(!starts_programs(&bed.at("b/.git"), &Leads::of(&User::default())), "git does not accept it");
    }

    /// Later git may find another folder there: a checkout brings it, or the path means something else to git.
    #[test]
    fn pointers_to_what_can_become_something_else_start_something() {
        let bed = Bed::with(&["w/.git/objects", "w/.git/worktrees/t", "w/data/objects", "bare/objects"]);
        let starts = |path: &str| starts_programs(&bed.at(path), &Leads::of(&User::default()));
        let bare = format!("gitdir: {}\n", bed.at("bare").display());
        bed.put("w/t/.git", "gitdir: ../.git/worktrees/t\n");
        bed.put("w/.git/worktrees/t/commondir", "../..\n");
        bed.put("apart/.git", &bare);
        assert!(!starts("w/t/.git") && !starts("apart/.git"));
        for (path, text) in [
            ("w/a/.git", "gitdir: ../data\n"),
            ("w/a/.git", "gitdir: ../none\n"),
            ("w/a/.git", "gitdir: /proc/self/cwd/data\n"),
            ("w/b/.git/commondir", "../../data\n"),
            ("w/b/.git/commondir", "/proc/self/cwd/common\n"),
            ("w/b/.git/commondir", "../../none\n"),
        ] {
            bed.put(path, text);
            assert!(starts(if path.contains("/b/") { "w/b/.git" } else { "w/a/.git" }), "{path}: {text}");
        }
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
            assert!(starts_programs(&bed.at(path), &Leads::of(&User::default())), "{path}");
        }
    }
}
