//! Decides which names may be created where.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use rustix::fs::{AtFlags, FileType, statat};
use scorpiox_git::Replaced;
use scorpiox_sandbox::{CellSpec, CommandSpec, Cover, Exposed, Fault, Tier};
use scorpiox_sys::linux::reach::{self, Identity};
use scorpiox_sys::linux::shared_set::SharedSet;

use super::absent::{Absent, Made, folded};
use super::caller::{Spot, path_of};
use super::frozen::Frozen;
use super::identity_of;
use super::mounts::{About, Mounts};
use super::old::Old;
use super::repositories::{Found, Repositories};
use super::shared_tree::SharedTree;
use super::sockets;
use super::unpacked::{Kind, Unpacked};

/// Beginning of the directory in which `git refs migrate` prepares references, which it cannot move to a repository that the
/// command did not create.
const MIGRATION: &str = "ref_migration.";

/// In-memory directories, in addition to the home directory, that are writable for commands in a cell with
/// its own root.
const IN_MEMORY: [&str; 2] = ["/tmp", "/dev/shm"];

/// Directory with the ruling that applies to its contents.
struct Folder {
    path: PathBuf,
    about: About,
    /// Ruling on everything inside.
    ruling: Ruling,
}

/// Ruling on a name.
#[derive(Debug, Clone)]
pub(super) enum Ruling {
    /// Outside of this guard: Landlock alone decides.
    Elsewhere,
    /// The name may be created.
    Free,
    /// The name, or a directory above it, must stay absent. Holds the protected path.
    Protected(PathBuf),
    /// Git trusts the file with this name and replaces it as a whole. Another one is judged before it gets the name. Holds
    /// the path.
    Replaced(Replaced, PathBuf),
    /// The name, or a directory above it, exists or existed and must not change.
    Kept,
    /// The path lies in something protected that exists.
    Closed,
}

/// All paths that have rules for a command.
#[derive(Debug)]
pub(super) struct Places {
    /// Directories that commands may write to.
    writable: Vec<PathBuf>,
    /// Writable directories that this guard covers.
    roots: Vec<PathBuf>,
    /// Writable directories of the machine that other processes use, too.
    areas: Vec<PathBuf>,
    mounts: Mounts,
    absent: Absent,
    frozen: Frozen,
    unpacked: Unpacked,
    repositories: Repositories,
    old: Old,
    /// Symbolic links that must not be moved.
    kept: BTreeSet<Identity>,
    shared: Option<SharedTree>,
}

/// Returns the directories that commands may write to.
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

/// Returns the writable directories that contain something guarded: commands create nothing there themselves.
/// Every writable directory above a guarded one is guarded as well, since a Landlock grant covers everything
/// below it.
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
    /// Collects the rules of a command; returns `None` if nothing is guarded. On a shared tree, modes, times
    /// and owners are always guarded.
    pub(super) fn new(
        cell: &CellSpec,
        order: &CommandSpec,
        by_commands: &Rc<SharedSet>,
    ) -> Result<Option<Self>, Fault> {
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
            repositories: Repositories::new(order.covers.iter().map(Cover::path), Rc::clone(by_commands)),
            old: Old::default(),
            kept,
            shared,
        }))
    }

    /// Returns `true` if something must not be removed that no mount protects.
    pub(super) fn keeps(&self) -> bool {
        self.is_shared_tree() || !self.kept.is_empty()
    }

    pub(super) fn is_shared_tree(&self) -> bool {
        self.shared.is_some()
    }

    /// Returns `true` if two paths lie on different sides of the border around the temporary directory of a
    /// shared tree. Nothing gets a name on the other side: Landlock grants the temporary directory
    /// completely, and no survey searches it, so a file in it must not be one of the workspace, whatever name
    /// that file gets there later. Directories stay on their side as well, since they may contain such files.
    pub(super) fn are_apart(&self, one: &Path, other: &Path) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.are_apart(one, other))
    }

    /// Returns `true` if there are directories in which a command creates nothing itself.
    pub(super) fn hold_names(&self) -> bool {
        !self.roots.is_empty()
    }

    /// Rules on creating a name or replacing what has it.
    pub(super) fn judge(&self, spot: &Spot, made: Made) -> io::Result<Ruling> {
        Ok(self.judge_new(spot, made)?.0)
    }

    /// Like [`Places::judge`]. Also returns the path of the directory, for [`Places::came_elsewhere`].
    pub(super) fn judge_new(&self, spot: &Spot, made: Made) -> io::Result<(Ruling, PathBuf)> {
        let (folder, name) = (self.folder(&spot.folder)?, folded(spot.bare()));
        let ruling = self.judge_name(&folder, spot, &name, made)?;
        let Folder { path, about, .. } = folder;
        let is_file = made == Made::File;
        if !matches!(ruling, Ruling::Free) || !self.unpacked.names_made(&path, &name, is_file) {
            return Ok((ruling, path));
        }
        let ruling = if self.is_own(&about) {
            Ruling::Free
        } else if !is_free(spot)? {
            // Existing files among packages also stay: any directory can be moved there.
            Ruling::Kept
        } else if self.unpacked.may_come(self.inside(&path)) {
            Ruling::Free
        } else {
            Ruling::Protected(path.join(spot.bare()))
        };
        Ok((ruling, path))
    }

    /// Returns `true` if a new name came to where it may not be created: another command can move the directory after it
    /// was judged at the path `judged`. If the directory moves after the name was created, that move is judged with it.
    pub(super) fn came_elsewhere(&self, spot: &Spot, judged: &Path, made: Made) -> io::Result<bool> {
        if path_of(&spot.folder)? == judged {
            return Ok(false);
        }
        let (folder, name) = (self.folder(&spot.folder)?, folded(spot.bare()));
        let Folder { path, about, .. } = &folder;
        let counts = self.unpacked.names_made(path, &name, made == Made::File) && !self.is_own(about);
        let is_free = matches!(self.judge_name(&folder, spot, &name, made)?, Ruling::Free)
            && (!counts || self.unpacked.may_come(self.inside(path)))
            && self.used(&spot.folder, Some(&name))?.is_none();
        Ok(!is_free)
    }

    /// Rules on changing an existing file.
    pub(super) fn judge_change(&self, spot: &Spot) -> io::Result<Ruling> {
        self.judge_there(spot, Made::File)
    }

    /// Rules on changing the mode, times or owner of a file. `Made::Folder` stands for any directory, since
    /// its contents are not affected.
    pub(super) fn judge_attributes(&self, spot: &Spot, what: Made) -> io::Result<Ruling> {
        let path = path_of(&spot.folder)?;
        if self.roots.iter().any(|root| path.starts_with(root)) {
            return Ok(match self.judge_there(spot, what)? {
                // The content stays.
                Ruling::Replaced(..) => Ruling::Free,
                ruling => ruling,
            });
        }
        // In directories where commands create all names themselves, names have no rules.
        self.judge_area(&spot.folder, &path, &About::folder(&spot.folder)?)
    }

    /// Returns `true` if this is the top of a writable directory of a shared tree.
    pub(super) fn is_root(&self, folder: Identity) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.is_root(folder))
    }

    fn judge_there(&self, spot: &Spot, what: Made) -> io::Result<Ruling> {
        let (folder, name) = (self.folder(&spot.folder)?, folded(spot.bare()));
        let ruling = self.judge_name(&folder, spot, &name, what)?;
        let Folder { about, .. } = &folder;
        let counts = || self.unpacked.names_made(&folder.path, &name, what == Made::File);
        let stays = || counts() && !self.is_own(about);
        Ok(if matches!(ruling, Ruling::Free) && stays() { Ruling::Kept } else { ruling })
    }

    /// Rules on a directory, and therefore on unnamed files in it.
    pub(super) fn judge_folder(&self, folder: &OwnedFd) -> io::Result<Ruling> {
        Ok(self.folder(folder)?.ruling)
    }

    fn folder(&self, folder: &OwnedFd) -> io::Result<Folder> {
        let (about, path) = (About::folder(folder)?, path_of(folder)?);
        // Before the command changes anything in it.
        self.is_new(&about);
        let ruling = match self.judge_area(folder, &path, &about)? {
            Ruling::Free => self.judge_path(&path)?,
            other => other,
        };
        Ok(Folder { path, about, ruling })
    }

    /// Rules on a directory by the writable directory that contains it.
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

    /// Rules on a writable directory by its own path and the directories above it.
    fn judge_path(&self, path: &Path) -> io::Result<Ruling> {
        if let Some(above) = self.absent.around(path) {
            return Ok(Ruling::Protected(above.to_owned()));
        }
        let inside = self.inside(path);
        let root = path.ancestors().nth(inside.iter().count()).unwrap_or(path);
        let is_own = |folder: &OwnedFd| Ok(self.is_own(&About::folder(folder)?));
        let is_new = |about: &About| self.is_new(about);
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
        if self.is_in_area(&folder.path) {
            let is_root = self.inside(&folder.path).as_os_str().is_empty();
            let is_new = |about: &About| self.is_new(about);
            if self.repositories.holds_anothers(spot, name, is_root, is_new)? {
                return Ok(if is_free(spot)? {
                    Ruling::Protected(folder.path.join(spot.bare()))
                } else {
                    Ruling::Kept
                });
            }
        }
        // Git would remove the references before it fails to put others in their place.
        if made == Made::Folder && name.starts_with(MIGRATION) && self.used(&spot.folder, None)?.is_some() {
            return Ok(Ruling::Protected(folder.path.join(spot.bare())));
        }
        if self.absent.is_lock(&folder.path, name) {
            // The result names the file that it becomes.
            return Ok(Ruling::Protected(folder.path.join(spot.bare()).with_extension("")));
        }
        let stays = self.frozen.hold((&folder.path, folder.about.identity), name)
            || made != Made::Folder && self.frozen.lie_below(&folder.path, name);
        if stays {
            return Ok(Ruling::Kept);
        }
        if !self.is_in_area(&folder.path) {
            return Ok(Ruling::Free);
        }
        let (inside, is_new) = (self.inside(&folder.path), |about: &About| self.is_new(about));
        if self.repositories.holds_anothers_operation(&spot.folder, inside, is_new)? {
            return Ok(Ruling::Protected(folder.path.join(spot.bare())));
        }
        if made == Made::Folder {
            return Ok(Ruling::Free);
        }
        Ok(match self.repositories.replaced(&spot.folder, inside, name)? {
            Some(kind) => Ruling::Replaced(kind, folder.path.join(spot.bare())),
            None => Ruling::Free,
        })
    }

    /// Returns a name for a copy that no file has.
    pub(super) fn copy_name(&self, number: u64) -> String {
        self.repositories.copy_name(number)
    }

    /// Returns `true` if a file or directory is not older than the command.
    fn is_new(&self, about: &About) -> bool {
        self.old.is_new(about, |time| self.unpacked.is_new(Some(time)))
    }

    /// Returns `true` if the command created this directory. Directories that other processes create
    /// meanwhile belong to them.
    fn is_own(&self, folder: &About) -> bool {
        self.is_new(folder) && self.repositories.owns(folder)
    }

    /// Returns `true` if other processes also use this directory. Other writable directories may hold
    /// repositories of earlier commands, which have no rules.
    fn is_in_area(&self, folder: &Path) -> bool {
        self.areas.iter().any(|area| folder.starts_with(area))
    }

    /// Returns `true` if an open file lies in a mount of the command.
    pub(super) fn hold(&self, file: &OwnedFd) -> io::Result<bool> {
        self.mounts.hold(&About::folder(file)?)
    }

    /// Returns a path relative to the innermost writable directory that contains it. Names above that
    /// directory do not count.
    fn inside<'a>(&self, path: &'a Path) -> &'a Path {
        let inside = self.writable.iter().filter_map(|root| path.strip_prefix(root).ok());
        inside.min_by_key(|inside| inside.as_os_str().len()).unwrap_or(path)
    }

    /// Returns `true` if a symbolic link or a pipe may get this name. The user's git writes through links among its
    /// own files, wherever they lead, and waits for the other end of pipes. Git itself creates neither there.
    pub(super) fn may_take_link(&self, spot: &Spot) -> io::Result<bool> {
        Ok(self.used(&spot.folder, Some(&folded(spot.bare())))?.is_none())
    }

    /// Returns the outermost git directory that a directory is, or lies in, if the command did not create it. With
    /// the folded `name` of an entry in the directory, a directory counts that can become a git directory.
    fn used(&self, folder: &OwnedFd, name: Option<&str>) -> io::Result<Option<PathBuf>> {
        let path = path_of(folder)?;
        if !self.is_in_area(&path) {
            return Ok(None);
        }
        let inside = self.inside(&path);
        let count = inside.iter().count();
        let root = path.ancestors().nth(count).unwrap_or(&path);
        let used = self.repositories.used(root, inside, name, |about| self.is_new(about))?;
        Ok(used.and_then(|parts| path.ancestors().nth(count - parts)).map(Path::to_owned))
    }

    /// Returns `true` if something may be moved between two directories. To a directory of git, only files may move,
    /// and only from the same git directory, because a command can make any directory look like one of git. Git itself
    /// moves nothing else there, and a directory could contain links.
    pub(super) fn may_take_moved(&self, from: &Spot, to: &Spot) -> io::Result<bool> {
        let name = folded(to.bare());
        let kind = statat(&from.folder, from.bare(), AtFlags::SYMLINK_NOFOLLOW);
        let kind = kind.map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode));
        if !kind.is_file() {
            return Ok(self.used(&to.folder, Some(&name))?.is_none());
        }
        if identity_of(&from.folder)? == identity_of(&to.folder)? {
            return Ok(true);
        }
        let used = self.used(&to.folder, None)?;
        Ok(used.is_none() || used == self.used(&from.folder, None)?)
    }

    /// Records that a name was created for something of this kind.
    pub(super) fn made(&self, spot: &Spot, kind: Kind) {
        self.repositories.made(spot, kind != Kind::Folder, |about| self.is_new(about));
        self.came(spot, kind);
    }

    /// Records that an existing file may be changed.
    pub(super) fn changed(&self, spot: &Spot) {
        self.repositories.changed(spot);
    }

    fn came(&self, spot: &Spot, kind: Kind) {
        if !self.unpacked.concerns(&folded(spot.bare()), kind) {
            return;
        }
        // The directory may have been moved after it was judged.
        let folder = path_of(&spot.folder).unwrap_or_default();
        self.unpacked.came((spot, kind), &folder, |path| self.inside(path));
    }

    /// Returns `true` if something may be moved away from this path.
    pub(super) fn may_leave(&self, spot: &Spot) -> io::Result<bool> {
        Ok(self.may_take(spot)? && !self.repositories.keeps_place(spot)?)
    }

    /// Returns `true` if a move takes a folder out of the packages.
    pub(super) fn leaves_packages(&self, from: &Spot, to: &Spot) -> io::Result<bool> {
        if self.unpacked.is_empty() || kind_at(from) != Kind::Folder {
            return Ok(false);
        }
        let (from, to) = (path_at(from)?, path_at(to)?);
        Ok(self.unpacked.leaves(self.inside(&from), self.inside(&to)))
    }

    /// Records a move, which may have brought further names along. Returns `true` if the moved folder has
    /// to be searched at the end. `others_left` returns `true` if another command moved a folder out of
    /// the packages.
    pub(super) fn moved(&self, from: &Spot, to: &Spot, others_left: impl FnOnce() -> bool) -> bool {
        let (from, place) = (path_at(from).unwrap_or_default(), path_at(to).unwrap_or_default());
        let kind = kind_at(to);
        self.repositories.moved((&from, &place), to, |about| self.is_new(about));
        let is_searched =
            self.unpacked.moved((&from, &place), (to, kind), others_left, |path| self.inside(path));
        self.came(to, kind);
        is_searched
    }

    /// Returns `true` if the command left nothing behind that [`unpacked`](Self::unpacked) reports.
    pub(super) fn is_untouched(&self) -> bool {
        self.unpacked.is_untouched()
    }

    /// Returns the protected names that exist because they came with unpacked files: the first few, and the
    /// number of the others. The caller keeps everything in place `until` then.
    pub(super) fn unpacked(&self, until: Instant) -> (Vec<PathBuf>, u32) {
        self.unpacked.found(until, |path| self.inside(path))
    }

    /// Remembers the repositories that other processes made in directories of the command.
    pub(super) fn look_for_others(&self) {
        self.repositories.look_for_others(|about| self.is_new(about));
    }

    /// Returns the repositories, and links to them, that appeared and still exist.
    pub(super) fn repositories(&self, until: Instant) -> (Vec<Found>, u32) {
        self.repositories.found(
            until,
            |path| self.unpacked.may_come(self.inside(path)),
            |about| self.is_new(about),
        )
    }

    /// Returns `true` if the entry at this path, if there is one, may be moved, removed or replaced.
    pub(super) fn may_take(&self, spot: &Spot) -> io::Result<bool> {
        if !self.keeps() {
            return Ok(true);
        }
        match statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => {
                let found = reach::identity(&found);
                let stays = self.shared.as_ref().is_some_and(|shared| shared.stays(found));
                Ok(!self.kept.contains(&found) && !stays)
            }
            Err(rustix::io::Errno::NOENT) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns `true` if an open file may be changed or get another name.
    pub(super) fn may_change(&self, file: Identity) -> bool {
        !self.kept.contains(&file) && !self.shared.as_ref().is_some_and(|shared| shared.is_special(file))
    }

    /// Returns `true` if the caller may remove entries of this directory itself.
    pub(super) fn may_remove(&self, folder: &OwnedFd) -> io::Result<bool> {
        let Some(shared) = &self.shared else { return Ok(self.kept.is_empty()) };
        Ok(shared.grants(&path_of(folder)?))
    }

    /// Removes sockets that have a name that must stay absent.
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

/// Returns the current path of an entry.
fn path_at(spot: &Spot) -> io::Result<PathBuf> {
    Ok(path_of(&spot.folder)?.join(spot.bare()))
}

/// Returns the kind of an entry. If it is unknown, the entry may be a directory.
fn kind_at(spot: &Spot) -> Kind {
    statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW)
        .map_or(Kind::Folder, |found| Kind::of(FileType::from_raw_mode(found.st_mode)))
}

/// Returns `true` if this name is free.
fn is_free(spot: &Spot) -> io::Result<bool> {
    match statat(&spot.folder, spot.bare(), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(false),
        Err(rustix::io::Errno::NOENT) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
