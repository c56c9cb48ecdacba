//! Buffers lines on their way to disk.
//!
//! A call appends its line in memory, and a writer drains all lines together. Lines that cannot be written
//! are retained up to a limit and retried. Beyond the limit lines are dropped and counted, and the count
//! becomes a line, so that the gap in the file is visible.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::{Log, LogError, Origin, left};

/// Buffer size at which a call has to write the lines itself.
const FULL_BYTES: usize = 256 * 1024;
/// Maximum size of lines retained while writing fails.
const MAX_KEPT_BYTES: usize = 1024 * 1024;
/// Delay between retries after a failure.
const RETRY_TIME: Duration = Duration::from_secs(1);

/// Buffered lines and the log they go to.
#[derive(Debug)]
pub struct Spool {
    /// Origin of the lines that report lost lines.
    origin: Origin,
    lines: Mutex<Vec<u8>>,
    is_filled: AtomicBool,
    /// Locked before `lines`, so that lines are written in order.
    writer: Mutex<Writer>,
}

#[derive(Debug)]
struct Writer {
    log: Log,
    /// Lines taken from the buffer and not written yet.
    taken: Vec<u8>,
    /// Number of dropped lines.
    lost: u64,
    failed: Option<(Arc<LogError>, Instant)>,
}

impl Spool {
    /// Creates a spool for `log`. Lines that report lost lines have the given origin.
    pub fn new(log: Log, origin: Origin) -> Self {
        let writer = Writer { log, taken: Vec::new(), lost: 0, failed: None };
        Self {
            origin,
            lines: Mutex::default(),
            is_filled: AtomicBool::new(false),
            writer: Mutex::new(writer),
        }
    }

    /// Appends lines. Returns `true` if the caller has to drain the buffer.
    pub fn push(&self, append: impl FnOnce(&mut Vec<u8>)) -> bool {
        let mut lines = lock(&self.lines);
        append(&mut lines);
        self.is_filled.store(true, Ordering::Release);
        lines.len() >= FULL_BYTES
    }

    /// Returns `true` if there are lines to drain.
    pub fn is_filled(&self) -> bool {
        self.is_filled.load(Ordering::Acquire)
    }

    /// Writes all buffered lines, unless writing failed a moment ago.
    pub fn drain(&self) -> Result<(), Arc<LogError>> {
        self.write(false)
    }

    /// Writes all buffered lines, even after a recent failure.
    pub fn drain_now(&self) -> Result<(), Arc<LogError>> {
        self.write(true)
    }

    /// Verifies that a line can be written: writes all earlier lines and opens the file.
    pub fn check(&self) -> Result<(), Arc<LogError>> {
        self.drain_now()?;
        lock(&self.writer).log.check().map_err(Arc::new)
    }

    /// Leaves the lines that could not be written for the next process that writes, because this one ends. Returns
    /// the number of lines that were left, or the error and the number of lines that are lost.
    pub fn leave(&self) -> Result<usize, (usize, std::io::Error)> {
        let mut writer = lock(&self.writer);
        writer.take(&self.lines, &self.is_filled);
        if writer.lost > 0 {
            let lost = std::mem::take(&mut writer.lost);
            self.origin.push_lost(&mut writer.taken, lost);
        }
        let lines = std::mem::take(&mut writer.taken);
        let count = lines.split(|byte| *byte == b'\n').count() - 1;
        match count {
            0 => Ok(0),
            _ => left::leave(writer.log.folder(), &lines).map(|()| count).map_err(|error| (count, error)),
        }
    }

    fn write(&self, at_once: bool) -> Result<(), Arc<LogError>> {
        let mut writer = lock(&self.writer);
        writer.take(&self.lines, &self.is_filled);
        if let Some((error, since)) = &writer.failed
            && !at_once
            && since.elapsed() < RETRY_TIME
        {
            return Err(Arc::clone(error));
        }
        writer.write(&self.origin).map_err(|error| {
            let error = Arc::new(error);
            writer.failed = Some((Arc::clone(&error), Instant::now()));
            error
        })
    }
}

impl Writer {
    fn take(&mut self, lines: &Mutex<Vec<u8>>, is_filled: &AtomicBool) {
        let mut lines = lock(lines);
        is_filled.store(false, Ordering::Release);
        if self.taken.is_empty() {
            std::mem::swap(&mut self.taken, &mut lines);
            return;
        }
        let room = MAX_KEPT_BYTES.saturating_sub(self.taken.len()).min(lines.len());
        let fitting = lines[..room].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.taken.extend_from_slice(&lines[..fitting]);
        #[allow(clippy::naive_bytecount)] // only with a full disk, which is slower anyway
        let lost = lines[fitting..].iter().filter(|byte| **byte == b'\n').count();
        self.lost += lost as u64;
        lines.clear();
    }

    fn write(&mut self, origin: &Origin) -> Result<(), LogError> {
        self.log.append(&mut self.taken)?;
        if self.lost > 0 {
            origin.push_lost(&mut self.taken, self.lost);
            self.lost = 0;
            self.log.append(&mut self.taken)?;
        }
        self.failed = None;
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;
    use std::fs;
    use std::path::Path;

    fn spool(folder: &Path) -> Spool {
        Spool::new(Log::new(folder.to_owned(), Bounds::default()), Origin::of("/w"))
    }

    fn line(spool: &Spool, text: &str) -> bool {
        spool.push(|out| out.extend_from_slice(format!("{{\"tool\":\"{text}\"}}\n").as_bytes()))
    }

    /// Returns the tools of all lines, in order.
    fn tools(folder: &Path) -> Vec<String> {
        let text = fs::read_to_string(folder.join("audit.jsonl")).unwrap();
        text.lines().map(|line| crate::Record::parse(line).unwrap().tool).collect()
    }

    #[test]
    fn lines_are_written_in_order_when_they_are_drained() {
        let root = tempfile::tempdir().unwrap();
        let spool = spool(root.path());
        assert!(!spool.is_filled());
        assert!(!line(&spool, "one") && !line(&spool, "two") && spool.is_filled());
        assert!(!root.path().join("audit.jsonl").exists());
        spool.drain().unwrap();
        assert!(!spool.is_filled());
        line(&spool, "three");
        spool.drain().unwrap();
        assert_eq!(tools(root.path()), ["one", "two", "three"]);
        assert!(line(&spool, &"x".repeat(FULL_BYTES)), "so much that the caller writes");
    }

    #[test]
    fn lines_of_a_process_that_ends_are_written_by_the_next() {
        let root = tempfile::tempdir().unwrap();
        let (one, other) = (spool(root.path()), spool(root.path()));
        line(&one, "before");
        one.drain().unwrap();
        line(&one, "held up");
        assert_eq!(one.leave().unwrap(), 1);
        drop(one);
        line(&other, "after");
        other.drain().unwrap();
        assert_eq!(other.leave().unwrap(), 0);
        assert_eq!(tools(root.path()), ["before", "held up", "after"]);
        assert!(crate::verify(root.path()).unwrap().is_whole());
    }

    #[test]
    fn what_cannot_be_written_waits_and_what_is_too_much_is_counted() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("audit");
        fs::write(&folder, "no folder").unwrap();
        let spool = spool(&folder);
        line(&spool, "first");
        assert!(spool.drain().is_err());
        let long = "x".repeat(1000);
        for _ in 0..3000 {
            line(&spool, &long);
            assert!(spool.drain().is_err(), "not tried again at once");
        }
        assert!(lock(&spool.writer).taken.len() <= MAX_KEPT_BYTES);
        assert!(spool.check().is_err());
        fs::remove_file(&folder).unwrap();
        assert!(spool.drain().is_err(), "not tried again at once");
        spool.drain_now().unwrap();
        spool.check().unwrap();
        let text = fs::read_to_string(folder.join("audit.jsonl")).unwrap();
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        assert_eq!((&last["user"], &last["machine"]), (&"ana".into(), &"m1".into()));
        assert_eq!(text.lines().count() as u64 - 1 + last["lost"].as_u64().unwrap(), 3001);
        assert_eq!(tools(&folder)[0], "first");
    }
}
