//! Programs that nobody but the system's owner can have put where they are.
//!
//! What is started without a sandbox, for the person, must be what they would get: not what a
//! project has in `node_modules/.bin`, nor what a command made. So `PATH` is not asked.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};

use crate::Writable;

/// Where systems have programs that anybody may start.
pub const FOLDERS: [&str; 5] =
    ["/usr/local/bin", "/usr/bin", "/bin", "/snap/bin", "/run/current-system/sw/bin"];

const MAX_LINKS: u32 = 40;
const ROOT: u32 = 0;

/// A program of the system by its name: where it is, by a path that only root can lead elsewhere.
pub fn find(name: &str, writable: &Writable) -> Option<PathBuf> {
    find_in(&FOLDERS, name, writable)
}

/// The `PATH` that such programs get: they start others by it.
pub fn path_variable() -> String {
    FOLDERS.join(":")
}

fn find_in(folders: &[&str], name: &str, writable: &Writable) -> Option<PathBuf> {
    let paths = folders.iter().map(|folder| Path::new(folder).join(name));
    paths.into_iter().find(|path| check(path, writable).is_ok())
}

/// Whether a path leads to a program, and everything on the way to it, links too, is root's to
/// change and nobody else's, and not what commands can write.
pub fn check(path: &Path, writable: &Writable) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = || -> io::Result<OwnedFd> { Ok(openat(CWD, "/", flags, Mode::empty())?) };
    let mut left = parts(path)?;
    let mut stack = vec![(PathBuf::from("/"), root()?)];
    let mut links = 0;
    while let Some(part) = left.pop() {
        let Some((at, folder)) = stack.last() else { return Err(refused(path, "leads above the root")) };
        if part == ".." {
            if stack.len() > 1 {
                stack.pop();
            }
            continue;
        }
        let next = at.join(&part);
        trusted(at, &fstat(folder)?, writable)?;
        let found = statat(folder, &part, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => {
                links += 1;
                if found.st_uid != ROOT || links > MAX_LINKS {
                    return Err(refused(&next, "is a link that others made, or one of too many"));
                }
                let target = readlinkat(folder, &part, Vec::new())?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    stack = vec![(PathBuf::from("/"), root()?)];
                }
                left.extend(relative(&target)?);
            }
            FileType::Directory => {
                let opened = openat(folder, &part, flags, Mode::empty())?;
                stack.push((next, opened));
            }
            FileType::RegularFile if left.is_empty() => {
                trusted(&next, &found, writable)?;
                let is_program = found.st_mode & 0o111 != 0;
                return if is_program { Ok(()) } else { Err(refused(&next, "cannot be started")) };
            }
            _ => return Err(refused(&next, "is no program")),
        }
    }
    Err(refused(path, "is no program"))
}

/// Whether only root can change something.
fn trusted(path: &Path, stat: &Stat, writable: &Writable) -> io::Result<()> {
    let group_writes = stat.st_mode & 0o020 != 0 && stat.st_gid != ROOT;
    if stat.st_uid != ROOT || group_writes || stat.st_mode & 0o002 != 0 {
        return Err(refused(path, "can be changed by others than root"));
    }
    if writable.covers(path) {
        return Err(refused(path, "can be changed by commands"));
    }
    Ok(())
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, format!("{} {why}", path.display()))
}

/// The parts of an absolute path, the last one first.
fn parts(path: &Path) -> io::Result<Vec<OsString>> {
    if path.is_absolute() { relative(path) } else { Err(refused(path, "is not absolute")) }
}

fn relative(path: &Path) -> io::Result<Vec<OsString>> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(Ok(name.to_owned())),
        Component::ParentDir => Some(Ok("..".into())),
        Component::RootDir | Component::CurDir => None,
        Component::Prefix(_) => Some(Err(refused(path, "is no path of this system"))),
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn programs_of_the_system_are_found() {
        let none = Writable::default();
        // The shell that every system has; what is in front of it may be a link.
        let shell = find("sh", &none).expect("a shell");
        assert!(FOLDERS.iter().any(|folder| shell == Path::new(folder).join("sh")), "{shell:?}");
        assert_eq!(find("no-such-program-here", &none), None);
        let everything = Writable::new([PathBuf::from("/usr"), PathBuf::from("/bin")]);
        assert_eq!(find("sh", &everything), None);
    }

    /// A program in a folder of its own. Temporary folders lie where everybody can write.
    fn made(folder: &Path) -> PathBuf {
        let program = folder.join("zenity");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    #[test]
    fn what_others_can_exchange_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let program = made(&folder);
        let none = Writable::default();
        assert!(check(&program, &none).is_err());
        assert_eq!(find_in(&[folder.to_str().unwrap()], "zenity", &none), None);
        // Nor through a link of the same folder to something of the system.
        symlink("/bin/sh", folder.join("sh")).unwrap();
        assert!(check(&folder.join("sh"), &none).is_err());
        assert!(check(Path::new("/usr/../usr/bin/env"), &none).is_ok());
        for nothing in ["/usr/bin", "/etc/passwd", "bin/sh", "/", "/dev/null"] {
            assert!(check(Path::new(nothing), &none).is_err(), "{nothing}");
        }
    }
}
