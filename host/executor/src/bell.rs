//! Wakes a call that waits for descriptors.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd as _, BorrowedFd};

use parking_lot::Mutex;

/// A pipe without data. It becomes readable, at end of file, once the write end is closed.
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
