//! Tier in which bubblewrap creates the namespaces, for machines that only permit this to known programs. Its
//! root is as close to that of [`crate::root`] as the arguments of bubblewrap allow, and is built for each
//! command.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::FdFlags;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process, kill_process_group, pidfd_open, waitpid,
};
use scorpiox_sandbox::wire::{CellSpec, CommandSpec, Cover, Fault, Network};
use scorpiox_sandbox::{ETC, packet};
use scorpiox_sys::linux::sys::{self, Side};
use serde::{Deserialize, Serialize};

use crate::confine::DEVICES;
use crate::covers::Expected;
use crate::listeners;
use crate::root::{KERNEL_FACTS, SHARED_FACTS, SYSTEM, group_text, hosts_text, passwd_text};

const BWRAP: &CStr = c"/usr/bin/bwrap";
/// Path of this program in the sandbox, which is also its `argv[0]`.
pub(super) const INNER: &str = "/.scorpiox-cell";

/// Maximum number of arguments that bubblewrap accepts. A denied file takes 5 of them, and a descriptor.
const MOST_WORDS: usize = 9000;

/// Size of a folder with sockets of services.
const SOCKETS_BYTES: &str = "65536";

/// Time limit of the test whether bubblewrap works.
const PROBE_TIME: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Message to the program in the sandbox.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Inside {
    pub cell: CellSpec,
    pub order: CommandSpec,
    pub landlock: u32,
    /// Expected identity of each cover.
    pub expected: Vec<Expected>,
}

/// Arguments, and the descriptors that they refer to by number.
#[derive(Default)]
struct Arguments {
    list: Vec<CString>,
    fds: Vec<OwnedFd>,
}

/// Tests bubblewrap with a command that does nothing.
pub(super) fn probe(cell: &CellSpec) -> Result<(), Fault> {
    let step = "making a sandbox with bubblewrap";
    if !Path::new(OsStr::from_bytes(BWRAP.to_bytes())).exists() {
        return Err(Fault::new(
            step,
            "it is not installed (/usr/bin/bwrap; the package is called bubblewrap)",
        ));
    }
    let (complaint, writer) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(Fault::at(step))?;
    match sys::fork_into(0).map_err(Fault::at(step))? {
        Side::Child => {
            // bubblewrap forks, and may leave the child behind when it fails.
            let _ = rustix::process::setsid();
            let _ = rustix::stdio::dup2_stderr(&writer);
            let _ = sys::reset_signals();
            let _ = arguments(cell, &[]).and_then(|mut arguments| {
                arguments.words(&["--", "/bin/true"])?;
                arguments.exec()
            });
            sys::exit_now(127)
        }
        Side::Parent(child) => {
            drop(writer);
            let waited = wait_for(child);
            for kill in [kill_process, kill_process_group] {
                let _ = kill(child, Signal::KILL);
            }
            let status = waited.and_then(|()| Ok(waitpid(Some(child), WaitOptions::empty())?));
            match status.map_err(Fault::at(step))? {
                Some((_, status)) if status.exit_status() == Some(0) => Ok(()),
                _ => {
                    let mut text = String::new();
                    let _ = io::Read::read_to_string(&mut std::fs::File::from(complaint), &mut text);
                    Err(Fault::new(step, text.trim()))
                }
            }
        }
    }
}

/// Waits until a process ends; fails after a time limit.
fn wait_for(child: Pid) -> io::Result<()> {
    let end = pidfd_open(child, PidfdFlags::empty())?;
    match poll(&mut [PollFd::new(&end, PollFlags::IN)], Some(&PROBE_TIME))? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

/// Becomes bubblewrap, which starts this program again in the sandbox. Returns only on failure.
///
/// The program inherits `fds` in their order.
pub(super) fn enter(inside: &Inside, fds: &[BorrowedFd<'_>]) -> Fault {
    let enter = || {
        // Processes that bubblewrap leaves behind are killed as a group.
        let _ = rustix::process::setsid();
        let mut arguments = arguments(&inside.cell, &inside.order.covers)?;
        let order = packet::to_file(inside)?;
        arguments.words(&["--as-pid-1", "--", INNER])?;
        for fd in [&[order.as_fd()], fds].concat() {
            rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
            arguments.words(&[&fd.as_raw_fd().to_string()])?;
        }
        arguments.exec()
    };
    match enter() {
        // A covered path has disappeared since the host's scan.
        Err(error) => Fault {
            changed: error.kind() == io::ErrorKind::NotFound,
            ..Fault::new("starting bubblewrap", error)
        },
        Ok(never) => match never {},
    }
}

fn arguments(cell: &CellSpec, covers: &[Cover]) -> io::Result<Arguments> {
    let mut all = Arguments::default();
    all.words(&["bwrap", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts"])?;
    all.words(&["--hostname", "cell", "--die-with-parent", "--cap-drop", "ALL"])?;
    if cell.network != Network::Host {
        all.words(&["--unshare-net"])?;
    }
    root(&mut all, cell)?;
    // No command can write to them, by its Landlock rules. This program makes the sockets.
    for folder in listeners::folders(cell) {
        all.words(&["--perms", "0755", "--size", SOCKETS_BYTES, "--tmpfs"])?;
        all.path(&folder)?;
    }
    // A directory must come before its contents, which it would hide otherwise.
    let mut all_exposed: Vec<_> = cell.exposed.iter().collect();
    all_exposed.sort_by_key(|exposed| exposed.path.as_path());
    for exposed in all_exposed {
        let path = exposed.path.as_path();
        all.bind(if exposed.write { "--bind" } else { "--ro-bind" }, path, path)?;
    }
    for path in &cell.stand_ins {
        all.data("0000", "", path.as_path())?;
    }
    for cover in covers {
        put(&mut all, cover)?;
    }
    // This program has no path, since it was started from memory.
    let own = rustix::fs::open("/proc/self/exe", OFlags::RDONLY, Mode::empty())?;
    all.content("0555", own, Path::new(INNER))?;
    all.words(&["--remount-ro", "/proc", "--remount-ro", "/", "--chdir"])?;
    all.path(cell.workspace.as_path())?;
    Ok(all)
}

/// Adds everything outside of the workspace.
fn root(all: &mut Arguments, cell: &CellSpec) -> io::Result<()> {
    for path in SYSTEM.map(Path::new) {
        match std::fs::read_link(path) {
            Ok(target) => all.bind("--symlink", &target, path)?,
            Err(_) if path.is_dir() => all.bind("--ro-bind", path, path)?,
            Err(_) => {}
        }
    }
    for name in ETC {
        let path = Path::new("/etc").join(name);
        match std::fs::read_link(&path) {
            Ok(target) => all.bind("--symlink", &target, &path)?,
            Err(_) if path.exists() => all.bind("--ro-bind", &path, &path)?,
            Err(_) => {}
        }
    }
    all.data("0644", &passwd_text(cell), Path::new("/etc/passwd"))?;
    all.data("0644", &group_text(), Path::new("/etc/group"))?;
    if cell.network == Network::Host {
        for name in ["/etc/resolv.conf", "/etc/hosts"] {
            if let Ok(found) = Path::new(name).canonicalize() {
                all.bind("--ro-bind", &found, Path::new(name))?;
            }
        }
    } else {
        all.data("0644", hosts_text(), Path::new("/etc/hosts"))?;
    }
    if let Some(text) = &cell.ssh_config {
        all.data("0644", text, Path::new("/etc/ssh/ssh_config"))?;
    }
    all.words(&["--proc", "/proc"])?;
    let is_root = rustix::process::getuid().is_root();
    for name in SHARED_FACTS.iter().chain(KERNEL_FACTS.iter().filter(|_| is_root)) {
        let path = Path::new("/proc").join(name);
        if path.exists() {
            all.data("0000", "", &path)?;
        }
    }
    // No pseudo-terminals: bubblewrap mounts them without a limit on their number.
    all.words(&["--dir", "/dev", "--dir", "/run"])?;
    if !cell.shows_below(Path::new("/var/tmp")) {
        all.words(&["--symlink", "/tmp", "/var/tmp"])?;
    }
    for name in DEVICES {
        let path = Path::new("/dev").join(name);
        all.bind("--dev-bind", &path, &path)?;
    }
    for (name, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
    {
        all.bind("--symlink", Path::new(target), &Path::new("/dev").join(name))?;
    }
    let size = cell.tmp_bytes.to_string();
    all.words(&["--perms", "1777", "--size", &size, "--tmpfs", "/dev/shm"])?;
    // Files in /tmp remain for later commands until the server exits.
    all.bind("--bind", cell.scratch.as_path(), Path::new("/tmp"))?;
    all.words(&["--perms", "0700", "--size", &size, "--tmpfs"])?;
    all.path(cell.home.as_path())?;
    for link in &cell.home_links {
        all.bind("--symlink", link.target.as_path(), &cell.home.as_path().join(link.inside.as_path()))?;
    }
    for file in &cell.home_files {
        all.copy(&file.content, &cell.home.as_path().join(&file.name))?;
    }
    Ok(())
}

fn put(all: &mut Arguments, cover: &Cover) -> io::Result<()> {
    let path = cover.path();
    // bubblewrap follows links to mount points. The path was not a link during the host's scan.
    let is_folder = || {
        let found = path.symlink_metadata()?;
        if found.is_symlink() { Err(io::ErrorKind::NotFound.into()) } else { Ok(found.is_dir()) }
    };
    match cover {
        Cover::Pin(_) => is_folder().and_then(|_| all.bind("--bind", path, path)),
        Cover::Freeze(_) => is_folder().and_then(|_| all.bind("--ro-bind", path, path)),
        Cover::Hide(_) if is_folder()? => {
            all.words(&["--perms", "0000", "--tmpfs"])?;
            all.path(path)?;
            all.words(&["--remount-ro"])?;
            all.path(path)
        }
        Cover::Hide(_) => all.data("0000", "", path),
        Cover::Keep(_) | Cover::Absent(_) => Ok(()),
    }
}

impl Arguments {
    fn words(&mut self, words: &[&str]) -> io::Result<()> {
        for word in words {
            self.list.push(CString::new(*word)?);
        }
        Ok(())
    }

    fn path(&mut self, path: &Path) -> io::Result<()> {
        self.list.push(CString::new(path.as_os_str().as_bytes())?);
        Ok(())
    }

    fn bind(&mut self, how: &str, from: &Path, to: &Path) -> io::Result<()> {
        self.words(&[how])?;
        self.path(from)?;
        self.path(to)
    }

    /// Adds an immutable file with this content.
    fn data(&mut self, mode: &str, content: &str, to: &Path) -> io::Result<()> {
        self.content(mode, in_memory(content.as_bytes())?, to)
    }

    /// Adds a file with this content that commands may change.
    fn copy(&mut self, content: &[u8], to: &Path) -> io::Result<()> {
        let file = in_memory(content)?;
        let number = file.as_raw_fd().to_string();
        self.words(&["--perms", "0644", "--file", &number])?;
        self.path(to)?;
        self.fds.push(file);
        Ok(())
    }

    /// Adds an immutable file with the content of `file`. Its descriptor must stay open on `exec`, since
    /// bubblewrap reads it.
    fn content(&mut self, mode: &str, file: OwnedFd, to: &Path) -> io::Result<()> {
        let number = file.as_raw_fd().to_string();
        self.words(&["--perms", mode, "--ro-bind-data", &number])?;
        self.path(to)?;
        self.fds.push(file);
        Ok(())
    }

    fn exec(&self) -> io::Result<std::convert::Infallible> {
        if self.list.len() > MOST_WORDS {
            let words = self.list.len();
            return Err(io::Error::other(format!(
                "there are too many protected and denied paths for tier T1b: {words} words, where it takes \
                 {MOST_WORDS}"
            )));
        }
        let list: Vec<&CStr> = self.list.iter().map(CString::as_c_str).collect();
        sys::exec(BWRAP, &list, &[])
    }
}

/// Returns a memory file, positioned at its start.
fn in_memory(content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(rustix::fs::memfd_create("data", MemfdFlags::empty())?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
}
