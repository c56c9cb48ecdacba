//! Files of a skill, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Read as _, Write};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use scorpiox_fs::{Folder, Kind, is_plain};
use scorpiox_plugin::archive::{self, Entry, check_form, entries};
use scorpiox_plugin::package::MAX_PACKAGE_BYTES;
use scorpiox_plugin::{Fingerprint, MANIFEST};
use scorpiox_terminal::size;
use scorpiox_text::{folded, is_deceptive};
use scorpiox_workspace_config::SKILL_FILE;

/// Maximum number of files in a skill.
pub const MAX_FILES: usize = 1000;
/// Maximum total size of a skill's files: a component with everything that describes it.
pub const MAX_SKILL_BYTES: u64 = MAX_PACKAGE_BYTES;

/// Maximum length of a skill's name, in characters.
const MAX_NAME: usize = 64;
/// Maximum number of nested folders in a skill.
const MAX_DEPTH: usize = 8;
/// Maximum length of a path in a skill, in bytes.
const MAX_PATH: usize = 180;
/// Maximum number of directory entries visited.
const MAX_LOOKED_AT: usize = 10_000;
/// Folder of compiled Python modules, which running a script creates.
const CACHE: &str = "__pycache__";

/// Modes of files. The content decides, so that they are the same on every machine.
const PLAIN_MODE: u32 = 0o644;
const PROGRAM_MODE: u32 = 0o755;
/// First bytes of scripts, and of programs for Linux and macOS.
const PROGRAMS: [&[u8]; 4] = [b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"];

/// Files of a skill, by their paths with `/` as the separator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillFiles(BTreeMap<String, Vec<u8>>);

/// Entries of a folder that are not part of the skill. Names of folders end with a slash.
pub type Left = Vec<String>;

impl SkillFiles {
    /// Reads the skill in a folder. Hidden files, links, and what is no file are left out.
    pub fn read(folder: &Path) -> Result<(Self, Left)> {
        let real = dunce::canonicalize(folder).with_context(|| folder.display().to_string())?;
        let opened = Folder::open(&real).with_context(|| folder.display().to_string())?;
        let mut reading = Reading::default();
        reading.folder(&opened, "", 0).with_context(|| folder.display().to_string())?;
        let files = Self(reading.files);
        files.check().with_context(|| folder.display().to_string())?;
        Ok((files, reading.left_out))
    }

    /// Returns the paths in order, each with the size of its file.
    pub fn names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(name, bytes)| (name.as_str(), bytes.len()))
    }

    /// Returns the content of a file.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// Returns the total size.
    pub fn size(&self) -> u64 {
        self.0.values().map(|bytes| bytes.len() as u64).sum()
    }

    /// Returns the name of the file that makes the skill carry a component.
    pub fn component(&self) -> Option<&str> {
        let is_component = |name: &&str| {
            *name == MANIFEST
                || !name.contains('/') && Path::new(name).extension() == Some(OsStr::new("wasm"))
        };
        self.0.keys().map(String::as_str).find(is_component)
    }

    /// Returns all files with their modes.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, u32, &[u8])> {
        self.0.iter().map(|(name, bytes)| (name.as_str(), mode(bytes), bytes.as_slice()))
    }

    /// Returns a hash of the files, independent of the skill's name.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut bytes = Vec::new();
        for (name, content) in &self.0 {
            bytes.extend_from_slice(Fingerprint::of(name.as_bytes()).as_str().as_bytes());
            bytes.extend_from_slice(Fingerprint::of(content).as_str().as_bytes());
        }
        Fingerprint::of(&bytes)
    }

    /// Returns the pack of the skill, which depends only on its name and files.
    pub fn to_bytes(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write(name, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a complete pack. Returns the skill's name and its files.
    pub fn from_bytes(bytes: &[u8]) -> Result<(String, Self)> {
        let mut files = BTreeMap::new();
        let mut folder = None;
        for Entry { name, bytes, .. } in entries(bytes, MAX_FILES, check_path)? {
            let (first, inside) =
                name.split_once('/').ok_or_else(|| anyhow!("it has {name:?} outside of a folder"))?;
            ensure!(is_folder_name(first), "its folder {first:?} is no name of a skill");
            let folder = folder.get_or_insert_with(|| first.to_owned());
            ensure!(first == folder, "it has the folders {folder:?} and {first:?}; a pack has one skill");
            ensure!(files.insert(inside.to_owned(), bytes.to_vec()).is_none(), "it has {name:?} twice");
        }
        let (name, files) = (folder.context("it is empty")?, Self(files));
        files.check()?;
        check_form(bytes, |out| files.write(&name, out))?;
        Ok((name, files))
    }

    /// Writes the pack: SKILL.md, then the other files, sorted by name.
    fn write(&self, name: &str, out: impl Write) -> io::Result<()> {
        let is_first = |file: &str| file.eq_ignore_ascii_case(SKILL_FILE);
        let (first, others): (Vec<_>, Vec<_>) = self.entries().partition(|(file, _, _)| is_first(file));
        let entry = |(file, mode, bytes)| Entry { name: format!("{name}/{file}"), mode, bytes };
        archive::write(out, first.into_iter().chain(others).map(entry))
    }

    fn check(&self) -> Result<()> {
        let is_skill = self.0.keys().any(|name| name.eq_ignore_ascii_case(SKILL_FILE));
        ensure!(is_skill, "it has no {SKILL_FILE}");
        ensure!(self.0.len() <= MAX_FILES, "it has more than {MAX_FILES} files");
        let bytes = self.size();
        ensure!(bytes <= MAX_SKILL_BYTES, "it has {}; the limit is {}", size(bytes), size(MAX_SKILL_BYTES));
        let mut seen = BTreeSet::new();
        for name in self.0.keys() {
            check_path(name).map_err(|fault| anyhow!("{name:?} {fault}"))?;
            ensure!(seen.insert(folded(name)), "{name:?} is the name of two files on some systems");
        }
        Ok(())
    }
}

/// Returns `true` if a folder of a skill may have this name.
pub fn is_folder_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(fits)
        && !name.starts_with('.')
        && is_plain(OsStr::new(name))
}

/// Checks that a path stays inside the skill's folder, and is the same on every system.
fn check_path(path: &str) -> Result<(), String> {
    let parts: Vec<&str> = path.split('/').collect();
    let fault = if path.len() > MAX_PATH {
        format!("is longer than {MAX_PATH} bytes")
    } else if parts.iter().any(|part| part.is_empty() || *part == "." || *part == "..") {
        "leads out of the folder, or has an empty part".to_owned()
    } else if parts.iter().any(|part| part.starts_with('.')) {
        "has a part that begins with a dot".to_owned()
    } else if path.chars().any(|c| is_deceptive(c) || c.is_control() || r#"\:*?"<>|"#.contains(c)) {
        "has characters that not every system takes".to_owned()
    } else if parts.iter().any(|part| part.ends_with(['.', ' ']) || !is_plain(OsStr::new(part))) {
        "has a part that some systems take for another name".to_owned()
    } else if parts.len() > MAX_DEPTH + 1 {
        format!("has more than {MAX_DEPTH} folders in one another")
    } else {
        return Ok(());
    };
    Err(fault)
}

fn mode(bytes: &[u8]) -> u32 {
    if PROGRAMS.iter().any(|begin| bytes.starts_with(begin)) { PROGRAM_MODE } else { PLAIN_MODE }
}

/// Progress of reading a folder.
#[derive(Default)]
struct Reading {
    files: BTreeMap<String, Vec<u8>>,
    left_out: Left,
    looked_at: usize,
    bytes: u64,
}

impl Reading {
    fn folder(&mut self, opened: &Folder, above: &str, depth: usize) -> Result<()> {
        let mut names = Vec::new();
        for name in opened.names()? {
            self.looked_at += 1;
            ensure!(self.looked_at <= MAX_LOOKED_AT, "it has more than {MAX_LOOKED_AT} files");
            names.push(name?);
        }
        names.sort();
        for name in names {
            let inside = Path::new(&name);
            let shown = format!("{above}{}", name.to_string_lossy());
            let is_known = name.to_str().is_some_and(|name| !name.starts_with('.') && name != CACHE);
            match opened.kind(inside) {
                Ok(Kind::Folder) if is_known => {
                    ensure!(depth < MAX_DEPTH, "{shown} lies too deep: {MAX_DEPTH} folders in one another");
                    self.folder(&opened.folder(inside)?, &format!("{shown}/"), depth + 1)?;
                }
                Ok(Kind::File(_)) if is_known => self.file(opened, inside, shown)?,
                Ok(Kind::Folder) => self.left_out.push(format!("{shown}/")),
                Ok(Kind::Link) => self.left_out.push(format!("{shown} (a link)")),
                _ => self.left_out.push(shown),
            }
        }
        Ok(())
    }

    fn file(&mut self, opened: &Folder, inside: &Path, name: String) -> Result<()> {
        if self.files.len() == MAX_FILES {
            bail!("it has more than {MAX_FILES} files; keep what is built out of the skill's folder");
        }
        let (mut bytes, left) = (Vec::new(), MAX_SKILL_BYTES - self.bytes);
        let file = opened.file(inside).with_context(|| name.clone())?;
        file.take(left + 1).read_to_end(&mut bytes).with_context(|| name.clone())?;
        self.bytes += bytes.len() as u64;
        ensure!(
            self.bytes <= MAX_SKILL_BYTES,
            "it has more than {}, with {name}; keep what is built (target/, node_modules/) out of the skill's folder",
            size(MAX_SKILL_BYTES)
        );
        self.files.insert(name, bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn skill(folder: &Path) {
        fs::create_dir_all(folder.join("scripts")).expect("a folder");
        fs::write(folder.join("SKILL.md"), "---\nname: a\n---\n").expect("writes");
        fs::write(folder.join("a first.md"), "text").expect("writes");
        fs::write(folder.join("scripts/run.sh"), "#!/bin/sh\n").expect("writes");
    }

    #[test]
    fn a_pack_has_the_same_bytes_for_the_same_content_and_is_read_again() {
        let home = tempfile::tempdir().expect("a folder");
        let (one, other) = (home.path().join("one"), home.path().join("other"));
        skill(&one);
        skill(&other);
        fs::create_dir_all(other.join(".git")).expect("a folder");
        fs::create_dir_all(other.join("__pycache__")).expect("a folder");
        fs::write(other.join(".hidden"), "x").expect("writes");
        let ((one, none), (other, left)) =
            (SkillFiles::read(&one).expect("reads"), SkillFiles::read(&other).expect("reads"));
        assert!(none.is_empty());
        assert_eq!(left, [".git/", ".hidden", "__pycache__/"]);
        let bytes = one.to_bytes("notes").expect("bytes");
        assert_eq!(bytes, other.to_bytes("notes").expect("bytes"));
        assert_eq!(one.fingerprint(), other.fingerprint());
        assert_eq!(SkillFiles::from_bytes(&bytes).expect("a skill"), ("notes".to_owned(), one));
        let mut archive = tar::Archive::new(&bytes[..]);
        let entries = archive.entries().expect("entries").map(|entry| {
            let entry = entry.expect("an entry");
            let name = entry.path().expect("a path").display().to_string();
            (name, entry.header().mode().expect("a mode"))
        });
        let expected = [
            ("notes/SKILL.md".to_owned(), 0o644),
            ("notes/a first.md".to_owned(), 0o644),
            ("notes/scripts/run.sh".to_owned(), 0o755),
        ];
        assert_eq!(entries.collect::<Vec<_>>(), expected);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_left_out() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("one");
        skill(&folder);
        std::os::unix::fs::symlink("/etc/passwd", folder.join("secret")).expect("a link");
        std::os::unix::fs::symlink("/etc", folder.join("folder")).expect("a link");
        let (files, left) = SkillFiles::read(&folder).expect("reads");
        assert_eq!(left, ["folder (a link)", "secret (a link)"]);
        assert!(files.get("secret").is_none());
        fs::remove_file(folder.join("SKILL.md")).expect("removed");
        std::os::unix::fs::symlink("/etc/passwd", folder.join("SKILL.md")).expect("a link");
        let error = format!("{:#}", SkillFiles::read(&folder).expect_err("an error"));
        assert!(error.ends_with("it has no SKILL.md"), "{error}");
    }

    /// Returns an archive with one entry besides `a/SKILL.md`. The name is not checked.
    fn with(name: &str, kind: tar::EntryType) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (name, kind) in [("a/SKILL.md", tar::EntryType::Regular), (name, kind)] {
            let mut header = tar::Header::new_ustar();
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(kind);
            header.set_mode(0o644);
            header.set_mtime(946_684_800);
            header.set_uid(0);
            header.set_gid(0);
            header.set_size(0);
            if kind.is_symlink() || kind.is_hard_link() {
                header.set_link_name("../../elsewhere").expect("a link");
            }
            header.set_cksum();
            archive.append(&header, &b""[..]).expect("appended");
        }
        archive.into_inner().expect("bytes")
    }

    #[test]
    fn a_pack_that_leads_elsewhere_is_refused() {
        use tar::EntryType::{Directory, Link, Regular, Symlink};
        for (name, kind, why) in [
            ("/etc/cron.d/a", Regular, "leads out of the folder"),
            ("a/../../b", Regular, "leads out of the folder"),
            ("a//b", Regular, "leads out of the folder"),
            ("a/.git/hooks", Regular, "begins with a dot"),
            ("a/c:\\x", Regular, "not every system takes"),
            ("a/\u{202e}x", Regular, "not every system takes"),
            ("a/x.", Regular, "take for another name"),
            ("a/1/2/3/4/5/6/7/8/9", Regular, "folders in one another"),
            ("a/link", Symlink, "is a link"),
            ("a/link", Link, "is a link"),
            ("a/folder", Directory, "is a folder"),
            ("b/file", Regular, "a pack has one skill"),
            ("file", Regular, "outside of a folder"),
            ("a/SKILL.md", Regular, "twice"),
            ("a/skill.MD", Regular, "two files on some systems"),
        ] {
            let error = format!("{:#}", SkillFiles::from_bytes(&with(name, kind)).expect_err(name));
            assert!(error.contains(why), "{name}: {error}");
        }
        assert!(SkillFiles::from_bytes(&with("a/b", Regular)).is_ok());
        assert!(SkillFiles::from_bytes(&with("b/b", Regular)[1024..]).is_err());
        assert!(SkillFiles::from_bytes(b"").is_err() && SkillFiles::from_bytes(b"PK\x03\x04").is_err());
    }

    #[test]
    fn other_modes_and_trailing_bytes_are_another_form() {
        let mut files = SkillFiles::default();
        files.0.insert("SKILL.md".to_owned(), b"#!/bin/sh".to_vec());
        let mut bytes = Vec::new();
        let entry = Entry { name: "a/SKILL.md".to_owned(), mode: 0o4755, bytes: b"#!/bin/sh" };
        archive::write(&mut bytes, [entry]).expect("written");
        let error = SkillFiles::from_bytes(&bytes).expect_err("an error").to_string();
        assert!(error.contains("differs at byte "), "{error}");
        let mut bytes = files.to_bytes("a").expect("bytes");
        bytes.extend_from_slice(&[0; 512]);
        assert!(SkillFiles::from_bytes(&bytes).is_err());
    }

    #[test]
    fn too_many_files_and_bytes_are_refused() {
        let mut files = SkillFiles::default();
        files.0.insert("SKILL.md".to_owned(), Vec::new());
        for index in 0..MAX_FILES {
            files.0.insert(format!("file-{index}"), Vec::new());
        }
        let bytes = files.to_bytes("a").expect("bytes");
        let error = SkillFiles::from_bytes(&bytes).expect_err("an error").to_string();
        assert_eq!(error, "the pack has more than 1000 files");
        let home = tempfile::tempdir().expect("a folder");
        fs::write(home.path().join("SKILL.md"), "x").expect("writes");
        fs::File::create(home.path().join("large"))
            .and_then(|file| file.set_len(MAX_SKILL_BYTES))
            .expect("a file");
        let error = format!("{:#}", SkillFiles::read(home.path()).expect_err("an error"));
        assert!(error.contains("it has more than 132.2 MiB, with large; keep what is built"), "{error}");
    }

    #[test]
    fn a_folder_name_is_one_name_on_every_system() {
        for name in ["a", "release-notes", "my_skill", "v1.2"] {
            assert!(is_folder_name(name), "{name}");
        }
        for name in ["", ".", "..", ".hidden", "a/b", "a b", "a\u{202e}", &"x".repeat(65)] {
            assert!(!is_folder_name(name), "{name}");
        }
    }
}
