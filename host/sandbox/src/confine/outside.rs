//! Entry of a worker that the host has already confined.

use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::fd::{AsFd as _, OwnedFd as Owned};
#[cfg(windows)]
use std::os::windows::io::{AsHandle as _, OwnedHandle as Owned};

use crate::Fault;
use crate::worker::WORKER_NAME;

use crate::confine::Entered;

/// Returns the task if this process was started as a worker, and `None` otherwise. `prepare` runs first.
pub fn enter(prepare: impl FnOnce() -> io::Result<()>) -> Option<Result<Entered, Fault>> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != WORKER_NAME {
        return None;
    }
    let task = arguments.next()?;
    Some(begin(task, prepare))
}

fn begin(task: String, prepare: impl FnOnce() -> io::Result<()>) -> Result<Entered, Fault> {
    prepare().map_err(Fault::at("starting threads"))?;
    let file =
        |owned: io::Result<Owned>| owned.map(File::from).map_err(Fault::at("taking what it was given"));
    #[cfg(unix)]
    let (input, output) =
        (io::stdin().as_fd().try_clone_to_owned(), io::stdout().as_fd().try_clone_to_owned());
    #[cfg(windows)]
    let (input, output) =
        (io::stdin().as_handle().try_clone_to_owned(), io::stdout().as_handle().try_clone_to_owned());
    Ok(Entered { task, input: file(input)?, output: file(output)? })
}
