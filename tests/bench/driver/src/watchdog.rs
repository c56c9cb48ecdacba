//! The bound on every wait: a bench that hangs says where, and ends.
//!
//! Waits are plain reads, since asking whether there is something to read would be a part of each figure.

use std::io;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Longest time without anything sent, received or ended. On a busy machine a step may take long.
const LONGEST: Duration = Duration::from_secs(60);
/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(5);
/// Longest wait for something that a server is to have done at last.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two questions whether it has.
const PAUSE: Duration = Duration::from_millis(5);

static STEPS: AtomicU64 = AtomicU64::new(0);

/// Something moved.
pub fn step() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Starts to watch.
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

/// Asks until the answer is yes.
pub fn until(what: &str, mut ask: impl FnMut() -> Result<bool>) -> Result<()> {
    let begin = Instant::now();
    while !ask()? {
        ensure!(begin.elapsed() < PATIENCE, "{what}: not within {} s", PATIENCE.as_secs());
        thread::sleep(PAUSE);
    }
    Ok(())
}
