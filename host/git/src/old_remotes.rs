//! Judges the files in which git kept remotes before its configuration had them.
//!
//! Git still reads `remotes/NAME` and `branches/NAME` in a git directory, unless the configuration has a remote of that
//! name. Projects have folders of these names, too. A file therefore counts only if git would start a program for its
//! address.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::harmless::starts_helper;
use crate::read;
use crate::shared::changes_elsewhere;

/// Folders in a git directory with a file for each remote.
pub const OLD_REMOTES: [&str; 2] = ["remotes", "branches"];
/// Maximum number of files to read, and of bytes in all. Further ones count.
const MAX_FILES: usize = 4096;
const MAX_BYTES: u64 = 4 << 20;
/// Maximum number of bytes to read of a file of which only the first line counts. A longer line begins like an address.
const MAX_LINE_BYTES: u64 = 4096;
/// Beginning of the lines with an address in a file below `remotes`.
const ADDRESS: &str = "URL:";

/// Returns `true` if a folder has such a file with an address for which git starts a program, in case somebody makes a
/// repository of it. A file that cannot be read counts. Links are not followed: the answer would reveal the content of
/// files elsewhere.
pub fn has_starting_remote(folder: &Path) -> bool {
    let [remotes, branches] = OLD_REMOTES.map(|name| folder.join(name));
    any_starts(&remotes, MAX_BYTES, |text| {
        text.lines().filter_map(|line| line.strip_prefix(ADDRESS)).any(starts)
    })
    .unwrap_or(true)
        || any_starts(&branches, MAX_LINE_BYTES, |text| text.lines().next().is_some_and(starts))
            .unwrap_or(true)
}

/// Returns `true` if the content of such a file can change by another name, or a process has it open for writing.
pub(crate) fn remotes_change_elsewhere(folder: &Path) -> bool {
    let any = |folder: &Path| any_file(folder, |path| Ok(changes_elsewhere(path)));
    OLD_REMOTES.iter().any(|name| any(&folder.join(name)).unwrap_or(true))
}

fn starts(address: &str) -> bool {
    starts_helper(address.trim())
}

/// Returns `true` if `starts` does so for the first bytes of a file in a folder. Fails if not everything was read.
fn any_starts(folder: &Path, most: u64, starts: impl Fn(&str) -> bool) -> io::Result<bool> {
    let mut left = MAX_BYTES;
    any_file(folder, |path| {
        let Some(text) = read::text_itself(path, most.min(left))? else { return Ok(false) };
        if starts(&String::from_utf8_lossy(&text.bytes)) {
            return Ok(true);
        }
        left = left.saturating_sub(text.bytes.len() as u64);
        if left == 0 || text.is_cut && most > MAX_LINE_BYTES {
            return Err(ErrorKind::QuotaExceeded.into());
        }
        Ok(false)
    })
}

/// Returns `true` if a file in a folder `counts`. Fails if there are more files than are looked at.
fn any_file(folder: &Path, mut counts: impl FnMut(&Path) -> io::Result<bool>) -> io::Result<bool> {
    match folder.symlink_metadata() {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Ok(false),
        Err(error) if read::is_absent(&error) => return Ok(false),
        Err(error) => return Err(error),
    }
    for (number, entry) in fs::read_dir(folder)?.enumerate() {
        if number >= MAX_FILES {
            return Err(ErrorKind::QuotaExceeded.into());
        }
        if counts(&entry?.path())? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(kind: &str, text: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(kind)).unwrap();
        fs::write(folder.path().join(kind).join("origin"), text).unwrap();
        has_starting_remote(folder.path())
    }

    #[test]
    fn an_address_for_which_git_starts_a_program_counts() {
        for address in ["ext::sh -c x", "hg::https://example.com", "codecommit://x", "git-x.y+z::"] {
            assert!(judged("branches", address), "{address}");
            assert!(judged("branches", &format!("  {address}#main\r\nmore\n")), "{address}");
            for text in [format!("URL:{address}"), format!("Pull: a:b\nURL: \t{address}\nURL: /x\n")] {
                assert!(judged("remotes", &text), "{text}");
            }
        }
        assert!(judged("branches", &format!("ext::{}", "x".repeat(10_000))), "a long line");
        assert!(judged("remotes", &"#\n".repeat(4 << 20)), "too long");
    }

    #[test]
    fn folders_of_these_names_in_a_project_mean_nothing() {
        for text in [
            "",
            "https://example.com/a.git\n",
            "git@example.com:a/b.git#main\n",
            "../a::b\n",
            "---\n- name: main\n",
            "# see https://example.com\n",
            "see app://x\n",
            "#include <a>\nstd::vector<int> x;\n",
            ".. note::\n",
            "::\n",
            "\u{feff}// a\n",
        ] {
            assert!(!judged("branches", text), "{text}");
        }
        for text in ["ext::x\n", "URL = ext::x\n", " URL: ext::x\n", "URL: https://example.com\nURL:\n"] {
            assert!(!judged("remotes", text), "{text}");
        }
        assert!(!judged("branches", &format!("a\n{}", "x".repeat(10_000))), "only the first line counts");
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("branches/main/remotes")).unwrap();
        fs::write(folder.path().join("remotes"), "URL: ext::x\n").unwrap();
        assert!(!has_starting_remote(folder.path()));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_reveals_nothing_of_its_target() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("elsewhere")).unwrap();
        fs::create_dir(at("branches")).unwrap();
        fs::write(at("elsewhere/x"), "URL: ext::x\n").unwrap();
        std::os::unix::fs::symlink("elsewhere", at("remotes")).unwrap();
        std::os::unix::fs::symlink("../elsewhere/x", at("branches/x")).unwrap();
        assert!(!has_starting_remote(folder.path()));
    }

    /// Git starts what the files name, with the user's permission.
    #[cfg(target_os = "linux")]
    #[test]
    #[allow(clippy::disallowed_methods, reason = "nothing but git tells if it obeys them")]
    fn git_obeys_them() {
        let _alone = crate::STARTS.write().unwrap();
        for (kind, text) in [("remotes", "URL: ext::touch started\n"), ("branches", "ext::touch started\n")] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join(kind)).unwrap();
            fs::write(folder.path().join(kind).join("origin"), text).unwrap();
            assert!(has_starting_remote(folder.path()));
            for words in [&["init", "-q", "--bare", "."][..], &["-c", "protocol.ext.allow=always", "fetch"]] {
                let ran = std::process::Command::new("git").current_dir(folder.path()).args(words).output();
                if ran.is_err() {
                    return eprintln!("no git is installed: nothing was compared");
                }
            }
            // Git 3 no longer reads them.
            if !folder.path().join("started").exists() {
                eprintln!("this git does not obey {kind}");
            }
        }
    }
}
