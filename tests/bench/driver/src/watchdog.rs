//! Limits every wait: a benchmark that hangs reports its position and exits.
//!
//! Reads are blocking, because polling would add to each figure.

use std::io;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Maximum time without progress. A step may take long on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);
/// Interval between checks.
const LOOK: Duration = Duration::from_secs(5);
/// Maximum time until a server reaches an expected state.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause between polls of that state.
const PAUSE: Duration = Duration::from_millis(5);

static STEPS: AtomicU64 = AtomicU64::new(0);

/// Records progress.
pub fn step() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Starts the watchdog.
pub fn start() -> io::Result<()> {
    let watch = || {
        let (mut seen, mut since) = (0, Instant::now());
        loop {
            thread::sleep(LOOK);
            let now = STEPS.load(Ordering::Relaxed);
            if now != seen {
                (seen, since) = (now, Instant::now());
            } else if since.elapsed() > LONGEST {
                eprintln!("bench: nothing moved for {} s, after {now} steps", LONGEST.as_secs());
                process::exit(1);
            }
        }
    };
    thread::Builder::new().name("watchdog".to_owned()).spawn(watch).map(drop)
}

/// Polls until `ask` returns `true`.
pub fn until(what: &str, mut ask: impl FnMut() -> Result<bool>) -> Result<()> {
    let begin = Instant::now();
    while !ask()? {
        ensure!(begin.elapsed() < PATIENCE, "{what}: not within {} s", PATIENCE.as_secs());
        thread::sleep(PAUSE);
    }
    Ok(())
}
