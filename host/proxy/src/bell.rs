//! Waiting for a connection, or for the word to end.

#[cfg(unix)]
pub(crate) use self::pipe::{Bell, Rung, of};
#[cfg(windows)]
pub(crate) use self::visit::{Bell, Rung, of};

/// By a pipe beside the listener.
#[cfg(unix)]
mod pipe {
    use std::io::{self, PipeReader, PipeWriter};
    use std::net::{TcpListener, TcpStream};

    use rustix::event::{PollFd, PollFlags, poll};

    /// Dropped, it rings.
    #[derive(Debug)]
    pub(crate) struct Bell {
        _rings: PipeWriter,
    }

    #[derive(Debug)]
    pub(crate) struct Rung(PipeReader);

    pub(crate) fn of(listener: &TcpListener) -> io::Result<(Bell, Rung)> {
        listener.set_nonblocking(true)?;
        let (rung, rings) = io::pipe()?;
        Ok((Bell { _rings: rings }, Rung(rung)))
    }

    impl Rung {
        /// The next connection; none once the bell rang. An error `WouldBlock` says to ask again.
        pub(crate) fn accept(&self, listener: &TcpListener) -> io::Result<Option<TcpStream>> {
            let mut polled = [PollFd::new(listener, PollFlags::IN), PollFd::new(&self.0, PollFlags::IN)];
            rustix::io::retry_on_intr(|| poll(&mut polled, None))?;
            if !polled[1].revents().is_empty() {
                return Ok(None);
            }
            listener.accept().map(|(client, _)| Some(client))
        }
    }
}

/// By a connection to the listener itself, where nothing waits for a pipe and a socket at once.
#[cfg(windows)]
mod visit {
    use std::io;
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Dropped, it rings.
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
        /// The next connection; none once the bell rang.
        pub(crate) fn accept(&self, listener: &TcpListener) -> io::Result<Option<TcpStream>> {
            let (client, _) = listener.accept()?;
            Ok((!self.0.load(Ordering::SeqCst)).then_some(client))
        }
    }

    impl Drop for Bell {
        fn drop(&mut self) {
            self.rang.store(true, Ordering::SeqCst);
            // Accepted at once, or among those that wait, each of which is as good.
            let _ = TcpStream::connect(self.address);
        }
    }
}
