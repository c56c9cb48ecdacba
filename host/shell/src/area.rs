//! The trees that commands see of this machine's own files.

use std::path::PathBuf;

use scorpiox_cell::Exposed;

/// A tree that commands see.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Area {
    /// Where it is, without links.
    pub path: PathBuf,
    /// Whether they may change it.
    pub write: bool,
}

impl Area {
    /// Whether it is kept as it is inside an area that commands may change.
    pub(super) fn is_kept(&self, areas: &[Area]) -> bool {
        !self.write && areas.iter().any(|other| other.write && self.path.starts_with(&other.path))
    }
}

/// Areas as the sandbox is told them: what is kept in one of them is a rule of each command.
pub(super) fn exposed(areas: &[Area]) -> Vec<Exposed> {
    let roots = areas.iter().filter(|area| !area.is_kept(areas));
    roots.map(|area| Exposed { path: area.path.as_path().into(), write: area.write }).collect()
}

/// An area that commands may change in one that is kept: no tier can have that.
pub(super) fn reopened(areas: &[Area]) -> Option<(&Area, &Area)> {
    let mut kept = areas.iter().filter(|area| area.is_kept(areas));
    kept.find_map(|kept| {
        let inside = areas.iter().find(|area| area.write && area.path.starts_with(&kept.path))?;
        Some((inside, kept))
    })
}
