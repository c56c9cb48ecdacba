//! Tells whether a command listens at a socket's path.
//!
//! The kernel lists the Unix sockets of a network namespace with the files that they are bound to
//! (`sock_diag(7)`). All commands of a cell share one namespace, and no other program is in it.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{fstat, fstatfs, major, minor};
use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// `SOCK_DIAG_BY_FAMILY`, the type of a request and of an entry of its response.
const BY_FAMILY: u16 = 20;
/// `NLMSG_ERROR` and `NLMSG_DONE`, types of the last message.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x1 | 0x300;
/// Bit of the state `TCP_LISTEN`, which Unix sockets use as well.
const LISTENING: u32 = 1 << 10;
/// `UDIAG_SHOW_VFS`, and the attribute that it adds to each entry.
const SHOW_FILE: u32 = 2;
const FILE: u16 = 1;
/// Length of `nlmsghdr`, and of `unix_diag_msg`.
const HEADER: usize = 16;
const ENTRY: usize = 16;
/// Size of the receive buffer in bytes: the kernel sends no larger message here.
const BUFFER_BYTES: usize = 32 * 1024;

/// File systems on which the first 32 bits of an inode number and the device identify a file: ext4 and its
/// predecessors, tmpfs, overlayfs, F2FS, and XFS up to a size. On others, such as Btrfs, a command could make a
/// socket that has the number of another program's.
const NUMBERED: [u64; 4] = [0xef53, 0x0102_1994, 0x794c_7630, 0xf2f5_2010];
const XFS: u64 = 0x5846_5342;
/// Maximum size of XFS on which all inode numbers have 32 bits, in bytes. Larger ones can have others.
const MAX_XFS_BYTES: u64 = 1 << 40;

/// File that a listening socket is bound to, as the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bound {
    inode: u32,
    device: u32,
}

/// Returns `true` if a socket of this process's network listens at this file. The open file keeps its inode
/// number from being used again.
pub(super) fn includes(file: &OwnedFd) -> io::Result<bool> {
    if !are_files_numbered(file)? {
        return Ok(false);
    }
    let about = fstat(file)?;
    // The kernel reports only 32 bits of the number: others could share them.
    let Ok(inode) = u32::try_from(about.st_ino) else { return Ok(false) };
    let device = kernel_device(major(about.st_dev), minor(about.st_dev));
    let mut elsewhere = false;
    for bound in all()?.into_iter().filter(|bound| bound.inode == inode) {
        if bound.device == device {
            return Ok(true);
        }
        elsewhere = true;
    }
    // Overlayfs reports another device for some files than for its mount.
    Ok(elsewhere && all()?.contains(&Bound { inode, device: device_of_mount(file)? }))
}

/// Returns `true` if the kernel's report identifies files of this file system.
fn are_files_numbered(file: &OwnedFd) -> io::Result<bool> {
    let about = fstatfs(file)?;
    // Both have types that depend on the machine.
    let kind = u64::try_from(about.f_type).unwrap_or(0) & u64::from(u32::MAX);
    let bytes = about.f_blocks.saturating_mul(u64::try_from(about.f_bsize).unwrap_or(u64::MAX));
    Ok(NUMBERED.contains(&kind) || (kind == XFS && bytes <= MAX_XFS_BYTES))
}

/// Returns a device number in the kernel's own format.
fn kernel_device(major: u32, minor: u32) -> u32 {
    (major << 20) | minor
}

/// Returns the files of all listening Unix sockets in this network namespace.
fn all() -> io::Result<Vec<Bound>> {
    let (flags, kind) = (SocketFlags::CLOEXEC, SocketType::RAW);
    let socket = socket_with(AddressFamily::NETLINK, kind, flags, Some(SOCK_DIAG))?;
    sendto(&socket, &request(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut found = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let (length, _) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
        if read(buffer.get(..length).unwrap_or_default(), &mut found)? {
            return Ok(found);
        }
    }
}

fn request() -> Vec<u8> {
    let family = u8::try_from(libc::AF_UNIX).unwrap_or_default();
    let mut body = vec![family, 0, 0, 0];
    // States, inode number, attributes, and a cookie that stands for any socket.
    body.extend([LISTENING, 0, SHOW_FILE, u32::MAX, u32::MAX].into_iter().flat_map(u32::to_ne_bytes));
    let length = u32::try_from(HEADER + body.len()).unwrap_or_default();
    let mut message = length.to_ne_bytes().to_vec();
    message.extend([BY_FAMILY, DUMP].into_iter().flat_map(u16::to_ne_bytes));
    // Sequence number and sender.
    message.extend([0; 8]);
    message.extend(body);
    message
}

/// Reads a packet of messages; returns `true` after the last one.
fn read(mut packet: &[u8], found: &mut Vec<Bound>) -> io::Result<bool> {
    while let Some((length, kind)) = u32_at(packet, 0).zip(u16_at(packet, 4)) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let message = packet.get(HEADER..length).ok_or(io::ErrorKind::InvalidData)?;
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let error = u32_at(message, 0).map_or(libc::EIO, |error| -error.cast_signed());
                return Err(io::Error::from_raw_os_error(error));
            }
            BY_FAMILY => found.extend(message.get(ENTRY..).and_then(file_in)),
            _ => {}
        }
        packet = packet.get(aligned(length)..).unwrap_or_default();
    }
    Ok(false)
}

/// Returns the file among the attributes of an entry.
fn file_in(mut attributes: &[u8]) -> Option<Bound> {
    while let Some((length, kind)) = u16_at(attributes, 0).zip(u16_at(attributes, 2)) {
        if kind == FILE {
            return Some(Bound { inode: u32_at(attributes, 4)?, device: u32_at(attributes, 8)? });
        }
        // A shorter length would not end.
        attributes = attributes.get(aligned(usize::from(length).max(4))..)?;
    }
    None
}

/// Returns the offset of what follows a message or an attribute of this length.
const fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Returns the device of the mount that an open file lies in.
fn device_of_mount(file: &OwnedFd) -> io::Result<u32> {
    let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd()))?;
    let mount = about.lines().find_map(|line| line.strip_prefix("mnt_id:")).map(str::trim);
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    let device = mount.and_then(|mount| device_in(&mounts, mount));
    Ok(device.ok_or(Errno::NOENT)?)
}

/// Returns the device of a mount in `/proc/self/mountinfo`.
fn device_in(mounts: &str, mount: &str) -> Option<u32> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (major, minor) = words.next().filter(|id| *id == mount).and(words.nth(1))?.split_once(':')?;
        Some(kernel_device(major.parse().ok()?, minor.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::net::UnixListener;
    use std::path::Path;

    use rustix::fs::{CWD, Mode, OFlags, openat};

    use super::*;

    fn open(path: &Path) -> OwnedFd {
        openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).expect("a file")
    }

    #[test]
    fn only_files_with_a_listener_are_included() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let listener = UnixListener::bind(path("listening")).expect("a socket");
        drop(UnixListener::bind(path("left")).expect("a socket"));
        File::create(path("file")).expect("a file");
        std::fs::hard_link(path("listening"), path("other name")).expect("a link");
        for (name, expected) in [("listening", true), ("other name", true), ("left", false), ("file", false)]
        {
            assert_eq!(includes(&open(&path(name))).expect("a list"), expected, "{name}");
        }
        let file = open(&path("listening"));
        drop(listener);
        assert!(!includes(&file).expect("a list"));
    }

    #[test]
    fn the_device_of_a_mount_is_found_by_its_number() {
        let mounts = "21 1 0:19 / /proc rw - proc proc rw\n122 1 254:3 / / rw shared:1 - btrfs /dev/vda rw\n";
        assert_eq!(device_in(mounts, "122"), Some((254 << 20) | 3));
        assert_eq!(device_in(mounts, "21"), Some(19));
        assert_eq!(device_in(mounts, "12"), None);
    }

    #[test]
    fn damaged_packets_end() {
        let mut found = Vec::new();
        assert!(read(&[255; 64], &mut found).is_err());
        assert!(read(&[0; 15], &mut found).is_err());
        assert!(!read(&[], &mut found).expect("nothing"));
        assert_eq!(file_in(&[0; 3]), None);
        assert_eq!(file_in(&[0, 0, 9, 0, 0, 0, 9, 0]), None);
    }
}
