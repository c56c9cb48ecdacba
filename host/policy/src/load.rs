//! Reads a policy file after checking that only the operator can have written it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use scorpiox_fs::{Exchange, Trail};

use crate::MAX_FILE_BYTES;
use crate::document::Problem;

/// Returns the text of the file; `None` if there is no file.
pub(crate) fn text(path: &Path) -> Result<Option<String>, Problem> {
    let unreadable = |error: &std::io::Error| self::unreadable(path, error);
    match path.metadata() {
        // Checked before opening, because opening a pipe blocks until it has a writer.
        Ok(metadata) if !metadata.is_file() => {
            return Err(problem(path, "is not a regular file".into(), "replace it with one, or remove it"));
        }
        Ok(_) => {}
        // A dangling link does not count as an absent file: somebody intended a file to be there.
        Err(error) if error.kind() == ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            return Ok(None);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let target = path.read_link().unwrap_or_default();
            let what = format!("is a symbolic link to {}, which is not there", target.display());
            return Err(problem(path, what, "put the file there, or remove the link"));
        }
        Err(error) => return Err(unreadable(&error)),
    }
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    // Checks the opened file; the path may refer to another file by this time.
    trusted(path, &file)?;
    read_whole(path, file).map(Some)
}

/// Returns the text of the user's file; `None` if there is no file. Fails if others can put another file in its place.
pub(crate) fn own_text(path: &Path) -> Result<Option<String>, Problem> {
    check_way(path)?;
    text(path)
}

/// Checks that nobody else can exchange the user's file: in its folder, which is checked even if there is no file, and,
/// if it is a link, in each folder on the way to its target. The check holds for the moment: permissions change without
/// a trace at the file.
///
/// The folders above the folder of a file that is no link are the home folder's, which other programs trust, too.
pub(crate) fn check_way(path: &Path) -> Result<(), Problem> {
    let unreadable = |error: &std::io::Error| self::unreadable(path, error);
    let exchange = if path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
        let trail = Trail::follow(path).map_err(|lost| unreadable(&lost.into()))?;
        Exchange::on(&trail)
    } else {
        Exchange::in_folder_of(path)
    };
    match exchange.map_err(|error| unreadable(&error))? {
        None => Ok(()),
        Some(exchange) => {
            let fix = mend(&exchange);
            Err(problem(path, format!("cannot be trusted: {exchange}"), fix))
        }
    }
}

/// Returns the command that keeps others from exchanging a file, or another way.
pub fn mend(exchange: &Exchange) -> String {
    match exchange {
        Exchange::Writable { folder, .. } => {
            format!("check its files, and run `chmod go-w {}`", quoted(folder))
        }
        Exchange::Foreign { path, .. } => {
            format!("keep the file in a folder of your own, or run `chown {}` as root", quoted_for_user(path))
        }
        Exchange::Changeable { .. } => "let nobody else change it: its properties, Security".to_owned(),
    }
}

/// Reads an opened file to its end; `path` appears only in messages.
pub(crate) fn read_whole(path: &Path, file: File) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(problem(path, "is larger than 1 MiB".into(), "remove what is not a policy"));
    }
    String::from_utf8(bytes).map_err(|error| not_utf8(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    let mend = "make it readable for the user of this process";
    Problem { may_pass: may_pass(error), ..problem(path, format!("cannot be read ({error})"), mend) }
}

/// Returns `true` if an error says nothing about the file that is read.
pub(crate) fn may_pass(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    !matches!(error.kind(), InvalidData | IsADirectory | NotADirectory | NotFound | PermissionDenied)
}

fn problem(path: &Path, what: String, fix: impl Into<String>) -> Problem {
    Problem { path: path.to_owned(), line: None, what, fix: fix.into(), may_pass: false }
}

fn not_utf8(path: &Path, error: &std::string::FromUtf8Error) -> Problem {
    let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
    let line = valid.split(|&byte| byte == b'\n').count();
    Problem { line: Some(line), ..problem(path, "is not UTF-8".into(), "save the file as UTF-8") }
}

/// Rejects a file that others can write or that somebody else owns: it may not express the operator's intent.
#[cfg(unix)]
fn trusted(path: &Path, file: &File) -> Result<(), Problem> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    const WRITABLE_BY_OTHERS: u32 = 0o022;
    let metadata = file.metadata().map_err(|error| unreadable(path, &error))?;
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & WRITABLE_BY_OTHERS != 0 {
        let what = format!("can be written by others than its owner (mode {mode:04o})");
        return Err(problem(path, what, format!("run `chmod go-w {}`", quoted(path))));
    }
    let owner = metadata.uid();
    if owner == 0 {
        return Ok(());
    }
    let user = process_user();
    if owner == user {
        return Ok(());
    }
    let what = format!("is owned by user {owner}, not by the user of this process ({user}) or root");
    let path_word = quoted(path);
    let fix = format!(
        "it is not your policy: remove it, or read it first, and if you want what it says, run \
         `chown {user} {path_word}` and `chmod go-w {path_word}`"
    );
    Err(problem(path, what, fix))
}

/// Rejects a file that others can write or that somebody else owns: it may not express the operator's intent.
#[cfg(windows)]
fn trusted(path: &Path, file: &File) -> Result<(), Problem> {
    match scorpiox_fs::others_can_change(file).map_err(|error| unreadable(path, &error))? {
        None => Ok(()),
        Some(why) => {
            let fix =
                "read it, and if it is your policy, let nobody else change it: its properties, Security";
            Err(problem(path, format!("can be changed by others than you: {why}"), fix))
        }
    }
}

/// Returns the effective user, who owns the files that this process writes.
#[cfg(unix)]
fn process_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns the arguments of `chown` that give a path to the user of this process.
#[cfg(unix)]
fn quoted_for_user(path: &Path) -> String {
    format!("-h {} {}", process_user(), quoted(path))
}

/// Returns the arguments of `chown`; nothing belongs to numbers on this system.
#[cfg(windows)]
fn quoted_for_user(path: &Path) -> String {
    quoted(path)
}

/// Quotes a path as a single shell word.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;
    use crate::Policy;

    fn file(content: &[u8], mode: u32) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("policy.toml");
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        (dir, path)
    }

    #[test]
    fn an_absent_file_gives_the_built_in_policy() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Policy::load(&dir.path().join("policy.toml")), Ok(Policy::builtin()));
    }

    #[test]
    fn a_file_that_others_can_write_is_refused_with_the_chmod() {
        for mode in [0o620, 0o602, 0o666] {
            let (_dir, path) = file(b"version = 1", mode);
            assert_eq!(
                Policy::load(&path).unwrap_err().to_string(),
                format!(
                    "policy.toml can be written by others than its owner (mode {mode:04o}); run `chmod go-w {}`",
                    path.display()
                )
            );
        }
        let (_dir, path) = file(b"version = 1", 0o644);
        assert_eq!(Policy::load(&path), Ok(Policy::builtin()));
    }

    #[test]
    fn the_users_file_is_not_trusted_if_others_can_exchange_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in ["home", "open"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        let (own, target) = (root.join("home/policy.toml"), root.join("open/p.toml"));
        fs::write(&target, "version = 1").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink("../open/p.toml", &own).unwrap();
        assert_eq!(own_text(&own).unwrap().as_deref(), Some("version = 1"));
        for folder in ["home", "open"] {
            let folder = root.join(folder);
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
            let said = own_text(&own).unwrap_err().to_string();
            assert_eq!(
                said,
                format!(
                    "policy.toml cannot be trusted: the folder {0} can be written by others (mode 0777); check its files, \
                     and run `chmod go-w {0}`",
                    folder.display()
                )
            );
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert!(own_text(&own).is_ok());
    }

    #[test]
    fn the_folder_of_the_users_file_is_checked_at_each_look() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().canonicalize().unwrap().join("own");
        fs::create_dir(&folder).unwrap();
        let set = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        let own = folder.join("policy.toml");
        let managed = dir.path().join("none");
        let files = crate::Files {
            managed: &managed,
            is_managed_required: false,
            own: &own,
            workspace: None,
            last_good: None,
        };
        for is_there in [false, true] {
            if is_there {
                fs::write(&own, "version = 1").unwrap();
                fs::set_permissions(&own, fs::Permissions::from_mode(0o600)).unwrap();
            }
            set(0o700);
            let stamps = files.stamps();
            assert!(stamps.is_current() && own_text(&own).is_ok());
            for mode in [0o777, 0o707] {
                set(mode);
                assert!(!stamps.is_current(), "{mode:o}");
                let said = own_text(&own).unwrap_err().to_string();
                let wanted = format!("{} can be written by others (mode {mode:04o})", folder.display());
                assert!(said.contains(&wanted), "{said}");
            }
            set(0o755);
            assert!(stamps.is_current());
        }
    }

    #[test]
    fn the_user_of_the_process_is_the_owner_of_what_it_writes() {
        use std::os::unix::fs::MetadataExt;
        let (_dir, path) = file(b"", 0o600);
        assert_eq!(process_user(), path.metadata().unwrap().uid());
    }

    #[test]
    fn a_file_of_somebody_else_is_refused() {
        let (_dir, path) = file(b"version = 1", 0o600);
        // Only root can change the owner of a file; other users cannot run this part of the test.
        if chown(&path, Some(12345), None).is_ok() {
            let said = Policy::load(&path).unwrap_err();
            assert!(said.what.starts_with("is owned by user 12345, not by"), "{said}");
            assert!(said.fix.contains("chown") && said.fix.contains("chmod go-w"), "{said}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let (_dir, path) = file(b"version = 1\n# \xff", 0o600);
        assert_eq!(
            Policy::load(&path).unwrap_err().to_string(),
            "policy.toml line 2 is not UTF-8; save the file as UTF-8"
        );
        let (_dir, path) = file(&vec![b'#'; (1 << 20) + 1], 0o600);
        assert!(Policy::load(&path).unwrap_err().what.contains("larger than 1 MiB"));
        let (dir, path) = file(b"version = 1", 0o600);
        assert!(Policy::load(dir.path()).unwrap_err().what.contains("not a regular file"));
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        assert_eq!(
            Policy::load(&path).unwrap_err().to_string(),
            "policy.toml is a symbolic link to nowhere, which is not there; put the file there, or remove the link"
        );
    }

    #[test]
    fn a_path_in_a_command_is_one_word() {
        assert_eq!(quoted(Path::new("/a b/it's")), "'/a b/it'\\''s'");
    }
}
