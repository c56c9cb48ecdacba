//! `after`: conditions on files that were read before.
//!
//! A glob counts as read once a call read a file that it covers, or could have: commands and plugins are not observed,
//! so each of them counts as reading all that is open to it.

use std::collections::BTreeMap;

use crate::Policy;
use crate::document::{Problem, Section};
use crate::rule::{DenyRule, DenySet, Places, Source};

use super::parse::some;

/// Globs whose files were read before, each with the first call that read them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadBefore(pub BTreeMap<String, FirstRead>);

/// The first call that read files of a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstRead {
    /// Name of the tool.
    pub tool: String,
    /// Time, in milliseconds since 1970; `None` for the call that is judged.
    pub at: Option<u64>,
    /// `true` if `deny` closes nothing to the call, since it may run without a sandbox.
    pub is_unsandboxed: bool,
}

/// Way in which a call reads files without being observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unobserved {
    /// A command, which opens files of its profile.
    Command,
    /// A plugin, which opens files of its folders.
    Plugin,
}

/// Parses `after`.
pub(super) fn read(section: &Section<'_>) -> Result<Vec<DenyRule>, Problem> {
    let Some(entry) = section.get("after") else { return Ok(Vec::new()) };
    let fix = "write globs of files, such as { read = [\"finance/\"] }";
    let table = entry.section("`after`")?;
    table.only(&["read"])?;
    let Some(read) = table.get("read") else {
        return Err(entry.problem(format!("{} names no files", entry.label()), fix));
    };
    some(&read, fix, |text| DenyRule::parse(text, Source::Builtin))
}

impl Policy {
    /// Returns the globs of all conditions on files that were read before.
    pub fn globs_read_before(&self) -> BTreeMap<&str, &DenyRule> {
        let rules = self.conditions().flat_map(|conditions| &conditions.read_before);
        rules.map(|rule| (rule.glob(), rule)).collect()
    }

    /// Returns `true` if a condition has this glob, in any spelling.
    pub fn has_glob_read_before(&self, glob: &str) -> bool {
        self.globs_read_before().into_keys().any(|known| is_same(known, glob))
    }

    /// Returns the globs that a call counts as reading, because nobody sees what it opens: all of those that `deny` does
    /// not close to it. Without a sandbox, `deny` closes nothing.
    pub fn reads_unobserved(&self, way: Unobserved) -> Vec<&str> {
        let denied: Vec<_> = match way {
            Unobserved::Command if self.shell.allow_unsandboxed.value => Vec::new(),
            Unobserved::Command => {
                self.shell.profiles.get(crate::DEFAULT_PROFILE).map_or_else(Vec::new, |profile| {
                    profile.deny.iter().map(DenyRule::glob).map(plain).collect()
                })
            }
            Unobserved::Plugin => self.files.deny.iter().map(DenyRule::glob).map(plain).collect(),
        };
        let globs = self.globs_read_before();
        globs.into_keys().filter(|glob| !denied.contains(&plain(glob))).collect()
    }

    /// Returns the call of a tool that is judged as the first that read files in a way.
    pub fn reading_now(&self, tool: &str, way: Unobserved) -> FirstRead {
        let is_unsandboxed = way == Unobserved::Command && self.shell.allow_unsandboxed.value;
        FirstRead { tool: tool.to_owned(), at: None, is_unsandboxed }
    }

    /// Returns the globs that cover one of the paths, which are all names of the same file. Relative globs apply in
    /// the folders that [`FilesPolicy::check_denied`](crate::FilesPolicy::check_denied) names.
    pub fn reads_at<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p std::path::Path>,
        granted: &[std::path::PathBuf],
        places: &Places,
    ) -> Vec<&str> {
        let globs = self.globs_read_before();
        if globs.is_empty() {
            return Vec::new();
        }
        let folders = self.files.folders_with(granted, places);
        let sets = globs
            .iter()
            .map(|(glob, rule)| (*glob, DenySet::new(std::slice::from_ref(*rule), &folders, places)));
        let sets: Vec<_> = sets.collect();
        let mut found: Vec<_> = paths
            .into_iter()
            .flat_map(|path| {
                sets.iter().filter(move |(_, set)| set.matches(path).is_some()).map(|(glob, _)| *glob)
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Returns a glob in the form in which equal ones are compared.
fn plain(glob: &str) -> String {
    let glob = glob.replace('\\', "/");
    let glob = glob.strip_suffix("/**").unwrap_or(&glob).trim_end_matches('/');
    let name = glob.strip_prefix("**/").filter(|rest| !rest.contains('/')).unwrap_or(glob);
    name.to_lowercase()
}

/// Returns `true` if two globs are spellings of the same: `finance/`, `finance/**` and `**/finance`.
pub(super) fn is_same(glob: &str, other: &str) -> bool {
    plain(glob) == plain(other)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    fn parsed(text: &str) -> Result<Policy, String> {
        Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml"))
            .map_err(|problem| problem.to_string())
    }

    const RULE: &str = "[[rules]]\nname = \"a\"\ntools = [\"WebSearch\"]\nthen = \"deny\"\nafter = { read = \
                        [\"finance/\", \"/srv/hr/**\"] }\n";

    #[test]
    fn a_condition_holds_once_files_of_a_glob_were_read() {
        let policy = parsed(RULE).unwrap();
        let places = Places::standard("/w".into(), None, "/own".as_ref());
        let mut circumstances = super::super::Circumstances::in_workspace("/w".as_ref());
        let conditions = &policy.calls.0[0].conditions;
        assert!(!conditions.hold(&circumstances, &places));
        let first = FirstRead { tool: "Bash".to_owned(), at: None, is_unsandboxed: false };
        circumstances.read_before.0.insert("other/".to_owned(), first.clone());
        assert!(!conditions.hold(&circumstances, &places));
        let nothing = circumstances.read_before.clone();
        // A glob that was kept stays the same in another spelling.
        for glob in ["finance/", "finance/**", "**/Finance", "/srv/hr/"] {
            circumstances.read_before = nothing.clone();
            circumstances.read_before.0.insert(glob.to_owned(), first.clone());
            assert!(conditions.hold(&circumstances, &places), "{glob}");
            assert!(policy.has_glob_read_before(glob) && !policy.has_glob_read_before("other/"), "{glob}");
        }
    }

    #[test]
    fn commands_and_plugins_count_as_reading_all_that_deny_does_not_close() {
        let read = |text: &str| {
            let policy = parsed(&format!("{text}\n{RULE}")).unwrap();
            let read = |way| policy.reads_unobserved(way).join(" ");
            (read(Unobserved::Command), read(Unobserved::Plugin))
        };
        let all = || "/srv/hr/** finance/".to_owned();
        assert_eq!(read(""), (all(), all()));
        let closed = "[shell.profile.workspace]\ndeny = [\"**/Finance\", \"/srv/hr/\"]";
        assert_eq!(
            read(closed),
            (String::new(), String::new()),
            "`deny` of the profile holds for files, too"
        );
        assert_eq!(read("[files]\ndeny = [\"finance/**\"]"), (all(), "/srv/hr/**".to_owned()));
        assert_eq!(read("[shell.profile.workspace]\ndeny = [\"finance/a\"]").0, all(), "a part is not all");
        let unsandboxed = format!("[shell]\nallow_unsandboxed = true\n{closed}");
        assert_eq!(read(&unsandboxed).0, all(), "without a sandbox, nothing is closed");
    }

    #[test]
    fn a_file_is_found_by_each_of_its_names() {
        let policy = parsed(RULE).unwrap();
        let places = Places::standard("/w".into(), None, "/own".as_ref());
        let at = |paths: &[&str]| {
            let paths: Vec<_> = paths.iter().map(Path::new).collect();
            policy.reads_at(paths, &[PathBuf::from("/granted")], &places).join(" ")
        };
        assert_eq!(at(&["/w/a/finance/b.pdf"]), "finance/");
        assert_eq!(at(&["/w/link.pdf", "/w/FINANCE/b.pdf"]), "finance/");
        assert_eq!(at(&["/granted/finance/x", "/srv/hr/x"]), "/srv/hr/** finance/");
        assert_eq!(at(&["/w/finances/b.pdf", "/elsewhere/finance/x"]), "");
    }

    #[test]
    fn mistakes_have_a_line_and_a_fix() {
        for (after, said) in [
            ("{ read = [] }", "line 6: `read` in `after` is empty"),
            ("{}", "line 6: `after` in [[rules]] names no files; write globs of files"),
            ("[\"finance/\"]", "line 6: `after` in [[rules]] is"),
            ("{ reads = [\"x\"] }", "unknown key `reads` in `after`; did you mean `read`?"),
            ("{ read = [\"@workspace/x\"] }", "begins with the name of a place"),
            ("{ read = [\"../x\"] }", "has `.` or `..` as a folder"),
        ] {
            let text =
                format!("[[rules]]\nname = \"a\"\ntools = [\"Bash\"]\nthen = \"deny\"\nafter = {after}");
            let problem = parsed(&text).unwrap_err();
            assert!(problem.contains(said), "{after}: {problem}");
        }
    }

    #[test]
    fn it_is_shown_and_belongs_to_the_definition() {
        let policy = parsed(RULE).unwrap();
        let page = crate::render(&policy);
        assert!(page.contains("after.read = [\"finance/\", \"/srv/hr/**\"]"), "{page}");
        let without = parsed("[[rules]]\nname = \"a\"\ntools = [\"WebSearch\"]\nthen = \"deny\"\n").unwrap();
        assert_ne!(policy.calls.0[0].definition(), without.calls.0[0].definition());
        assert!(crate::differences(&without, &policy).contains("after.read"));
        let again = page
            .lines()
            .skip_while(|line| !line.starts_with("[[rules]]"))
            .take_while(|line| !line.is_empty());
        let again: String = again.flat_map(|line| [line, "\n"]).collect();
        assert_eq!(parsed(&again).unwrap().calls.0[0].conditions, policy.calls.0[0].conditions);
    }
}
