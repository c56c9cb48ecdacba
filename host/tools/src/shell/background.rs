//! Tools for commands in the background.

use scorpiox_tool_kit::Args;

use super::{BACKGROUND, choose_profile, failure, render};
use crate::{Call, Definition, Failure, Given, Hints, NativeTool, Output, schema};
use scorpiox_shell::{Owner, Request};

const TASK_ID: &str = "task_id";

pub(crate) struct BackgroundBash;
pub(crate) struct ReadBgOutput;
pub(crate) struct ListBgTasks;
pub(crate) struct KillBgTask;

impl NativeTool for BackgroundBash {
    fn definition(&self) -> Definition {
        Definition {
            name: BACKGROUND.into(),
            title: "Background command".into(),
            description: "Execute bash command in background, returns immediately".to_owned(),
            input_schema: schema(
                r#"{"type":"object","properties":{"command":{"type":"string","description":"The bash command to execute"}},"required":["command"]}"#,
            ),
            output_schema: Some(schema(render::TASK_SCHEMA)),
            hints: Hints { read_only: false, destructive: true, idempotent: false, open_world: true },
        }
    }

    fn may(&self) -> &'static str {
        super::MAY_RUN
    }

    fn check(&self, given: &Given<'_>) -> Result<(), Failure> {
        super::check(BACKGROUND, given)
    }

    fn call(&self, call: &Call<'_>) -> Result<Output, Failure> {
        let args = Args::parse(call.arguments)?;
        let command =
            args.string("command")?.ok_or_else(|| Failure::InvalidInput("command is missing.".to_owned()))?;
        let chosen = choose_profile(call)?;
        let request = Request { command, run_as: chosen.run_as, timeout: None, uses: call.uses.clone() };
        let begun = call.host.shell().start_task(&request).map_err(|error| failure(call, &error))?;
        Ok(render::started(call, &begun, chosen.note.as_deref()))
    }
}

impl NativeTool for ReadBgOutput {
    fn definition(&self) -> Definition {
        Definition {
            name: "ReadBgOutput".into(),
            title: "Read background output".into(),
            description: "Read new output from a background task".to_owned(),
            input_schema: schema(
                r#"{"type":"object","properties":{"task_id":{"type":"integer","description":"The task ID returned by BackgroundBash"}},"required":["task_id"]}"#,
            ),
            output_schema: Some(schema(render::READ_SCHEMA)),
            hints: Hints { read_only: true, destructive: false, idempotent: false, open_world: false },
        }
    }

    fn may(&self) -> &'static str {
        "read what background commands of this server print"
    }

    fn call(&self, call: &Call<'_>) -> Result<Output, Failure> {
        let most_bytes = call.room.saturating_sub(render::NOTE_CHARS);
        let read = call.host.shell().read_task(Owner::new(None, call.uses), task_id(call)?, most_bytes);
        let read = read.map_err(|error| failure(call, &error))?;
        Ok(render::read(call, &read))
    }
}

impl NativeTool for ListBgTasks {
    fn definition(&self) -> Definition {
        Definition {
            name: "ListBgTasks".into(),
            title: "Background tasks".into(),
            description: "List all background tasks with status and runtime".to_owned(),
            input_schema: schema(r#"{"type":"object","properties":{},"required":[]}"#),
            output_schema: Some(schema(render::LIST_SCHEMA)),
            hints: Hints { read_only: true, destructive: false, idempotent: true, open_world: false },
        }
    }

    fn may(&self) -> &'static str {
        "list the background commands of this server"
    }

    fn call(&self, call: &Call<'_>) -> Result<Output, Failure> {
        Args::parse(call.arguments)?;
        let is_over_http = call.uses.client().is_some_and(|client| client.principal.is_some());
        Ok(render::list(&call.host.shell().tasks(Owner::new(None, call.uses)), is_over_http))
    }
}

impl NativeTool for KillBgTask {
    fn definition(&self) -> Definition {
        Definition {
            name: "KillBgTask".into(),
            title: "End background task".into(),
            description: "Kill a running background task by ID".to_owned(),
            input_schema: schema(
                r#"{"type":"object","properties":{"task_id":{"type":"integer","description":"The task ID to kill"}},"required":["task_id"]}"#,
            ),
            output_schema: Some(schema(render::TASK_SCHEMA)),
            hints: Hints { read_only: false, destructive: true, idempotent: true, open_world: false },
        }
    }

    fn may(&self) -> &'static str {
        "end background commands of this server"
    }

    fn call(&self, call: &Call<'_>) -> Result<Output, Failure> {
        let killed = call.host.shell().kill_task(Owner::new(None, call.uses), task_id(call)?, call.cancel);
        let (task, ran) = killed.map_err(|error| failure(call, &error))?;
        Ok(render::killed(call, &task, ran))
    }
}

fn task_id(call: &Call<'_>) -> Result<u32, Failure> {
    let args = Args::parse(call.arguments)?;
    let id = args.integer(TASK_ID, 1, i64::from(u32::MAX))?;
    let id = id.ok_or_else(|| {
        Failure::InvalidInput(format!("task_id is missing; {} shows the tasks.", call.name("ListBgTasks")))
    })?;
    let invalid = |_| Failure::InvalidInput(format!("task_id must be a task's number, but was {id}."));
    u32::try_from(id).map_err(invalid)
}
