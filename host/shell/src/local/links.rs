//! Follows the links of a socket's path.
//!
//! The server may have more rights than the program that listens at the path, so a link that another user can make or
//! replace must not decide which socket is reached.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use scorpiox_fs::Writable;

/// Maximum number of links, which is the kernel's.
const MAX_LINKS: usize = 40;
/// Permissions of the group and of others to change a folder.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Permission of others to change a folder.
const WRITABLE_BY_ALL: u32 = 0o002;
/// Flag of a folder in which users can replace only what is their own.
const STICKY: u32 = 0o1000;

/// Returns an absolute path with its links followed. Fails at a link that commands or other users can make or replace.
/// Components that do not exist are retained.
pub(super) fn follow(path: &Path, writable: &Writable) -> Result<PathBuf, String> {
    let (mut reached, mut rest) = (PathBuf::from("/"), parts(path));
    let (mut is_ours, mut links) = (true, 0);
    while let Some(part) = rest.pop() {
        let Component::Normal(name) = part.as_path().components().next().unwrap_or(Component::CurDir) else {
            if part == Path::new("..") {
                reached.pop();
            }
            continue;
        };
        is_ours = is_ours && is_only_ours(&reached, writable)?;
        let next = reached.join(name);
        match fs::symlink_metadata(&next) {
            Ok(found) if found.is_symlink() => {
                if !is_ours || !is_trusted(&found) {
                    return Err(format!(
                        "has the link {} on its path, which other programs can replace; write the path without it",
                        next.display()
                    ));
                }
                links += 1;
                if links > MAX_LINKS {
                    return Err("has too many links on its path".to_owned());
                }
                let target = fs::read_link(&next).map_err(|error| unresolved(&next, &error))?;
                if target.is_absolute() {
                    reached = PathBuf::from("/");
                }
                rest.extend(parts(&target));
            }
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(unresolved(&next, &error));
            }
            Ok(_) | Err(_) => reached = next,
        }
    }
    Ok(reached)
}

/// Returns the components of a path, the last first.
fn parts(path: &Path) -> Vec<PathBuf> {
    path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// Returns `true` if only root and the server's user can replace what is in a folder. A folder that does not exist has
/// no links.
fn is_only_ours(folder: &Path, writable: &Writable) -> Result<bool, String> {
    match fs::symlink_metadata(folder) {
        Ok(found) => {
            let is_closed = found.mode() & WRITABLE_BY_OTHERS == 0 || found.mode() & STICKY != 0;
            Ok(is_trusted(&found) && is_closed && !writable.covers(folder))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unresolved(folder, &error)),
    }
}

/// Returns `true` if every user can make files in a folder.
pub(super) fn is_open_to_all(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|found| found.mode() & WRITABLE_BY_ALL != 0)
}

/// Returns `true` if a file belongs to root or the server's user.
fn is_trusted(found: &Metadata) -> bool {
    found.uid() == 0 || found.uid() == rustix::process::geteuid().as_raw()
}

fn unresolved(path: &Path, error: &std::io::Error) -> String {
    format!("cannot be resolved: {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let held = tempfile::tempdir().expect("a folder");
        let path = held.path().canonicalize().expect("a path");
        (held, path)
    }

    #[test]
    fn links_of_root_and_of_the_server_are_followed() {
        let (_held, folder) = folder();
        let nothing = Writable::new([]);
        fs::create_dir_all(folder.join("run/db")).expect("a folder");
        symlink("run", folder.join("alias")).expect("a link");
        symlink("../run/db/../db/s", folder.join("run/relative")).expect("a link");
        symlink(folder.join("alias/relative"), folder.join("whole")).expect("a link");
        for path in ["run/db/s", "alias/db/s", "run/relative", "whole"] {
            assert_eq!(follow(&folder.join(path), &nothing), Ok(folder.join("run/db/s")), "{path}");
        }
        assert_eq!(follow(&folder.join("none/s"), &nothing), Ok(folder.join("none/s")));
        symlink("round", folder.join("round")).expect("a link");
        let error = follow(&folder.join("round"), &nothing).expect_err("a loop");
        assert!(error.contains("too many links"), "{error}");
    }

    #[test]
    fn a_link_that_others_can_replace_is_refused() {
        let (_held, folder) = folder();
        let nothing = Writable::new([]);
        fs::create_dir_all(folder.join("service/inner")).expect("a folder");
        fs::set_permissions(folder.join("service"), Permissions::from_mode(0o777)).expect("permissions");
        symlink("/run/rootonly/control", folder.join("service/s")).expect("a link");
        // The folder of this link is closed, but not the folder above.
        symlink("/run/rootonly/control", folder.join("service/inner/s")).expect("a link");
        symlink(folder.join("service"), folder.join("alias")).expect("a link");
        for path in ["service/s", "service/inner/s", "alias/s"] {
            let error = follow(&folder.join(path), &nothing).expect_err(path);
            assert!(error.contains("on its path, which other programs can replace"), "{path}: {error}");
        }
        let socket = folder.join("service/socket");
        assert_eq!(follow(&folder.join("alias/socket"), &nothing), Ok(socket), "no link is in the folder");
    }

    #[test]
    fn a_link_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (_held, folder) = folder();
        let nothing = Writable::new([]);
        fs::create_dir(folder.join("service")).expect("a folder");
        symlink("/run/rootonly/control", folder.join("service/s")).expect("a link");
        assert!(follow(&folder.join("service/s"), &nothing).is_ok());
        std::os::unix::fs::chown(folder.join("service"), Some(65_534), None).expect("another owner");
        assert!(follow(&folder.join("service/s"), &nothing).is_err(), "its folder");
        std::os::unix::fs::chown(folder.join("service"), Some(0), None).expect("another owner");
        std::os::unix::fs::lchown(folder.join("service/s"), Some(65_534), None).expect("another owner");
        assert!(follow(&folder.join("service/s"), &nothing).is_err(), "the link");
    }

    #[test]
    fn a_link_that_commands_can_make_is_refused() {
        let (_held, folder) = folder();
        fs::create_dir(folder.join("work")).expect("a folder");
        symlink("/run/x/y", folder.join("work/s")).expect("a link");
        let writable = Writable::new([folder.join("work")]);
        assert!(follow(&folder.join("work/s"), &writable).is_err());
    }
}
