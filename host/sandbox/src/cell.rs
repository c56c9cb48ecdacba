//! Host side of a cell.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use parking_lot::Mutex;
use rustix::fs::MemfdFlags;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::dialer::Dialer;
use crate::listeners::Listeners;
use crate::moves::Moves;
use crate::running::Running;
use crate::seam::{CellError, Helper};
use crate::wire::{Built, CellSpec, CommandSpec, Fault, HELPER_NAME, Order};
use crate::{memory, packet};

/// Size of the pipe for a command's output in bytes. It is large to avoid a context switch for each chunk of
/// a long output.
const PIPE_BYTES: usize = 1024 * 1024;

/// Sandbox that is built and runs commands.
#[derive(Debug)]
pub struct Cell {
    socket: OwnedFd,
    helper: Mutex<Child>,
    listeners: Listeners,
}

impl Cell {
    /// Starts a helper, which builds a sandbox.
    pub fn build(helper: &Helper, spec: &CellSpec) -> Result<Self, CellError> {
        let step = "starting the sandbox helper";
        let (socket, theirs) = packet::pair().map_err(Fault::at(step))?;
        let child = start(helper, theirs).map_err(Fault::at(step))?;
        let mut cell = Self { socket, helper: Mutex::new(child), listeners: Listeners::default() };
        packet::send_large(cell.socket.as_fd(), &Order::Build(spec.clone()), &[]).map_err(Fault::at(step))?;
        match packet::receive::<Built>(cell.socket.as_fd(), true) {
            Ok(Some((Built::Ready(kinds), fds))) => {
                cell.listeners = Listeners::of(&kinds, fds);
                Ok(cell)
            }
            Ok(Some((Built::Failed(fault), _))) => Err(fault.into()),
            Ok(None) => Err(CellError::helper("it ended while it built the sandbox")),
            Err(error) => Err(Fault::new(step, error).into()),
        }
    }

    /// Returns the listeners in the cell's own network that the specification requests; the proxy's is on
    /// [`crate::PROXY_PORT`].
    pub fn take_listeners(&mut self) -> Listeners {
        std::mem::take(&mut self.listeners)
    }

    /// Returns the port of the proxy, if it is not [`crate::PROXY_PORT`].
    #[allow(clippy::unused_self)] // same signature as on other systems
    pub fn proxy_port(&self) -> Option<u16> {
        None
    }

    /// Starts a command. Its standard input is `input`, or empty. With `moves`, no other command moves
    /// entries of its trees until it is confined, and it moves none while others start.
    pub fn run(
        &self,
        call: CommandSpec,
        input: Option<BorrowedFd<'_>>,
        moves: Option<&Moves>,
    ) -> Result<Running, CellError> {
        let (output, theirs) = pipe_with(PipeFlags::CLOEXEC).map_err(CellError::helper)?;
        // A smaller pipe also works; the user's quota limits the size.
        let _ = rustix::pipe::fcntl_setpipe_size(&output, PIPE_BYTES);
        let (control, their_control) = packet::pair().map_err(CellError::helper)?;
        let dialer = call.publishes.then(packet::pair).transpose().map_err(CellError::helper)?;
        let their_dialer = dialer.as_ref().map(|(_, theirs)| theirs.as_fd());
        let fds =
            [Some(their_control.as_fd()), Some(theirs.as_fd()), moves.map(AsFd::as_fd), their_dialer, input];
        let fds: Vec<_> = fds.into_iter().flatten().collect();
        let order = Order::Run(CommandSpec { changed: moves.map(|moves| moves.changed().clone()), ..call });
        packet::send_large(self.socket.as_fd(), &order, &fds).map_err(CellError::helper)?;
        Ok(Running::new(output, control, dialer.map(|(ours, _)| Dialer::new(ours))))
    }

    /// Ends the cell and everything in it; returns after the helper has exited.
    pub fn end(&self) {
        // The helper exits at the end of the socket.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
        let _ = self.helper.lock().wait();
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts the helper from memory: a program on disk could have been replaced.
///
/// Nothing runs between fork and exec, so the C library need not copy the memory map of this process, however
/// large it is.
#[allow(clippy::disallowed_methods)] // the one place that starts a program
fn start(helper: &Helper, socket: OwnedFd) -> io::Result<Child> {
    let program = memory::sealed("helper", MemfdFlags::EXEC, |file| file.write_all(helper.image))?;
    Command::new(memory::path(&program))
        .arg0(HELPER_NAME)
        .env_clear()
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}
