//! Remembers the workspaces of all sessions, and the other folders that commands could write. A link in one of them
//! may be a command's.
//!
//! A single list is shared by all sessions of a user. Each line is JSON: either one path, or a pair of a
//! workspace and a repository, or a store of objects, that it had before the first command ran there.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use scorpiox_fs::home::private;
use serde::Deserialize;

/// Maximum size of the list, in bytes; enough for about a hundred thousand folders.
const MAX_BYTES: u64 = 16 << 20;

/// A line of the list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Folder(PathBuf),
    Repository(PathBuf, PathBuf),
}

/// Returns the folders without the current workspace. If the list cannot be read, the caller must not trust
/// links.
pub fn others(own_home: &Path, workspace: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = folders(&read(own_home)?);
    all.retain(|folder| folder != workspace);
    Ok(all)
}

/// Returns `true` if the list has a workspace with this repository or store.
pub fn has(own_home: &Path, workspace: &Path, other: &Path) -> io::Result<bool> {
    Ok(has_pair(&read(own_home)?, workspace, other))
}

/// Returns `true` if the user, and no command, can have chosen the repository of a workspace: the workspace
/// had it before the first command ran there.
///
/// Commands that could write a folder around the workspace, or one of the policy's `writable` folders around
/// it, could have changed the workspace's repository. This is harmless only if the repository lies in the
/// same folder, because they could then write the repository itself. So could commands that wrote the git directory of the
/// workspace, such as those of another work tree.
pub fn may_have(
    own_home: &Path,
    workspace: &Path,
    repository: &Path,
    writable: Vec<PathBuf>,
) -> io::Result<bool> {
    let lines = read(own_home)?;
    if has_pair(&lines, workspace, repository) {
        return Ok(true);
    }
    // The list contains only UTF-8 paths.
    if workspace.to_str().is_none() {
        return Ok(false);
    }
    let git = workspace.join(".git");
    let mut around = folders(&lines);
    around.extend(writable);
    around.retain(|folder| workspace.starts_with(folder) || folder.starts_with(&git));
    Ok(around.iter().all(|folder| folder != workspace && repository.starts_with(folder)))
}

/// Folders that belong to a workspace, or that its commands can write.
#[derive(Debug, Default, Clone, Copy)]
pub struct Along<'a> {
    /// The external repository that is opened along with the workspace.
    pub repository: Option<&'a Path>,
    /// Stores of objects that are opened for reading.
    pub lent: &'a [PathBuf],
    /// Further folders that commands can write.
    pub writable: &'a [PathBuf],
}

/// Adds a workspace to the list before the first command runs there, together with the folders along with it.
pub fn remember(own_home: &Path, workspace: &Path, along: Along<'_>) -> io::Result<()> {
    let Along { repository, lent, writable } = along;
    let lines = read(own_home)?;
    let known = folders(&lines);
    let written = writable.iter().map(PathBuf::as_path).filter(|folder| !folder.starts_with(workspace));
    let named = [Some(workspace), repository].into_iter().flatten().chain(written).map(Path::to_string_lossy);
    let new = named.filter(|folder| known.iter().all(|known| known != Path::new(&**folder)));
    let mut added: Vec<_> = new.map(|folder| serde_json::json!(folder)).collect();
    let pairs = repository.into_iter().chain(lent.iter().map(PathBuf::as_path));
    let pairs = pairs.filter(|other| !has_pair(&lines, workspace, other));
    added
        .extend(pairs.map(|other| serde_json::json!([workspace.to_string_lossy(), other.to_string_lossy()])));
    if added.is_empty() {
        return Ok(());
    }
    let mut file = private::options().create(true).append(true).open(list(own_home))?;
    // Written in one piece, because other servers append too. The leading line break ends a line that a full
    // disk may have cut off.
    let added: Vec<_> = added.iter().map(ToString::to_string).collect();
    file.write_all(format!("\n{}\n", added.join("\n")).as_bytes())
}

fn list(own_home: &Path) -> PathBuf {
    own_home.join("workspaces")
}

fn has_pair(lines: &[Line], workspace: &Path, repository: &Path) -> bool {
    let is_it =
        |line: &Line| matches!(line, Line::Repository(tree, its) if tree == workspace && its == repository);
    lines.iter().any(is_it)
}

fn folders(lines: &[Line]) -> Vec<PathBuf> {
    let folder = |line: &Line| match line {
        Line::Folder(folder) => Some(folder.clone()),
        Line::Repository(..) => None,
    };
    let mut folders: Vec<_> = lines.iter().filter_map(folder).collect();
    folders.sort_unstable();
    folders.dedup();
    folders
}

fn read(own_home: &Path) -> io::Result<Vec<Line>> {
    let mut bytes = Vec::new();
    match File::open(list(own_home)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?,
    };
    if bytes.len() as u64 > MAX_BYTES {
        let why = format!("it has more than {} MiB; remove lines of folders that are gone", MAX_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let text = String::from_utf8_lossy(&bytes);
    // A truncated line of a killed server is ignored: no command ran in its folder.
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_on_the_list_once_and_not_among_the_others() {
        let home = tempfile::tempdir().expect("it works");
        let (a, b) = (Path::new("/w/a\nb"), Path::new("/w/c"));
        assert_eq!(others(home.path(), a).expect("it works"), [""; 0].map(PathBuf::from));
        for folder in [a, a, b] {
            remember(home.path(), folder, Along::default()).expect("it works");
        }
        assert_eq!(others(home.path(), a).expect("it works"), [b]);
        assert_eq!(others(home.path(), b).expect("it works"), [a]);
        // A full disk truncated a line within a character.
        let mut file = private::options().append(true).open(list(home.path())).expect("it works");
        file.write_all(b"\"/w/\xc3").expect("it works");
        assert_eq!(others(home.path(), a).expect("it works"), [b]);
        remember(home.path(), Path::new("/w/d"), Along::default()).expect("it works");
        assert_eq!(others(home.path(), a).expect("it works"), [b, Path::new("/w/d")]);
        std::fs::remove_file(list(home.path())).expect("it works");
        std::fs::create_dir(list(home.path())).expect("it works");
        assert!(others(home.path(), a).is_err());
    }

    #[test]
    fn a_repository_belongs_to_a_workspace_that_had_it_before_any_command() {
        let home = tempfile::tempdir().expect("it works");
        let (tree, repository, other) =
            (Path::new("/w/tree"), Path::new("/w/main/.git"), Path::new("/w/x/.git"));
        let may_have =
            |tree: &str, its: &Path| may_have(home.path(), Path::new(tree), its, Vec::new()).expect("a list");
        assert!(may_have("/w/tree", repository));
        for _ in 0..2 {
            remember(home.path(), tree, Along { repository: Some(repository), ..Along::default() })
                .expect("it works");
        }
        assert!(may_have("/w/tree", repository), "also later");
        assert!(!may_have("/w/tree", other), "commands may have led it there");
        assert_eq!(others(home.path(), tree).expect("it works"), [repository], "commands could write both");
        assert_eq!(std::fs::read_to_string(list(home.path())).expect("a list").lines().count(), 4);

        remember(home.path(), Path::new("/w/plain"), Along::default()).expect("it works");
        assert!(!may_have("/w/plain", repository), "it had none before");
        // A command of a workspace around it may have written this.
        assert!(!may_have("/w/plain/inner", repository));
        assert!(may_have("/w/plain/inner", Path::new("/w/plain/.git")));
        assert!(may_have("/w/plainer", repository), "another folder");
        let lent = [PathBuf::from("/w/lender/objects")];
        remember(home.path(), Path::new("/w/borrower"), Along { lent: &lent, ..Along::default() })
            .expect("it works");
        assert!(has(home.path(), Path::new("/w/borrower"), &lent[0]).expect("a list"));
        assert!(!has(home.path(), tree, &lent[0]).expect("a list"));
        let written = others(home.path(), tree).expect("it works");
        assert!(!written.contains(&lent[0]), "commands could not write it");
        let writable = [PathBuf::from("/w/lib"), "/w/borrower/inside".into()];
        let along = Along { writable: &writable, ..Along::default() };
        remember(home.path(), Path::new("/w/borrower"), along).expect("it works");
        let written = others(home.path(), tree).expect("it works");
        assert!(written.contains(&writable[0]) && !written.contains(&writable[1]), "{written:?}");
        let from_around = |its| super::may_have(home.path(), Path::new("/w/new"), its, vec!["/w/".into()]);
        assert!(
            from_around(repository).expect("a list") && !from_around(Path::new("/x/.git")).expect("a list")
        );
    }
}
