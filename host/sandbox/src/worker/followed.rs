//! Starts a worker from a file, and supervises it with threads of the host.
//!
//! The file lies in a private directory of this process. The output of a worker goes through a pipe, which is
//! read no further than the output limit. `system` enforces the bounds.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(target_os = "macos")]
use crate::macos::worker as system;
use crate::seam::CellError;
#[cfg(windows)]
use crate::windows::worker as system;
use crate::worker::{REFUSED, WORKER_NAME, Work, WorkEnd};

/// Interval between cancellation checks.
const LOOK_TIME: Duration = Duration::from_millis(20);
/// Age of a directory that a killed server left behind: no worker runs this long.
const ABANDONED_TIME: Duration = Duration::from_hours(24);
/// Maximum number of stored bytes of an explanation.
const MAX_TEXT_BYTES: usize = 4 * 1024;

/// Runs a task until it ends or `stop` returns `true`. Blocks.
pub fn run(work: Work<'_>, stop: impl Fn() -> bool) -> Result<WorkEnd, CellError> {
    let most = work.bounds.output;
    let until = Instant::now().checked_add(work.bounds.time);
    let mut worker = Worker::start(work).map_err(CellError::worker)?;
    let made = loop {
        match worker.made.recv_timeout(LOOK_TIME) {
            Ok(made) => break made.map_err(CellError::worker)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(CellError::worker("its output cannot be read"));
            }
        }
        if stop() {
            return Ok(WorkEnd::Stopped);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(WorkEnd::Time);
        }
        if worker.held.exceeds() {
            return Ok(WorkEnd::Memory);
        }
    };
    if made.metadata().map_err(CellError::worker)?.len() > most {
        return Ok(WorkEnd::Output);
    }
    // The worker has closed its output, so it is about to end, or hangs.
    let status = loop {
        if let Some(status) = worker.child.try_wait().map_err(CellError::worker)? {
            break status;
        }
        if stop() {
            return Ok(WorkEnd::Stopped);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(WorkEnd::Time);
        }
        thread::sleep(LOOK_TIME);
    };
    let said = worker.said.recv().unwrap_or_default();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    Ok(match status.code() {
        Some(0) => WorkEnd::Done(made),
        Some(code) if code == REFUSED => WorkEnd::Refused(said),
        _ => system::judge(status, &said),
    })
}

/// Running worker, which is killed on drop.
struct Worker {
    child: Child,
    /// Output, available once the worker has closed it.
    made: Receiver<io::Result<File>>,
    said: Receiver<Vec<u8>>,
    held: system::Held,
    _folder: Folder,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Private directory of this process, which is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        sweep();
        let path = own_path();
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

/// Opens an unnamed temporary file, which may outlive the directory of the worker.
fn passing_file() -> io::Result<File> {
    system::passing(&own_path())
}

/// Removes the directories that killed servers left behind.
fn sweep() {
    let prefix = format!("{WORKER_NAME}-");
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)) {
        let made = entry.metadata().and_then(|of| of.modified());
        let age = made.ok().and_then(|made| made.elapsed().ok());
        if age.is_some_and(|age| age > ABANDONED_TIME) {
            let _ = crate::remove_folder(&entry.path());
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = crate::remove_folder(&self.0);
    }
}

/// Returns an unused path.
fn own_path() -> PathBuf {
    std::env::temp_dir().join(format!("{WORKER_NAME}-{}", nonce()))
}

/// Returns a unique suffix.
fn nonce() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}-{:x}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed), since.as_nanos())
}

impl Worker {
    #[allow(clippy::disallowed_methods)] // the other place that starts a program: its own, from bytes
    fn start(work: Work<'_>) -> io::Result<Self> {
        let Work { program, task, input, bounds } = work;
        let folder = Folder::new()?;
        let path = folder.0.join(format!("worker{}", std::env::consts::EXE_SUFFIX));
        let mut bytes = Vec::new();
        program.read_to_end(&mut bytes)?;
        fs::write(&path, &bytes)?;
        // The pinned file cannot be replaced, so the compared bytes are those that run.
        let mut pinned = system::pinned(&path)?;
        let mut written = Vec::with_capacity(bytes.len());
        pinned.read_to_end(&mut written)?;
        if written != bytes {
            return Err(io::Error::other("its file was changed"));
        }
        let mut given = passing_file()?;
        given.write_all(input)?;
        given.rewind()?;
        let mut command = system::command(&path, &bounds)?;
        command
            .args([WORKER_NAME, task])
            .args(bounds.to_arguments())
            .current_dir(&folder.0)
            .stdin(given)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let (mut child, held) = system::start(&mut command, &bounds)?;
        drop((command, pinned));
        let missing = || io::Error::other("a pipe is missing");
        let output = child.stdout.take().ok_or_else(missing)?;
        let text = child.stderr.take().ok_or_else(missing)?;
        let (making, made) = sync_channel(1);
        let (saying, said) = sync_channel(1);
        let file = passing_file()?;
        // Reads one byte beyond the limit to detect an excessive output.
        let most = bounds.output.saturating_add(1);
        thread::Builder::new().name("worker".to_owned()).spawn(move || {
            let _ = making.send(copied(output.take(most), file));
        })?;
        thread::Builder::new().name("worker-text".to_owned()).spawn(move || {
            let mut said = Vec::new();
            let mut text = text;
            let _ = (&mut text).take(MAX_TEXT_BYTES as u64).read_to_end(&mut said);
            let _ = io::copy(&mut text, &mut io::sink());
            let _ = saying.send(said);
        })?;
        Ok(Self { child, made, said, held, _folder: folder })
    }
}

fn copied(mut from: impl Read, mut to: File) -> io::Result<File> {
    io::copy(&mut from, &mut to)?;
    to.rewind()?;
    Ok(to)
}
