//! Reads files in the folder of a skill. The folder is opened once, without following links, and under the
//! operator's `deny` rules.
//!
//! A skill of the workspace must not be reached through any link: the project's author may have created it,
//! and commands may replace it. A user's skill may lie behind links, as long as commands cannot write to
//! their location. Inside a user's skill, a link is followed only to the same file of another copy of that
//! skill ([`linked`]).

use std::cell::OnceCell;
use std::fs::File;
use std::io::{self, Read};
use std::iter;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use scorpiox_audit::{APPROVAL, BUILT_IN, FileNames, Uses};
use scorpiox_fs::{Folder, Kind, Stamp, Unresolved, Writable, has_other_names, open_file, resolve};
use scorpiox_policy::Places;

use crate::rules;
use scorpiox_workspace_config::{Operator, OperatorError, SKILL_FILE, Scope, Source, linked};

/// Maximum depth of folders inside a skill whose files are listed.
const MAX_DEPTH: usize = 8;

/// Maximum number of directory entries visited for one listing of a skill's files.
const MAX_VISITED: usize = 5000;

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkillFile {
    /// Path relative to the skill's folder, with `/` as the separator.
    pub path: String,
    /// Size in bytes.
    pub size: u64,
}

/// Reason why a file of a skill could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SkillReadError {
    /// The file does not exist, or is not within the skill's folder.
    #[error("no such file in the skill's folder")]
    NotFound,
    /// A rule denies the file; contains the reason without the path.
    #[error("it is {0}")]
    Denied(String),
    /// The file exceeds this limit in bytes.
    #[error("larger than {0} bytes")]
    TooLarge(u64),
    /// The system reported an error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reader of skills for one request, with the policy and the record of uses.
#[derive(Debug)]
pub struct Reading {
    operator: Arc<Operator>,
    uses: Uses,
    /// Paths that commands can write, determined on first use.
    writable: OnceCell<Result<Writable, String>>,
    places: OnceCell<Result<Places, String>>,
}

/// An open folder of a skill.
#[derive(Debug)]
pub struct Opened {
    folder: Folder,
    /// Path of the folder, without links.
    place: PathBuf,
    /// File name of the skill's SKILL.md.
    skill_file: &'static str,
    scope: Scope,
}

/// Reason for refusing a link in a skill.
const UNFOLLOWED: &str = "a link, and such are followed only from a skill of the person's own, to the same file of another folder of its name with a SKILL.md";

impl Reading {
    /// Creates a reader under the operator's policy, which records its accesses in `uses`.
    pub fn new(operator: Arc<Operator>, uses: Uses) -> Self {
        Self { operator, uses, writable: OnceCell::new(), places: OnceCell::new() }
    }

    /// Opens a skill's folder.
    pub fn open(&self, source: &Source) -> Result<Opened, SkillReadError> {
        let opened = self.place(source).and_then(|place| {
            let folder = Folder::open(&place).map_err(|_| SkillReadError::NotFound)?;
            self.check(&place, Path::new(""))?;
            Ok(Opened { folder, place, skill_file: source.file, scope: source.scope })
        });
        let root = source.path.parent().unwrap_or(&source.path);
        match &opened {
            Err(SkillReadError::Denied(why)) => self.denied(root, why, &source.path),
            Ok(Opened { place, .. }) if place.parent() != Some(root) => {
                let led = format!("{}, by a link to {}", root.display(), place.display());
                self.uses.allowed("skills", led, BUILT_IN);
            }
            _ => self.uses.allowed("skills", root.display(), BUILT_IN),
        }
        opened
    }

    /// Records that a file of a skill in this folder was denied.
    fn denied(&self, folder: &Path, why: &str, path: &Path) {
        let places = self.places.get().and_then(|places| places.as_ref().ok());
        let policy = self.operator.policy().ok().zip(places);
        let granted = [folder.to_owned()];
        let rule = policy.map(|(policy, places)| rules::of_file(&policy.files, path, &granted, places));
        // A denial without a matching rule is built into the program.
        let rule = rule.filter(|rule| rule != APPROVAL).unwrap_or_else(|| BUILT_IN.to_owned());
        self.uses.denied("skills", folder.display(), why, rule);
    }

    /// Returns the path of a skill's folder.
    fn place(&self, source: &Source) -> Result<PathBuf, SkillReadError> {
        if source.scope == Scope::Workspace {
            return Ok(source.path.clone());
        }
        let writable = self.writable()?;
        resolve(&source.path, writable).map_err(|error| match error {
            Unresolved::Link(_) => SkillReadError::Denied(
                "behind a symbolic link in a folder that commands can write".to_owned(),
            ),
            _ => SkillReadError::NotFound,
        })
    }

    /// Returns the folders that commands can write.
    fn writable(&self) -> Result<&Writable, SkillReadError> {
        let writable = || self.operator.writable().map_err(|error| format!("not read: {error}"));
        let writable = self.writable.get_or_init(writable);
        writable.as_ref().map_err(|rule| SkillReadError::Denied(rule.clone()))
    }

    /// Returns the target of a link in a skill, if the link may be followed and the policy allows the target.
    fn linked(&self, skill: &Opened, inside: &Path) -> Result<PathBuf, SkillReadError> {
        let unfollowed = || SkillReadError::Denied(UNFOLLOWED.to_owned());
        if skill.scope == Scope::Workspace {
            return Err(unfollowed());
        }
        let end = linked(&skill.place, inside, self.writable()?).ok_or_else(unfollowed)?;
        let from = end.ancestors().nth(inside.components().count()).unwrap_or(&end);
        self.check(from, inside)?;
        Ok(end)
    }

    /// Fails if the policy denies a file of a skill.
    fn check(&self, place: &Path, inside: &Path) -> Result<(), SkillReadError> {
        let unread = |error: Arc<OperatorError>| SkillReadError::Denied(format!("not read: {error}"));
        let files = &self.operator.policy().map_err(unread)?.files;
        let places = self.places.get_or_init(|| self.operator.places().map_err(|error| error.to_string()));
        let places = places.as_ref().map_err(|error| SkillReadError::Denied(format!("not read: {error}")))?;
        files
            .check_denied(&place.join(inside), &[place.to_owned()], places)
            .map_err(|denial| SkillReadError::Denied(denial.rule))
    }

    /// Returns the first `limit` bytes of a SKILL.md.
    pub fn head(&self, source: &Source, limit: u64) -> Result<Vec<u8>, SkillReadError> {
        let mut head = Vec::new();
        self.file(&self.open(source)?, SKILL_FILE)?.take(limit).read_to_end(&mut head)?;
        Ok(head)
    }

    /// Returns the state of a SKILL.md, which changes with the file's content; `None` if it cannot be read.
    pub fn stamp(&self, source: &Source) -> Option<Stamp> {
        let file = self.file(&self.open(source).ok()?, SKILL_FILE).ok()?;
        file.metadata().ok().map(|about| Stamp::of(&about))
    }

    /// Opens a file of a skill. `path` is SKILL.md or a path returned by [`files`](Self::files).
    pub fn file(&self, skill: &Opened, path: &str) -> Result<File, SkillReadError> {
        let inside = Path::new(if path == SKILL_FILE { skill.skill_file } else { path });
        if !is_listed(inside) {
            return Err(SkillReadError::NotFound);
        }
        self.check(&skill.place, inside).inspect_err(|error| {
            if let SkillReadError::Denied(why) = error {
                self.denied(&skill.place, why, &skill.place.join(inside));
            }
        })?;
        // Only a file that exists counts as read.
        let counted = |file: File, end: Option<PathBuf>| {
            let has_others = has_other_names(&file.metadata()?);
            let known = || iter::once(skill.place.join(inside)).chain(end).collect();
            let names = || FileNames { known: known(), has_others };
            self.uses
                .reads(std::slice::from_ref(&skill.place), names)
                .map_err(SkillReadError::Denied)
                .map(|()| file)
        };
        if let Ok(file) = skill.folder.file(inside) {
            return counted(file, None);
        }
        if !leads_on(&skill.place, inside) {
            return Err(SkillReadError::NotFound);
        }
        let end = self.linked(skill, inside)?;
        let file = open_file(&end).map_err(|_| SkillReadError::NotFound)?;
        counted(file, Some(end))
    }

    /// Returns a complete file of a skill. Reads nothing if the file exceeds `limit`.
    pub fn whole(&self, skill: &Opened, path: &str, limit: u64) -> Result<Vec<u8>, SkillReadError> {
        let file = self.file(skill, path)?;
        if file.metadata()?.len() > limit {
            return Err(SkillReadError::TooLarge(limit));
        }
        let mut bytes = Vec::new();
        // The file may have grown since the check.
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(SkillReadError::TooLarge(limit));
        }
        Ok(bytes)
    }

    /// Returns at most `limit` files of the skill without SKILL.md, sorted, and `true` if there are more.
    /// Omits hidden files, links that are not followed, and denied files.
    pub fn files(&self, skill: &Opened, limit: usize) -> (Vec<SkillFile>, bool) {
        let mut files = Vec::new();
        let mut visited = 0;
        self.collect(skill, &skill.folder, "", 0, &mut visited, &mut files);
        files.retain(|file| file.path != skill.skill_file);
        files.sort();
        let truncated = files.len() > limit || visited > MAX_VISITED;
        files.truncate(limit);
        (files, truncated)
    }

    fn collect(
        &self,
        skill: &Opened,
        folder: &Folder,
        prefix: &str,
        depth: usize,
        visited: &mut usize,
        files: &mut Vec<SkillFile>,
    ) {
        let Ok(names) = folder.names() else { return };
        // The policy must also allow the real path of a file behind a link.
        let is_linked = leads_on(&skill.place, Path::new(prefix));
        for name in names.flatten() {
            *visited += 1;
            if *visited > MAX_VISITED {
                return;
            }
            // A name that is not valid UTF-8 cannot be requested.
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
            let checked = self.check(&skill.place, Path::new(&path));
            if checked.is_err() || is_linked && self.linked(skill, Path::new(&path)).is_err() {
                continue;
            }
            match folder.kind(Path::new(name)) {
                Ok(Kind::Folder) if depth < MAX_DEPTH => {
                    let Ok(below) = folder.folder(Path::new(name)) else { continue };
                    self.collect(skill, &below, &path, depth + 1, visited, files);
                }
                Ok(Kind::File(size)) => files.push(SkillFile { path, size }),
                Ok(Kind::Link) => {
                    let Ok(end) = self.linked(skill, Path::new(&path)) else { continue };
                    if let Ok(file) = open_file(&end).and_then(|file| file.metadata()) {
                        files.push(SkillFile { path, size: file.len() });
                    } else if depth < MAX_DEPTH
                        && let Ok(below) = Folder::open(&end)
                    {
                        self.collect(skill, &below, &path, depth + 1, visited, files);
                    }
                }
                _ => {}
            }
        }
    }
}

impl Opened {
    /// Returns the open folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }
}

/// Reports whether a path in a folder passes through a link, or is one.
fn leads_on(place: &Path, inside: &Path) -> bool {
    let is_link = |path: PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    inside.ancestors().any(|part| part != Path::new("") && is_link(place.join(part)))
}

/// Returns `true` if a listing can contain the path.
fn is_listed(path: &Path) -> bool {
    let shown = |part: Component<'_>| match part {
        Component::Normal(name) => !name.as_encoded_bytes().starts_with(b"."),
        _ => false,
    };
    let parts = path.components().count();
    (1..=MAX_DEPTH + 1).contains(&parts) && path.components().all(shown)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use scorpiox_test_support::bed::Bed;

    use super::*;
    use scorpiox_workspace_config::{Site, SkillFolders};

    fn bed() -> Bed {
        Bed::with(&["ws", "home/.scorpiox", "elsewhere"])
    }

    fn skill(bed: &Bed, folder: &str) {
        bed.put(format!("{folder}/SKILL.md"), "---\nname: x\n---\n");
    }

    fn reading(bed: &Bed) -> (Reading, Uses) {
        let shell = Operator::new(Site {
            workspace: bed.at("ws"),
            home: Some(bed.at("home")),
            own_home: bed.at("home/.scorpiox"),
            workspace_name: "test".to_owned(),
            skills: Arc::new(SkillFolders::new(&bed.at("ws"), None, bed.root(), &[])),
            is_managed_required: false,
            worked_on: Vec::new(),
        });
        let uses = Uses::default();
        (Reading::new(Arc::new(shell), uses.clone()), uses)
    }

    fn found(bed: &Bed) -> Vec<Source> {
        let home = bed.at("home");
        SkillFolders::new(&bed.at("ws"), Some(&home), &home.join(".scorpiox"), &[])
            .sources()
            .expect("nothing is lacking")
    }

    #[test]
    fn files_are_read_within_the_folder_only() {
        let bed = bed();
        skill(&bed, "home/.claude/skills/s");
        bed.put("home/.claude/skills/s/sub/a.txt", "inside");
        bed.put("home/.claude/skills/s/.hidden", "hidden");
        bed.put("elsewhere/secret", "outside");
        let folder = bed.at("home/.claude/skills/s");
        symlink(bed.at("elsewhere/secret"), folder.join("link")).expect("link");
        symlink("sub/a.txt", folder.join("near")).expect("link");
        let (reading, _) = reading(&bed);
        let source = found(&bed).remove(0);
        let skill = reading.open(&source).expect("opens");
        assert_eq!(reading.whole(&skill, "sub/a.txt", 100).expect("read"), b"inside");
        assert!(matches!(reading.whole(&skill, "sub/a.txt", 3), Err(SkillReadError::TooLarge(3))));
        for link in ["link", "near"] {
            let refused = reading.whole(&skill, link, 100).expect_err("it is a link");
            assert!(refused.to_string().contains("a link, and such are followed only"), "{refused}");
        }
        for outside in ["../../../secret", "sub", "absent", "/etc/passwd", ".hidden", "sub/../sub/a.txt", ""]
        {
            assert!(
                matches!(reading.whole(&skill, outside, 100), Err(SkillReadError::NotFound)),
                "{outside}"
            );
        }
        let (files, truncated) = reading.files(&skill, 10);
        assert_eq!(files, [SkillFile { path: "sub/a.txt".to_owned(), size: 6 }]);
        assert!(!truncated);
    }

    /// Programs that store a user's files in one location create such links, either for each file or for a
    /// folder.
    #[test]
    fn links_to_the_same_files_of_another_copy_are_followed_in_a_persons_skill() {
        let bed = bed();
        skill(&bed, "elsewhere/store/s");
        for file in ["a.md", "sub/b.md", "more/c.md", "e.key", ".ssh/id"] {
            bed.put(format!("elsewhere/store/s/{file}"), file);
        }
        bed.put("elsewhere/notes/a.md", "no skill");
        skill(&bed, "ws/s");
        bed.put("ws/s/d.md", "of a command");
        bed.put("home/.scorpiox/policy.toml", "version = 1\n[files]\ndeny = [\"**/*.key\"]\n");
        fs::create_dir_all(bed.at("home/.claude/skills/s/more")).expect("folder");
        for (link, target) in [
            ("SKILL.md", "elsewhere/store/s/SKILL.md"),
            ("a.md", "elsewhere/store/s/a.md"),
            ("sub", "elsewhere/store/s/sub"),
            ("more/c.md", "elsewhere/store/s/more/c.md"),
            ("e.key", "elsewhere/store/s/e.key"),
            ("d.md", "ws/s/d.md"),
            ("other.md", "elsewhere/store/s/a.md"),
        ] {
            bed.link(bed.at(target), format!("home/.claude/skills/s/{link}"));
        }
        let (reading, _) = reading(&bed);
        let source = found(&bed).remove(0);
        assert_eq!(reading.head(&source, 3).expect("read"), b"---");
        assert!(reading.stamp(&source).is_some());
        let skill = reading.open(&source).expect("opens");
        let (files, _) = reading.files(&skill, 10);
        let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a.md", "more/c.md", "sub/b.md"]);
        for path in paths {
            assert_eq!(reading.whole(&skill, path, 100).expect("read"), path.as_bytes());
        }
        for closed in ["d.md", "other.md", "e.key"] {
            let refused = reading.whole(&skill, closed, 100);
            assert!(matches!(refused, Err(SkillReadError::Denied(_))), "{closed}: {refused:?}");
        }
        fs::remove_file(bed.at("home/.claude/skills/s/a.md")).expect("removes");
        bed.link(bed.at("elsewhere/notes/a.md"), "home/.claude/skills/s/a.md");
        assert!(matches!(reading.whole(&skill, "a.md", 100), Err(SkillReadError::Denied(_))));
    }

    /// Observer that lists the names of the files.
    #[derive(Debug, Default)]
    struct Names(std::sync::Mutex<Vec<FileNames>>);

    impl scorpiox_audit::FileWatch for Names {
        fn reads(&self, names: &FileNames, _: &[PathBuf], _: &Uses) -> Result<(), String> {
            self.0.lock().expect("no panic").push(names.clone());
            Ok(())
        }
    }

    #[test]
    fn only_files_that_exist_count_as_read_with_each_of_their_names() {
        let bed = bed();
        skill(&bed, "elsewhere/store/s");
        skill(&bed, "home/.claude/skills/s");
        bed.put("elsewhere/store/s/a.md", "a");
        bed.put("home/.claude/skills/s/b.md", "b");
        let own = bed.at("home/.claude/skills/s");
        for name in ["a.md", "gone.md"] {
            bed.link(bed.at("elsewhere/store/s").join(name), format!("home/.claude/skills/s/{name}"));
        }
        bed.put("elsewhere/secret", "secret");
        fs::hard_link(bed.at("elsewhere/secret"), own.join("c.md")).expect("links");
        let (reading, uses) = reading(&bed);
        let names = Arc::new(Names::default());
        uses.watched_by(Arc::clone(&names) as _);
        let source = found(&bed).remove(0);
        let skill = reading.open(&source).expect("opens");
        for (path, known, has_others) in [
            ("gone.md", vec![], false),
            ("absent.md", vec![], false),
            ("b.md", vec![own.join("b.md")], false),
            ("a.md", vec![own.join("a.md"), bed.at("elsewhere/store/s/a.md")], false),
            ("c.md", vec![own.join("c.md")], true),
        ] {
            assert_eq!(reading.file(&skill, path).is_ok(), !known.is_empty(), "{path}");
            let read: Vec<_> = if known.is_empty() { vec![] } else { vec![FileNames { known, has_others }] };
            assert_eq!(std::mem::take(&mut *names.0.lock().expect("no panic")), read, "{path}");
        }
    }

    #[test]
    fn a_skill_file_in_lower_case_is_read_as_the_other() {
        let bed = bed();
        bed.put("home/.claude/skills/s/skill.md", "---\nname: x\n---\n");
        bed.put("home/.claude/skills/s/a.txt", "a");
        let (reading, _) = reading(&bed);
        let source = found(&bed).remove(0);
        assert_eq!(reading.head(&source, 3).expect("read"), b"---");
        assert!(reading.stamp(&source).is_some());
        let skill = reading.open(&source).expect("opens");
        let (files, _) = reading.files(&skill, 10);
        assert_eq!(files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
    }

    #[test]
    fn what_is_denied_is_neither_listed_nor_read_nor_led_to() {
        let bed = bed();
        bed.put("home/.scorpiox/policy.toml", "version = 1\n[files]\ndeny = [\"secrets/\", \"**/*.key\"]\n");
        skill(&bed, "ws/secrets/s");
        skill(&bed, "ws/.claude/skills/open");
        bed.put("ws/.claude/skills/open/a.key", "key");
        fs::create_dir_all(bed.at("home/.claude/skills")).expect("folder");
        bed.link(bed.at("ws/secrets/s"), "home/.claude/skills/mine");
        let (reading, uses) = reading(&bed);
        let sources = found(&bed);
        let names: Vec<_> = sources.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(names, ["mine", "open"]);
        let skill = reading.open(&sources[1]).expect("opens");
        assert_eq!(reading.files(&skill, 10).0, []);
        assert!(matches!(reading.whole(&skill, "a.key", 100), Err(SkillReadError::Denied(_))));
        assert!(matches!(reading.head(&sources[0], 100), Err(SkillReadError::Denied(_))));
        assert!(uses.lines().iter().any(|line| line.contains("refused: ")), "{:?}", uses.lines());
    }

    #[test]
    fn a_folder_that_is_denied_by_a_path_with_a_link_in_it_is_denied_where_it_is() {
        let bed = bed();
        bed.link("../elsewhere", "home/notes");
        skill(&bed, "elsewhere/secret/s");
        skill(&bed, "elsewhere/open/t");
        for name in ["secret/s", "open/t"] {
            fs::create_dir_all(bed.at("home/.claude/skills")).expect("folder");
            let link = name.rsplit('/').next().expect("a name");
            bed.link(bed.at("elsewhere").join(name), format!("home/.claude/skills/{link}"));
        }
        let read = "read = [\"@workspace\", \"~/notes\"]";
        for deny in ["secret/", "~/notes/secret", "~/notes/s*t/s"] {
            bed.put(
                "home/.scorpiox/policy.toml",
                &format!("version = 1\n[files]\n{read}\ndeny = [\"{deny}\"]\n"),
            );
            let (reading, _) = reading(&bed);
            let sources = found(&bed);
            assert_eq!(sources.len(), 2);
            for source in sources {
                let head = reading.head(&source, 100);
                assert_eq!(
                    matches!(head, Err(SkillReadError::Denied(_))),
                    source.name == "s",
                    "{deny} {head:?}"
                );
            }
        }
    }

    #[test]
    fn links_of_the_workspace_lead_nowhere_and_those_of_the_person_do() {
        let bed = bed();
        skill(&bed, "elsewhere/s");
        skill(&bed, "ws/other/t");
        for (link, target) in [
            ("ws/.claude/skills/out", "elsewhere/s"),
            ("ws/.claude/skills/in", "ws/other/t"),
            ("home/.claude/skills/mine", "elsewhere/s"),
        ] {
            fs::create_dir_all(bed.at(link).parent().expect("parent")).expect("folder");
            bed.link(bed.at(target), link);
        }
        bed.link("skills", "ws/.agents");
        let sources = found(&bed);
        let names: Vec<_> = sources.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(names, ["mine"]);
        assert!(reading(&bed).0.head(&sources[0], 100).is_ok());
        // A link that replaces a skill after it was found is not followed either.
        skill(&bed, "ws/.claude/skills/real");
        let found = found(&bed).into_iter().find(|source| source.name == "real").expect("found");
        #[allow(clippy::disallowed_methods, reason = "a test knows what it removes")]
        fs::remove_dir_all(&found.path).expect("removes");
        symlink(bed.at("elsewhere/s"), &found.path).expect("link");
        assert!(matches!(reading(&bed).0.head(&found, 100), Err(SkillReadError::NotFound)));
    }
}
