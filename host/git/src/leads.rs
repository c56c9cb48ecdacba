//! Paths in a user's own configuration that are relative to the work tree, and therefore lead into every
//! repository.
//!
//! `core.hooksPath = .githooks` applies in every repository, including those created later. Such names
//! therefore count everywhere, like those of other programs.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::config::{Budget, Named, NamedWord};
use crate::names::HOOKS;
use crate::read::{self, is_absent};
use crate::starts::holds_more_than_examples;
use crate::user::User;

/// Maximum number of names from a configuration. Each is compared with every name that commands create;
/// typical configurations have a few.
const MAX_NAMES: usize = 1_000;

/// Configuration of a user.
#[derive(Debug)]
pub struct Leads {
    /// The user without the environment, which could name other repositories.
    pub(crate) at_home: User,
    /// Configurations relative to the folder in which git is started.
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

    /// Returns the names that git obeys in each work tree because of the configuration, in the form that the
    /// guard expects: plain names, and names in folders (`a/b`). `None` if not all of them are known.
    pub fn names(&self) -> Option<Vec<String>> {
        let mut names = BTreeSet::new();
        names.extend(self.configs.iter().filter_map(|config| name_of(config)));
        for named in &self.named {
            if named.is_cut {
                return None;
            }
            names.extend(named.includes.iter().filter_map(|path| name_of(path)));
            named.hooks.iter().filter(|path| path.is_relative()).for_each(|path| add_hooks(path, &mut names));
            let words = named.words.iter().filter(|word| is_led_to(word) && !word.is_alias);
            names.extend(words.filter(|word| !is_pattern(&word.path)).filter_map(|word| name_of(&word.path)));
        }
        (names.len() <= MAX_NAMES).then(|| names.into_iter().collect())
    }

    /// Returns `true` if the configuration leads into a work tree: to existing hooks or programs, or through
    /// a link to a place where they may appear.
    pub(crate) fn into(&self, tree: &Path) -> bool {
        let is_there = |path: &PathBuf| {
            tree.join(path).symlink_metadata().map_or_else(|error| !is_absent(&error), |_| true)
                || has_link(tree, path)
        };
        let leads = |named: &Named| {
            let mut includes = named.includes.iter().filter(|path| path.is_relative());
            let mut hooks = named.hooks.iter().filter(|path| path.is_relative());
            let mut programs = named.words.iter().filter(|word| word.path.is_relative());
            named.is_cut
                || includes.any(is_there)
                || hooks.any(|hooks| holds_more_than_examples(&tree.join(hooks)) || has_link(tree, hooks))
                // Behind a link, the answer would tell what exists elsewhere.
                || programs.any(|word| has_link(tree, &word.path) || is_program(&tree.join(&word.path), word.may_come))
        };
        self.configs.iter().any(is_there) || self.named.iter().any(leads)
    }
}

/// Returns `true` if a word leads into each work tree. `less -FX` does not lead to a file `X`.
fn is_led_to(word: &NamedWord) -> bool {
    let is_plain = word.path.components().count() < 2;
    let is_option = word.path.as_os_str().as_encoded_bytes().starts_with(b"-");
    word.path.is_relative() && word.may_come && !(is_plain && (word.is_loose || is_option))
}

/// Returns `true` if a shell expands the word as a pattern, which matches only existing files.
fn is_pattern(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// Adds a hook folder. If it is the work tree itself, each hook name is added. A generated folder, as created
/// by husky, runs the scripts in its parent folder, so that is added too.
fn add_hooks(path: &Path, names: &mut BTreeSet<String>) {
    match name_of(path) {
        None => names.extend(HOOKS.map(str::to_owned)),
        Some(name) => {
            names.extend(name.strip_suffix("/_").map(str::to_owned));
            names.insert(name);
        }
    }
}

/// Converts a relative path to a name in folders. `..` removes the preceding folder, because any name could
/// precede it. `None` if nothing remains.
fn name_of(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy()),
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    // Wildcards are only supported in plain names.
    let first = if parts.iter().any(|part| part.contains('*')) { parts.len().saturating_sub(1) } else { 0 };
    (!parts.is_empty()).then(|| parts[first..].join("/"))
}

/// Returns `true` if a component of a path in a work tree is a link, or if this cannot be determined.
fn has_link(tree: &Path, path: &Path) -> bool {
    let mut at = tree.to_owned();
    path.components().any(|part| {
        at.push(part);
        at.symlink_metadata().map_or_else(|error| !is_absent(&error), |found| found.is_symlink())
    })
}

/// Returns `true` if a word names an existing file: any file if the word is a path, otherwise an executable
/// one.
fn is_program(path: &Path, is_path: bool) -> bool {
    match path.metadata() {
        Ok(found) => !found.is_dir() && (is_path || read::is_executable(&found)),
        Err(error) => !is_absent(&error) || (is_path && read::is_link(path)),
    }
}

#[cfg(test)]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;
    use crate::STARTS;

    fn starts_programs(path: &Path, leads: &Leads) -> bool {
        crate::starts_programs(path, leads, &|_| true)
    }

    /// `core.hooksPath = .githooks` and similar entries lead into each repository.
    #[test]
    fn relative_paths_of_the_users_own_configuration_lead_into_a_repository() {
        let _none_starts = STARTS.read().unwrap();
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
            for top in ["new", "bare"] {
                let file = bed.at(top).join(file);
                std::fs::remove_file(&file).unwrap();
                // An unknown folder in a git directory counts by itself. That of a file at the top stays.
                let _ = std::fs::remove_dir(file.parent().unwrap());
            }
        }
        // A file whose name equals a word is a program only if it is executable.
        bed.put("home/.gitconfig", "[alias]\nt = !make test");
        bed.put("new/test", "x");
        assert!(!starts("new/.git"));
    }

    #[test]
    fn names_are_those_that_lead_into_each_work_tree() {
        let _none_starts = STARTS.read().unwrap();
        let bed = Bed::with(&["home"]);
        let user = User::new(Some(&bed.at("home")), |_| None);
        let names = |config: &str| {
            bed.put("home/.gitconfig", config);
            Leads::of(&user).names()
        };
        let only = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        for (config, expected) in [
            ("[core]\nhooksPath = .githooks", &[".githooks"][..]),
            ("[core]\nhooksPath = ./tools/../a/git//hooks/", &["a/git/hooks"]),
            ("[core]\nhooksPath = ../hooks", &["hooks"]),
            ("[core]\nhooksPath = .husky/_", &[".husky", ".husky/_"]),
            ("[core]\nhooksPath = ~/hooks\n[include]\npath = more", &[]),
            // A path may contain blanks.
            ("[diff]\nexternal = tools/differ -x", &["tools/differ", "tools/differ -x"]),
            ("[core]\nsshCommand = ssh -Fssh.cfg", &["ssh.cfg"]),
            ("[core]\nfsmonitor = ./fsm", &["fsm"]),
            ("[core]\nfsmonitor = timeout 5 tools/fsm", &["timeout 5 tools/fsm", "tools/fsm"]),
            ("[core]\nfsmonitor = tools/*/f*", &[]),
            // Programs of aliases run only when the user types the alias. Folders and patterns are not
            // programs.
            ("[alias]\nx = !tools/lint\ny = !rm -rf build/*\nz = !make -C web/ui", &[]),
            (
                "[diff]\nexternal = cd app/src && ./show && cat src/*.c",
                &["app/src/cat", "app/src/show", "show"],
            ),
            ("[core]\npager = less -FX\neditor = emacsclient -c -a emacs\n[pager]\nlog = less -FRX", &[]),
            ("[core]\npager = tools/page -FX", &["tools/page", "tools/page -FX"]),
            ("[user]\nname = a/b", &[]),
        ] {
            assert_eq!(names(config), only(expected), "{config}");
        }
        for path in [".", "a/.."] {
            let names = names(&format!("[core]\nhooksPath = {path}")).unwrap();
            assert!(names.iter().any(|name| name == "pre-commit") && names.len() == HOOKS.len(), "{path}");
        }
        // If not all names are known, none is returned.
        assert_eq!(names("[core]\nhooksPath = ~nobody-has-this-name/x"), None);
        let many: Vec<_> = (0..=MAX_NAMES).map(|at| format!("[x]\ny = a/{at}\n")).collect();
        assert_eq!(names(&many.concat()), None);
        let given = User::new(None, |name| match name {
            "GIT_CONFIG_GLOBAL" => Some("mine/config".into()),
            "GIT_SSH_COMMAND" => Some("tools/ssh -v".into()),
            _ => None,
        });
        assert_eq!(Leads::of(&given).names(), only(&["mine/config", "tools/ssh", "tools/ssh -v"]));
    }

    /// The link's target can be filled under another name.
    #[cfg(unix)]
    #[test]
    fn a_link_on_the_way_leads_into_a_repository_whatever_is_there() {
        let _none_starts = STARTS.read().unwrap();
        let bed = Bed::with(&["home", "a/.git", "b/.git", "c/.git", "empty", "c/tools"]);
        bed.put("home/.gitconfig", "[core]\nhooksPath = tools/hooks");
        let leads = Leads::of(&User::new(Some(&bed.at("home")), |_| None));
        bed.link("../empty", "a/tools");
        bed.link("../../empty", "b/tools/hooks");
        assert!(starts_programs(&bed.at("a/.git"), &leads) && starts_programs(&bed.at("b/.git"), &leads));
        assert!(!starts_programs(&bed.at("c/.git"), &leads));
    }

    /// A command can make a link of the name of a word, to any file.
    #[cfg(unix)]
    #[test]
    fn a_link_named_like_a_word_counts_whatever_it_leads_to() {
        let _none_starts = STARTS.read().unwrap();
        let bed = Bed::with(&["home", "a/.git", "b/.git", "c/.git"]);
        bed.put("home/.gitconfig", "[core]\npager = less -FX");
        let leads = Leads::of(&User::new(Some(&bed.at("home")), |_| None));
        bed.link("/bin/sh", "a/less");
        bed.link("/none", "b/less");
        bed.put("c/less", "no program");
        assert!(starts_programs(&bed.at("a/.git"), &leads) && starts_programs(&bed.at("b/.git"), &leads));
        assert!(!starts_programs(&bed.at("c/.git"), &leads));
    }
}
