//! Extracts the name and the address that git writes into a user's commits, and a few habits, without the rest of the
//! configuration.

use std::path::{Path, PathBuf};

use scorpiox_fs::Trail;

use crate::parse::{Entry, parse};
use crate::read::{self, Text};
use crate::user::User;

/// Name of the first file. Conditionally included files append a number.
const FILE: &str = ".gitconfig";
/// Keys that identify the user, and habits whose values name no file and no program.
const KEYS: [&[u8]; 10] = [
    b"user.name",
    b"user.email",
    b"user.useconfigonly",
    b"author.name",
    b"author.email",
    b"committer.name",
    b"committer.email",
    b"init.defaultbranch",
    b"pull.ff",
    b"pull.rebase",
];
/// Conditions that contain a path.
const FOLDERS: [&[u8]; 2] = [b"gitdir:", b"gitdir/i:"];
/// Maximum number of bytes read from configurations, and maximum depth of includes.
const MAX_BYTES: u64 = 1 << 20;
const MAX_DEPTH: usize = 10;
/// Maximum number of generated files, and maximum size of each in bytes.
const MAX_FILES: usize = 32;
const MAX_FILE_BYTES: usize = 64 << 10;

/// A configuration with only the user's identity and habits.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct OwnIdentity {
    /// Names and contents of files for a home folder. Empty if the user's configuration contains none of these, is not
    /// accepted by git, exceeds a limit, or includes a file that may not be read.
    pub files: Vec<(String, Vec<u8>)>,
    /// Files that were read, or are absent.
    pub sources: Vec<PathBuf>,
}

/// Returns a configuration with only the user's identity and habits. Conditions for single repositories are preserved.
pub fn identity(user: &User, may_read: &dyn Fn(&Path) -> bool) -> OwnIdentity {
    let (files, sources) = (vec![Vec::new()], Vec::new());
    let mut reading = Reading { user, may_read, bytes_left: MAX_BYTES, files, sources };
    let read = user.global().iter().try_for_each(|file| reading.add(file, 0, 0));
    let Reading { files, sources, .. } = reading;
    let is_small = files.iter().all(|content| content.len() <= MAX_FILE_BYTES);
    if read.is_err() || !is_small || files[0].is_empty() {
        return OwnIdentity { files: Vec::new(), sources };
    }
    OwnIdentity { files: (0..).map(name).zip(files).collect(), sources }
}

fn name(number: usize) -> String {
    if number == 0 { FILE.to_owned() } else { format!("{FILE}-{number}") }
}

/// The identity cannot be determined completely.
struct Unknown;

struct Reading<'a> {
    user: &'a User,
    may_read: &'a dyn Fn(&Path) -> bool,
    bytes_left: u64,
    files: Vec<Vec<u8>>,
    sources: Vec<PathBuf>,
}

impl Reading<'_> {
    /// Adds the identity of a configuration and its includes to the file with this number.
    fn add(&mut self, file: &Path, to: usize, depth: usize) -> Result<(), Unknown> {
        self.sources.push(file.to_owned());
        let end = Trail::follow(file).map_err(|_| Unknown)?.end;
        if depth > MAX_DEPTH || !(self.may_read)(file) || !(self.may_read)(&end) {
            return Err(Unknown);
        }
        // Git ignores missing files.
        let Some(Text { bytes, is_cut }) = read::text(file, self.bytes_left) else { return Ok(()) };
        self.bytes_left = self.bytes_left.saturating_sub(bytes.len() as u64);
        let parsed = parse(&bytes);
        if is_cut || parsed.is_broken {
            return Err(Unknown);
        }
        for entry in &parsed.entries {
            let (section, key) = (entry.section(), entry.key());
            match (section.as_slice(), key.as_slice(), entry.subsection()) {
                (b"include", b"path", None) => {
                    for path in self.included(file, entry)? {
                        self.add(&path, to, depth + 1)?;
                    }
                }
                (b"includeif", b"path", Some(condition)) => {
                    let condition = self.condition(file, condition)?;
                    for path in self.included(file, entry)? {
                        self.add_if(&condition, &path, to, depth + 1)?;
                    }
                }
                (_, _, None) if KEYS.contains(&entry.name.to_ascii_lowercase().as_slice()) => {
                    put(&mut self.files[to], entry);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds a conditional include as a separate file, unless it is empty.
    fn add_if(&mut self, condition: &[u8], path: &Path, to: usize, depth: usize) -> Result<(), Unknown> {
        let number = self.files.len();
        if number >= MAX_FILES {
            return Err(Unknown);
        }
        self.files.push(Vec::new());
        self.add(path, number, depth)?;
        if self.files[number].is_empty() {
            self.files.truncate(number);
            return Ok(());
        }
        let file = &mut self.files[to];
        file.extend_from_slice(b"[includeIf ");
        quote(file, condition);
        file.extend_from_slice(format!("]\n\tpath = {}\n", name(number)).as_bytes());
        Ok(())
    }

    fn included(&self, file: &Path, entry: &Entry) -> Result<Vec<PathBuf>, Unknown> {
        let paths = self.user.expand(entry.value()).map_err(|_| Unknown)?;
        Ok(paths.into_iter().map(|path| file.parent().unwrap_or(file).join(path)).collect())
    }

    /// Rewrites a condition so that it keeps its meaning in another home folder and next to another file.
    fn condition(&self, file: &Path, condition: &[u8]) -> Result<Vec<u8>, Unknown> {
        let kind = FOLDERS.into_iter().find(|kind| condition.starts_with(kind));
        let Some((kind, pattern)) = kind.map(|kind| condition.split_at(kind.len())) else {
            return Ok(condition.to_owned());
        };
        let folder = match pattern {
            [b'~', b'/', ..] => self.user.home(),
            [b'.', b'/', ..] => file.parent(),
            _ => return Ok(condition.to_owned()),
        };
        let folder = folder.ok_or(Unknown)?.as_os_str().as_encoded_bytes();
        Ok([kind, folder, pattern.get(1..).unwrap_or_default()].concat())
    }
}

/// Writes an entry in git's syntax.
fn put(file: &mut Vec<u8>, entry: &Entry) {
    file.push(b'[');
    file.extend_from_slice(&entry.section());
    file.extend_from_slice(b"]\n\t");
    file.extend_from_slice(&entry.key());
    if let Some(value) = &entry.value {
        file.extend_from_slice(b" = ");
        quote(file, value);
    }
    file.push(b'\n');
}

/// Writes a quoted value or subsection name.
fn quote(file: &mut Vec<u8>, value: &[u8]) {
    file.push(b'"');
    for byte in value {
        match byte {
            b'"' | b'\\' => file.extend_from_slice(&[b'\\', *byte]),
            b'\n' => file.extend_from_slice(b"\\n"),
            _ => file.push(*byte),
        }
    }
    file.push(b'"');
}

#[cfg(test)]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;

    fn of(bed: &Bed) -> Vec<(String, String)> {
        let files = identity(&User::new(Some(&bed.at("home")), |_| None), &|path| !path.ends_with("closed"));
        files.files.into_iter().map(|(name, content)| (name, String::from_utf8(content).unwrap())).collect()
    }

    #[test]
    fn who_a_person_is_comes_without_the_rest_of_their_configuration() {
        let bed = Bed::with(&["home/.config/git"]);
        assert!(of(&bed).is_empty());
        bed.put("home/.gitconfig", "[core]\n\thooksPath = h\n[alias]\n\tx = !sh\n");
        assert!(of(&bed).is_empty(), "it says nothing");
        bed.put("home/.config/git/config", "[user]\n\tname = Old\n\tuseConfigOnly\n");
        bed.put(
            "home/.gitconfig",
            "[alias]\n\tx = !sh\n[pull]\n\trebase = true\n[User]\n\tName = \"Ann \\\"A\\\" \\\\ Lee\"\n\tsigningKey = K\n[include]\n\tpath = more\n",
        );
        bed.put("home/more", "[user]\n\temail = ann@example.com\n[core]\n\tfsmonitor = x\n");
        let text = "[user]\n\tname = \"Old\"\n[user]\n\tuseconfigonly\n[pull]\n\trebase = \"true\"\n[user]\n\tname = \"Ann \\\"A\\\" \\\\ Lee\"\n\
                    [user]\n\temail = \"ann@example.com\"\n";
        assert_eq!(of(&bed), [(".gitconfig".to_owned(), text.to_owned())]);
    }

    #[test]
    fn conditions_stay_conditions() {
        let bed = Bed::with(&["home/conf"]);
        let config = "[user]\n\tname = Ann\n[includeIf \"gitdir:~/acme/\"]\n\tpath = conf/work\n\
                      [includeIf \"onbranch:x\"]\n\tpath = conf/none\n[includeIf \"gitdir/i:./here\"]\n\tpath = conf/work\n";
        bed.put("home/.gitconfig", config);
        bed.put("home/conf/work", "[user]\n\temail = ann@work.example\n[include]\n\tpath = deeper\n");
        bed.put("home/conf/deeper", "[author]\n\tname = Lee\n");
        let home = bed.at("home").display().to_string();
        let first = format!(
            "[user]\n\tname = \"Ann\"\n[includeIf \"gitdir:{home}/acme/\"]\n\tpath = .gitconfig-1\n\
             [includeIf \"gitdir/i:{home}/here\"]\n\tpath = .gitconfig-2\n"
        );
        let work = "[user]\n\temail = \"ann@work.example\"\n[author]\n\tname = \"Lee\"\n".to_owned();
        let wanted = [(".gitconfig", first), (".gitconfig-1", work.clone()), (".gitconfig-2", work)];
        assert_eq!(of(&bed), wanted.map(|(name, content)| (name.to_owned(), content)));
    }

    #[test]
    fn half_an_identity_is_none() {
        let bed = Bed::with(&["home"]);
        for config in [
            "[user]\n\tname = Ann\n[",
            "[user]\n\tname = Ann\n[include]\n\tpath = .gitconfig\n",
            "[user]\n\tname = Ann\n[include]\n\tpath = ~nobody-has-this-name/x\n",
            "[user]\n\tname = Ann\n[include]\n\tpath = closed\n",
        ] {
            bed.put("home/.gitconfig", config);
            assert!(of(&bed).is_empty(), "{config}");
        }
        bed.put("home/.gitconfig", &format!("[user]\n\tname = {}\n", "n".repeat(MAX_FILE_BYTES)));
        assert!(of(&bed).is_empty());
    }
}
