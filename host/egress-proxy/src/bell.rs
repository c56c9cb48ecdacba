//! Waits for a connection or for the signal to end.

#[cfg(unix)]
pub(crate) use self::pipe::{Bell, Rung, new, of};
#[cfg(windows)]
pub(crate) use self::visit::{Bell, Rung, of};

/// Implementation with a pipe next to the listener.
#[cfg(unix)]
mod pipe {
    use std::io::{self, PipeReader, PipeWriter};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, poll};

    /// Wakes the accepting thread when dropped.
    #[derive(Debug)]
    pub(crate) struct Bell {
        _rings: PipeWriter,
    }

    #[derive(Debug)]
    pub(crate) struct Rung(PipeReader);

    pub(crate) fn of(listener: &TcpListener) -> io::Result<(Bell, Rung)> {
        listener.set_nonblocking(true)?;
        new()
    }

    /// Creates a signal for a listener that does not block.
    pub(crate) fn new() -> io::Result<(Bell, Rung)> {
        let (rung, rings) = io::pipe()?;
        Ok((Bell { _rings: rings }, Rung(rung)))
    }

    impl Rung {
        /// Returns the next connection, or `None` after the signal. On `WouldBlock`, call it again.
        pub(crate) fn accept(&self, listener: &TcpListener) -> io::Result<Option<TcpStream>> {
            if self.waits_for(listener)? {
                listener.accept().map(|(client, _)| Some(client))
            } else {
                Ok(None)
            }
        }

        /// Waits for a listener; returns `false` after the signal.
        pub(crate) fn waits_for(&self, listener: &impl AsFd) -> io::Result<bool> {
            let mut polled = [PollFd::new(listener, PollFlags::IN), PollFd::new(&self.0, PollFlags::IN)];
            rustix::io::retry_on_intr(|| poll(&mut polled, None))?;
            Ok(polled[1].revents().is_empty())
        }
    }
}

/// Implementation with a connection to the listener itself, since Windows cannot wait for a pipe and a socket
/// at the same time.
#[cfg(windows)]
mod visit {
    use std::io;
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Wakes the accepting thread when dropped.
    #[derive(Debug)]
    pub(crate) struct Bell {
        address: SocketAddr,
        rang: Arc<AtomicBool>,
    }

    #[derive(Debug)]
    pub(crate) struct Rung(Arc<AtomicBool>);

    pub(crate) fn of(listener: &TcpListener) -> io::Result<(Bell, Rung)> {
        let rang = Arc::new(AtomicBool::new(false));
        Ok((Bell { address: listener.local_addr()?, rang: Arc::clone(&rang) }, Rung(rang)))
    }

    impl Rung {
        /// Returns the next connection, or `None` after the signal.
        pub(crate) fn accept(&self, listener: &TcpListener) -> io::Result<Option<TcpStream>> {
            let (client, _) = listener.accept()?;
            Ok((!self.0.load(Ordering::SeqCst)).then_some(client))
        }
    }

    impl Drop for Bell {
        fn drop(&mut self) {
            self.rang.store(true, Ordering::SeqCst);
            // This connection, or any pending one, wakes the accepting thread.
            let _ = TcpStream::connect(self.address);
        }
    }
}
