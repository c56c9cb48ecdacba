//! Checks access to paths in folders that were granted to a component.

use std::path::{Path, PathBuf};

use scorpiox_policy::{FileDenial, Places, has_protected_name, is_name};
use scorpiox_workspace_config::{Operator, is_own};

/// Directories whose entries are not ordinary files: access affects processes and devices.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Checks access to a path in one of the granted folders, each of which is writable or read-only. The path
/// must be absolute and without links. Returns the folder that grants the access.
pub fn decide(
    operator: &Operator,
    places: &Places,
    roots: &[(PathBuf, bool)],
    path: &Path,
    write: bool,
) -> Result<PathBuf, FileDenial> {
    let refused = |rule: &str| FileDenial::new(path, rule.to_owned());
    let around = roots.iter().filter(|(root, writable)| path.starts_with(root) && (*writable || !write));
    let root = around.map(|(root, _)| root).max_by_key(|root| root.as_os_str().len());
    let what = if write { "written" } else { "read" };
    let root =
        root.ok_or_else(|| refused(&format!("outside of the folders that were granted to be {what}")))?;
    if is_own(path, &operator.site().own_home) {
        return Err(refused("this program's own"));
    }
    if let Some(kernel) = KERNEL.iter().find(|kernel| path.starts_with(kernel)) {
        return Err(refused(&format!("the kernel's: {kernel} is not a folder of files")));
    }
    let policy = operator.policy().map_err(|error| refused(&format!("not reached: {error}")))?;
    let granted: Vec<_> = roots.iter().map(|(root, _)| root.clone()).collect();
    policy.files.check_denied(path, &granted, places)?;
    if write && starts_programs(path, root, places) {
        return Err(refused("plugins never write files that make other programs start something"));
    }
    Ok(root.clone())
}

/// Returns `true` for files that git, editors, shells and the desktop read to start programs. The depth does
/// not matter, since a subfolder may later be opened as a project. Neither does letter case, since some file
/// systems ignore it.
fn starts_programs(path: &Path, root: &Path, places: &Places) -> bool {
    // The workspace is a project, regardless of its location.
    let inside = path.strip_prefix(&places.workspace).unwrap_or(path);
    let last = inside.file_name().unwrap_or_default();
    // Only git creates a file `HEAD`, and a folder with such a file is a repository.
    let is_head = is_name(last, "HEAD");
    let in_git = inside.components().any(|part| is_name(part.as_os_str(), ".git"));
    is_head || in_git || has_protected_name(inside) || is_hidden_at_home(path, root, places)
}

/// Returns `true` for hidden files and folders in the user's home, where programs store their startup
/// configuration. They may be written only if the granted folder is itself hidden.
fn is_hidden_at_home(path: &Path, root: &Path, places: &Places) -> bool {
    let Some(home) = &places.home else { return false };
    let hidden = |path: &Path| {
        let inside = path.strip_prefix(home).ok()?.components().next()?;
        inside.as_os_str().to_string_lossy().starts_with('.').then_some(())
    };
    !path.starts_with(&places.workspace) && hidden(path).is_some() && hidden(root).is_none()
}
