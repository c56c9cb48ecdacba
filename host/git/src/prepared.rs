//! Judges the configuration of a folder that is no repository yet.
//!
//! `git init` keeps an existing `config` and obeys it from then on. Until then, the folder may be any folder: many
//! programs have a `config` in this syntax. An entry therefore counts only if git, or a program that keeps its settings
//! in git's configuration, would read it. Git reads nothing of a configuration with a syntax error, and stops.

use std::path::Path;

use crate::harmless::is_harmless;
use crate::parse::{Entry, parse};
use crate::read;
use crate::signs::has_core;

/// Maximum size of a configuration to judge, in bytes. A longer one counts as one that starts programs.
const MAX_BYTES: u64 = 1 << 20;

/// Sections that git reads, in lowercase, as `git help --config-sections-for-completion` lists them, with those of later
/// versions, and those of programs that read git's configuration. A section with `git` in its name counts, too.
const SECTIONS: [&str; 117] = [
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

/// Judges the configuration at a path, whose folder is no repository yet. Links are not followed: the answer would
/// reveal the content of files elsewhere.
pub fn configured(path: &Path) -> Configured {
    if !path.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Configured::Nothing;
    }
    let Some(text) = read::text(path, MAX_BYTES) else { return Configured::Nothing };
    if text.is_cut {
        return Configured::Starts { has_core: true };
    }
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
        configured(&folder.path().join("config"))
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
    }

    #[cfg(unix)]
    #[test]
    fn a_link_reveals_nothing_of_its_target() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), "[core]\nfsmonitor = x\n").unwrap();
        std::os::unix::fs::symlink("secret", folder.path().join("config")).unwrap();
        assert_eq!(configured(&folder.path().join("config")), Configured::Nothing);
    }

    /// The list has the sections of the installed git.
    #[cfg(target_os = "linux")]
    #[test]
    #[allow(clippy::disallowed_methods, reason = "nothing but git tells its sections")]
    fn the_sections_of_git_are_listed() {
        assert!(SECTIONS.is_sorted());
        let _alone = crate::STARTS.write().unwrap();
        let said =
            std::process::Command::new("git").args(["help", "--config-sections-for-completion"]).output();
        for section in String::from_utf8(said.unwrap().stdout).unwrap().lines() {
            let section = section.to_ascii_lowercase();
            assert!(SECTIONS.contains(&&*section) || section.contains("git"), "{section}");
        }
    }
}
