//! A user's own configuration, as far as it leads into each repository: by paths that are relative to the work tree.
//!
//! `core.hooksPath = .githooks` holds in every repository, also in one that is made later. So such names count wherever they
//! are, as those of other programs do.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::config::{Budget, Named, NamedWord};
use crate::names::HOOKS;
use crate::read::{self, is_absent};
use crate::starts::holds_more_than_examples;
use crate::user::User;

/// Most names that a configuration may lead to: each is compared with what commands make. Configurations of people have a few.
const MAX_NAMES: usize = 1_000;

/// The configuration of a user.
#[derive(Debug)]
pub struct Leads {
    /// The user without their environment, which names other repositories.
    pub(crate) at_home: User,
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

    /// The names that git obeys in each work tree because of it, as a guard takes them: plain ones, and ones in folders
    /// (`a/b`). None where they are not all known.
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

    /// Reports whether it leads into a work tree: to hooks or programs that are there, or through a link to where they may come.
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
                || programs.any(|word| {
                    is_program(&tree.join(&word.path), word.may_come)
                        || (is_led_to(word) && has_link(tree, &word.path))
                })
        };
        self.configs.iter().any(is_there) || self.named.iter().any(leads)
    }
}

/// Reports whether a word leads into each work tree. `less -FX` does not lead to a file `X`.
fn is_led_to(word: &NamedWord) -> bool {
    let is_plain = word.path.components().count() < 2;
    let is_option = word.path.as_os_str().as_encoded_bytes().starts_with(b"-");
    word.path.is_relative() && word.may_come && !(is_plain && (word.is_loose || is_option))
}

/// Reports whether a shell takes a word for a pattern, which leads to what is there.
fn is_pattern(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte))
}

/// A folder of hooks. In the work tree itself each hook has its own name; of a generated one, as husky makes it, the scripts
/// beside it are run.
fn add_hooks(path: &Path, names: &mut BTreeSet<String>) {
    match name_of(path) {
        None => names.extend(HOOKS.map(str::to_owned)),
        Some(name) => {
            names.extend(name.strip_suffix("/_").map(str::to_owned));
            names.insert(name);
        }
    }
}

/// A relative path, as a name in folders. `..` leads to a folder of any name; none where nothing is left.
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
    // A sign of patterns stands in plain names alone.
    let first = if parts.iter().any(|part| part.contains('*')) { parts.len().saturating_sub(1) } else { 0 };
    (!parts.is_empty()).then(|| parts[first..].join("/"))
}

/// Reports whether one of the parts of a path in a work tree is a link, or nobody can say.
fn has_link(tree: &Path, path: &Path) -> bool {
    let mut at = tree.to_owned();
    path.components().any(|part| {
        at.push(part);
        at.symlink_metadata().map_or_else(|error| !is_absent(&error), |found| found.is_symlink())
    })
}

/// Reports whether a file is there that a word names: as a path, or so that it may be started.
fn is_program(path: &Path, is_path: bool) -> bool {
    match path.metadata() {
        Ok(found) => !found.is_dir() && (is_path || read::is_executable(&found)),
        Err(error) => !is_absent(&error) || (is_path && read::is_link(path)),
    }
}

#[cfg(test)]
mod tests {
    use scorpiox_bed::Bed;

    use super::*;
    use crate::STARTS;
    use crate::starts_programs;

    /// `core.hooksPath = .githooks` and the like, which lead into each repository.
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
            std::fs::remove_file(bed.at("new").join(file)).unwrap();
            std::fs::remove_file(bed.at("bare").join(file)).unwrap();
        }
        // A name that a word happens to be is no program unless it can be started.
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
            // A path may have blanks.
            ("[diff]\nexternal = tools/differ -x", &["tools/differ", "tools/differ -x"]),
            ("[core]\nsshCommand = ssh -Fssh.cfg", &["ssh.cfg"]),
            ("[core]\nfsmonitor = ./fsm", &["fsm"]),
            ("[core]\nfsmonitor = tools/*/f*", &[]),
            // The programs of aliases run when somebody types those; folders and patterns are no programs.
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
        // Where not all is known, nothing is.
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

    /// The link's target can be filled by another name.
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
}
