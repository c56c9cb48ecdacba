//! Way from the host to the servers of a command.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::packet;
use crate::wire::Family;

/// Time limit of the supervisor, and of a connection.
const TIME: Duration = Duration::from_secs(2);

/// Connects to ports in the network of a command. A socket belongs to the network that it was made in, so the
/// supervisor of the command makes it, and the host connects it.
#[derive(Debug)]
pub struct Dialer(Mutex<OwnedFd>);

impl Dialer {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self(Mutex::new(socket))
    }

    /// Connects to a port of the command's loopback interface.
    pub fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        // Programs that listen at `localhost` may listen at its IPv6 address alone.
        let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
        self.connect_to(Family::V4, v4).or_else(|error| self.connect_to(Family::V6, v6).map_err(|_| error))
    }

    fn connect_to(&self, family: Family, address: SocketAddr) -> io::Result<TcpStream> {
        let socket = self.socket(family)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        match rustix::net::connect(&socket, &address) {
            Ok(()) => {}
            Err(Errno::INPROGRESS) => wait(&socket, PollFlags::OUT)?,
            Err(error) => return Err(error.into()),
        }
        rustix::net::sockopt::socket_error(&socket)??;
        rustix::io::ioctl_fionbio(&socket, false)?;
        Ok(socket.into())
    }

    fn socket(&self, family: Family) -> io::Result<OwnedFd> {
        let supervisor = self.0.lock();
        packet::send(supervisor.as_fd(), &family, &[])?;
        loop {
            wait(&*supervisor, PollFlags::IN)?;
            // An answer that came too late is that of an earlier request.
            let answer = packet::receive::<Family>(supervisor.as_fd(), false)?;
            let (made, mut fds) = answer.ok_or(io::ErrorKind::BrokenPipe)?;
            match fds.pop() {
                Some(socket) if made == family => return Ok(socket),
                Some(_) => {}
                None => return Err(io::Error::other("the command can have no more sockets")),
            }
        }
    }
}

fn wait(fd: &impl AsFd, flags: PollFlags) -> io::Result<()> {
    let time = Timespec::try_from(TIME).unwrap_or_default();
    match rustix::io::retry_on_intr(|| poll(&mut [PollFd::new(fd, flags)], Some(&time)))? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}
