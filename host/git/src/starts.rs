//! Decides if a repository can start programs.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use scorpiox_fs::Walks;

use crate::leads::Leads;
use crate::names::{WRITTEN, WRITTEN_AND_USUAL};
use crate::obeyed::{Met, Seen, Walk, is_dot_git};
use crate::prepared::{Configured, configured_by};
use crate::read::{self, is_absent, is_read_if_there};
use crate::shared::Marks;
use crate::signs::{is_of_git, is_without_signs};
use crate::traps::{Traps, traps};

/// Files that lead git to other files; git reads each of them.
const READ: [&str; 3] = ["config", "config.worktree", "commondir"];
/// Maximum time of the search for traps. Commands wait for it.
const TRAP_TIME: Duration = Duration::from_millis(500);
/// Maximum number of entries below `logs` to look at.
const MAX_LOOKS: usize = 4096;
/// Folder in a git directory with those of its submodules.
const MODULES: &str = "modules";
/// Folders whose files git obeys: hooks, and legacy definitions of remotes.
const FOLDERS: [&str; 3] = ["hooks", "remotes", "branches"];

/// Returns `true` if git may start programs because of `path`, which is named `.git`. Reasons are hooks,
/// configuration entries not known to be harmless, [`traps`], and files around it that the user's own configuration
/// names by relative paths. Paths that cannot be followed to their end count, as do files that can be changed
/// under another name, and those that changed meanwhile.
///
/// `sees` returns `true` for paths that commands see. A repository that leads elsewhere always counts, whatever is
/// there: otherwise the answer would tell a command what exists outside of its folders.
///
/// The caller keeps everything in place. Other processes may still write to files, and create and remove
/// some.
pub fn starts_programs(path: &Path, leads: &Leads, sees: &dyn Fn(&Path) -> bool) -> bool {
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) => return !is_absent(&error),
    };
    let (own, none) = ([path.to_owned()], []);
    let (folders, pointers): (&[_], &[_]) = if found.is_dir() { (&own, &none) } else { (&none, &own) };
    let begin = Seen { folders, pointers, user: &leads.at_home };
    // This walk only says which folders to watch.
    let first = Walk::through(begin);
    if first.is_cut() || first.is_astray || !first.met.keys().all(|folder| sees(folder)) {
        return true;
    }
    let watched: Vec<_> = first.met.into_keys().collect();
    let Some(before) = Marks::settled(path, &watched) else { return true };
    let walk = Walk::through(begin);
    let is_led_nowhere = || !found.is_dir() && walk.met.is_empty() && !is_read_if_there(path);
    let until = Instant::now() + TRAP_TIME;
    let has_traps = |folder: &PathBuf| traps(folder, None, until) != Traps::default();
    walk.is_cut()
        || walk.is_astray
        || watched.iter().any(has_traps)
        || is_led_nowhere()
        || any_starts(path, &walk, leads, sees)
        || !walk.met.keys().eq(&watched)
        || Marks::of(path, &watched) != Some(before)
}

/// Returns `true` if git starts programs because of the content of the git directories that it is led to from
/// `path`, or of the work tree around it.
fn any_starts(path: &Path, walk: &Walk<'_>, leads: &Leads, sees: &dyn Fn(&Path) -> bool) -> bool {
    let mut walks = Walks::default();
    let outer = path.ancestors().skip(1).find(|above| is_dot_git(above));
    let outer = outer.filter(|outer| path.starts_with(outer.join(MODULES)));
    let tree = outer.unwrap_or(path).parent().and_then(|tree| walks.follow(tree).ok()).map(|tree| tree.end);
    let trees = Trees { tree: tree.as_deref(), is_module: outer.is_some(), sees };
    walk.met.iter().any(|(folder, met)| {
        // A folder named `.git` is protected regardless of its content.
        (!is_dot_git(folder) && folder != path && !is_of_git(folder))
            || starts(folder, met, trees, &mut walks)
    }) || [path.parent(), Some(path)].into_iter().flatten().any(|tree| leads.into(tree))
}

/// Work trees that a git directory may have.
#[derive(Clone, Copy)]
struct Trees<'a> {
    /// Returns `true` for a path that commands see.
    sees: &'a dyn Fn(&Path) -> bool,
    /// Work tree around the repository.
    tree: Option<&'a Path>,
    /// `true` for the git directory of a submodule, which may have any folder in that work tree.
    is_module: bool,
}

impl Trees<'_> {
    fn hold(self, end: &Path) -> bool {
        (self.sees)(end)
            && self.tree.is_some_and(|tree| end == tree || self.is_module && end.starts_with(tree))
    }

    /// Returns `true` if a path from a git directory leaves only folders by `..` that commands see. Links among the others
    /// would decide where it ends.
    fn see(self, left: &[PathBuf]) -> bool {
        left.iter().all(|left| (self.sees)(left))
    }
}

/// Returns `true` if a git directory starts programs, or leads git out of the surrounding work tree or
/// through a link, which could be replaced by another one.
fn starts(folder: &Path, met: &Met, trees: Trees<'_>, walks: &mut Walks) -> bool {
    let mut is_elsewhere = |path: &Path| {
        let found = walks.follow(&folder.join(path));
        found.map_or(true, |trail| {
            !trail.exists || !trail.links.is_empty() || !trees.hold(&trail.end) || !trees.see(&trail.left)
        })
    };
    // Git reads nothing of some configurations, as those of other programs.
    let is_foreign = !is_dot_git(folder)
        && is_without_signs(folder)
        && !matches!(configured_by(&folder.join("config")), Configured::Starts { .. });
    // The first is `config`.
    let mut named_starts = met.named.iter().enumerate().map(|(number, named)| {
        (named.starts && !(is_foreign && number == 0))
            || named.is_cut
            || named.work_trees.iter().any(|path| is_elsewhere(path))
    });
    named_starts.any(|starts| starts)
        || READ.iter().any(|name| !is_read_if_there(&folder.join(name)))
        || WRITTEN.iter().chain(&WRITTEN_AND_USUAL).any(|name| leads_away(&folder.join(name)))
        || may_hold_links(&folder.join("logs"), &mut { MAX_LOOKS })
        || FOLDERS.iter().any(|name| holds_more_than_examples(&folder.join(name)))
}

/// Returns `true` if git would write to another file than the one at `path`: it is a link, or a pipe.
fn leads_away(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(found) => !found.is_dir() && !found.is_file(),
        Err(error) => !is_absent(&error),
    }
}

/// Returns `true` if a folder has a link or a pipe at any depth, or cannot be looked at completely. `looks` is the number
/// of entries to look at.
fn may_hold_links(folder: &Path, looks: &mut usize) -> bool {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return !is_absent(&error) && error.kind() != ErrorKind::NotADirectory,
    };
    for entry in entries {
        let (Some(left), Ok(entry)) = (looks.checked_sub(1), entry) else { return true };
        *looks = left;
        let is_plain = match entry.file_type() {
            Ok(kind) if kind.is_dir() => !may_hold_links(&entry.path(), looks),
            kind => kind.is_ok_and(|kind| kind.is_file()),
        };
        if !is_plain {
            return true;
        }
    }
    false
}

pub(crate) fn holds_more_than_examples(folder: &Path) -> bool {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return !is_absent(&error) || read::is_link(folder),
    };
    entries.flatten().any(|entry| !entry.file_name().as_encoded_bytes().ends_with(b".sample"))
}

#[cfg(test)]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;
    use crate::STARTS;
    use crate::User;

    fn starts_programs(path: &Path, leads: &Leads) -> bool {
        super::starts_programs(path, leads, &|_| true)
    }

    #[test]
    fn what_git_makes_starts_nothing_and_hooks_and_commands_do() {
        let _none_starts = STARTS.read().unwrap();
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
        let _none_starts = STARTS.read().unwrap();
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
        // Layout of submodules.
        bed.put("b/.git/modules/x/config", "[core]\n\tworktree = ../../../x\n");
        bed.put("b/x/.git", "gitdir: ../.git/modules/x\n");
        let starts = |path: &str| starts_programs(&bed.at(path), &Leads::of(&User::default()));
        for name in ["HEAD", "objects/x", "refs/x"] {
            bed.put(format!("b/.git/modules/x/{name}"), "");
        }
        assert!(!starts("b/x/.git") && !starts("b/.git/modules/x"));
        bed.put("b/.git/modules/x/config", "[core]\n\tworktree = ../../../else\n");
        assert!(starts("b/x/.git") && !starts("b/.git/modules/x"));
        bed.put("b/.git/modules/x/config", "[core]\n\tworktree = ../../../../a\n");
        assert!(starts("b/x/.git") && starts("b/.git/modules/x"));
    }

    /// Git would read nothing of the first, and all of the second once somebody makes a repository of the folder.
    #[test]
    fn a_configuration_beside_that_of_another_program_starts_something() {
        let _none_starts = STARTS.read().unwrap();
        let bed = Bed::with(&["store"]);
        let starts = || starts_programs(&bed.at("store"), &Leads::of(&User::default()));
        bed.put("store/config", "[core]\n    analytics = false\n[cache]\n    type = symlink\n");
        bed.put("store/config.worktree", "[core]\n\tbare = true\n");
        assert!(!starts());
        bed.put("store/config.worktree", "[core]\n\tfsmonitor = x\n");
        assert!(starts());
        bed.put("store/config", "[core]\n\tbare = true\n[extensions]\n\tworktreeConfig = true\n");
        assert!(starts());
    }

    #[test]
    fn files_that_lead_git_are_read_to_where_git_reads_them() {
        let _none_starts = STARTS.read().unwrap();
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

    /// Git may find another folder there later: a checkout may create it, or git may resolve the path
    /// differently.
    #[test]
    fn pointers_to_what_can_become_something_else_start_something() {
        let _none_starts = STARTS.read().unwrap();
        let bed = Bed::with(&[
            "w/.git/objects",
            "w/.git/worktrees/t",
            "w/data/objects",
            "bare/objects",
            "bare/refs",
        ]);
        let starts = |path: &str| starts_programs(&bed.at(path), &Leads::of(&User::default()));
        let bare = format!("gitdir: {}\n", bed.at("bare").display());
        bed.put("w/t/.git", "gitdir: ../.git/worktrees/t\n");
        bed.put("w/.git/worktrees/t/commondir", "../..\n");
        bed.put("apart/.git", &bare);
        assert!(!starts("w/t/.git") && !starts("apart/.git"));
        bed.folder("half/objects");
        for (path, text) in [
            // A folder that git does not accept is not protected.
            ("w/a/.git", "gitdir: ../../half\n"),
            ("w/a/.git", "gitdir: none/../../../bare\n"),
            ("w/b/.git/commondir", "../../../half\n"),
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

    /// Git writes through a link, into a file that may be outside of the folders of commands.
    #[cfg(unix)]
    #[test]
    fn a_link_that_git_writes_through_counts() {
        let _none_starts = STARTS.read().unwrap();
        for name in ["FETCH_HEAD", "packed-refs", "logs/HEAD", "logs/refs/heads/x", "index", "description"] {
            let bed = Bed::with(&["a/.git/objects", "a/.git/refs", "a/.git/logs/refs/heads"]);
            let starts = || starts_programs(&bed.at("a/.git"), &Leads::of(&User::default()));
            bed.put("a/.git/HEAD", "ref: refs/heads/main\n");
            assert!(!starts(), "{name}");
            bed.link("/else", format!("a/.git/{name}"));
            assert!(starts(), "{name}");
        }
    }

    /// The note would otherwise tell a command if a harmless repository is there.
    #[cfg(unix)]
    #[test]
    fn what_leads_out_of_sight_counts_whether_or_not_it_exists() {
        let _none_starts = STARTS.read().unwrap();
        let bed = Bed::with(&[
            "w/a",
            "w/.git/modules/x/objects",
            "w/.git/modules/x/refs",
            "w/x",
            "out/objects",
            "out/refs",
        ]);
        bed.put("out/HEAD", "ref: refs/heads/main\n");
        bed.put("w/.git/modules/x/HEAD", "ref: refs/heads/main\n");
        let (leads, inside) = (Leads::of(&User::default()), bed.at("w"));
        let starts =
            |path: &str| super::starts_programs(&bed.at(path), &leads, &|path| path.starts_with(&inside));
        for target in ["out", "none"] {
            for text in
                [format!("gitdir: ../../{target}\n"), format!("gitdir: {}\n", bed.at(target).display())]
            {
                bed.put("w/a/.git", &text);
                assert!(starts("w/a/.git"), "{text}");
            }
            bed.put("w/b/.git/commondir", &format!("../../../{target}\n"));
            assert!(starts("w/b/.git"), "{target}");
        }
        // A work tree on a way through folders outside.
        bed.put("w/x/.git", "gitdir: ../.git/modules/x\n");
        bed.put("w/.git/modules/x/config", "[core]\n\tworktree = ../../../x\n");
        assert!(!starts("w/x/.git"));
        for folder in ["out", "none"] {
            let way = format!("[core]\n\tworktree = {}/../w/x\n", bed.at(folder).display());
            bed.put("w/.git/modules/x/config", &way);
            assert!(starts("w/x/.git"), "{folder}");
        }
    }

    #[test]
    fn a_configuration_of_another_program_starts_nothing_until_git_accepts_it() {
        let _none_starts = STARTS.read().unwrap();
        let bed = Bed::with(&["a"]);
        let starts = || starts_programs(&bed.at("a"), &Leads::of(&User::default()));
        for (config, expected) in [
            ("[core]\n    remote = x\n['remote \"x\"']\n    url = s3://x\n", false),
            ("[database]\nhost = x\n", false),
            ("[include]\npath = more\n", true),
            ("[diff]\nexternal = x\n", true),
        ] {
            bed.put("a/config", config);
            assert_eq!(starts(), expected, "{config}");
        }
        // Git does not start in a repository with such a configuration, until somebody mends it.
        bed.put("a/config", "[core\n");
        bed.folder("a/refs");
        assert!(starts());
    }

    /// A running command could write to `notes` after the repository was checked.
    #[cfg(unix)]
    #[test]
    fn what_has_another_name_or_lies_behind_a_link_may_start_something() {
        let _none_starts = STARTS.read().unwrap();
        let names = [
            "HEAD",
            "config",
            "config.worktree",
            "description",
            "hooks/pre-commit.sample",
            "info/attributes",
            "objects/info/alternates",
            "objects/info/http-alternates",
            "modules/a/b/config",
            "worktrees/t/HEAD",
        ];
        for name in names {
            let bed = Bed::with(&["a/.git/refs", "a/.git/objects/pack", "empty"]);
            let starts = || starts_programs(&bed.at("a/.git"), &Leads::of(&User::default()));
            bed.put("a/.git/HEAD", "ref: refs/heads/main\n");
            bed.put("a/.git/objects/pack/a.pack", "");
            // Layout of clones.
            std::fs::hard_link(bed.at("a/.git/objects/pack/a.pack"), bed.at("a.pack")).unwrap();
            // After `git gc`.
            bed.put("a/.git/objects/info/packs", "P a.pack\n");
            std::fs::hard_link(bed.at("a/.git/objects/info/packs"), bed.at("packs")).unwrap();
            bed.put(format!("a/.git/{name}"), "");
            assert!(!starts(), "{name}");
            std::fs::hard_link(bed.at(format!("a/.git/{name}")), bed.at("notes")).unwrap();
            assert!(starts(), "{name} has two names");
            std::fs::remove_file(bed.at("notes")).unwrap();
            assert!(!starts(), "{name}");
            std::fs::rename(bed.at(format!("a/.git/{name}")), bed.at("notes")).unwrap();
            bed.link(bed.at("notes"), format!("a/.git/{name}"));
            assert!(starts(), "{name} is a link");
        }
        for folder in ["hooks", "info", "objects", "refs", "modules", "objects/info"] {
            let bed = Bed::with(&["a/.git/objects", "empty"]);
            let _ = std::fs::remove_dir(bed.at(format!("a/.git/{folder}")));
            bed.link(bed.at("empty"), format!("a/.git/{folder}"));
            let leads = Leads::of(&User::default());
            assert!(starts_programs(&bed.at("a/.git"), &leads), "{folder} is a link");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pointer_with_another_name_or_behind_a_link_may_lead_elsewhere() {
        let _none_starts = STARTS.read().unwrap();
        let bed = Bed::with(&["a/.git/objects", "b", "c", "way"]);
        let starts = |path: &str| starts_programs(&bed.at(path), &Leads::of(&User::default()));
        bed.put("b/.git", "gitdir: ../a/.git\n");
        assert!(!starts("b/.git"));
        std::fs::hard_link(bed.at("b/.git"), bed.at("notes")).unwrap();
        assert!(starts("b/.git"));
        bed.link("../a/.git", "c/.git");
        bed.link("../a", "way/a");
        bed.put("way/.git", "gitdir: a/.git\n");
        assert!(starts("c/.git") && starts("way/.git"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_somebody_can_write_to_may_start_something() {
        let _none_starts = STARTS.read().unwrap();
        let bed = Bed::with(&["a/.git/objects"]);
        let starts = || starts_programs(&bed.at("a/.git"), &Leads::of(&User::default()));
        bed.put("notes", "[core]\n");
        let writer = std::fs::File::options().write(true).open(bed.at("notes")).unwrap();
        std::fs::rename(bed.at("notes"), bed.at("a/.git/config")).unwrap();
        let reader = std::fs::File::open(bed.at("a/.git/config")).unwrap();
        assert!(starts());
        drop(writer);
        // A process started by another test may briefly hold a copy of the file.
        assert!((0..10_000).any(|_| !starts()), "who reads changes nothing");
        drop(reader);
    }

    /// Another command can write as soon as the file was read, and then close it or remove its other name.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_changes_while_it_is_looked_at_may_start_something() {
        use std::io::Write as _;
        use std::time::Duration;

        let _none_starts = STARTS.read().unwrap();
        let bed = Bed::with(&["a/.git/objects"]);
        let config = bed.at("a/.git/config");
        bed.put("a/.git/config", "");
        // They take time between the first look at the file and the last.
        for number in 0..500 {
            bed.put(format!("a/.git/{number}"), "");
        }
        for round in 0..30 {
            bed.put("a/.git/config", "[core]\n");
            if round % 2 == 0 {
                std::fs::hard_link(&config, bed.at("notes")).unwrap();
            }
            let mut writer = std::fs::File::options().write(true).open(&config).unwrap();
            let starts = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_micros(150 * round));
                    writer.write_all(b"[core]\n\tfsmonitor = x\n").unwrap();
                    drop(writer);
                    let _ = std::fs::remove_file(bed.at("notes"));
                });
                starts_programs(&bed.at("a/.git"), &Leads::of(&User::default()))
            });
            assert!(starts, "round {round}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_leads_nowhere_yet_may_lead_somewhere() {
        let _none_starts = STARTS.read().unwrap();
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
