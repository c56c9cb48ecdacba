//! Attacks from inside a worker on resources outside, and on its limits.

#![cfg(target_os = "linux")]

use std::cell::Cell;
use std::fs::File;
use std::io::Read as _;
use std::time::{Duration, Instant};

use scorpiox_sandbox::worker::{Bounds, Work, WorkEnd, run};

const MIB: u64 = 1 << 20;
const BOUNDS: Bounds =
    Bounds { cpu_seconds: 30, time: Duration::from_mins(1), memory: 64 * MIB, output: MIB };

fn work(task: &str, input: &str, bounds: Bounds) -> WorkEnd {
    stopped(task, input, bounds, || false)
}

fn stopped(task: &str, input: &str, bounds: Bounds, stop: impl Fn() -> bool) -> WorkEnd {
    // The example is located relative to the test: …/release/deps/worker-HASH.
    let test = std::env::current_exe().expect("a path");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("a folder");
    let mut program = File::open(folder.join("examples/worker")).expect("the worker is built");
    run(Work { program: &mut program, task, input: input.as_bytes(), bounds }, stop).expect("it runs")
}

fn made(end: WorkEnd) -> String {
    let WorkEnd::Done(mut file) = end else { panic!("{end:?}") };
    let mut text = String::new();
    file.read_to_string(&mut text).expect("reads");
    text
}

#[test]
fn it_reads_its_input_and_gives_its_output_and_reaches_nothing_else() {
    assert_eq!(made(work("echo", "hello", BOUNDS)), "hello");
    let secret = tempfile::NamedTempFile::new().expect("a file");
    // A client may leave a descriptor open in the server, which passes it on to its children.
    let leaked = File::open("/").expect("a folder");
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).expect("a flag");
    let path = secret.path().display().to_string();
    assert_eq!(made(work("reach", &path, BOUNDS)), "");
    assert!(secret.path().exists());
    assert!(!secret.path().with_extension("new").exists());
}

#[test]
fn it_says_why_it_cannot() {
    let end = work("refuse", "because", BOUNDS);
    assert!(matches!(&end, WorkEnd::Refused(why) if why == "no: because"), "{end:?}");
    let end = work("panic", "", BOUNDS);
    assert!(matches!(&end, WorkEnd::Crashed(how) if how.contains("on purpose")), "{end:?}");
}

#[test]
fn what_it_uses_up_is_bounded() {
    for task in ["memory", "recurse"] {
        let end = work(task, "", BOUNDS);
        assert!(matches!(end, WorkEnd::Memory), "{task}: {end:?}");
    }
    let end = work("spin", "", Bounds { cpu_seconds: 1, ..BOUNDS });
    assert!(matches!(end, WorkEnd::Time), "{end:?}");
    let end = work("wait", "", Bounds { time: Duration::from_millis(100), ..BOUNDS });
    assert!(matches!(end, WorkEnd::Time), "{end:?}");
    // The host waits for the process, not for the end of its standard error.
    let end = work("hush", "", Bounds { time: Duration::from_millis(100), ..BOUNDS });
    assert!(matches!(end, WorkEnd::Time), "{end:?}");
    let end = work("fill", "", BOUNDS);
    assert!(matches!(end, WorkEnd::Output), "{end:?}");
}

#[test]
fn it_ends_when_it_is_told_to() {
    for task in ["wait", "hush"] {
        let asked = Cell::new(0);
        let begun = Instant::now();
        let end = stopped(task, "", BOUNDS, || asked.replace(asked.get() + 1) > 2);
        assert!(matches!(end, WorkEnd::Stopped), "{task}: {end:?}");
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
