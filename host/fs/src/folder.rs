//! Opens paths component by component.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

#[cfg(unix)]
pub use unix::Folder;
#[cfg(windows)]
pub use windows::Folder;

/// Unique identity of a file: device and inode number.
pub type Identity = (u64, u64);

/// Kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Regular file, with its size in bytes.
    File(u64),
    /// Directory.
    Folder,
    /// Symbolic link; on Windows also a junction or a mounted folder.
    Link,
    /// FIFO, socket, or device.
    Other,
}

/// Opens a regular file for reading by an absolute path that passes through no link.
pub fn open_file(path: &Path) -> io::Result<File> {
    let (root, inside) = rooted(path)?;
    Folder::open(&root)?.file(inside)
}

/// Splits an absolute path into its root and the rest.
fn rooted(path: &Path) -> io::Result<(PathBuf, &Path)> {
    let root = crate::trail::root(path);
    match path.strip_prefix(&root) {
        Ok(inside) if path.is_absolute() => Ok((root, inside)),
        _ => Err(invalid(path, "is not absolute")),
    }
}

/// Opens the parent of a relative path, unless it is `of` itself, and returns the last component.
fn parent<'a>(of: &Folder, inside: &'a Path) -> io::Result<(Option<Folder>, &'a OsStr)> {
    let last = inside.components().next_back().ok_or_else(|| invalid(inside, "names nothing"))?;
    let name = name(inside, last)?;
    let above = inside.parent().filter(|above| !above.as_os_str().is_empty());
    Ok((above.map(|above| of.folder(above)).transpose()?, name))
}

/// Checks that a name is a single path component.
fn plain(name: &OsStr) -> io::Result<&OsStr> {
    let path = Path::new(name);
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(part), None) => self::name(path, part),
        _ => Err(invalid(path, "is not a name")),
    }
}

fn name<'a>(path: &Path, part: Component<'a>) -> io::Result<&'a OsStr> {
    match part {
        Component::Normal(name) if crate::names::is_plain(name) => Ok(name),
        Component::Normal(_) => Err(invalid(path, "has a part that names something else on this system")),
        _ => Err(invalid(path, "has a part that is not a name")),
    }
}

fn invalid(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{} {why}", path.display()))
}

/// Explains a link in a directory's place, which the system reports only as "not a directory".
fn is_a_link(name: &OsStr) -> io::Error {
    invalid(Path::new(name), "is a symbolic link, which is not followed here")
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    #[cfg(unix)]
    use std::os::unix::fs::symlink;

    use super::*;

    /// Returns a directory whose path contains no links.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    #[test]
    fn files_are_reached_through_folders_and_nothing_else() {
        let (_held, path) = folder();
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        std::fs::write(path.join("a/b/file"), "text").unwrap();
        let mut text = String::new();
        open_file(&path.join("a/b/file")).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        let open = Folder::open(&path).unwrap();
        assert_eq!(open.kind(Path::new("a/b/file")).unwrap(), Kind::File(4));
        assert_eq!(open.kind(Path::new("a")).unwrap(), Kind::Folder);
        for refused in ["a/../a/b/file", "a/b", "a/b/none", "", "/etc/passwd"] {
            assert!(open.file(Path::new(refused)).is_err(), "{refused}");
        }
        let names: Vec<_> =
            open.folder(Path::new("a/b")).unwrap().names().unwrap().map(Result::unwrap).collect();
        assert_eq!(names, ["file"]);
        let (one, other) = (Folder::open(&path.join("a")).unwrap(), open.folder(Path::new("a")).unwrap());
        assert_eq!(one.identity().unwrap(), other.identity().unwrap());
        assert_ne!(one.identity().unwrap(), open.identity().unwrap());
    }

    #[cfg(windows)]
    #[test]
    fn names_of_something_else_are_no_files() {
        let (_held, path) = folder();
        std::fs::write(path.join("file"), "text").unwrap();
        let open = Folder::open(&path).unwrap();
        for refused in ["NUL", "con", "file:stream", "file::$DATA", "file.", "file ", "NUL.txt"] {
            assert!(
                open.file(Path::new(refused)).is_err() && open.kind(Path::new(refused)).is_err(),
                "{refused}"
            );
            assert!(open_file(&path.join(refused)).is_err(), "{refused}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let (_held, path) = folder();
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        std::fs::write(path.join("a/b/file"), "text").unwrap();
        symlink("a", path.join("link")).unwrap();
        symlink("file", path.join("a/b/link")).unwrap();
        let open = Folder::open(&path).unwrap();
        assert_eq!(open.kind(Path::new("link")).unwrap(), Kind::Link);
        for refused in ["link/b/file", "a/b/link"] {
            assert!(open.file(Path::new(refused)).is_err(), "{refused}");
        }
        let error = open.folder(Path::new("link")).unwrap_err().to_string();
        assert_eq!(error, "link is a symbolic link, which is not followed here");
    }

    #[cfg(unix)] // Windows does not permit moving an open directory
    #[test]
    fn what_takes_the_place_of_an_open_folder_is_not_it() {
        let (_held, path) = folder();
        std::fs::create_dir(path.join("a")).unwrap();
        std::fs::write(path.join("a/file"), "mine").unwrap();
        let open = Folder::open(&path.join("a")).unwrap();
        std::fs::rename(path.join("a"), path.join("old")).unwrap();
        symlink("/etc", path.join("a")).unwrap();
        assert_eq!(open.kind(Path::new("file")).unwrap(), Kind::File(4));
        assert_eq!(open.names().unwrap().map(Result::unwrap).collect::<Vec<_>>(), ["file"]);
        assert_eq!(open.identity().unwrap(), Folder::open(&path.join("old")).unwrap().identity().unwrap());
    }

    #[cfg(target_os = "linux")] // macOS creates FIFOs with another call
    #[test]
    fn a_pipe_is_no_file_and_is_not_waited_for() {
        let (_held, path) = folder();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, path.join("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let error = open_file(&path.join("pipe")).unwrap_err().to_string();
        assert_eq!(error, "pipe is not a regular file");
    }
}
