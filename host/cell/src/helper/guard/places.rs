//! Which names may be made where.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, StatxFlags, openat, statat, statx, unlinkat};

use super::caller::{Spot, path_of};
use super::identity_of;
use crate::helper::reach::{self, Identity, Walk};
use crate::wire::{Access, CellSpec, CommandSpec, Cover, Exposed, Fault, Tier};

/// Folders in memory that commands of a cell with a root of its own may write to, beside their
/// home.
const IN_MEMORY: [&str; 2] = ["/tmp", "/dev/shm"];

/// File systems take the time from a clock that is behind by up to one tick.
const CLOCK_TICK: Duration = Duration::from_millis(10);

/// What is said about a name.
#[derive(Debug)]
pub(super) enum Ruling {
    /// It is not for this guard: who asks may do what Landlock lets it.
    Elsewhere,
    /// It may be made.
    Free,
    /// It must stay absent: this one, or what it would lie in.
    Protected(PathBuf),
    /// Something there is protected.
    Closed,
}

/// A name that must stay absent.
#[derive(Debug)]
struct Absent {
    path: PathBuf,
    folder: Identity,
    name: String,
}

/// All places of a command.
#[derive(Debug)]
pub(super) struct Places {
    roots: Vec<PathBuf>,
    absent: Vec<Absent>,
    names: Vec<String>,
    /// When the command began.
    began: Duration,
    /// Links that stay where they are.
    kept: BTreeSet<Identity>,
    shared: Option<SharedTree>,
}

/// What mounts say elsewhere, where there are none.
#[derive(Debug, Default)]
struct SharedTree {
    /// Folders that commands may write to.
    roots: BTreeSet<Identity>,
    /// What must stay as it is, and all below it.
    special: BTreeSet<Identity>,
    /// What must stay where it is: folders above that.
    held: BTreeSet<Identity>,
    /// Folders that Landlock grants whole: removing and opening need no help there.
    granted: Vec<PathBuf>,
}

/// Folders that commands may write to.
fn writable_roots(cell: &CellSpec, order: &CommandSpec) -> Vec<PathBuf> {
    let written = |list: &[Exposed]| {
        let writes = list.iter().filter(|exposed| exposed.write);
        writes.map(|exposed| exposed.path.as_path().to_owned()).collect::<Vec<_>>()
    };
    match cell.tier {
        Tier::T1 | Tier::T1b => {
            let mut roots = written(&cell.exposed);
            roots.extend(IN_MEMORY.iter().map(PathBuf::from));
            roots.push(cell.home.as_path().to_owned());
            roots
        }
        Tier::T2 => {
            let mut roots = written(&order.areas);
            roots.extend(written(&cell.exposed));
            roots.push(cell.scratch.as_path().to_owned());
            roots
        }
        Tier::None => Vec::new(),
    }
}

/// Those of them that have something below them which needs this guard: commands make nothing
/// there by themselves. What holds such a folder is such a folder, since what Landlock grants
/// holds for all below.
pub(in crate::helper) fn guarded_roots(cell: &CellSpec, order: &CommandSpec) -> Vec<PathBuf> {
    let needs = |cover: &&Cover| cell.tier == Tier::T2 || matches!(cover, Cover::Absent(_) | Cover::Keep(_));
    let mut inside: Vec<_> = order.covers.iter().filter(needs).map(Cover::path).collect();
    if !order.absent_names.is_empty() {
        inside.extend(order.areas.iter().filter(|area| area.write).map(|area| area.path.as_path()));
    }
    let mut roots = writable_roots(cell, order);
    roots.retain(|root| inside.iter().any(|path| path.starts_with(root)));
    roots
}

impl Places {
    /// The places of a command; none where nothing is guarded.
    pub(super) fn new(cell: &CellSpec, order: &CommandSpec) -> Result<Option<Self>, Fault> {
        let roots = guarded_roots(cell, order);
        if roots.is_empty() {
            return Ok(None);
        }
        let mut absent = Vec::new();
        let mut walk = Walk::default();
        for cover in &order.covers {
            if let Cover::Absent(path) = cover {
                let path = path.as_path();
                let found = find_absent(path, &mut walk);
                absent.push(found.map_err(|error| reach::fault("guarding", path, error))?.ok_or_else(
                    || {
                        let step = format!("guarding {}", path.display());
                        Fault { changed: true, ..Fault::new(step, "it is there now") }
                    },
                )?);
            }
        }
        let links = order.covers.iter().filter(|cover| matches!(cover, Cover::Keep(_))).map(Cover::path);
        let mut kept = BTreeSet::new();
        for path in links {
            kept.insert(reach::identity_at(path).map_err(|error| reach::fault("guarding", path, error))?);
        }
        let shared = (cell.tier == Tier::T2).then(|| SharedTree::new(cell, order)).transpose()?;
        let names = order.absent_names.iter().map(|name| folded(OsStr::new(name))).collect();
        let began =
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(CLOCK_TICK);
        Ok(Some(Self { roots, absent, names, began, kept, shared }))
    }

    /// Whether something must not be taken away that no mount holds.
    pub(super) fn keeps(&self) -> bool {
        self.is_shared_tree() || !self.kept.is_empty()
    }

    pub(super) fn is_shared_tree(&self) -> bool {
        self.shared.is_some()
    }

    /// About making a name, or putting another thing in its place.
    pub(super) fn judge(&self, spot: &Spot) -> io::Result<Ruling> {
        let path = path_of(&spot.folder)?;
        if let Some(shared) = &self.shared {
            match shared.judge_folder(&spot.folder)? {
                Ruling::Free => {}
                other => return Ok(other),
            }
        } else if !self.roots.iter().any(|root| path.starts_with(root)) {
            return Ok(Ruling::Elsewhere);
        }
        if let Some(above) = self.absent.iter().find(|absent| path.starts_with(&absent.path)) {
            return Ok(Ruling::Protected(above.path.clone()));
        }
        let name = folded(spot.bare());
        let mut alike = self.absent.iter().filter(|absent| absent.name == name).peekable();
        if alike.peek().is_some() {
            let folder = identity_of(&spot.folder)?;
            if let Some(absent) = alike.find(|absent| absent.folder == folder) {
                return Ok(Ruling::Protected(absent.path.clone()));
            }
        }
        if self.names.contains(&name) && is_free(spot)? && !self.may_be_unpacked(&spot.folder, &path)? {
            return Ok(Ruling::Protected(path.join(spot.bare())));
        }
        Ok(Ruling::Free)
    }

    /// Whether a folder is one that things are unpacked into: younger than the command, or below a
    /// `node_modules`.
    fn may_be_unpacked(&self, folder: &OwnedFd, path: &Path) -> io::Result<bool> {
        if path.components().any(|part| part.as_os_str() == "node_modules") {
            return Ok(true);
        }
        let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
        let found = statx(folder, "", flags, StatxFlags::BTIME)?;
        let is_known = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
        let born = Duration::new(found.stx_btime.tv_sec.try_into().unwrap_or(0), found.stx_btime.tv_nsec);
        Ok(is_known && born >= self.began)
    }

    /// About what lies at a place, if anything does: whether it may be moved or removed, or
    /// another thing take its place.
    pub(super) fn may_take(&self, spot: &Spot) -> io::Result<bool> {
        if !self.keeps() {
            return Ok(true);
        }
        match statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => {
                let found = reach::identity(&found);
                let is_held =
                    |shared: &SharedTree| shared.special.contains(&found) || shared.held.contains(&found);
                Ok(!self.kept.contains(&found) && !self.shared.as_ref().is_some_and(is_held))
            }
            Err(rustix::io::Errno::NOENT) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether something open may be changed, or get another name.
    pub(super) fn may_change(&self, file: Identity) -> bool {
        let is_special = |shared: &SharedTree| shared.special.contains(&file);
        !self.kept.contains(&file) && !self.shared.as_ref().is_some_and(is_special)
    }

    /// Whether who asks may take away and open by itself what lies in this folder.
    pub(super) fn is_granted(&self, folder: &OwnedFd) -> io::Result<bool> {
        let Some(shared) = &self.shared else { return Ok(self.kept.is_empty()) };
        let path = path_of(folder)?;
        Ok(shared.granted.iter().any(|granted| path.starts_with(granted)))
    }

    /// Takes away sockets that have a name that must stay absent: they hold nothing.
    pub(super) fn remove_sockets(&self) {
        for absent in &self.absent {
            let Ok((folder, name)) = reach::parent(&absent.path) else { continue };
            let found = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
            if found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_socket()) {
                let _ = unlinkat(&folder, name, AtFlags::empty());
            }
        }
    }
}

impl SharedTree {
    fn new(cell: &CellSpec, order: &CommandSpec) -> Result<Self, Fault> {
        let mut tree = Self::default();
        let mut walk = Walk::default();
        let mut identity = |path: &Path| {
            let found = walk.open(path).and_then(|fd| identity_of(&fd));
            found.map_err(|error| reach::fault("guarding", path, error))
        };
        let roots = writable_roots(cell, order);
        for root in &roots {
            let found = identity(root)?;
            tree.roots.insert(found);
            tree.held.insert(found);
        }
        let read_only = order.areas.iter().chain(&cell.exposed).filter(|area| !area.write);
        let read_only = read_only.map(|area| area.path.as_path());
        let inside = |path: &&Path| roots.iter().any(|root| *path != root && path.starts_with(root));
        let mut special: Vec<_> = read_only.filter(inside).collect();
        let covers = order.covers.iter();
        special.extend(
            covers
                .clone()
                .filter(|cover| !matches!(cover, Cover::Absent(_) | Cover::Pin(_)))
                .map(Cover::path),
        );
        for path in &special {
            tree.special.insert(identity(path)?);
        }
        let above =
            covers.map(Cover::path).chain(special.iter().copied()).flat_map(|path| path.ancestors().skip(1));
        let above: BTreeSet<_> = above.filter(|path| inside(path)).collect();
        for folder in above {
            match identity(folder) {
                Ok(found) => drop(tree.held.insert(found)),
                // Above an absent name folders may be absent, too.
                Err(_) if folder.symlink_metadata().is_err() => {}
                Err(fault) => return Err(fault),
            }
        }
        for cover in &order.covers {
            if let Cover::Pin(path) = cover {
                tree.held.insert(identity(path.as_path())?);
            }
        }
        let granted = order.granted.iter().filter(|granted| granted.access == Access::Write);
        tree.granted = granted.map(|granted| granted.path.as_path().to_owned()).collect();
        tree.granted.push(cell.scratch.as_path().to_owned());
        Ok(tree)
    }

    /// Goes up from a folder to the one that commands may write to.
    fn judge_folder(&self, folder: &OwnedFd) -> io::Result<Ruling> {
        let mut above: Option<OwnedFd> = None;
        let mut last = None;
        loop {
            let folder = above.as_ref().unwrap_or(folder);
            let found = identity_of(folder)?;
            if self.special.contains(&found) {
                return Ok(Ruling::Closed);
            }
            if self.roots.contains(&found) {
                return Ok(Ruling::Free);
            }
            // The root is above itself.
            if last.replace(found) == Some(found) {
                return Ok(Ruling::Elsewhere);
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            above = Some(openat(folder, "..", flags, Mode::empty())?);
        }
    }
}

/// Whether nothing has this name. What has it is protected as anything else is.
fn is_free(spot: &Spot) -> io::Result<bool> {
    match statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(false),
        Err(rustix::io::Errno::NOENT) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// What has to be watched so that nothing comes to be at a path: itself, or what is missing on
/// the way to it. `None` if it is there.
fn find_absent(path: &Path, walk: &mut Walk) -> io::Result<Option<Absent>> {
    let mut path = path;
    loop {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        match walk.parent(path) {
            Ok((folder, _)) => {
                return match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Err(rustix::io::Errno::NOENT) => {
                        let folder = identity_of(folder)?;
                        Ok(Some(Absent { path: path.to_owned(), folder, name: folded(name) }))
                    }
                    Ok(_) => Ok(None),
                    Err(error) => Err(error.into()),
                };
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => path = above,
            Err(error) => return Err(error),
        }
    }
}

/// A name as the least particular of file systems compares it: letters of both cases are one,
/// also those outside of ASCII that fold to one in it, what is not seen does not count, nor do
/// dots and blanks at the end.
///
/// So names are refused that would be others on most file systems, and that nobody gives.
fn folded(name: &OsStr) -> String {
    let text = String::from_utf8_lossy(name.as_bytes());
    let seen = text.chars().filter(|c| !is_ignored(*c));
    let folded: String = seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.trim_end_matches(['.', ' ']).to_owned()
}

/// Unicode's `Default_Ignorable_Code_Point`.
fn is_ignored(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x34F | 0x61C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F
        | 0x202A..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFF8
        | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_when_some_file_system_takes_them_for_one() {
        for name in [".mcp.json", ".MCP.json", ".mcp.j\u{17F}on", ".m\u{200C}cp.json", ".mcp.json. ."] {
            assert_eq!(folded(OsStr::new(name)), ".mcp.json", "{name:?}");
        }
        assert_eq!(folded(OsStr::new("hoo\u{212A}s")), "hooks");
        for name in ["mcp.json", ".mcp.jso", ".mcp.json5", ".mcp-json", "..mcp.json"] {
            assert_ne!(folded(OsStr::new(name)), ".mcp.json", "{name:?}");
        }
        assert_ne!(folded(OsStr::from_bytes(b".mcp.json\xff")), ".mcp.json");
    }

    #[test]
    fn the_first_missing_part_is_watched() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let found = |path: &Path| find_absent(path, &mut Walk::default()).expect("a folder above it");
        let absent = found(&root.join("a/b/c")).expect("nothing there");
        assert_eq!((absent.path, absent.name.as_str()), (root.join("a"), "a"));
        std::fs::create_dir(root.join("a")).expect("a folder");
        let absent = found(&root.join("a/b/c")).expect("nothing there");
        assert_eq!(absent.path, root.join("a/b"));
        assert_eq!(absent.folder, reach::identity_at(&root.join("a")).expect("a folder"));
        assert!(found(&root.join("a")).is_none());
    }

    #[test]
    fn a_link_on_the_way_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        std::os::unix::fs::symlink("/", root.join("a")).expect("a link");
        assert!(find_absent(&root.join("a/b"), &mut Walk::default()).is_err());
    }
}
