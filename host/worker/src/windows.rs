//! A worker in a job of the host's, which bounds what it may use up.

use std::fs::File;
use std::io;
use std::os::windows::io::{AsHandle as _, OwnedHandle};

use scorpiox_cell::Fault;
use scorpiox_cell::worker::WORKER_NAME;

use crate::Entered;

/// Takes the task, if this process was started as a worker; otherwise gives nothing. `prepare` runs first.
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
    let handle =
        |handle: io::Result<OwnedHandle>| handle.map(File::from).map_err(Fault::at("taking handles"));
    Ok(Entered {
        task,
        input: handle(io::stdin().as_handle().try_clone_to_owned())?,
        output: handle(io::stdout().as_handle().try_clone_to_owned())?,
    })
}
