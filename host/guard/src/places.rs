//! Which names may be made where.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat};
use scorpiox_cell::{Access, CellSpec, CommandSpec, Cover, Exposed, Fault, Tier};
use scorpiox_kernel::reach::{self, Identity, Walk};

use super::absent::{Absent, Made, folded};
use super::caller::{Spot, path_of};
use super::frozen::Frozen;
use super::identity_of;
use super::mounts::{About, Mounts};
use super::repositories::Repositories;
use super::sockets;
use super::unpacked::{Kind, Unpacked};

/// Folders in memory that commands of a cell with a root of its own may write to, beside their
/// home.
const IN_MEMORY: [&str; 2] = ["/tmp", "/dev/shm"];

/// What is known of a folder.
struct Folder {
    path: PathBuf,
    about: About,
    /// About all that is in it.
    ruling: Ruling,
}

/// What is said about a name.
#[derive(Debug, Clone)]
pub(super) enum Ruling {
    /// It is not for this guard: who asks may do what Landlock lets it.
    Elsewhere,
    /// It may be made.
    Free,
    /// It must stay absent: this one, or what it would lie in.
    Protected(PathBuf),
    /// It is there, or was, and must stay as it is; or what it lies in must.
    Kept,
    /// Something there is protected.
    Closed,
}

/// All places of a command.
#[derive(Debug)]
pub(super) struct Places {
    /// Folders that commands may write to.
    writable: Vec<PathBuf>,
    /// Those of them with this guard.
    roots: Vec<PathBuf>,
    /// Folders of the machine's own that commands may write to, where others work, too.
    areas: Vec<PathBuf>,
    mounts: Mounts,
    absent: Absent,
    frozen: Frozen,
    unpacked: Unpacked,
    repositories: Repositories,
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
    /// Folders that Landlock grants whole: removing needs no help there.
    granted: Vec<PathBuf>,
}

/// Folders that commands may write to.
pub fn writable_roots(cell: &CellSpec, order: &CommandSpec) -> Vec<PathBuf> {
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
        Tier::None | Tier::Seatbelt => Vec::new(),
    }
}

/// Those of them that have something below them which needs this guard: commands make nothing
/// there by themselves. What holds such a folder is such a folder, since what Landlock grants
/// holds for all below.
pub fn guarded_roots(cell: &CellSpec, order: &CommandSpec) -> Vec<PathBuf> {
    let needs = |cover: &&Cover| cell.tier == Tier::T2 || !matches!(cover, Cover::Pin(_));
    let mut inside: Vec<_> = order.covers.iter().filter(needs).map(Cover::path).collect();
    if !order.absent_names.is_empty() {
        inside.extend(order.areas.iter().filter(|area| area.write).map(|area| area.path.as_path()));
    }
    let mut roots = writable_roots(cell, order);
    roots.retain(|root| inside.iter().any(|path| path.starts_with(root)));
    roots
}

impl Places {
    /// The places of a command; none where nothing is guarded. Modes, times and owners always are where files
    /// are shared.
    pub(super) fn new(cell: &CellSpec, order: &CommandSpec) -> Result<Option<Self>, Fault> {
        let roots = guarded_roots(cell, order);
        if roots.is_empty() && cell.tier != Tier::T2 {
            return Ok(None);
        }
        let absent = order.covers.iter().filter(|cover| matches!(cover, Cover::Absent(_)));
        let absent = Absent::new(absent.map(Cover::path))?;
        let frozen = order.covers.iter().filter(|cover| !matches!(cover, Cover::Absent(_) | Cover::Pin(_)));
        let absences = order.covers.iter().filter(|cover| matches!(cover, Cover::Absent(_)));
        let writable = writable_roots(cell, order);
        let frozen = Frozen::new(&writable, frozen.map(Cover::path), absences.map(Cover::path));
        let links = order.covers.iter().filter(|cover| matches!(cover, Cover::Keep(_))).map(Cover::path);
        let mut kept = BTreeSet::new();
        for path in links {
            kept.insert(reach::identity_at(path).map_err(|error| Fault::of_path("guarding", path, error))?);
        }
        let shared = (cell.tier == Tier::T2).then(|| SharedTree::new(cell, order)).transpose()?;
        let unpacked = Unpacked::new(&order.absent_names, &order.packages);
        let areas = order.areas.iter().filter(|area| area.write);
        Ok(Some(Self {
            writable,
            roots,
            areas: areas.map(|area| area.path.as_path().to_owned()).collect(),
            mounts: Mounts::default(),
            absent,
            frozen,
            unpacked,
            repositories: Repositories::new(order.covers.iter().map(Cover::path)),
            kept,
            shared,
        }))
    }

    /// Whether something must not be taken away that no mount holds.
    pub(super) fn keeps(&self) -> bool {
        self.is_shared_tree() || !self.kept.is_empty()
    }

    pub(super) fn is_shared_tree(&self) -> bool {
        self.shared.is_some()
    }

    /// Whether there are names that a command does not make by itself.
    pub(super) fn hold_names(&self) -> bool {
        !self.roots.is_empty()
    }

    /// About making a name, or putting another thing in its place.
    pub(super) fn judge(&self, spot: &Spot, made: Made) -> io::Result<Ruling> {
        let (folder, name) = (self.folder(&spot.folder)?, folded(spot.bare()));
        let ruling = self.judge_name(&folder, spot, &name, made)?;
        let is_file = made == Made::File;
        if !matches!(ruling, Ruling::Free) || !self.unpacked.names_made(&folder.path, &name, is_file) {
            return Ok(ruling);
        }
        let Folder { path, about, .. } = &folder;
        Ok(if self.is_own(about) {
            Ruling::Free
        } else if !is_free(spot)? {
            // Among packages, too, where any folder can be moved to.
            Ruling::Kept
        } else if self.unpacked.may_come(self.inside(path)) {
            Ruling::Free
        } else {
            Ruling::Protected(path.join(spot.bare()))
        })
    }

    /// About changing a file that is there.
    pub(super) fn judge_change(&self, spot: &Spot) -> io::Result<Ruling> {
        self.judge_there(spot, Made::File)
    }

    /// About giving what is there another mode, other times or another owner. `Made::Folder` is any folder: it
    /// keeps what is in it.
    pub(super) fn judge_attributes(&self, spot: &Spot, what: Made) -> io::Result<Ruling> {
        let path = path_of(&spot.folder)?;
        if self.roots.iter().any(|root| path.starts_with(root)) {
            return self.judge_there(spot, what);
        }
        // Where commands make all names by themselves none counts.
        self.judge_area(&spot.folder, &path, &About::folder(&spot.folder)?)
    }

    /// Whether this is a folder that commands may write to as a whole, where files are shared.
    pub(super) fn is_root(&self, folder: Identity) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.roots.contains(&folder))
    }

    fn judge_there(&self, spot: &Spot, what: Made) -> io::Result<Ruling> {
        let (folder, name) = (self.folder(&spot.folder)?, folded(spot.bare()));
        let ruling = self.judge_name(&folder, spot, &name, what)?;
        let Folder { about, .. } = &folder;
        let counts = || self.unpacked.names_made(&folder.path, &name, what == Made::File);
        let stays = || counts() && !self.is_own(about);
        Ok(if matches!(ruling, Ruling::Free) && stays() { Ruling::Kept } else { ruling })
    }

    /// About a folder, and so about what has no name there.
    pub(super) fn judge_folder(&self, folder: &OwnedFd) -> io::Result<Ruling> {
        Ok(self.folder(folder)?.ruling)
    }

    fn folder(&self, folder: &OwnedFd) -> io::Result<Folder> {
        let (about, path) = (About::folder(folder)?, path_of(folder)?);
        let ruling = match self.judge_area(folder, &path, &about)? {
            Ruling::Free => self.judge_path(&path)?,
            other => other,
        };
        Ok(Folder { path, about, ruling })
    }

    /// About a folder, by the one that commands may write to which it lies in.
    fn judge_area(&self, folder: &OwnedFd, path: &Path, about: &About) -> io::Result<Ruling> {
        Ok(if !self.mounts.hold(about)? {
            Ruling::Closed
        } else if let Some(shared) = &self.shared {
            shared.judge_folder(folder)?
        } else if self.roots.iter().any(|root| path.starts_with(root)) {
            Ruling::Free
        } else {
            Ruling::Elsewhere
        })
    }

    /// About a folder that commands may write to, by what it is and lies in.
    fn judge_path(&self, path: &Path) -> io::Result<Ruling> {
        if let Some(above) = self.absent.around(path) {
            return Ok(Ruling::Protected(above.to_owned()));
        }
        let inside = self.inside(path);
        let root = path.ancestors().nth(inside.iter().count()).unwrap_or(path);
        let is_own = |path: &Path| Ok(self.is_own(&About::folder(&reach::open(path)?)?));
        let is_new = |born| self.unpacked.is_new(born);
        let is_closed = self.unpacked.is_around(root, inside, is_own)?
            || self.is_in_area(path) && self.repositories.is_anothers(root, inside, is_new)?;
        Ok(if is_closed { Ruling::Kept } else { Ruling::Free })
    }

    fn judge_name(&self, folder: &Folder, spot: &Spot, name: &str, made: Made) -> io::Result<Ruling> {
        if !matches!(folder.ruling, Ruling::Free) {
            return Ok(folder.ruling.clone());
        }
        if let Some(place) = self.absent.at(spot, &folder.path, name)? {
            let ruling =
                if place.refuses(made) { Ruling::Protected(place.path.to_path_buf()) } else { Ruling::Free };
            return Ok(ruling);
        }
        let stays = self.frozen.hold((&folder.path, identity_of(&spot.folder)?), name)
            || self.absent.is_lock(&folder.path, name)
            || self.is_in_area(&folder.path) && self.repositories.holds_anothers(spot, name)?
            || made != Made::Folder && self.frozen.lie_below(&folder.path, name);
        Ok(if stays { Ruling::Kept } else { Ruling::Free })
    }

    /// Reports whether the command made a folder. What others make meanwhile is theirs.
    fn is_own(&self, folder: &About) -> bool {
        self.unpacked.is_new(folder.born) && self.repositories.owns(folder)
    }

    /// Whether others work there, too. Elsewhere there are repositories of earlier commands, without rules.
    fn is_in_area(&self, folder: &Path) -> bool {
        self.areas.iter().any(|area| folder.starts_with(area))
    }

    /// Whether something open lies in a mount of the command's.
    pub(super) fn hold(&self, file: &OwnedFd) -> io::Result<bool> {
        self.mounts.hold(&About::folder(file)?)
    }

    /// A path, as the innermost folder that commands may write to knows it: what that lies in is not theirs to name.
    fn inside<'a>(&self, path: &'a Path) -> &'a Path {
        let inside = self.writable.iter().filter_map(|root| path.strip_prefix(root).ok());
        inside.min_by_key(|inside| inside.as_os_str().len()).unwrap_or(path)
    }

    /// Reports whether a link may come to this folder. The person's git writes through links that lie among its own
    /// files, wherever they lead; git itself makes none there.
    pub(super) fn may_take_links(&self, folder: &OwnedFd) -> io::Result<bool> {
        let path = path_of(folder)?;
        let inside = self.inside(&path);
        let root = path.ancestors().nth(inside.iter().count()).unwrap_or(&path);
        Ok(!self.is_in_area(&path) || !self.repositories.is_in_used(root, inside)?)
    }

    /// Reports whether something may be moved between two folders: among git's own files only from there, since it may be
    /// a link, or have links in it.
    pub(super) fn may_take_moved(&self, from: &Spot, to: &Spot) -> io::Result<bool> {
        Ok(identity_of(&from.folder)? == identity_of(&to.folder)?
            || self.may_take_links(&to.folder)?
            || !self.may_take_links(&from.folder)?)
    }

    /// A name was made, of something of this kind.
    pub(super) fn made(&self, spot: &Spot, kind: Kind) {
        self.repositories.made(spot, kind != Kind::Folder, |born| self.unpacked.is_new(born));
        self.came(spot, kind);
    }

    fn came(&self, spot: &Spot, kind: Kind) {
        if !self.unpacked.concerns(&folded(spot.bare()), kind) {
            return;
        }
        // It may have been moved away from where it was judged.
        let folder = path_of(&spot.folder).unwrap_or_default();
        self.unpacked.came((spot, kind), &folder, |path| self.inside(path));
    }

    /// Whether something may be moved away from its place.
    pub(super) fn may_leave(&self, spot: &Spot) -> io::Result<bool> {
        Ok(self.may_take(spot)? && !self.repositories.keeps_place(spot)?)
    }

    /// Something was moved, which may have brought names along.
    pub(super) fn moved(&self, from: &Spot, to: &Spot) {
        let place = |spot: &Spot| path_of(&spot.folder).map(|folder| folder.join(spot.bare()));
        let (from, place) = (place(from).unwrap_or_default(), place(to).unwrap_or_default());
        // What is not known may be a folder.
        let kind = statat(&to.folder, to.bare(), AtFlags::SYMLINK_NOFOLLOW)
            .map_or(Kind::Folder, |found| Kind::of(FileType::from_raw_mode(found.st_mode)));
        self.repositories.moved((&from, &place), to, |born| self.unpacked.is_new(born));
        self.unpacked.moved((&from, &place), (to, kind), |path| self.inside(path));
        self.came(to, kind);
    }

    /// Names that are there now because they came with what was unpacked: the first few, and how many
    /// more there are.
    pub(super) fn unpacked(&self) -> (Vec<PathBuf>, u32) {
        self.unpacked.found(|path| self.inside(path))
    }

    /// Finds repositories, and what leads to one, that came and are there now.
    pub(super) fn repositories(&self) -> (Vec<(PathBuf, Identity)>, u32) {
        self.repositories.found()
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

    /// Whether who asks may take away by itself what lies in this folder.
    pub(super) fn may_remove(&self, folder: &OwnedFd) -> io::Result<bool> {
        let Some(shared) = &self.shared else { return Ok(self.kept.is_empty()) };
        let path = path_of(folder)?;
        Ok(shared.granted.iter().any(|granted| path.starts_with(granted)))
    }

    /// Takes away sockets that have a name that must stay absent.
    pub(super) fn remove_sockets(&self) {
        let must_go = |folder: &OwnedFd, name: &[u8]| {
            let name = folded(OsStr::from_bytes(name));
            let is_absent = || identity_of(folder).is_ok_and(|folder| self.absent.holds(folder, &name));
            let is_named = || path_of(folder).is_ok_and(|path| self.unpacked.names(&path, &name));
            is_named() || is_absent()
        };
        self.roots.iter().for_each(|root| sockets::remove_below(root, must_go));
    }
}

impl SharedTree {
    fn new(cell: &CellSpec, order: &CommandSpec) -> Result<Self, Fault> {
        let mut tree = Self::default();
        let mut walk = Walk::default();
        let mut identity = |path: &Path| {
            let found = walk.open(path).and_then(|fd| identity_of(&fd));
            found.map_err(|error| Fault::of_path("guarding", path, error))
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
        // A file above an absent name may be replaced by another one.
        let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_file());
        for folder in above.into_iter().filter(|path| !is_file(path)) {
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

/// Whether nothing has this name.
fn is_free(spot: &Spot) -> io::Result<bool> {
    match statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(false),
        Err(rustix::io::Errno::NOENT) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
