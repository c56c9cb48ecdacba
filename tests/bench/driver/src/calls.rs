//! Measures calls: sequential, concurrent and large ones.

use anyhow::Result;

use crate::measure::{Lane, rates, times};
use crate::requests::{Requests, call};
use crate::server::Server;
use crate::table::{Row, Target, Unit};
use crate::{Effort, Programs};

/// Number of distinct requests sent in rotation: many more than are in flight, few enough for the cache.
const RING: usize = 1024;

/// Size of large arguments.
const LARGE_BYTES: usize = 48 * 1024;

/// Indices into the list of servers.
const FLOOR: usize = 0;
const RMCP: usize = 1;
const OURS: usize = 2;
const OURS_POWER: usize = 3;
const OURS_UNAUDITED: usize = 4;
const RMCP_FASTEST: usize = 5;

pub fn rows(programs: &Programs, effort: Effort) -> Result<Vec<Row>> {
    let started = [
        &programs.floor,
        &programs.rmcp,
        &programs.ours,
        &programs.ours_power,
        &programs.ours_unaudited,
        &programs.rmcp_fastest,
    ];
    let mut servers = Vec::with_capacity(started.len());
    for program in started {
        servers.push(program.start()?.0);
    }
    for server in [OURS, OURS_POWER, OURS_UNAUDITED] {
        create_task(&mut servers[server])?;
    }
    let mut rows = one_at_a_time(&mut servers, effort)?;
    rows.extend(audit(&mut servers, effort)?);
    rows.extend(in_flight(&mut servers, effort)?);
    rows.extend(large(&mut servers, effort)?);
    for server in servers {
        server.close()?;
    }
    Ok(rows)
}

fn create_task(server: &mut Server) -> Result<()> {
    let body = call("TaskManager", r#"{"action":"create","query":"","text":"Write a benchmark"}"#);
    let mut requests = Requests::repeat(1, &body, "Write a benchmark");
    let answer = server.exchange(requests.take(1))?;
    requests.check_last(answer)
}

fn echo() -> Requests {
    Requests::repeat(RING, &call("echo", r#"{"text":"hello"}"#), "\"text\":\"hello\"")
}

fn status() -> Requests {
    Requests::repeat(RING, &call("PlanMode", r#"{"action":"status"}"#), "Plan mode is not active.")
}

fn nothing() -> Requests {
    Requests::repeat(RING, &call("ListBgTasks", "{}"), "No background tasks")
}

fn add() -> Requests {
    let arguments = r#"{"action":"add","query":"","text":"Check the figures"}"#;
    Requests::repeat(RING, &call("TaskManager", arguments), "is added to task")
}

fn one_at_a_time(servers: &mut [Server], effort: Effort) -> Result<Vec<Row>> {
    let mut lanes = [
        Lane { server: FLOOR, requests: echo(), amount: 500 },
        Lane { server: RMCP, requests: echo(), amount: 500 },
        Lane { server: OURS, requests: nothing(), amount: 500 },
        Lane { server: OURS, requests: status(), amount: 500 },
        Lane { server: OURS, requests: add(), amount: 250 },
        Lane { server: RMCP_FASTEST, requests: echo(), amount: 500 },
    ];
    let [floor, rmcp, nothing, status, add, fastest] = times(servers, &mut lanes, effort.rounds)?;
    // Measured separately, because the subsequent disk activity would slow down the other lanes.
    let mut lanes = [Lane { server: OURS_POWER, requests: self::add(), amount: 10 }];
    let [add_power] = times(servers, &mut lanes, effort.rounds.div_ceil(2))?;
    let row = |figure, ours, target| Row::side_by_side(figure, Unit::Seconds, [floor, rmcp, ours], target);
    Ok(vec![
        row("native no-op (ListBgTasks, nothing running)", nothing, Target::TimesRmcp(0.2)),
        row("sandboxed read (PlanMode status)", status, Target::None),
        Row::side_by_side(
            "the same, beside the fastest set-up of rmcp",
            Unit::Seconds,
            [floor, fastest, status],
            Target::TimesRmcp(1.0),
        ),
        row("sandboxed durable write (TaskManager add)", add, Target::TimesRmcp(1.5)),
        row("the same, SCORPIOX_DURABILITY=power", add_power, Target::None),
    ])
}

/// Measures the cost of an audit line per call, with the cheapest calls.
fn audit(servers: &mut [Server], effort: Effort) -> Result<Vec<Row>> {
    let mut lanes = [OURS, OURS_UNAUDITED].map(|server| Lane { server, requests: status(), amount: 500 });
    let [with, without] = times(servers, &mut lanes, effort.rounds)?;
    let mut lanes = [OURS, OURS_UNAUDITED].map(|server| Lane { server, requests: status(), amount: 2000 });
    let [rate_with, rate_without] = rates(servers, &mut lanes, effort.rounds.div_ceil(2))?;
    let row = |figure, value, base, most| {
        Row::ours(figure, Unit::Seconds, value, Target::Times { most, base, of: "without" })
    };
    Ok(vec![
        row("sandboxed read, with a line in the audit", with, without, 1.05),
        // Time per call: without pauses between calls, it includes writing the lines.
        row("the same, 64 in flight", 1.0 / rate_with, 1.0 / rate_without, 1.15),
    ])
}

fn in_flight(servers: &mut [Server], effort: Effort) -> Result<Vec<Row>> {
    let mut lanes = [
        Lane { server: FLOOR, requests: echo(), amount: 2000 },
        Lane { server: RMCP, requests: echo(), amount: 2000 },
        Lane { server: OURS, requests: nothing(), amount: 2000 },
        Lane { server: OURS, requests: status(), amount: 2000 },
    ];
    let [floor, rmcp, nothing, status] = rates(servers, &mut lanes, effort.rounds.div_ceil(2))?;
    let row = |figure, ours, target| Row::side_by_side(figure, Unit::PerSecond, [floor, rmcp, ours], target);
    Ok(vec![
        row("64 in flight, native (ListBgTasks)", nothing, Target::FasterThanRmcp(10.0)),
        row("64 in flight, sandboxed (PlanMode status)", status, Target::FasterThanRmcp(4.0)),
    ])
}

/// Measures large arguments that are not sent back. Our server rejects a goal of that length after parsing
/// it, and rmcp's tool returns the length. Both parse unknown members and ignore them.
fn large(servers: &mut [Server], effort: Effort) -> Result<Vec<Row>> {
    // Long strings are mostly source code in practice, so they contain escapes.
    let code = r#"    println!(\"the answer is {answer}\");\n"#;
    let text = code.repeat(LARGE_BYTES / code.len());
    let length = call("length", &format!(r#"{{"text":"{text}"}}"#));
    let enter = call("PlanMode", &format!(r#"{{"action":"enter","goal":"{text}"}}"#));
    let item = r#"{"path":"src/main.rs","line":42,"column":7,"severity":"warning","fixed":false}"#;
    let count = LARGE_BYTES / item.len();
    let items = vec![item; count].join(",");
    let echo = call("echo", &format!(r#"{{"text":"hello","items":[{items}]}}"#));
    let status = call("PlanMode", &format!(r#"{{"action":"status","items":[{items}]}}"#));
    let lane = |server, body: &str, expected| {
        let requests = Requests::repeat(4, body, expected);
        Lane { server, requests, amount: 50 }
    };
    let mut lanes = [
        lane(FLOOR, &length, "hello"),
        lane(RMCP, &length, "\"text\":\"4"),
        lane(OURS, &enter, "the limit is 4000"),
        lane(FLOOR, &echo, "hello"),
        lane(RMCP, &echo, "hello"),
        lane(OURS, &status, "not active"),
    ];
    let medians = times(servers, &mut lanes, effort.rounds)?;
    let [floor_string, rmcp_string, string, floor_objects, rmcp_objects, objects] = medians;
    let row = |of: String, medians, most| {
        let figure = format!("48 KB of arguments, {of}");
        Row::side_by_side(figure, Unit::Seconds, medians, Target::TimesRmcp(most))
    };
    let of_objects = format!("{count} objects (PlanMode status)");
    Ok(vec![
        row("one string (PlanMode enter)".to_owned(), [floor_string, rmcp_string, string], 0.5),
        row(of_objects, [floor_objects, rmcp_objects, objects], 0.2),
    ])
}
