//! Writer thread and the figures it publishes.

use std::fs;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Instant;

use scorpiox_audit::{ClientName, Posted, Server, time};
use scorpiox_executor::threads;

use super::refusals::HELD_TIME;
use super::{Audit, Records};
use scorpiox_runtime::Beat;

/// Ticks between two publications: half a second.
const POST_TICKS: u64 = 250;

impl Records {
    /// Sets the most recent client, and schedules a publication.
    pub fn introduced(&self, client: Option<Arc<ClientName>>) {
        *self.client.lock() = client;
        self.unposted.is_there.store(true, Ordering::Release);
    }

    /// Triggers writing: lines at each tick, figures at intervals.
    pub fn tick(self: &Arc<Self>, beat: Beat) {
        let unposted = &self.unposted;
        let is_time = beat.is_last || beat.tick - unposted.posted_at.load(Ordering::Relaxed) >= POST_TICKS;
        let posts = is_time && unposted.is_there.swap(false, Ordering::AcqRel);
        if posts {
            unposted.posted_at.store(beat.tick, Ordering::Relaxed);
            unposted.is_due.store(true, Ordering::Release);
        }
        let has_lines = self.audit.get().is_some_and(|audit| audit.as_ref().is_some_and(Audit::has_work));
        if posts || has_lines {
            self.wake();
        }
    }

    /// Called only by the ticker.
    fn wake(self: &Arc<Self>) {
        if let Some(writer) = self.writer.get() {
            return writer.unpark();
        }
        let records = Arc::downgrade(self);
        match threads::start_small("records", move || run(&records)) {
            Ok(started) => drop(self.writer.set(started.thread().clone())),
            // Without a thread, the ticker does the work, and tries again at the next tick.
            Err(_) => drop(self.work()),
        }
    }

    /// Writes lines and figures. Returns `true` if held lines will be due soon without a signal.
    fn work(&self) -> bool {
        let mut waits = false;
        if let Some(Some(audit)) = self.audit.get() {
            waits = audit.tell_of_refusals(false);
            // The lines wait for the next attempt.
            _ = audit.drain();
        }
        if self.unposted.is_due.swap(false, Ordering::AcqRel) {
            let mut status_file = self.status_file.lock();
            if let Some(Err(error)) = status_file.as_mut().map(|status_file| status_file.post(&self.posted()))
            {
                tracing::debug!("figures are not posted: {error}");
                // Otherwise the figures would be missing until the next call.
                self.unposted.is_there.store(true, Ordering::Release);
            }
        }
        waits
    }

    fn posted(&self) -> Posted {
        let client = self.client.lock().clone();
        let server = Server {
            pid: std::process::id(),
            workspace: self.workspace.clone(),
            client: client.map(|name| name.text.clone()).unwrap_or_default(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started: self.started,
            posted: time::now(),
            rss_bytes: resident(),
        };
        Posted { server, tools: self.figures.tools(), principals: self.figures.principals() }
    }

    /// Writes the last lines, also of calls that still run, and removes the published figures at shutdown.
    pub fn shut_down(&self) {
        self.record_unfinished();
        if let Some(Some(audit)) = self.audit.get() {
            audit.tell_of_refusals(true);
            if audit.drain().is_err() {
                audit.leave();
            }
            audit.end_exports();
        }
        let status_file = self.status_file.lock().take();
        if let Some(mut status_file) = status_file {
            status_file.take_down();
        }
    }
}

impl Audit {
    fn is_filled(&self) -> bool {
        self.spool.is_filled()
    }

    /// Returns `true` if there is new work.
    fn has_work(&self) -> bool {
        // Evaluate all operands: `take_new` reports held lines only once.
        self.refusals.take_new() | self.unknown_callers.take_new() | self.is_filled()
    }

    /// Queues due summary lines of refusals. Returns `true` if others are still held.
    fn tell_of_refusals(&self, all_of_them: bool) -> bool {
        let now = Instant::now();
        let push = |line: &[u8]| {
            self.spool.push(|out| out.extend_from_slice(line));
        };
        // Evaluate both operands.
        self.refusals.release(now, all_of_them, push) | self.unknown_callers.release(now, all_of_them, push)
    }
}

fn run(records: &Weak<Records>) {
    while let Some(records) = records.upgrade() {
        let waits = records.work();
        drop(records);
        if waits { thread::park_timeout(HELD_TIME) } else { thread::park() }
    }
}

/// Returns the resident memory of this process in bytes; 0 if unknown.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
