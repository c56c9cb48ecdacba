//! Judges the configuration of a folder that is no repository yet.
//!
//! `git init` keeps an existing `config` and obeys it from then on. Until then, the folder may be any folder: many
//! programs have a `config` in this syntax. An entry therefore counts only if git, or a program that keeps its settings
//! in git's configuration, would read it. Git reads nothing of a configuration with a syntax error, and stops.

use std::path::Path;

use crate::harmless::is_harmless;
use crate::old_remotes::{has_starting_remote, remotes_change_elsewhere};
use crate::parse::{Entry, parse};
use crate::read;
use crate::shared::changes_elsewhere;
use crate::signs::has_core;

/// Maximum size of a configuration to judge, in bytes. A longer one counts as one that starts programs.
const MAX_BYTES: u64 = 1 << 20;

/// Sections that git reads, in lowercase, as `git help --config-sections-for-completion` lists them, with those of later
/// versions, and those of programs that read git's configuration. A section with `git` in its name counts, too.
const SECTIONS: [&str; 120] = [
    "absorb",
    "add",
    "advice",
    "alias",
    "am",
    "annex",
    "apply",
    "attr",
    "author",
    "bitmappseudomerge",
    "blame",
    "branch",
    "branchless",
    "browser",
    "bundle",
    "checkout",
    "clangformat",
    "clean",
    "clone",
    "cola",
    "color",
    "column",
    "commit",
    "commitgraph",
    "committer",
    "completion",
    "core",
    "credential",
    "credentialcache",
    "credentialstore",
    "delta",
    "diff",
    "difftool",
    "extensions",
    "fastimport",
    "feature",
    "fetch",
    "filter",
    "format",
    "fsck",
    "fsmonitor",
    "gc",
    "ghq",
    "gpg",
    "grep",
    "gui",
    "guitool",
    "help",
    "hook",
    "http",
    "hub",
    "i18n",
    "imap",
    "include",
    "includeif",
    "index",
    "init",
    "instaweb",
    "interactive",
    "lfs",
    "log",
    "lsrefs",
    "magit",
    "mailinfo",
    "mailmap",
    "maintenance",
    "man",
    "merge",
    "mergetool",
    "notes",
    "pack",
    "pager",
    "pretty",
    "promisor",
    "protocol",
    "pull",
    "push",
    "rebase",
    "receive",
    "reftable",
    "remote",
    "remotes",
    "repack",
    "rerere",
    "revert",
    "review",
    "safe",
    "secrets",
    "sendemail",
    "sendpack",
    "sequence",
    "showbranch",
    "showpatch",
    "sparse",
    "splitindex",
    "ssh",
    "stash",
    "status",
    "stgit",
    "submodule",
    "svn",
    "svn-remote",
    "sync",
    "tag",
    "tar",
    "tig",
    "trace2",
    "trailer",
    "transcrypt",
    "transfer",
    "uploadarchive",
    "uploadpack",
    "uploadpackfilter",
    "url",
    "user",
    "vcs",
    "versionsort",
    "web",
    "worktree",
    "zsh",
];
/// Keys of other programs in sections of git's name: those of DVC.
const OTHERS: [(&str, &str); 3] = [("core", "analytics"), ("core", "autostage"), ("core", "remote")];

/// Names of configurations in a git directory.
const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];

/// Meaning of a configuration for git, if its folder became a git directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Configured {
    /// Git reads nothing of it: it is no file, or has a syntax error, or entries of other programs alone.
    Nothing,
    /// It is harmless, and has the section that git writes into each repository's configuration.
    Repository,
    /// An entry may start a program or disable a check. `has_core` is `true` if it also has that section.
    Starts {
        /// `true` for the configuration of a git directory.
        has_core: bool,
    },
}

/// Judges the configurations of a folder that is no repository yet. Links are not followed: the answer would reveal the
/// content of files elsewhere.
///
/// Git reads `config.worktree` once `extensions.worktreeConfig` is set, which some of its commands do by themselves. No
/// other program has a file of this name.
pub fn configured(folder: &Path) -> Configured {
    match configured_by(&folder.join("config.worktree")) {
        Configured::Starts { .. } => Configured::Starts { has_core: true },
        Configured::Nothing | Configured::Repository => configured_by(&folder.join("config")),
    }
}

/// Returns `true` if git may start programs in a folder once somebody makes a repository of it, because of its
/// configurations and old remotes, or of their content later: another name leads to it, or a process has it open for
/// writing.
///
/// Commands that run meanwhile may write to the files, and remove their other names, but move nothing.
pub fn may_start_later(folder: &Path) -> bool {
    // Other names and writers are looked for first, since both can be gone after the last change.
    CONFIGURATIONS.iter().any(|name| changes_elsewhere(&folder.join(name)))
        || remotes_change_elsewhere(folder)
        || matches!(configured(folder), Configured::Starts { .. })
        || has_starting_remote(folder)
}

/// Judges a single configuration of such a folder. A file that cannot be read counts as one that starts programs: the
/// next command can restore its permissions.
pub(crate) fn configured_by(path: &Path) -> Configured {
    let text = match read::text_itself(path, MAX_BYTES) {
        Ok(None) => return Configured::Nothing,
        Ok(Some(text)) if !text.is_cut => text,
        Ok(Some(_)) | Err(_) => return Configured::Starts { has_core: true },
    };
    let parsed = parse(&text.bytes);
    if parsed.is_broken {
        return Configured::Nothing;
    }
    let has_core = has_core(&text.bytes);
    if parsed.entries.iter().any(|entry| is_of_git(entry) && !is_harmless(entry)) {
        Configured::Starts { has_core }
    } else if has_core {
        Configured::Repository
    } else {
        Configured::Nothing
    }
}

/// Returns `true` if git, or a program that keeps its settings there, reads an entry.
fn is_of_git(entry: &Entry) -> bool {
    let (section, key) = (entry.section(), entry.key());
    let Ok(section) = std::str::from_utf8(&section) else { return false };
    let is_foreign = OTHERS.iter().any(|(one, other)| *one == section && other.as_bytes() == key);
    !is_foreign && (SECTIONS.contains(&section) || section.contains("git"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(text: &str) -> Configured {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config"), text).unwrap();
        configured(folder.path())
    }

    #[test]
    fn entries_count_without_the_section_that_git_writes() {
        for text in [
            "[include]\n\tpath = more\n",
            "[includeIf \"gitdir:~/\"]\npath = more\n",
            "[diff]\n\texternal = x\n",
            "[filter \"x\"]\n\tclean = x\n",
            "[alias]\n\tst = !x\n",
            "[hook \"x\"]\ncommand = x\n",
            "[clangFormat]\n\tbinary = x\n",
            "[secrets]\n\tproviders = x\n",
            "[credential]\nhelper = !x\n",
            "[lfs \"customtransfer.x\"]\npath = x\n",
            "[gitflow \"path\"]\nhooks = x\n",
            "[database]\nhost = a\n[alias]\nst = !x\n",
            "\u{feff}[Alias]\nst = !x\n",
        ] {
            assert_eq!(judged(text), Configured::Starts { has_core: false }, "{text}");
        }
        assert_eq!(judged("[core]\nfsmonitor = x\n"), Configured::Starts { has_core: true });
        assert_eq!(judged(&"#\n".repeat(600_000)), Configured::Starts { has_core: true }, "it is too long");
    }

    /// Git rejects a configuration with a syntax error, and does not start.
    #[test]
    fn configurations_of_other_programs_mean_nothing_to_git() {
        for text in [
            "",
            "[core]\n    remote = here\n['remote \"here\"']\n    url = s3://bucket\n",
            "[core]\n    analytics = false\n    remote = here\n[cache]\n    type = symlink\n",
            "[database]\nhost = localhost\n",
            "Host *\n    ProxyCommand x\n",
            "[default]\naws_access_key_id = x\n[alias]\nst = !x\n",
            "alias = x\n",
        ] {
            assert!(matches!(judged(text), Configured::Nothing | Configured::Repository), "{text}");
        }
        assert_eq!(judged("[core]\n\tbare = true\n"), Configured::Repository);
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(configured(&folder.path().join("none")), Configured::Nothing);
        assert_eq!(configured(folder.path()), Configured::Nothing);
        std::fs::create_dir(folder.path().join("config")).unwrap();
        assert_eq!(configured(folder.path()), Configured::Nothing);
    }

    #[test]
    fn the_configuration_of_a_work_tree_counts_beside_a_harmless_one() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        put("config.worktree", "[core]\n\tbare = true\n");
        assert_eq!(configured(folder.path()), Configured::Nothing);
        put("config.worktree", "[core]\n\tfsmonitor = x\n");
        let starts = Configured::Starts { has_core: true };
        assert_eq!(configured(folder.path()), starts, "somebody may set the extension later");
        for config in
            ["[core]\nbare = true\n[extensions]\nworktreeConfig = true\n", "[extensions]\n", "x = y\n"]
        {
            put("config", config);
            assert_eq!(configured(folder.path()), starts, "{config}");
        }
    }

    /// `chmod 0 config`, and `chmod 644 config` by a later command.
    #[cfg(unix)]
    #[test]
    fn a_configuration_that_may_not_be_read_starts_programs() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        for name in ["config", "config.worktree"] {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
            // Root can read each file.
            if std::fs::read(&path).is_err() {
                assert_eq!(configured(folder.path()), Configured::Starts { has_core: true }, "{name}");
            }
            std::fs::remove_file(&path).unwrap();
        }
        // Linux opens it like any file, and fails to read from its beginning.
        #[cfg(target_os = "linux")]
        assert_eq!(configured_by(Path::new("/proc/self/mem")), Configured::Starts { has_core: true });
    }

    #[cfg(unix)]
    #[test]
    fn a_link_reveals_nothing_of_its_target() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), "[core]\nfsmonitor = x\n").unwrap();
        std::os::unix::fs::symlink("secret", folder.path().join("config")).unwrap();
        assert_eq!(configured(folder.path()), Configured::Nothing);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_can_change_elsewhere_may_start_programs_later() {
        let _none_starts = crate::STARTS.read().unwrap();
        for name in ["config", "config.worktree", "remotes/x", "branches/x"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let open = std::fs::File::create(&path).unwrap();
            assert!(may_start_later(folder.path()), "{name}");
            drop(open);
            assert!(!may_start_later(folder.path()), "{name}");
            std::fs::hard_link(&path, folder.path().join("other")).unwrap();
            assert!(may_start_later(folder.path()), "{name}");
            std::fs::remove_file(folder.path().join("other")).unwrap();
            let text = if name.contains('/') { "ext::x\nURL: ext::x\n" } else { "[core]\nfsmonitor = x\n" };
            std::fs::write(&path, text).unwrap();
            assert!(may_start_later(folder.path()), "{name}");
        }
    }

    /// The list has the sections of the installed git. A later one may have more.
    #[cfg(target_os = "linux")]
    #[test]
    #[allow(clippy::disallowed_methods, reason = "nothing but git tells its sections")]
    fn the_sections_of_git_are_listed() {
        assert!(SECTIONS.is_sorted());
        let _alone = crate::STARTS.write().unwrap();
        let said =
            std::process::Command::new("git").args(["help", "--config-sections-for-completion"]).output();
        let Ok(said) = said else { return eprintln!("no git is installed: nothing was compared") };
        let said = String::from_utf8(said.stdout).unwrap().to_ascii_lowercase();
        let is_known = |section: &&str| SECTIONS.contains(section) || section.contains("git");
        let (known, others): (Vec<_>, Vec<_>) = said.lines().partition(is_known);
        assert!(said.is_empty() || known.contains(&"core"), "{said}");
        if !others.is_empty() {
            eprintln!("sections that this git has in addition: {others:?}");
        }
    }
}
