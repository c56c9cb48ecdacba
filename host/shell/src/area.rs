//! Host file trees that are visible to commands.

use std::path::PathBuf;

use scorpiox_sandbox::Exposed;

/// A file tree that is visible to commands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Area {
    /// Path without symbolic links.
    pub path: PathBuf,
    /// `true` if commands may change it.
    pub write: bool,
}

impl Area {
    /// Returns `true` if the area is read-only inside a writable area.
    pub(super) fn is_kept(&self, areas: &[Area]) -> bool {
        !self.write && areas.iter().any(|other| other.write && self.path.starts_with(&other.path))
    }
}

/// Returns the areas that the sandbox mounts. Read-only areas inside writable ones become rules of each
/// command instead.
pub(super) fn exposed(areas: &[Area]) -> Vec<Exposed> {
    let roots = areas.iter().filter(|area| !area.is_kept(areas));
    roots.map(|area| Exposed { path: area.path.as_path().into(), write: area.write }).collect()
}

/// Returns a writable area inside a read-only one that itself lies in a writable area, with that read-only
/// area. No tier supports this nesting.
pub(super) fn reopened(areas: &[Area]) -> Option<(&Area, &Area)> {
    let mut kept = areas.iter().filter(|area| area.is_kept(areas));
    kept.find_map(|kept| {
        let inside = areas.iter().find(|area| area.write && area.path.starts_with(&kept.path))?;
        Some((inside, kept))
    })
}
