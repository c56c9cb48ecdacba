//! Reads the addresses of a folder's remotes.
//!
//! Invariant: no address that git may use is missing. Conditional includes are read whatever their condition, and
//! each address is returned as it is written and as each `insteadOf` rewrites it. If git's answer cannot be
//! foreseen, the addresses are unknown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::old_remotes::OLD_REMOTES;
use crate::parse::{Entry, parse};
use crate::read::{self, Text};
use crate::user::User;

/// Maximum number of bytes read from all configurations.
const MAX_BYTES: u64 = 4 << 20;
/// Maximum number of files to read, addresses, and rules that rewrite addresses.
const MAX_FILES: usize = 256;
const MAX_ADDRESSES: usize = 512;
const MAX_REWRITES: usize = 512;
/// Maximum length of a file that leads to another folder, in bytes.
const MAX_LINK_BYTES: u64 = 4096;
/// Configurations in a git directory.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];
/// Remote that git uses if the configuration names none.
const ORIGIN: &str = "origin";

/// Addresses of the remotes of a folder, with the files that they depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remotes {
    /// Addresses, including those for pushing, with credentials as they are written. `Err` has the reason why they
    /// are unknown.
    pub addresses: Result<BTreeSet<String>, Unknown>,
    /// Files whose content or absence decided.
    pub files: BTreeSet<PathBuf>,
}

/// Reason why the remotes of a folder are unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// File that cannot be judged.
    pub file: PathBuf,
    /// Continuation of a sentence that begins with the file.
    pub why: &'static str,
}

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.file.display(), self.why)
    }
}

/// Reads the remotes of all repositories that a folder is in: of the folder itself and of those around it. Git uses
/// the innermost one, but a command could put another one in front of it.
pub fn remotes(folder: &Path, user: &User) -> Remotes {
    let mut reading = Reading::new(user);
    let read = reading.all(folder);
    let addresses = read.map(|()| reading.rewritten());
    let addresses = addresses.and_then(|all| {
        let is_cut = all.len() > MAX_ADDRESSES;
        if is_cut { Err(unknown(folder, "has too many remotes")) } else { Ok(all) }
    });
    Remotes { addresses, files: reading.files }
}

fn unknown(file: &Path, why: &'static str) -> Unknown {
    Unknown { file: file.to_owned(), why }
}

struct Reading<'a> {
    user: &'a User,
    bytes_left: u64,
    files: BTreeSet<PathBuf>,
    addresses: BTreeSet<String>,
    /// Names of remotes, which git takes for addresses if nothing else is known about them.
    names: BTreeSet<String>,
    /// Beginnings of addresses, each with its replacement.
    rewrites: BTreeSet<(String, String)>,
}

impl<'a> Reading<'a> {
    fn new(user: &'a User) -> Self {
        let (files, addresses, rewrites) = Default::default();
        let names = [ORIGIN.to_owned()].into();
        Self { user, bytes_left: MAX_BYTES, files, addresses, names, rewrites }
    }

    fn all(&mut self, folder: &Path) -> Result<(), Unknown> {
        for tree in folder.ancestors() {
            let dot_git = tree.join(".git");
            self.files.insert(dot_git.clone());
            match dot_git.metadata() {
                Ok(found) if found.is_dir() => self.repository(&dot_git)?,
                Ok(found) if found.is_file() => self.led_from(&dot_git)?,
                Ok(_) => {}
                // A dangling link is absent, too.
                Err(error) if read::is_absent(&error) => {}
                Err(_) => return Err(unknown(&dot_git, "cannot be read")),
            }
        }
        let configs = self.user.configs.iter().map(|file| folder.join(file)).collect();
        self.follow(configs)?;
        let given = &self.user.given;
        let mut open = Vec::new();
        for entry in given {
            self.note(entry, folder, &mut open)?;
        }
        self.follow(open)
    }

    /// Reads the repository that a file `.git` names.
    fn led_from(&mut self, file: &Path) -> Result<(), Unknown> {
        let text = self.line(file)?.unwrap_or_default();
        let named = text.strip_prefix(b"gitdir:").map(<[u8]>::trim_ascii).and_then(read::path);
        let named = named.ok_or_else(|| unknown(file, "does not name a repository"))?;
        let repository = file.parent().unwrap_or(file).join(named);
        if !repository.is_dir() {
            return Err(unknown(file, "names a repository that does not exist"));
        }
        self.repository(&repository)
    }

    /// Returns the content of a file without its line end, if the file exists.
    fn line(&mut self, file: &Path) -> Result<Option<Vec<u8>>, Unknown> {
        self.files.insert(file.to_owned());
        match read::text(file, MAX_LINK_BYTES) {
            Some(text) if text.is_cut => Err(unknown(file, "cannot be read completely")),
            Some(text) => Ok(Some(text.bytes.trim_ascii_end().to_owned())),
            None if read::is_closed(file) => Err(unknown(file, "cannot be read")),
            None => Ok(None),
        }
    }

    /// Reads the configurations of a git directory, and of the one that it shares with others.
    fn repository(&mut self, repository: &Path) -> Result<(), Unknown> {
        let mut open: Vec<_> = CONFIGS.map(|name| repository.join(name)).into();
        if let Some(common) = self.line(&repository.join("commondir"))? {
            let common = read::path(&common).map(|common| repository.join(common));
            let common = common.filter(|common| common.is_dir());
            let file = repository.join("commondir");
            let common = common.ok_or_else(|| unknown(&file, "names a folder that does not exist"))?;
            open.extend(CONFIGS.map(|name| common.join(name)));
            self.legacy(&common)?;
        }
        self.legacy(repository)?;
        self.follow(open)
    }

    /// Reads the files of a git directory that each have a remote.
    fn legacy(&mut self, repository: &Path) -> Result<(), Unknown> {
        for kind in OLD_REMOTES {
            let folder = repository.join(kind);
            self.files.insert(folder.clone());
            let entries = match folder.read_dir() {
                Ok(entries) => entries,
                Err(error) if read::is_absent(&error) => continue,
                Err(_) => return Err(unknown(&folder, "cannot be read")),
            };
            for entry in entries {
                let file = entry.map_err(|_| unknown(&folder, "cannot be read"))?.path();
                match file.metadata() {
                    Ok(found) if found.is_dir() => {}
                    Ok(found) if found.is_file() => self.legacy_file(&file, kind)?,
                    Err(error) if read::is_absent(&error) => _ = self.files.insert(file),
                    _ => return Err(unknown(&file, "cannot be read")),
                }
            }
        }
        Ok(())
    }

    /// Reads a file with lines such as `URL: address`, or with an address and `#branch`.
    fn legacy_file(&mut self, file: &Path, kind: &str) -> Result<(), Unknown> {
        self.files.insert(file.to_owned());
        if self.files.len() > MAX_FILES {
            return Err(unknown(file, "is one of too many files"));
        }
        let text = read::text(file, self.bytes_left).filter(|text| !text.is_cut);
        let Text { bytes, .. } = text.ok_or_else(|| unknown(file, "cannot be read completely"))?;
        self.bytes_left = self.bytes_left.saturating_sub(bytes.len() as u64);
        self.names.extend(file.file_name().map(|name| name.to_string_lossy().into_owned()));
        let text = String::from_utf8_lossy(&bytes);
        if kind == "remotes" {
            let addresses = text.lines().filter_map(|line| line.strip_prefix("URL:"));
            self.addresses.extend(addresses.map(|address| address.trim().to_owned()));
        } else {
            let line = text.trim().lines().next().unwrap_or_default();
            // The branch may be missing, and the address may have a `#`.
            self.addresses.extend([line, line.split('#').next().unwrap_or_default()].map(str::to_owned));
        }
        Ok(())
    }

    /// Reads files and their includes.
    fn follow(&mut self, mut open: Vec<PathBuf>) -> Result<(), Unknown> {
        let mut seen = BTreeSet::new();
        while let Some(file) = open.pop() {
            if !seen.insert(file.clone()) {
                continue;
            }
            self.files.insert(file.clone());
            if self.files.len() > MAX_FILES {
                return Err(unknown(&file, "is one of too many files"));
            }
            let Some(Text { bytes, is_cut }) = read::text(&file, self.bytes_left) else {
                if read::is_closed(&file) {
                    return Err(unknown(&file, "cannot be read"));
                }
                continue;
            };
            if is_cut {
                return Err(unknown(&file, "cannot be read completely"));
            }
            self.bytes_left = self.bytes_left.saturating_sub(bytes.len() as u64);
            let parsed = parse(&bytes);
            if parsed.is_broken {
                return Err(unknown(&file, "is not valid"));
            }
            for entry in &parsed.entries {
                self.note(entry, &file, &mut open)?;
            }
        }
        Ok(())
    }

    fn note(&mut self, entry: &Entry, file: &Path, open: &mut Vec<PathBuf>) -> Result<(), Unknown> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (section, key) = (entry.section(), entry.key());
        match (section.as_slice(), key.as_slice(), entry.subsection()) {
            (b"remote", _, Some(name)) => _ = self.names.insert(text(name)),
            (b"branch", b"remote" | b"pushremote", Some(_)) | (b"remote", b"pushdefault", None) => {
                self.names.insert(text(entry.value()));
            }
            _ => {}
        }
        match (section.as_slice(), key.as_slice(), entry.subsection()) {
            (b"include" | b"includeif", b"path", _) => {
                let paths = self.user.expand(entry.value());
                let paths = paths.map_err(|_| unknown(file, "includes a file of an unknown user"))?;
                open.extend(paths.into_iter().map(|path| file.parent().unwrap_or(file).join(path)));
            }
            (b"remote", b"url" | b"pushurl", Some(_)) => {
                self.addresses.insert(text(entry.value()));
            }
            (b"url", b"insteadof" | b"pushinsteadof", Some(base)) => {
                self.rewrites.insert((text(entry.value()), text(base)));
            }
            _ => {}
        }
        let count = self.addresses.len().max(self.names.len());
        if count > MAX_ADDRESSES || self.rewrites.len() > MAX_REWRITES {
            return Err(unknown(file, "names too many remotes"));
        }
        Ok(())
    }

    /// Returns the addresses as they are written and as each rule rewrites them. Git applies the longest one.
    fn rewritten(&self) -> BTreeSet<String> {
        let is_address = |name: &&String| name.contains([':', '/']);
        let mut all = self.addresses.clone();
        all.extend(self.names.iter().filter(is_address).cloned());
        for address in self.addresses.iter().chain(&self.names) {
            let rewritten = self.rewrites.iter().filter_map(|(start, base)| {
                let rest = address.strip_prefix(start.as_str())?;
                Some(format!("{base}{rest}"))
            });
            all.extend(rewritten.take(MAX_ADDRESSES));
            if all.len() > MAX_ADDRESSES {
                break;
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use scorpiox_test_support::bed::Bed;

    use super::*;

    fn user(bed: &Bed) -> User {
        User::at_home(Some(&bed.at("home")))
    }

    fn of(bed: &Bed, folder: &str) -> Result<Vec<String>, String> {
        let addresses = remotes(&bed.at(folder), &user(bed)).addresses;
        addresses.map(|all| all.into_iter().collect()).map_err(|unknown| unknown.why.to_owned())
    }

    #[test]
    fn addresses_are_those_of_the_repository_and_of_the_ones_around_it() {
        let bed = Bed::with(&["outer/.git", "outer/inner/.git", "outer/none"]);
        bed.put("outer/.git/config", "[remote \"origin\"]\n\turl = git@h:acme/x.git\n");
        let inner =
            "[remote \"o\"]\nurl = https://h/own\npushurl = https://h/push\n[remote \"p\"]\nURL = /srv/x\n";
        bed.put("outer/inner/.git/config", inner);
        assert_eq!(of(&bed, "outer/none").unwrap(), ["git@h:acme/x.git"]);
        let all = ["/srv/x", "git@h:acme/x.git", "https://h/own", "https://h/push"];
        assert_eq!(of(&bed, "outer/inner").unwrap(), all);
        assert_eq!(of(&bed, "none").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn includes_are_read_whatever_their_condition() {
        let bed = Bed::with(&["tree/.git"]);
        bed.put("tree/.git/config", "[includeIf \"onbranch:x\"]\npath = more\n[include]\npath = ~/x\n");
        bed.put("tree/.git/more", "[remote \"a\"]\nurl = https://h/a\n[include]\npath = more\n");
        bed.put("home/x", "[remote \"b\"]\nurl = https://h/b\n");
        assert_eq!(of(&bed, "tree").unwrap(), ["https://h/a", "https://h/b"]);
    }

    #[test]
    fn addresses_are_rewritten_as_git_may_do_it() {
        let bed = Bed::with(&["tree/.git"]);
        bed.put(
            "tree/.git/config",
            "[remote \"a\"]\nurl = gh:acme/x\n[url \"git@github.com:\"]\ninsteadOf = gh:\n[url \"ssh://h/\"]\n\
             pushInsteadOf = gh:acme/\n",
        );
        assert_eq!(of(&bed, "tree").unwrap(), ["gh:acme/x", "git@github.com:acme/x", "ssh://h/x"]);
        let variables = [
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "url.https://g/.insteadOf"),
            ("GIT_CONFIG_VALUE_0", "gh:"),
        ];
        let find = |name: &str| variables.iter().find(|(one, _)| *one == name).map(|(_, value)| value.into());
        let user = User::new(Some(&bed.at("home")), find);
        assert!(remotes(&bed.at("tree"), &user).addresses.unwrap().contains("https://g/acme/x"));
    }

    #[test]
    fn names_of_remotes_are_addresses_and_are_rewritten() {
        let bed = Bed::with(&["tree/.git"]);
        for (config, wanted) in [
            ("[branch \"a\"]\nremote = https://h/a\n", &["https://h/a"][..]),
            ("[branch \"a\"]\npushRemote = git@h:a\n", &["git@h:a"]),
            ("[branch \"a\"]\nremote = .\n[branch \"b\"]\nremote = up\n", &[]),
            ("[remote]\npushDefault = https://h/a\n", &["https://h/a"]),
            ("[remote \"https://h/a\"]\nfetch = a:b\n", &["https://h/a"]),
            ("[remote \"up\"]\nfetch = a:b\n[url \"https://h/\"]\ninsteadOf = up\n", &["https://h/"]),
            ("[url \"https://h/a\"]\ninsteadOf = origin\n", &["https://h/a"]),
            ("[branch \"b\"]\nremote = up\n[url \"https://h/\"]\npushInsteadOf = u\n", &["https://h/p"]),
        ] {
            bed.put("tree/.git/config", config);
            assert_eq!(of(&bed, "tree").unwrap(), wanted, "{config}");
        }
    }

    #[test]
    fn remotes_in_files_of_their_own_count() {
        let bed = Bed::with(&["main/.git/worktrees/tree", "tree", "main/.git/remotes", "main/.git/branches"]);
        bed.put("main/.git/worktrees/tree/commondir", "../..\n");
        bed.put("tree/.git", &format!("gitdir: {}\n", bed.at("main/.git/worktrees/tree").display()));
        assert_eq!(of(&bed, "tree").unwrap(), [""; 0]);
        bed.put("main/.git/remotes/origin", "URL: https://h/a\nPush: x\nURL:y:b \n");
        bed.put("main/.git/branches/up", "https://h/c#main\n");
        bed.put("main/.git/config", "[url \"https://h/\"]\ninsteadOf = y:\n[url \"z:\"]\ninsteadOf = up\n");
        let wanted = ["https://h/a", "https://h/b", "https://h/c", "https://h/c#main", "y:b", "z:"];
        for folder in ["tree", "main"] {
            assert_eq!(of(&bed, folder).unwrap(), wanted);
            let files = remotes(&bed.at(folder), &user(&bed)).files;
            for name in [".git", "remotes", "branches/up"] {
                assert!(files.iter().any(|file| file.ends_with(name)), "{name}: {files:?}");
            }
        }
        bed.put("main/.git/branches/big", &"x".repeat(5 << 20));
        assert_eq!(of(&bed, "main").unwrap_err(), "cannot be read completely");
    }

    #[test]
    fn a_linked_tree_has_the_remotes_of_its_repository() {
        let bed = Bed::with(&["main/.git/worktrees/tree", "tree"]);
        bed.put("main/.git/config", "[remote \"a\"]\nurl = https://h/a\n");
        bed.put("main/.git/worktrees/tree/commondir", "../..\n");
        bed.put("tree/.git", &format!("gitdir: {}\n", bed.at("main/.git/worktrees/tree").display()));
        assert_eq!(of(&bed, "tree").unwrap(), ["https://h/a"]);
    }

    #[test]
    fn remotes_that_git_may_see_differently_are_unknown() {
        let bed = Bed::with(&["tree/.git", "other"]);
        for (config, why) in [
            ("[remote \"a\"]\nurl = \"https://h/a\n", "is not valid"),
            ("[include]\npath = ~nobody-has-this-name/x\n", "includes a file of an unknown user"),
        ] {
            bed.put("tree/.git/config", config);
            assert_eq!(of(&bed, "tree").unwrap_err(), why, "{config}");
        }
        let many: Vec<_> = (0..600).map(|at| format!("[remote \"{at}\"]\nurl = https://h/{at}\n")).collect();
        bed.put("tree/.git/config", &many.concat());
        assert_eq!(of(&bed, "tree").unwrap_err(), "names too many remotes");
        bed.put("other/.git", "gitdir: ../none\n");
        assert_eq!(of(&bed, "other").unwrap_err(), "names a repository that does not exist");
        bed.put("other/.git", "x\n");
        assert_eq!(of(&bed, "other").unwrap_err(), "does not name a repository");
    }

    #[test]
    fn the_files_that_decide_are_known_even_if_they_are_absent() {
        let bed = Bed::with(&["tree/.git"]);
        let files = remotes(&bed.at("tree"), &user(&bed)).files;
        for name in
            ["tree/.git", "tree/.git/config", "tree/.git/config.worktree", "tree/.git/commondir", ".git"]
        {
            assert!(files.contains(&bed.at(name)), "{name}: {files:?}");
        }
    }
}
