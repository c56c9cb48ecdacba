//! `[files]`: files outside the workspace that tools may read.

use std::path::{Path, PathBuf};

use crate::Profile;
use crate::rule::{DenyRule, DenySet, File, PathRule, Place, Places, Source};

/// Rules for tools that read files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesPolicy {
    /// Readable files and folders, each folder with everything below it.
    pub read: Vec<PathRule>,
    /// Source of the `read` list.
    pub read_origin: Source,
    /// Globs that are denied wherever they match.
    pub deny: Vec<DenyRule>,
    /// Source of the `deny` list.
    pub deny_origin: Source,
    /// Folders that commands see, in which relative globs of `deny` apply, too.
    pub seen: Vec<PathRule>,
    /// `true` if globs that commands are denied are among those of `deny`, because there is no list for files.
    pub is_like_commands: bool,
    /// Managed policy that this one narrows. It is checked first, so that its refusals cite its own line.
    pub outer: Option<Box<FilesPolicy>>,
    /// Policy file to edit to allow a denied file.
    pub file: File,
}

/// Reason why a file may not be read, as a sentence that names the deciding rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path} is {rule}{hint}", path = .path.display())]
pub struct FileDenial {
    path: PathBuf,
    /// Deciding rule, without the path.
    pub rule: String,
    /// End of the sentence that says how to allow it, or empty.
    pub hint: String,
    /// `true` if a change of the user's own file allows it, and no other file.
    pub is_own: bool,
}

impl FileDenial {
    /// Creates a denial. `rule` has the form "denied by …" and does not contain the path.
    pub fn new(path: &Path, rule: String) -> Self {
        Self { path: path.to_owned(), rule, hint: String::new(), is_own: false }
    }
}

impl FilesPolicy {
    pub(crate) fn builtin(deny: Vec<DenyRule>) -> Self {
        Self {
            read: vec![PathRule { place: Place::Workspace, source: Source::Builtin }],
            read_origin: Source::Builtin,
            deny,
            deny_origin: Source::Builtin,
            seen: Vec::new(),
            is_like_commands: false,
            outer: None,
            file: File::Own,
        }
    }

    /// Adds the globs that a profile denies to commands, for a policy without a list for files: a file that commands
    /// cannot read should not come from another tool.
    pub(crate) fn close_like(&mut self, profile: &Profile) {
        let lacks = |rule: &&DenyRule| self.deny.iter().all(|known| known.glob() != rule.glob());
        let more: Vec<_> = profile.deny.iter().filter(lacks).cloned().collect();
        let named = |rule: &&PathRule| matches!(rule.place, Place::Path(_));
        self.seen = profile.read.iter().chain(&profile.write).filter(named).cloned().collect();
        if !more.is_empty() {
            self.deny.extend(more);
            self.is_like_commands = true;
            self.deny_origin = profile.origins.deny;
        }
    }

    /// Returns the folder that makes a path readable: the innermost folder listed in `read`. The path has to
    /// be absolute and free of symbolic links. Relative globs of `deny` apply in each folder.
    pub fn check(&self, path: &Path, places: &Places) -> Result<PathBuf, FileDenial> {
        if let Some(outer) = &self.outer {
            outer.check(path, places)?;
        }
        let refused = |rule| FileDenial::new(path, rule);
        self.check_denied(path, &[], places)?;
        // Its policy can contain keys.
        if path.starts_with(&places.own_home) && !path.starts_with(&places.workspace) {
            return Err(refused("among the program's own files, which no tool reads".to_owned()));
        }
        let around = self.folders(places).filter(|folder| path.starts_with(folder));
        let folder = around.max_by_key(|folder| folder.as_os_str().len());
        folder.ok_or_else(|| {
            let is_own = self.file == File::Own;
            let read: Vec<_> = self.read.iter().map(|rule| format!("\"{}\"", rule.place)).collect();
            let rule = format!(
                "outside what may be read: `read` of [files] ({}) {}",
                self.read_origin,
                if read.is_empty() { "is empty".to_owned() } else { format!("has {}", read.join(", ")) },
            );
            let hint = format!("; to allow it, add its folder in {}", self.file);
            FileDenial { hint, is_own, ..refused(rule) }
        })
    }

    /// Returns the rules of `deny` that match a path, which has these names. `granted` lists folders that were opened
    /// in addition to those of `read`.
    pub fn denying<'s>(
        &'s self,
        names: &[PathBuf],
        granted: &[PathBuf],
        places: &Places,
    ) -> Vec<&'s DenyRule> {
        let folders = self.folders_with(granted, places);
        let matches = |rule: &&DenyRule| {
            let set = DenySet::new(std::slice::from_ref(*rule), &folders, places);
            names.iter().any(|name| set.matches(name).is_some())
        };
        self.deny.iter().filter(matches).collect()
    }

    /// Returns `true` if a rule of `deny` is an entry of the user's own list that names one of these paths and nothing
    /// else, so that its removal opens no other file.
    pub fn is_own_entry_for(&self, rule: &DenyRule, names: &[PathBuf], places: &Places) -> bool {
        let is_own =
            self.file == File::Own && !self.is_like_commands && matches!(rule.source, Source::Line(_));
        is_own && names.iter().any(|name| rule.names_only(name, places))
    }

    /// Checks a path against `deny`. `granted` lists folders that were opened in addition to those of `read`.
    pub fn check_denied(&self, path: &Path, granted: &[PathBuf], places: &Places) -> Result<(), FileDenial> {
        let folders = self.folders_with(granted, places);
        let set = DenySet::new(&self.deny, &folders, places);
        let Some(rule) = set.matches(path) else {
            return Ok(());
        };
        // A wider entry is a decision about more than this file.
        let names = &[path.to_owned()];
        let mut all = self.denying(names, granted, places).into_iter();
        let is_own = all.all(|rule| self.is_own_entry_for(rule, names, places));
        let rule = format!("denied by \"{}\" in `deny` ({})", rule.glob(), rule.source);
        Err(FileDenial { is_own, ..FileDenial::new(path, rule) })
    }

    /// Returns the folders in which relative globs apply.
    pub(crate) fn folders_with(&self, granted: &[PathBuf], places: &Places) -> Vec<PathBuf> {
        let seen = self.seen.iter().flat_map(|rule| places.folders(&rule.place));
        let own = self.folders(places).chain([places.workspace.clone()]).chain(seen);
        own.chain(granted.iter().cloned()).collect()
    }

    fn folders(&self, places: &Places) -> impl Iterator<Item = PathBuf> {
        self.read.iter().flat_map(|rule| places.folders(&rule.place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policy;

    fn check(text: &str, path: &str) -> Result<PathBuf, String> {
        let policy = Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml")).unwrap();
        let places = Places::standard(
            "/home/ana/project".into(),
            Some("/home/ana".into()),
            Path::new("/home/ana/.own"),
        );
        policy.files.check(Path::new(path), &places).map_err(|denial| denial.to_string())
    }

    #[test]
    fn the_workspace_is_read_and_nothing_else() {
        assert_eq!(check("", "/home/ana/project/a/b.png"), Ok("/home/ana/project".into()));
        let denial = check("", "/home/ana/other.png").unwrap_err();
        assert!(denial.contains("`read` of [files] (built-in) has \"@workspace\""), "{denial}");
        assert!(check("", "/home/ana/project-2/a.png").is_err());
        assert!(check("", "/home/ana/project/.env.png").unwrap_err().contains("denied by \"**/.env!("));
    }

    #[test]
    fn folders_can_be_granted_and_deny_wins() {
        let text = "[files]\nread = [\"@workspace\", \"~/Pictures\"]\ndeny = [\"**/private\"]";
        assert_eq!(check(text, "/home/ana/Pictures/a.png"), Ok("/home/ana/Pictures".into()));
        let denial = check(text, "/home/ana/Pictures/private/a.png").unwrap_err();
        assert!(denial.contains("(policy.toml line 4)"), "{denial}");
    }

    #[test]
    fn only_an_entry_for_the_file_alone_is_told_as_one_that_can_be_removed() {
        let (file, places) = ("/home/ana/project/finance/a.pdf", |own: &str| {
            Places::standard("/home/ana/project".into(), Some("/home/ana".into()), Path::new(own))
        });
        let is_own = |text: &str| {
            let policy = Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml")).unwrap();
            policy.files.check(Path::new(file), &places("/home/ana/.own")).unwrap_err().is_own
        };
        for deny in [file, "~/project/finance/a.pdf"] {
            assert!(is_own(&format!("[files]\ndeny = [\"{deny}\"]")), "{deny}");
        }
        for deny in ["finance/", "finance/a.pdf", "~/project/finance", "~/project/finance/*.pdf", "a.pdf"] {
            assert!(!is_own(&format!("[files]\ndeny = [\"{deny}\"]")), "{deny}");
            assert!(!is_own(&format!("[files]\ndeny = [\"{file}\", \"{deny}\"]")), "{deny}, too");
        }
        // An entry of the commands' list would stay there.
        assert!(!is_own(&format!("[shell.profile.workspace]\ndeny = [\"{file}\"]")));
    }
}
