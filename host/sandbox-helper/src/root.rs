//! The root of a cell: an in-memory file system that contains only what commands may see. Nothing of the
//! host's root is visible unless it is named here.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree,
    unmount,
};
use scorpiox_sandbox::ETC;
use scorpiox_sandbox::wire::{CellSpec, Fault, Network, RawPath};
use scorpiox_sys::linux::reach;
use scorpiox_sys::linux::sys;

use crate::confine::DEVICES;

/// Directory in which the new root is assembled before it becomes `/`. Any directory that exists on every
/// machine works: its contents are hidden only in this namespace, and only until then.
const WORKSHOP: &str = "/usr";
/// Unreadable empty file, to mount over a hidden file.
pub(super) const HIDDEN_FILE: &str = "/.hidden/file";
/// Unreadable empty directory, to mount over a hidden directory.
pub(super) const HIDDEN_FOLDER: &str = "/.hidden/folder";
/// System directories, which are links into `/usr` on most machines.
pub(super) const SYSTEM: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Maximum number of pseudo-terminals of a cell: the kernel has a few thousand in total.
const MOST_TERMINALS: &str = "64";
/// Maximum size of a file in `/etc` that is copied instead of mounted, in bytes.
const MAX_COPIED_BYTES: u64 = 64 * 1024;
const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;
const SAFE: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Detached mount and its target path.
struct Detached {
    tree: OwnedFd,
    path: PathBuf,
    is_folder: bool,
}

/// Builds the root of the cell and moves this process into it. The process must have its own mount namespace.
/// `listen` is called in the new root, before commands can see it and while it can be changed.
pub(super) fn enter(cell: &CellSpec, listen: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(Fault::at("keeping mounts in the cell"))?;
    let detached = take(cell)?;
    let root = memory(4 * 1024 * 1024, "0755").map_err(Fault::at("making the root in memory"))?;
    move_mount(root.as_fd(), "", CWD, WORKSHOP, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(Fault::at("mounting the root in memory"))?;
    std::env::set_current_dir(WORKSHOP).map_err(Fault::at("entering the root in memory"))?;
    furnish(cell).map_err(Fault::at("furnishing the root"))?;
    folders_in_memory(cell)?;
    let in_memory = [Path::new("/tmp"), cell.home.as_path()];
    for mount in &detached {
        pin_folders_above(mount, &detached, in_memory)
            .and_then(|()| attach(mount))
            .map_err(|error| Fault::new(format!("mounting {}", mount.path.display()), error))?;
    }
    listen()?;
    own_proc("proc").map_err(Fault::at("mounting /proc"))?;
    let pivot = || {
        rustix::process::pivot_root(".", ".")?;
        unmount(".", UnmountFlags::DETACH)
    };
    pivot().map_err(Fault::at("changing to the new root"))?;
    std::env::set_current_dir("/").map_err(Fault::at("entering the new root"))?;
    stand_ins(cell)?;
    let read_only =
        open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLOEXEC).map_err(Fault::at("opening the root"))?;
    sys::set_mount_attributes(read_only.as_fd(), 0, READ_ONLY | SAFE).map_err(Fault::at("closing the root"))
}

/// Mounts a `/proc` of this process's PID namespace at `path`.
pub(super) fn own_proc(path: &str) -> rustix::io::Result<()> {
    let proc = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&proc)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let mount = fsmount(&proc, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    move_mount(mount.as_fd(), "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Files in `/proc` that any user may read: about the user's keys, and about all locks of the machine. The
/// kernel blocks lock operations while it lists the locks, and a command could make the list long.
pub(super) const SHARED_FACTS: [&str; 3] = ["key-users", "keys", "locks"];
/// Files in `/proc` about the kernel that only root may open.
pub(super) const KERNEL_FACTS: [&str; 8] = [
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "pagetypeinfo",
    "slabinfo",
    "timer_list",
    "vmallocinfo",
];

/// Makes `/proc` read-only: it contains the kernel's settings besides information about processes, and root's
/// user ID alone suffices to change them.
pub(super) fn close_proc(is_root: bool) -> Result<(), Fault> {
    let close = || {
        let proc = rustix::fs::open("/proc", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        sys::set_mount_attributes(proc.as_fd(), 0, READ_ONLY)?;
        for name in SHARED_FACTS.iter().chain(KERNEL_FACTS.iter().filter(|_| is_root)) {
            let path = Path::new("/proc").join(name);
            let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
            let hidden = open_tree(CWD, HIDDEN_FILE, flags)?;
            match move_mount(hidden.as_fd(), "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH) {
                // The kernel does not provide this file.
                Ok(()) | Err(rustix::io::Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok::<_, std::io::Error>(())
    };
    close().map_err(Fault::at("closing /proc"))
}

/// Mounts an in-memory file system at `path`.
pub(super) fn own_memory(path: &str, bytes: u64) -> rustix::io::Result<()> {
    let memory = memory(bytes, "1777")?;
    move_mount(memory.as_fd(), "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Returns a detached in-memory file system.
fn memory(bytes: u64, mode: &str) -> rustix::io::Result<OwnedFd> {
    let memory = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&memory, "size", bytes.to_string())?;
    // Empty files use memory as well, although they do not count towards the size.
    fsconfig_set_string(&memory, "nr_inodes", (bytes / 4096).max(1024).to_string())?;
    fsconfig_set_string(&memory, "mode", mode)?;
    fsconfig_create(&memory)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(&memory, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Mounts a separate instance of pseudo-terminals for this root.
fn terminals(path: &str) -> rustix::io::Result<()> {
    let terminals = fsopen("devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in [("mode", "0600"), ("ptmxmode", "0666"), ("max", MOST_TERMINALS)] {
        fsconfig_set_string(&terminals, name, value)?;
    }
    fsconfig_create(&terminals)?;
    // Read-only, so that no command can change its permissions for later ones.
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NOEXEC
        | MountAttrFlags::MOUNT_ATTR_RDONLY;
    let mount = fsmount(&terminals, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    move_mount(mount.as_fd(), "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Detaches everything that is mounted into the root, before the host's tree becomes unreachable.
fn take(cell: &CellSpec) -> Result<Vec<Detached>, Fault> {
    let mut taken = Vec::new();
    for path in SYSTEM.map(Path::new) {
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            taken.push(detach(path, path, READ_ONLY | SAFE)?);
        }
    }
    for name in ETC {
        let path = Path::new("/etc").join(name);
        if path.symlink_metadata().is_ok_and(|found| !found.is_symlink() && !is_copied(&found)) {
            taken.push(detach(&path, &path, READ_ONLY | SAFE)?);
        }
    }
    if cell.network == Network::Host {
        for name in ["/etc/resolv.conf", "/etc/hosts"] {
            if let Ok(found) = Path::new(name).canonicalize() {
                taken.push(detach(&found, Path::new(name), READ_ONLY | SAFE)?);
            }
        }
    }
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        // Writing to a device does not change the file system. Read-only mounts protect its mode and times,
        // which commands of root could change otherwise.
        let attributes = READ_ONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;
        taken.push(detach(&path, &path, attributes)?);
    }
    for exposed in &cell.exposed {
        let path = exposed.path.as_path();
        let attributes = if exposed.write { SAFE } else { READ_ONLY | SAFE };
        taken.push(detach(path, path, attributes)?);
    }
    // A directory must come before its contents.
    taken.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(taken)
}

/// Returns `true` if a file of `/etc` is copied. Each mount costs every command, which copies all mounts and
/// removes them at its end.
fn is_copied(found: &fs::Metadata) -> bool {
    found.is_file() && found.len() <= MAX_COPIED_BYTES
}

fn detach(from: &Path, to: &Path, attributes: u64) -> Result<Detached, Fault> {
    let take = || {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_EMPTY_PATH;
        // A command of another cell may replace a directory in the path by a link.
        let tree = open_tree(&reach::open(from)?, "", flags)?;
        sys::set_mount_attributes(tree.as_fd(), libc::AT_RECURSIVE, attributes)?;
        let stat = rustix::fs::fstat(&tree)?;
        let is_folder = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
        Ok::<_, std::io::Error>(Detached { tree, path: to.to_owned(), is_folder })
    };
    take().map_err(|error| Fault::new(format!("taking {} into the cell", from.display()), error))
}

/// Turns each directory between a mount and its writable parent into a mount, so that the mount cannot be
/// moved with one of them.
fn pin_folders_above(mount: &Detached, all: &[Detached], in_memory: [&Path; 2]) -> std::io::Result<()> {
    let roots = all.iter().map(|other| other.path.as_path()).chain(in_memory);
    let around = roots.filter(|root| mount.path.starts_with(root) && mount.path != *root);
    let Some(root) = around.max_by_key(|root| root.as_os_str().len()) else { return Ok(()) };
    let folders: Vec<_> = mount.path.ancestors().skip(1).take_while(|path| *path != root).collect();
    for folder in folders.into_iter().rev() {
        let inside = folder.strip_prefix("/").unwrap_or(folder);
        fs::create_dir_all(inside)?;
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let itself = open_tree(CWD, inside, flags)?;
        move_mount(itself.as_fd(), "", CWD, inside, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    }
    Ok(())
}

/// Attaches a mount to the new root, which is the working directory.
fn attach(mount: &Detached) -> std::io::Result<()> {
    let inside = mount.path.strip_prefix("/").unwrap_or(&mount.path);
    if inside.symlink_metadata().is_err() {
        if let Some(parent) = inside.parent() {
            fs::create_dir_all(parent)?;
        }
        if mount.is_folder {
            fs::create_dir(inside)?;
        } else {
            fs::File::create(inside)?;
        }
    }
    move_mount(mount.tree.as_fd(), "", CWD, inside, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    Ok(())
}

/// Creates the directories, links and files of the root itself.
fn furnish(cell: &CellSpec) -> std::io::Result<()> {
    for folder in ["dev/pts", "dev/shm", "etc", "proc", "run", "tmp", "usr", "var", ".hidden/folder"] {
        fs::create_dir_all(folder)?;
    }
    for (link, target) in [("/var/tmp", "/tmp"), ("/var/run", "/run")] {
        if !cell.shows_below(Path::new(link)) {
            symlink(target, link.trim_start_matches('/'))?;
        }
    }
    for path in SYSTEM {
        if let Ok(target) = fs::read_link(Path::new("/").join(path)) {
            symlink(target, path.trim_start_matches('/'))?;
        }
    }
    let links = [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")];
    for (name, target) in links.into_iter().chain([("ptmx", "pts/ptmx")]) {
        symlink(target, Path::new("dev").join(name))?;
    }
    // Without pseudo-terminals in the kernel, programs report the error.
    let _ = terminals("dev/pts");
    for name in ETC {
        let (path, inside) = (Path::new("/etc").join(name), Path::new("etc").join(name));
        let Ok(found) = path.symlink_metadata() else { continue };
        if !found.is_symlink() && !is_copied(&found) {
            continue;
        }
        inside.parent().map_or(Ok(()), fs::create_dir_all)?;
        if found.is_symlink() {
            symlink(fs::read_link(path)?, inside)?;
        } else if let Ok(text) = fs::read(path) {
            fs::write(inside, text)?;
        }
    }
    fs::write("etc/passwd", passwd_text(cell))?;
    fs::write("etc/group", group_text())?;
    fs::write("etc/hostname", "cell\n")?;
    if cell.network != Network::Host {
        fs::write("etc/hosts", hosts_text())?;
    }
    if let Some(text) = &cell.ssh_config {
        fs::create_dir_all("etc/ssh")?;
        fs::write("etc/ssh/ssh_config", text)?;
    }
    fs::File::create(HIDDEN_FILE.trim_start_matches('/'))?;
    for hidden in [HIDDEN_FILE, HIDDEN_FOLDER] {
        fs::set_permissions(hidden.trim_start_matches('/'), fs::Permissions::from_mode(0o000))?;
    }
    Ok(())
}

/// Creates an empty, unreadable file for each file that commands may know to exist, in this root, `/tmp` or the home
/// directory. Nothing is created where something of the machine is mounted.
fn stand_ins(cell: &CellSpec) -> Result<(), Fault> {
    let device = |path: &Path| path.symlink_metadata().map(|found| found.dev());
    let in_memory = [Path::new("/"), Path::new("/tmp"), cell.home.as_path()].map(|path| device(path).ok());
    for path in cell.stand_ins.iter().map(RawPath::as_path) {
        let Some(folder) = path.parent() else { continue };
        let Some(last) = folder.ancestors().find(|folder| folder.symlink_metadata().is_ok()) else {
            continue;
        };
        let make = || {
            if last.canonicalize()? != last || !in_memory.contains(&device(last).ok()) {
                return Ok(());
            }
            fs::create_dir_all(folder)?;
            match fs::File::create_new(path) {
                Ok(file) => file.set_permissions(fs::Permissions::from_mode(0o000)),
                // Two names lead to one work tree.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                Err(error) => Err(error),
            }
        };
        make().map_err(|error| Fault::new(format!("making the stand-in for {}", path.display()), error))?;
    }
    Ok(())
}

/// Returns the only user of the cell, with the user ID on the host.
pub(super) fn passwd_text(cell: &CellSpec) -> String {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let (name, home) = (user_name(), cell.home.as_path().display());
    format!(
        "{name}:x:{user}:{group}::{home}:/bin/bash\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
    )
}

/// Returns the group of that user.
pub(super) fn group_text() -> String {
    format!("{}:x:{}:\nnogroup:x:65534:\n", user_name(), rustix::process::getgid().as_raw())
}

/// Returns the host names of an isolated network.
pub(super) fn hosts_text() -> &'static str {
    "127.0.0.1 localhost cell\n::1 localhost\n"
}

fn user_name() -> &'static str {
    if rustix::process::getuid().is_root() { "root" } else { "user" }
}

/// Creates `/tmp` and the home directory. Exposed files are mounted over or into them.
fn folders_in_memory(cell: &CellSpec) -> Result<(), Fault> {
    for (path, mode) in [(Path::new("/tmp"), "1777"), (cell.home.as_path(), "0700")] {
        let make = || {
            let inside = path.strip_prefix("/").unwrap_or(path);
            fs::create_dir_all(inside)?;
            let memory = memory(cell.tmp_bytes, mode)?;
            move_mount(memory.as_fd(), "", CWD, inside, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
            Ok::<_, std::io::Error>(())
        };
        make().map_err(|error| Fault::new(format!("making {} in memory", path.display()), error))?;
    }
    let home = cell.home.as_path();
    let home = home.strip_prefix("/").unwrap_or(home);
    link_home(home, cell)?;
    for file in &cell.home_files {
        let at = home.join(&file.name);
        fs::write(&at, &file.content)
            .map_err(|error| Fault::new(format!("writing {}", at.display()), error))?;
    }
    Ok(())
}

/// Creates the links of a home directory.
pub(super) fn link_home(home: &Path, cell: &CellSpec) -> Result<(), Fault> {
    for link in &cell.home_links {
        let at = home.join(link.inside.as_path());
        let make = || {
            fs::create_dir_all(at.parent().unwrap_or(home))?;
            match std::os::unix::fs::symlink(link.target.as_path(), &at) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
                made => made,
            }
        };
        make().map_err(|error| Fault::new(format!("linking {}", at.display()), error))?;
    }
    Ok(())
}
