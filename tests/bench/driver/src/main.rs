//! Measures the server side by side with the C floor and an rmcp echo server: see run.sh.
//!
//! Client and servers share one core, because wake-ups between cores would dominate the servers' own work.
//! Nothing is parsed while a clock runs, and every answer's content is checked outside of the timed section.

mod calls;
mod http;
mod measure;
#[cfg(feature = "native")]
mod parse;
mod plugins;
mod requests;
mod server;
mod shell;
mod starts;
mod table;
mod tasks;
mod watchdog;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use server::Program;
use table::Row;

/// Limits that allow a command with a thousand processes.
const MANY_PROCESSES: &str = "[shell.profile.workspace]\nlimits = { processes = 2048 }\n";

/// This process serves the pages.
#[cfg(feature = "native")]
const OWN_PAGES: &str = "[web]\nallow_private = [\"127.0.0.1/32\"]\n";

/// Disables the audit.
const NO_AUDIT: &str = "[audit]\nenabled = false\n";

/// Number of repetitions.
#[derive(Clone, Copy)]
struct Effort {
    starts: usize,
    sessions: usize,
    rounds: usize,
    /// Number of tasks in the large store.
    tasks: usize,
}

const FULL: Effort = Effort { starts: 50, sessions: 15, rounds: 100, tasks: 100_000 };
const QUICK: Effort = Effort { starts: 5, sessions: 2, rounds: 4, tasks: 5_000 };

/// Configuration of the rmcp server.
#[derive(Clone, Copy)]
enum Setup {
    /// As in the SDK's examples, on which the targets are based.
    Usual,
    /// The fastest available options.
    Fastest,
}

impl Setup {
    fn from_environment() -> Self {
        match std::env::var_os("RMCP_SETUP") {
            Some(setup) if setup == "fastest" => Self::Fastest,
            _ => Self::Usual,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Usual => "usual",
            Self::Fastest => "fastest",
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Usual => "as its examples set it up (multi_thread, stdio)",
            Self::Fastest => "in the fastest of its set-ups (current_thread, stdio_pipes)",
        }
    }
}

/// Programs to measure.
struct Programs {
    floor: Program,
    rmcp: Program,
    rmcp_fastest: Program,
    ours: Program,
    /// Our server with writes that survive a power loss.
    ours_power: Program,
    /// Our server with third-party components.
    plugins: Program,
    /// Our server without an audit.
    ours_unaudited: Program,
    ours_few_tasks: Program,
    ours_many_tasks: Program,
    /// Our server with access to local pages.
    #[cfg(feature = "native")]
    reader: Program,
    shells: Shells,
}

/// Servers that run commands.
struct Shells {
    warm: Program,
    /// Server with a gigabyte of resident memory.
    large: Program,
    bubblewrap: Program,
    container: Program,
    /// Restarted repeatedly.
    cold: Program,
}

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [floor, rmcp, ours, folder, file] = arguments.as_slice() else {
        bail!("usage: bench-driver FLOOR RMCP OURS FOLDER TABLE");
    };
    let setup = Setup::from_environment();
    let quick = std::env::var_os("BENCH_QUICK").is_some_and(|value| value == "1");
    let effort = if quick { QUICK } else { FULL };
    let begin = Instant::now();
    watchdog::start()?;
    let mut text = machine(pin()?, setup)?;
    if quick {
        text.push_str("BENCH_QUICK: too few rounds for figures to rely on.\n");
    }
    let parent = tempfile::tempdir_in(folder)?;
    let program = |name, binary: &Path| {
        let path = binary.canonicalize().with_context(|| format!("no program {}", binary.display()))?;
        Program::new(name, &path, parent.path())
    };
    let tool = |name: &str| -> Result<String> { Ok(folder.canonicalize()?.join(name).display().to_string()) };
    let programs = Programs {
        floor: program("floor", floor)?,
        rmcp: program("rmcp", rmcp)?.with("RMCP_SETUP", setup.name()),
        rmcp_fastest: program("rmcp", rmcp)?.with("RMCP_SETUP", Setup::Fastest.name()),
        ours: program("ours", ours)?,
        ours_power: program("ours", ours)?.with("SCORPIOX_DURABILITY", "power"),
        plugins: program("ours", ours)?,
        ours_unaudited: program("ours", ours)?.with_policy(NO_AUDIT)?,
        ours_few_tasks: program("ours", ours)?,
        ours_many_tasks: program("ours", ours)?,
        #[cfg(feature = "native")]
        reader: program("ours", ours)?.with_policy(OWN_PAGES)?,
        shells: Shells {
            warm: program("ours", ours)?.with_policy(MANY_PROCESSES)?,
            large: program("ours", ours)?
                .with("LD_PRELOAD", tool("balloon.so")?)
                .with("BALLOON_BYTES", "1073741824"),
            bubblewrap: program("ours", ours)?.through(&[Path::new(&tool("refuse")?), Path::new("own")]),
            container: program("ours", ours)?.through(&[Path::new(&tool("refuse")?), Path::new("all")]),
            cold: program("ours", ours)?,
        },
    };
    let rows = rows(&programs, effort)?;
    let _ = write!(text, "\n{}\n{:.0} s\n", table::render(&rows), begin.elapsed().as_secs_f64());
    fs::write(file, &text).with_context(|| format!("{} cannot be written", file.display()))?;
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn rows(programs: &Programs, effort: Effort) -> Result<Vec<Row>> {
    // Selects the HTTP rows alone.
    if std::env::var_os("BENCH_ROWS").is_some_and(|rows| rows == "http") {
        return http::rows(programs, effort);
    }
    let starts = starts::measure(programs, effort)?;
    let mut rows = starts.start_rows();
    rows.extend(calls::rows(programs, effort)?);
    rows.extend(http::rows(programs, effort)?);
    rows.extend(plugins::rows(programs, effort)?);
    rows.extend(tasks::rows(programs, effort)?);
    #[cfg(feature = "native")]
    rows.extend(parse::rows(programs, effort)?);
    rows.extend(shell::rows(programs, effort)?);
    rows.extend(starts.memory_and_end_rows());
    Ok(rows)
}

/// Pins this process and its children to one core: the last one, since the first handles most interrupts.
fn pin() -> Result<usize> {
    let allowed = sched_getaffinity(None)?;
    let core = (0..CpuSet::MAX_CPU).rev().find(|core| allowed.is_set(*core)).context("no core")?;
    let mut one = CpuSet::new();
    one.set(core);
    sched_setaffinity(None, &one)?;
    Ok(core)
}

/// Describes the machine, for the interpretation of the figures.
fn machine(core: usize, setup: Setup) -> Result<String> {
    let cpus = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown");
    let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let load = fs::read_to_string("/proc/loadavg")?;
    let load = load.split(' ').next().unwrap_or_default();
    Ok(format!(
        "{}, {count} cores, all pinned to core {core}; load at the start {load}.\n\
         floor: C without a JSON parser. rmcp: rmcp 3.9.0, native echo, {}.\n\
         Medians, one request at a time unless it says otherwise; ratio: ours / rmcp.\n",
        model.trim_start_matches([' ', '\t', ':']),
        setup.describe(),
    ))
}
