//! The folders that were worked on: commands of some session could write there, so that a link in one of them may be
//! a command's. One list for all sessions of a person, a path a line, as JSON writes it.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use scorpiox_home::private;

/// Largest list, in bytes; what is more was worked on too long ago.
const MAX_BYTES: u64 = 1 << 20;

/// The folders, without the one that is worked on now. What cannot be read is an error: who asks must not trust links
/// then.
pub fn others(own_home: &Path, workspace: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = read(own_home)?;
    all.retain(|folder| folder != workspace);
    Ok(all)
}

/// Puts a folder on the list, before the first command runs there.
pub fn remember(own_home: &Path, workspace: &Path) -> io::Result<()> {
    if read(own_home)?.iter().any(|folder| folder == workspace) {
        return Ok(());
    }
    let line = serde_json::to_string(&workspace.to_string_lossy()).map_err(io::Error::other)?;
    let mut file = private::options().create(true).append(true).open(list(own_home))?;
    // In one piece, since other servers append to it, too; and behind whatever a full disk left of another line.
    file.write_all(format!("\n{line}\n").as_bytes())
}

fn list(own_home: &Path) -> PathBuf {
    own_home.join("workspaces")
}

fn read(own_home: &Path) -> io::Result<Vec<PathBuf>> {
    let mut bytes = Vec::new();
    match File::open(list(own_home)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?.take(MAX_BYTES).read_to_end(&mut bytes)?,
    };
    let text = String::from_utf8_lossy(&bytes);
    // A line that a killed server began is nobody's, wherever it was cut: no command ran there.
    let paths = text.lines().filter_map(|line| serde_json::from_str::<String>(line).ok());
    let mut paths: Vec<_> = paths.map(PathBuf::from).collect();
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
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
            remember(home.path(), folder).expect("it works");
        }
        assert_eq!(others(home.path(), a).expect("it works"), [b]);
        assert_eq!(others(home.path(), b).expect("it works"), [a]);
        // A full disk cut a line, inside of a character.
        let mut file = private::options().append(true).open(list(home.path())).expect("it works");
        file.write_all(b"\"/w/\xc3").expect("it works");
        assert_eq!(others(home.path(), a).expect("it works"), [b]);
        remember(home.path(), Path::new("/w/d")).expect("it works");
        assert_eq!(others(home.path(), a).expect("it works"), [b, Path::new("/w/d")]);
        std::fs::remove_file(list(home.path())).expect("it works");
        std::fs::create_dir(list(home.path())).expect("it works");
        assert!(others(home.path(), a).is_err());
    }
}
