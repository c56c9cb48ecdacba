//! Checks programs by the owner and mode of each directory and link in the path.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};

use super::refused;
use crate::Writable;

/// System directories with programs for all users.
pub const FOLDERS: [&str; 5] =
    ["/usr/local/bin", "/usr/bin", "/bin", "/snap/bin", "/run/current-system/sw/bin"];

const MAX_LINKS: u32 = 40;
const ROOT: u32 = 0;

/// Returns the `PATH` for these programs, which they use to start others.
pub fn path_variable() -> String {
    FOLDERS.join(":")
}

/// Checks that the path leads to a program. Only root may be able to change the program and all directories
/// and links on the way, and none of them may be writable by commands.
pub fn check(path: &Path, writable: &Writable) -> io::Result<()> {
    Look { writable, user: None }.at(path)
}

/// Like [`check`], for a program of the user, who may also be able to change it.
pub fn check_own(path: &Path, writable: &Writable) -> io::Result<()> {
    Look { writable, user: Some(rustix::process::geteuid().as_raw()) }.at(path)
}

/// Check for a set of trusted owners.
struct Look<'a> {
    writable: &'a Writable,
    /// Trusted user in addition to root.
    user: Option<u32>,
}

impl Look<'_> {
    fn at(&self, path: &Path) -> io::Result<()> {
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
            self.trusted(at, &fstat(folder)?)?;
            let found = statat(folder, &part, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Symlink => {
                    links += 1;
                    if !self.owns(found.st_uid) || links > MAX_LINKS {
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
                    self.trusted(&next, &found)?;
                    let is_program = found.st_mode & 0o111 != 0;
                    return if is_program { Ok(()) } else { Err(refused(&next, "cannot be started")) };
                }
                _ => return Err(refused(&next, "is not a program")),
            }
        }
        Err(refused(path, "is not a program"))
    }

    /// Fails if an untrusted user can change the file or directory.
    fn trusted(&self, path: &Path, stat: &Stat) -> io::Result<()> {
        // By convention, a user's private group has the same ID as the user.
        let group_writes = stat.st_mode & 0o020 != 0 && !self.owns(stat.st_gid);
        // In a sticky directory, users can remove only their own entries. The entry itself is checked next.
        let is_sticky_folder =
            FileType::from_raw_mode(stat.st_mode) == FileType::Directory && stat.st_mode & 0o1000 != 0;
        let all_write = stat.st_mode & 0o002 != 0;
        let may_be_sticky = self.user.is_some() && is_sticky_folder;
        if !self.owns(stat.st_uid) || (group_writes || all_write) && !may_be_sticky {
            let others = if self.user.is_some() { "others than you and root" } else { "others than root" };
            return Err(refused(path, &format!("can be changed by {others}")));
        }
        if self.writable.covers(path) {
            return Err(refused(path, "can be changed by commands"));
        }
        Ok(())
    }

    fn owns(&self, id: u32) -> bool {
        id == ROOT || self.user == Some(id)
    }
}

/// Returns the components of an absolute path in reverse order.
fn parts(path: &Path) -> io::Result<Vec<OsString>> {
    if path.is_absolute() { relative(path) } else { Err(refused(path, "is not absolute")) }
}

fn relative(path: &Path) -> io::Result<Vec<OsString>> {
    let part = |part: Component<'_>| match part {
        Component::Normal(name) => Some(Ok(name.to_owned())),
        Component::ParentDir => Some(Ok("..".into())),
        Component::RootDir | Component::CurDir => None,
        Component::Prefix(_) => Some(Err(refused(path, "is not a path of this system"))),
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::super::{find, find_in};
    use super::*;

    #[test]
    fn programs_of_the_system_are_found() {
        let none = Writable::default();
        // Every system has this shell. An earlier candidate may be a link.
        let shell = find("sh", &none).expect("a shell");
        assert!(FOLDERS.iter().any(|folder| shell == Path::new(folder).join("sh")), "{shell:?}");
        assert_eq!(find("no-such-program-here", &none), None);
        let everything = Writable::new([PathBuf::from("/usr"), PathBuf::from("/bin")]);
        assert_eq!(find("sh", &everything), None);
    }

    /// Creates a program in a separate directory. Temporary directories are below a world-writable one.
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
        // The same applies to a link in that directory to a system program.
        symlink("/bin/sh", folder.join("sh")).unwrap();
        assert!(check(&folder.join("sh"), &none).is_err());
        assert!(check(Path::new("/usr/../usr/bin/env"), &none).is_ok());
        for nothing in ["/usr/bin", "/etc/passwd", "bin/sh", "/", "/dev/null"] {
            assert!(check(Path::new(nothing), &none).is_err(), "{nothing}");
        }
    }

    #[test]
    fn the_users_own_programs_are_theirs_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (none, program) = (Writable::default(), made(&folder));
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        mode(&folder, 0o755);
        // The directory for temporary files is world-writable and sticky.
        check_own(&program, &none).unwrap();
        for (path, wrong, right) in [(&folder, 0o757, 0o755), (&program, 0o757, 0o755)] {
            mode(path, wrong);
            assert!(check_own(&program, &none).is_err(), "{}", path.display());
            mode(path, right);
        }
        let error = check_own(&program, &Writable::new([folder.clone()])).unwrap_err().to_string();
        assert!(error.ends_with("can be changed by commands"), "{error}");
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&program, Some(65534), None).unwrap();
            assert!(check_own(&program, &none).is_err());
        }
    }
}
