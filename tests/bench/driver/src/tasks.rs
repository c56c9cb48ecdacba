//! Measures TaskManager with few and with many tasks.

use std::time::Instant;

use anyhow::Result;

use crate::measure::{Lane, pipeline, times};
use crate::requests::{Requests, call};
use crate::server::{Program, Server};
use crate::table::{Row, Target, Unit};
use crate::{Effort, Programs};

const FEW: usize = 100;

/// Number of tasks created between checks of the answers.
const BATCH: usize = 2000;

/// Time limit for creating tasks; the measurement then uses the tasks created so far.
const SEED_SECONDS: u64 = 100;

const ADD: &str = r#"{"action":"add","query":"","text":"Check the figures"}"#;
const LIST: &str = r#"{"action":"list","query":""}"#;

const VERBS: [&str; 8] = ["Fix", "Write", "Review", "Measure", "Remove", "Document", "Rename", "Test"];
const THINGS: [&str; 9] =
    ["parser", "cache", "importer", "schema", "index", "login page", "settings", "retry loop", "changelog"];
const PLACES: [&str; 7] = ["server", "command line", "website", "installer", "tests", "database", "billing"];

fn task_name(index: usize) -> String {
    let (verb, thing) = (VERBS[index % VERBS.len()], THINGS[index % THINGS.len()]);
    format!("{verb} the {thing} of the {}, ticket {index}", PLACES[index % PLACES.len()])
}

pub fn rows(programs: &Programs, effort: Effort) -> Result<Vec<Row>> {
    let few = seed(&programs.ours_few_tasks, FEW)?;
    let many = seed(&programs.ours_many_tasks, effort.tasks)?;
    let mut servers = [programs.ours_few_tasks.start()?.0, programs.ours_many_tasks.start()?.0];
    let [add_few, add_many] = pair(&mut servers, ADD, "is added to task", effort)?;
    let [list_few, list_many] = pair(&mut servers, LIST, "before:", effort)?;
    for server in servers {
        server.close()?;
    }
    let few_row = |action, value| {
        Row::ours(format!("TaskManager {action}, {few} tasks"), Unit::Seconds, value, Target::None)
    };
    let many_row = |action, value, base| {
        let target = Target::Times { most: 1.3, base, of: "few tasks" };
        Row::ours(format!("TaskManager {action}, {many} tasks"), Unit::Seconds, value, target)
    };
    Ok(vec![
        few_row("add", add_few),
        many_row("add", add_many, add_few),
        few_row("list, first page", list_few),
        many_row("list, first page", list_many, list_few),
    ])
}

/// Measures one call with few and with many tasks.
fn pair(
    servers: &mut [Server; 2],
    arguments: &str,
    expected: &'static str,
    effort: Effort,
) -> Result<[f64; 2]> {
    let body = call("TaskManager", arguments);
    let mut lanes =
        [0, 1].map(|server| Lane { server, requests: Requests::repeat(64, &body, expected), amount: 200 });
    times(servers, &mut lanes, effort.rounds)
}

/// Creates tasks through the server, and stops it so that the next one starts with a closed file. Returns the
/// number of tasks.
fn seed(program: &Program, tasks: usize) -> Result<usize> {
    let (mut server, _) = program.start()?;
    let mut requests = Requests::new(tasks, "is created", |index| {
        let name = task_name(index);
        call("TaskManager", &format!("{{\"action\":\"create\",\"query\":\"\",\"text\":\"{name}\"}}"))
    });
    let begin = Instant::now();
    let mut created = 0;
    while created < tasks && begin.elapsed().as_secs() < SEED_SECONDS {
        let batch = BATCH.min(tasks - created);
        pipeline(&mut server, &mut requests, batch)?;
        created += batch;
    }
    server.close()?;
    Ok(created)
}
