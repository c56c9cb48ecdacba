//! Lines on their way to the disk.
//!
//! A call appends its line to memory; somebody else drains them, all at once. Lines that cannot be
//! written stay, within a bound, and are tried again; beyond the bound they are counted, and the
//! count becomes a line of its own, so that the file never looks complete when it is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use crate::{Log, LogError, Origin};

/// Bytes that wait before a call has to write them itself.
const FULL_BYTES: usize = 256 * 1024;
/// Bytes that are kept while nothing can be written.
const MAX_KEPT_BYTES: usize = 1024 * 1024;
/// Between two tries to write where it failed.
const RETRY_TIME: Duration = Duration::from_secs(1);

/// Lines, and the log that they go to.
#[derive(Debug)]
pub struct Spool {
    /// Of the lines that tell of others.
    origin: Origin,
    lines: Mutex<Vec<u8>>,
    is_filled: AtomicBool,
    /// Taken before `lines`, so that lines are written in the order they came.
    writer: Mutex<Writer>,
}

#[derive(Debug)]
struct Writer {
    log: Log,
    /// Lines that were taken, and not written yet.
    taken: Vec<u8>,
    /// Lines that were given up.
    lost: u64,
    failed: Option<(Arc<LogError>, Instant)>,
}

impl Spool {
    /// For this log. Lines that tell of lost ones are of this origin.
    pub fn new(log: Log, origin: Origin) -> Self {
        let writer = Writer { log, taken: Vec::new(), lost: 0, failed: None };
        Self {
            origin,
            lines: Mutex::default(),
            is_filled: AtomicBool::new(false),
            writer: Mutex::new(writer),
        }
    }

    /// Appends lines. Whether so many wait that the caller has to drain them.
    pub fn push(&self, append: impl FnOnce(&mut Vec<u8>)) -> bool {
        let mut lines = lock(&self.lines);
        append(&mut lines);
        self.is_filled.store(true, Ordering::Release);
        lines.len() >= FULL_BYTES
    }

    /// Whether there is something to drain.
    pub fn is_filled(&self) -> bool {
        self.is_filled.load(Ordering::Acquire)
    }

    /// Writes all lines that wait, unless that failed a moment ago.
    pub fn drain(&self) -> Result<(), Arc<LogError>> {
        self.write(false)
    }

    /// Writes all lines that wait, whatever happened before.
    pub fn drain_now(&self) -> Result<(), Arc<LogError>> {
        self.write(true)
    }

    /// Makes sure that a line could be written now: everything before it is, and the file is open.
    pub fn check(&self) -> Result<(), Arc<LogError>> {
        self.drain_now()?;
        lock(&self.writer).log.check().map_err(Arc::new)
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
        #[allow(clippy::naive_bytecount)] // lines are lost when a disk is full, which is slower
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

    /// What lines tell of, in their order.
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
