//! Measures commands: starts in each tier, termination of many processes, and large output.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::measure::{Lane, median, times};
use crate::requests::{Requests, call};
use crate::server::{Program, Server};
use crate::table::{Row, Target, Unit};
use crate::watchdog::until;
use crate::{Effort, Programs};

const MB: f64 = 1024.0 * 1024.0;
/// Size of the output for the throughput row.
const OUTPUT_BYTES: f64 = 2048.0 * MB;
/// Number of commands in a round.
const AMOUNT: usize = 20;
/// Maximum number of reads. A ring buffer has 1 MiB, and a result has room for about 16 KB of it.
const MOST_PIECES: usize = 10_000;

pub fn rows(programs: &Programs, effort: Effort) -> Result<Vec<Row>> {
    let mut rows = starts(programs, effort)?;
    let warm = &programs.shells.warm;
    rows.push(kill(warm, effort)?);
    rows.extend(output(warm, effort)?);
    rows.push(read(warm, effort)?);
    Ok(rows)
}

fn bash(expected: &'static str) -> Requests {
    Requests::repeat(64, &call("Bash", r#"{"command":"true"}"#), expected)
}

/// Measures sequential commands in each tier, and the first command of a server.
fn starts(programs: &Programs, effort: Effort) -> Result<Vec<Row>> {
    let shells = &programs.shells;
    let started = [&programs.floor, &shells.warm, &shells.large, &shells.bubblewrap, &shells.container];
    let mut servers = Vec::new();
    for program in started {
        servers.push(program.start()?.0);
    }
    let in_tier = |server, tier| Lane { server, requests: bash(tier), amount: AMOUNT };
    let mut lanes = [
        in_tier(0, "hello"),
        in_tier(1, "sandbox T1,"),
        in_tier(2, "sandbox T1,"),
        in_tier(3, "sandbox T1b,"),
        in_tier(4, "sandbox T2,"),
    ];
    let [floor, warm, large, bubblewrap, container] =
        times(&mut servers, &mut lanes, effort.rounds.div_ceil(4))?;
    for server in servers {
        server.close()?;
    }
    let mut cold = Vec::new();
    for _ in 0..effort.starts {
        let (mut server, _) = shells.cold.start()?;
        let begin = Instant::now();
        ask(&mut server, "Bash", r#"{"command":"true"}"#, "sandbox T1,")?;
        cold.push(begin.elapsed().as_secs_f64());
        server.close()?;
    }
    let target = Target::TimesFloor(2.0);
    Ok(vec![
        Row::beside_floor("Bash true, warm (floor: posix_spawn of bash -c true)", [floor, warm], target),
        Row::beside_floor("the same, 1 GiB resident in the server", [floor, large], target),
        Row::beside_floor("the same, tier T1b", [floor, bubblewrap], Target::None),
        Row::beside_floor("the same, tier T2", [floor, container], Target::None),
        Row::beside_floor("Bash true, cold: the first command", [floor, median(cold)], Target::AtMost(8e-3)),
    ])
}

/// Sends a request and returns its answer.
fn ask(server: &mut Server, tool: &str, arguments: &str, expected: &'static str) -> Result<String> {
    let mut requests = Requests::repeat(1, &call(tool, arguments), expected);
    let answer = server.exchange(requests.take(1))?;
    requests.check_last(answer)?;
    Ok(String::from_utf8_lossy(answer).into_owned())
}

fn kill(program: &Program, effort: Effort) -> Result<Row> {
    let mut server = program.start()?.0;
    let mut samples = Vec::new();
    for round in 1..=effort.sessions {
        let command =
            r#"{"command":"for i in $(seq 1000); do sleep 300 & done 2>/dev/null; echo ready; wait"}"#;
        ask(&mut server, "BackgroundBash", command, "Started background task")?;
        let task = format!("{{\"task_id\":{round}}}");
        until("the processes are started", || {
            Ok(ask(&mut server, "ReadBgOutput", &task, "running")?.contains("ready"))
        })?;
        let begin = Instant::now();
        ask(&mut server, "KillBgTask", &task, "Killed background task")?;
        samples.push(begin.elapsed().as_secs_f64());
    }
    server.close()?;
    let figure = "KillBgTask, 1000 processes";
    Ok(Row::ours(figure, Unit::Seconds, median(samples), Target::AtMost(250e-3)))
}

/// Measures the throughput of output, and its memory.
fn output(program: &Program, effort: Effort) -> Result<[Row; 2]> {
    let mut server = program.start()?.0;
    ask(&mut server, "Bash", r#"{"command":"true"}"#, "exit code 0")?;
    let before = server.peak_memory()?;
    let mut samples = Vec::new();
    for _ in 0..effort.sessions.div_ceil(3) {
        let begin = Instant::now();
        let command = r#"{"command":"dd if=/dev/zero bs=1M count=2048 2>/dev/null"}"#;
        ask(&mut server, "Bash", command, "exit code 0")?;
        samples.push(OUTPUT_BYTES / begin.elapsed().as_secs_f64());
    }
    let more = server.peak_memory()? - before;
    server.close()?;
    let least = Target::AtLeast(1024.0 * MB);
    Ok([
        Row::ours(
            "2 GiB of output, with the program that writes it",
            Unit::BytesPerSecond,
            median(samples),
            least,
        ),
        Row::ours("more peak RSS after it", Unit::Bytes, more, Target::AtMost(8.0 * MB)),
    ])
}

/// Measures reading a full ring buffer, piece by piece.
fn read(program: &Program, effort: Effort) -> Result<Row> {
    let mut server = program.start()?.0;
    let mut samples = Vec::new();
    for round in 1..=effort.sessions.div_ceil(3) {
        let command = r#"{"command":"seq 1 300000"}"#;
        ask(&mut server, "BackgroundBash", command, "Started background task")?;
        let ended = format!("[{round}] exit code 0");
        until("the command has ended", || {
            Ok(ask(&mut server, "ListBgTasks", "{}", "\"isError\":false")?.contains(&ended))
        })?;
        let task = format!("{{\"task_id\":{round}}}");
        let mut pieces = 0;
        loop {
            let begin = Instant::now();
            let answer = ask(&mut server, "ReadBgOutput", &task, "exit code 0")?;
            samples.push(begin.elapsed().as_secs_f64());
            pieces += 1;
            ensure!(pieces < MOST_PIECES, "a ring with more than {MOST_PIECES} pieces");
            if !answer.contains("[there is more: read again]") {
                break;
            }
        }
        ensure!(pieces > 30, "{pieces} pieces only");
    }
    server.close().context("the server ends")?;
    Ok(Row::ours("ReadBgOutput, 16 KB of a full ring", Unit::Seconds, median(samples), Target::AtMost(1e-3)))
}
