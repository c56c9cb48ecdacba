//! Messages with descriptors, over a socket that preserves message boundaries.

use std::io::{self, IoSlice, IoSliceMut, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::MemfdFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Maximum size of a message without a memory file: the result of a command with all reported paths.
const MAX_BYTES: usize = 40 * 1024;
/// Maximum number of descriptors in a message.
const MAX_FDS: usize = 20;
/// Maximum size of a message in a memory file: a command and its rules for paths.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Returns a pair of connected sockets, which are not inherited by started programs.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Sends a short message and descriptors. See also [`send_large`].
pub fn send<T: Serialize>(socket: BorrowedFd<'_>, message: &T, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
    if bytes.len() > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the message is too long for a packet"));
    }
    send_bytes(socket, &bytes, fds)
}

/// Sends a message of any length in a memory file, which is the first descriptor.
pub fn send_large<T: Serialize>(
    socket: BorrowedFd<'_>,
    message: &T,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let file = to_file(message)?;
    let fds: Vec<_> = [file.as_fd()].into_iter().chain(fds.iter().copied()).collect();
    send_bytes(socket, b"file", &fds)
}

/// Serializes a message to a memory file.
pub fn to_file<T: Serialize>(message: &T) -> io::Result<OwnedFd> {
    let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let mut file = std::fs::File::from(rustix::fs::memfd_create("order", MemfdFlags::CLOEXEC)?);
    file.write_all(&bytes)?;
    file.rewind()?;
    Ok(file.into())
}

/// Deserializes the message in a memory file.
pub fn from_file<T: DeserializeOwned>(file: OwnedFd) -> io::Result<T> {
    let file = std::fs::File::from(file);
    let size = file.metadata()?.len();
    if size > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {size} bytes")));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    io::Read::read_to_end(&mut io::Read::take(&file, MAX_FILE_BYTES), &mut bytes)?;
    postcard::from_bytes(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Receives a message from [`send_large`]; returns `None` if the other end is closed.
pub fn receive_large<T: DeserializeOwned>(socket: BorrowedFd<'_>) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let Some((_, mut fds)) = receive_bytes(socket, RecvFlags::empty())? else { return Ok(None) };
    if fds.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message without its file"));
    }
    let message = from_file(fds.remove(0))?;
    Ok(Some((message, fds)))
}

/// Receives a message; returns `None` if the other end is closed.
pub fn receive<T: DeserializeOwned>(
    socket: BorrowedFd<'_>,
    wait: bool,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let flags = if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
    let Some((bytes, fds)) = receive_bytes(socket, flags)? else { return Ok(None) };
    let message =
        postcard::from_bytes(&bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok(Some((message, fds)))
}

fn send_bytes(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many descriptors for a packet"));
    }
    rustix::io::retry_on_intr(|| sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

fn receive_bytes(socket: BorrowedFd<'_>, flags: RecvFlags) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; MAX_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::io::retry_on_intr(|| {
        recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags | RecvFlags::CMSG_CLOEXEC)
    })?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    bytes.truncate(received.bytes);
    Ok(Some((bytes, fds)))
}
