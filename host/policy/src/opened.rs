//! Finds lists that open files which the built-in list denies.

use std::path::PathBuf;

use crate::access::Note;
use crate::rule::{DenyRule, DenySet, Places, Source};
use crate::{DEFAULT_PROFILE, FilesPolicy, Policy, Profile};

/// Files in the workspace that the built-in lists deny.
const DENIED: [&str; 2] = [".env", "folder/.env"];

impl Policy {
    /// Returns a note for each list `deny` that takes the place of a built-in one and opens a file that it denies, and for
    /// one of [files] that lacks a glob of the default profile. Empty lists are intended.
    pub fn opened(&self, places: &Places) -> Vec<Note> {
        let files = opened_files(&self.files, places);
        let files = files.map(|(path, source)| note("[files]", path, source));
        let lacking = self.lacking_in_files();
        let profiles = self.shell.profiles.values().filter_map(|profile| {
            let (path, source) = opened_in(profile, places)?;
            Some(note(&format!("[shell.profile.{}]", profile.name), path, source))
        });
        files.into_iter().chain(lacking).chain(profiles).collect()
    }

    /// Returns a note if a list for files lacks a glob that the policy denies to commands.
    fn lacking_in_files(&self) -> Option<Note> {
        let profile = self.shell.profiles.get(DEFAULT_PROFILE)?;
        let (files, source) = (&self.files.deny, self.files.deny_origin);
        if source == Source::Builtin || files.is_empty() || profile.origins.deny == Source::Builtin {
            return None;
        }
        let is_denied = |rule: &DenyRule| files.iter().any(|known| plain(known.glob()) == plain(rule.glob()));
        let lacking = profile.deny.iter().find(|rule| !is_denied(rule))?;
        let after = format!(
            " lacks \"{}\", which [shell.profile.{DEFAULT_PROFILE}] denies to commands: ReadDocs, ReadImage and plugins \
             may read such files",
            lacking.glob()
        );
        Some(("`deny` in [files]".to_owned(), source, after))
    }
}

/// Returns a glob without the parts that do not change its meaning: `**/secrets/` is `secrets`.
fn plain(glob: &str) -> &str {
    let glob = glob.trim_end_matches('/');
    glob.strip_prefix("**/").filter(|name| !name.contains('/')).unwrap_or(glob)
}

fn note(table: &str, path: &str, source: Source) -> Note {
    let after = format!(
        " takes the place of the built-in list and opens {path}; add \"**/.env*\" to it if such files are to stay closed"
    );
    (format!("`deny` in {table}"), source, after)
}

fn samples(places: &Places) -> impl Iterator<Item = (&'static str, PathBuf)> {
    DENIED.into_iter().map(|inside| (inside, places.workspace.join(inside)))
}

fn opened_files(files: &FilesPolicy, places: &Places) -> Option<(&'static str, Source)> {
    let is_own = files.deny_origin != Source::Builtin && !files.deny.is_empty();
    let is_open = |path: &PathBuf| files.check(path, places).is_ok();
    samples(places).find(|(_, path)| is_own && is_open(path)).map(|(inside, _)| (inside, files.deny_origin))
}

fn opened_in(profile: &Profile, places: &Places) -> Option<(&'static str, Source)> {
    let is_own = profile.origins.deny != Source::Builtin && !profile.deny.is_empty();
    let all: Vec<_> = std::iter::successors(Some(profile), |profile| profile.outer.as_deref()).collect();
    let reads = |profile: &&Profile| {
        let mut named = profile.read.iter().chain(&profile.write);
        named
            .any(|rule| places.folders(&rule.place).iter().any(|folder| places.workspace.starts_with(folder)))
    };
    let denied: Vec<DenySet> = all.iter().map(|profile| profile.denied(places)).collect();
    let is_open = |path: &PathBuf| denied.iter().all(|set| set.matches(path).is_none());
    let mut open = samples(places).filter(|(_, path)| is_own && all.iter().all(reads) && is_open(path));
    open.next().map(|(inside, _)| (inside, profile.origins.deny))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_list_that_opens_what_the_built_in_list_denies_is_told() {
        let places =
            Places::standard("/home/me/project".into(), Some("/home/me".into()), Path::new("/home/me/.own"));
        for (text, told) in [
            ("", None),
            ("[files]\ndeny = ['secrets/']", Some("[files] .env")),
            ("[files]\ndeny = ['secrets/', '.env*']", None),
            ("[files]\ndeny = []", None),
            ("[files]\nread = []\ndeny = ['secrets/']", None),
            ("[shell.profile.workspace]\ndeny = ['*.pem']", Some("[shell.profile.workspace] .env")),
            (
                "[shell.profile.build]\ndeny = ['/home/me/project/.env']",
                Some("[shell.profile.build] folder/.env"),
            ),
            ("[shell.profile.build]\ndeny = ['**/.e*']", None),
            ("[shell.profile.build]\nwrite = ['@tmp']\ndeny = ['*.pem']", None),
        ] {
            let policy = Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml")).unwrap();
            let notes = policy.opened(&places);
            let shown: Vec<_> = notes
                .iter()
                .map(|(before, source, after)| {
                    assert!(matches!(source, Source::Line(_)), "{source:?}");
                    let path = after.split(" opens ").nth(1).and_then(|rest| rest.split(';').next());
                    format!("{} {}", before.trim_start_matches("`deny` in "), path.unwrap())
                })
                .collect();
            assert_eq!(shown.first().map(String::as_str), told, "{text}");
            assert!(shown.len() < 2, "{text}: {shown:?}");
        }
    }

    /// A file that commands cannot read should not come from another tool.
    #[test]
    fn files_denied_to_commands_are_closed_to_other_tools_unless_a_list_says_otherwise() {
        let places = Places::standard("/w".into(), Some("/h".into()), Path::new("/h/.own"));
        let policy =
            |text: &str| Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml")).unwrap();
        let own = policy("[shell.profile.workspace]\ndeny = ['**/.env*', 'finance/']");
        for path in ["/w/finance/q4.csv", "/w/.env"] {
            let denial = own.files.check(Path::new(path), &places).unwrap_err().to_string();
            assert!(denial.contains("in `deny` ("), "{denial}");
        }
        assert!(own.files.check(Path::new("/w/a.md"), &places).is_ok());
        assert!(own.opened(&places).is_empty(), "{:?}", own.opened(&places));
        // A relative glob counts in the folders that commands see, too.
        let nested =
            policy("[shell.profile.workspace]\nread = ['@system', '/w/inner']\ndeny = ['conf/*.key']");
        assert!(nested.files.check(Path::new("/w/inner/conf/a.key"), &places).is_err());
        assert!(nested.files.check(Path::new("/w/other/conf/a.key"), &places).is_ok());
        let home = policy("[files]\nread = ['@workspace', '~/']");
        let own = home.files.check(Path::new("/h/.own/policy.toml"), &places).unwrap_err().to_string();
        assert!(own.contains("the program's own files"), "{own}");
        // A list that drops the built-in glob for commands does not open the file to tools.
        let opened = policy("[shell.profile.workspace]\ndeny = ['finance/']");
        assert!(opened.files.check(Path::new("/w/.env"), &places).is_err());
        let lists = "[shell.profile.workspace]\ndeny = ['**/.env*', 'finance/']\n[files]\ndeny = ['.env*'";
        let lacking = policy(&format!("{lists}]"));
        assert!(lacking.files.check(Path::new("/w/finance/q4.csv"), &places).is_ok());
        let notes = lacking.opened(&places);
        assert!(notes.len() == 1 && notes[0].2.contains("lacks \"finance/\""), "{notes:?}");
        assert!(policy(&format!("{lists}, '**/finance']")).opened(&places).is_empty());
    }
}
