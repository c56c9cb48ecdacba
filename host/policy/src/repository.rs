//! Reads a repository's own policy file, which anybody who writes the repository can change.
//!
//! It is read without following a link, so it never leads to a file outside the repository. Its owner and its mode say
//! nothing: it can only narrow.

use std::io::{ErrorKind, Read as _};
use std::path::Path;

use scorpiox_fs::{Stamp, open_file};

use crate::document::Problem;
use crate::load::may_pass;
use crate::rule::REPOSITORY_FILE;

/// Maximum size of the file, in bytes. Its author is not trusted, and it is parsed when a server starts.
const MAX_BYTES: u64 = 64 << 10;

/// Returns the text of the file in a workspace; `None` if there is no file.
pub(crate) fn text(workspace: &Path) -> Result<Option<String>, Problem> {
    let file = match open_file(&workspace.join(REPOSITORY_FILE)) {
        Ok(file) => file,
        // A file in place of the folder leaves no place for the policy.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(&error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(problem(None, "is larger than 64 KiB".to_owned(), "remove what is not a policy"));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.split(|&byte| byte == b'\n').count();
        problem(Some(line), "is not UTF-8".to_owned(), "save the file as UTF-8")
    })
}

/// Returns the stamp of the file in a workspace, or of a link in its place.
pub(crate) fn stamp(workspace: &Path) -> Option<Stamp> {
    workspace.join(REPOSITORY_FILE).symlink_metadata().ok().map(|about| Stamp::of(&about))
}

fn unreadable(error: &std::io::Error) -> Problem {
    let fix = "make it a regular file that is reached through no link, or remove it";
    Problem { may_pass: passes(error), ..problem(None, format!("cannot be read ({error})"), fix) }
}

/// Returns `true` if an error says nothing about the file. A link, a folder or a pipe in its place stays there until
/// somebody removes it.
fn passes(error: &std::io::Error) -> bool {
    #[cfg(unix)]
    let is_link = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    #[cfg(not(unix))]
    let is_link = false;
    may_pass(error) && error.kind() != ErrorKind::InvalidInput && !is_link
}

fn problem(line: Option<usize>, what: String, fix: &str) -> Problem {
    Problem { path: REPOSITORY_FILE.into(), line, what, fix: fix.to_owned(), may_pass: false }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn workspace() -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        (dir, path)
    }

    #[test]
    fn an_absent_file_is_no_policy() {
        let (_dir, path) = workspace();
        assert_eq!(text(&path), Ok(None));
        assert_eq!(stamp(&path), None);
        fs::write(path.join(".scorpiox"), "").unwrap();
        assert_eq!(text(&path), Ok(None));
    }

    #[test]
    fn a_file_that_is_reached_through_a_link_is_refused() {
        let (_dir, path) = workspace();
        fs::create_dir(path.join("elsewhere")).unwrap();
        fs::write(path.join("elsewhere/policy.toml"), "version = 1").unwrap();
        for (link, to) in [(".scorpiox", "elsewhere"), (".scorpiox/policy.toml", "../elsewhere/policy.toml")]
        {
            fs::create_dir_all(path.join(link).parent().unwrap()).unwrap();
            symlink(to, path.join(link)).unwrap();
            let problem = text(&path).unwrap_err();
            let said = problem.to_string();
            assert!(said.starts_with("the repository's .scorpiox/policy.toml cannot be read"), "{said}");
            assert!(!problem.may_pass, "a link keeps no tighter policy from taking effect");
            fs::remove_file(path.join(link)).unwrap();
        }
    }

    #[test]
    fn a_file_that_is_no_bounded_text_is_refused() {
        let (_dir, path) = workspace();
        let file = path.join(REPOSITORY_FILE);
        fs::create_dir(path.join(".scorpiox")).unwrap();
        fs::write(&file, vec![b'#'; usize::try_from(MAX_BYTES).unwrap()]).unwrap();
        assert!(text(&path).unwrap().is_some());
        fs::write(&file, vec![b'#'; usize::try_from(MAX_BYTES).unwrap() + 1]).unwrap();
        let said = text(&path).unwrap_err().to_string();
        assert_eq!(
            said,
            "the repository's .scorpiox/policy.toml is larger than 64 KiB; remove what is not a policy"
        );
        fs::write(&file, b"version = 1\n# \xff").unwrap();
        assert!(text(&path).unwrap_err().to_string().contains("line 2 is not UTF-8"));
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(text(&path).unwrap_err().to_string().contains("is not a regular file"));
    }
}
