//! Overview page: current load, and calls by tool.

use std::time::Duration;

use crate::Load;
use crate::pages::Asked;
use askama::Template;
use scorpiox_audit::Counts;
use scorpiox_audit::principals::Names;
use scorpiox_command_output::{human_bytes, human_duration};
use scorpiox_metering::records::machine;
use scorpiox_shell::TaskState;

use crate::admin::chart::{self, Bar, HEIGHT, WIDTH};
use crate::admin::waiting::Waiting;
use crate::admin::{Admin, Frame};

/// Upper bounds of the duration histogram, in milliseconds.
const BOUNDS: [u64; 10] = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 120_000];

#[derive(Template)]
#[template(path = "overview.html")]
pub(crate) struct Overview<'a> {
    frame: Frame<'a>,
    load: &'a Load,
    /// Identifies this server among several.
    server: String,
    /// Running and queued calls, by principal.
    busy: Vec<(String, [usize; 2])>,
    /// Calls that wait for a person, or the reason why they cannot be read.
    waiting: Result<Waiting, String>,
    tools: Vec<Tool>,
    tasks: Vec<Task>,
    width: u32,
    height: u32,
}

struct Tool {
    workspace: String,
    name: String,
    calls: u64,
    errors: u64,
    cancelled: u64,
    refused: u64,
    denied: u64,
    mean: String,
    outcomes: Vec<Bar>,
    times: Vec<Bar>,
}

/// A background command. Its text and output are only for its owner.
struct Task {
    workspace: String,
    id: u32,
    principal: String,
    profile: String,
    state: String,
    printed: String,
}

impl<'a> Overview<'a> {
    pub(crate) fn of(admin: &Admin, asked: &'a Asked<'_>) -> Self {
        let mut counted = Vec::new();
        let mut all = Vec::new();
        for (workspace, opened) in &admin.workspaces {
            let counts = opened.records().figures().counts_of_tools();
            counted.extend(counts.into_iter().map(|(tool, counts)| (workspace.clone(), tool, counts)));
            let tasks = opened.shell().all_tasks();
            all.extend(tasks.into_iter().map(|(principal, task)| (workspace.clone(), principal, task)));
        }
        let owners = all.iter().filter_map(|(_, principal, _)| principal.as_deref());
        let keys: Vec<_> =
            asked.load.of.keys().map(String::as_str).chain(owners).map(str::to_owned).collect();
        let names = Names::of(keys.iter().map(String::as_str));
        let mut tasks = Vec::new();
        for (workspace, principal, task) in all {
            tasks.push(Task {
                workspace,
                id: task.id,
                principal: principal.map_or_else(|| "this server".to_owned(), |key| names.shown(&key)),
                profile: task.profile,
                state: match task.state {
                    TaskState::Running(time) => format!("runs for {}", human_duration(time)),
                    TaskState::Ended(_, time) => format!("ended after {}", human_duration(time)),
                },
                printed: human_bytes(task.printed_bytes),
            });
        }
        let largest = counted.iter().map(|(.., counts)| total(counts)).max().unwrap_or(0);
        counted.sort_by_key(|(.., counts)| std::cmp::Reverse(total(counts)));
        let tool = |(workspace, name, counts): (String, String, Counts)| {
            Tool::new(workspace, name, &counts, largest)
        };
        let busy = asked.load.of.iter().map(|(principal, counts)| (names.shown(principal), *counts));
        Self {
            frame: Frame::new("Overview", asked),
            load: asked.load,
            server: format!(
                "process {} on {}, with {}",
                std::process::id(),
                machine(),
                admin.own_home.display()
            ),
            busy: busy.collect(),
            waiting: admin.waiting(),
            tools: counted.into_iter().map(tool).collect(),
            tasks,
            width: WIDTH,
            height: HEIGHT,
        }
    }
}

impl Admin {
    /// Returns the calls that wait for a person. All workspaces keep them in one store.
    fn waiting(&self) -> Result<Waiting, String> {
        let (_, workspace) = self.workspaces.first().ok_or("nothing is served")?;
        Waiting::of(workspace.current().approvals())
    }
}

fn total(counts: &Counts) -> u64 {
    counts.outcomes().iter().map(|(_, count)| count).sum()
}

impl Tool {
    fn new(workspace: String, name: String, counts: &Counts, largest: u64) -> Self {
        let [(_, ok), (_, errors), (_, cancelled), (_, refused)] = counts.outcomes();
        let outcomes = [
            ("ok", "well", ok),
            ("error", "failed", errors),
            ("cancelled", "cancelled", cancelled),
            ("refused", "refused", refused),
        ];
        let bounds = BOUNDS.map(Duration::from_millis);
        let named = BOUNDS.map(|bound| {
            if bound < 1000 { format!("up to {bound} ms") } else { format!("up to {} s", bound / 1000) }
        });
        let times: Vec<_> = named.into_iter().zip(counts.within(bounds)).collect();
        let mean = counts.time().checked_div(u32::try_from(counts.run()).unwrap_or(u32::MAX));
        Self {
            workspace,
            name,
            calls: total(counts),
            errors,
            cancelled,
            refused,
            denied: counts.denied(),
            mean: mean.map_or_else(String::new, |mean| format!("{:.1} ms", mean.as_secs_f64() * 1000.0)),
            outcomes: chart::stacked(&outcomes, largest),
            times: chart::columns(&times),
        }
    }
}
