//! What wakes a call that waits for descriptors.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd as _, BorrowedFd};

use parking_lot::Mutex;

/// A pipe that nobody writes to: it can be read, to its end, once it is closed for writing.
#[derive(Debug)]
pub(crate) struct Bell {
    rung: PipeReader,
    open: Mutex<Option<PipeWriter>>,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Self> {
        let (rung, open) = io::pipe()?;
        Ok(Self { rung, open: Mutex::new(Some(open)) })
    }

    pub(crate) fn ring(&self) {
        drop(self.open.lock().take());
    }

    pub(crate) fn rung(&self) -> BorrowedFd<'_> {
        self.rung.as_fd()
    }
}
