//! Calls: one at a time, many in flight, large ones.

use anyhow::Result;

use crate::measure::{Lane, rates, times};
use crate::requests::{Requests, call};
use crate::server::Server;
use crate::table::{Row, Target, Unit};
use crate::{Effort, Programs};

/// Requests that are sent in turn: many more than are in flight, few enough for the cache.
const RING: usize = 1024;

const PING: &str = "\"method\":\"ping\"";

/// Where the servers stand in the list of them.
const FLOOR: usize = 0;
const RMCP: usize = 1;
const OURS: usize = 2;
const OURS_POWER: usize = 3;

pub fn rows(programs: &Programs, effort: Effort) -> Result<Vec<Row>> {
    let started = [&programs.floor, &programs.rmcp, &programs.ours, &programs.ours_power];
    let mut servers = Vec::with_capacity(started.len());
    for program in started {
        servers.push(program.start()?.0);
    }
    for server in [OURS, OURS_POWER] {
        create_task(&mut servers[server])?;
    }
    let mut rows = one_at_a_time(&mut servers, effort)?;
    rows.extend(in_flight(&mut servers, effort)?);
    rows.push(large(&mut servers, effort)?);
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

fn ping() -> Requests {
    Requests::repeat(RING, PING, "\"result\":{}")
}

fn add() -> Requests {
    let arguments = r#"{"action":"add","query":"","text":"Check the figures"}"#;
    Requests::repeat(RING, &call("TaskManager", arguments), "is added to task")
}

fn one_at_a_time(servers: &mut [Server], effort: Effort) -> Result<Vec<Row>> {
    let mut lanes = [
        Lane { server: FLOOR, requests: echo(), amount: 500 },
        Lane { server: RMCP, requests: echo(), amount: 500 },
        Lane { server: OURS, requests: ping(), amount: 500 },
        Lane { server: OURS, requests: status(), amount: 500 },
        Lane { server: OURS, requests: add(), amount: 250 },
        Lane { server: OURS_POWER, requests: add(), amount: 10 },
    ];
    let [floor, rmcp, ping, status, add, add_power] = times(servers, &mut lanes, effort.rounds)?;
    let row = |figure, ours, target| Row::side_by_side(figure, Unit::Seconds, [floor, rmcp, ours], target);
    Ok(vec![
        row("native no-op (ours: ping, theirs: echo)", ping, Target::TimesRmcp(0.5)),
        row("sandboxed read (PlanMode status)", status, Target::TimesRmcp(1.3)),
        row("sandboxed durable write (TaskManager add)", add, Target::TimesRmcp(2.5)),
        row("the same, SCORPIOX_DURABILITY=power", add_power, Target::None),
    ])
}

fn in_flight(servers: &mut [Server], effort: Effort) -> Result<Vec<Row>> {
    let mut lanes = [
        Lane { server: FLOOR, requests: echo(), amount: 2000 },
        Lane { server: RMCP, requests: echo(), amount: 2000 },
        Lane { server: OURS, requests: ping(), amount: 2000 },
        Lane { server: OURS, requests: status(), amount: 2000 },
    ];
    let [floor, rmcp, ping, status] = rates(servers, &mut lanes, effort.rounds.div_ceil(2))?;
    let row = |figure, ours, target| Row::side_by_side(figure, Unit::PerSecond, [floor, rmcp, ours], target);
    Ok(vec![
        row("64 in flight, native (ours: ping, theirs: echo)", ping, Target::FasterThanRmcp(10.0)),
        row("64 in flight, sandboxed (PlanMode status)", status, Target::FasterThanRmcp(2.0)),
    ])
}

/// Source code is what large arguments are in practice, so it has escapes. Nobody sends
/// the text back: ours refuses a goal of this length, after it has read it, and rmcp's
/// tool gives the text's length.
fn large(servers: &mut [Server], effort: Effort) -> Result<Row> {
    let line = r#"    println!(\"the answer is {answer}\");\n"#;
    let text = line.repeat(48 * 1024 / line.len());
    let length = call("length", &format!("{{\"text\":\"{text}\"}}"));
    let goal = call("PlanMode", &format!("{{\"action\":\"enter\",\"goal\":\"{text}\"}}"));
    let mut lanes = [
        Lane { server: FLOOR, requests: Requests::repeat(4, &length, "hello"), amount: 50 },
        Lane { server: RMCP, requests: Requests::repeat(4, &length, "\"text\":\"4"), amount: 50 },
        Lane { server: OURS, requests: Requests::repeat(4, &goal, "at most 4000 fit"), amount: 50 },
    ];
    let medians = times(servers, &mut lanes, effort.rounds)?;
    let figure = "48 KB of arguments (ours: PlanMode, too long; rmcp: length)";
    Ok(Row::side_by_side(figure, Unit::Seconds, medians, Target::TimesRmcp(0.2)))
}
