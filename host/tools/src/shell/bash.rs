//! `Bash`: runs a command to completion.

use std::time::Duration;

use scorpiox_tool_kit::Args;

use super::{FOREGROUND, choose_profile, failure, forgotten, render};
use crate::{Call, Definition, Failure, Given, Hints, NativeTool, Output, schema};
use scorpiox_executor::Cancel;
use scorpiox_sandbox::Status;
use scorpiox_shell::{Ask, Ran, Request, Target, Wait};

pub(crate) struct Bash;

impl NativeTool for Bash {
    fn definition(&self) -> Definition {
        Definition {
            name: FOREGROUND.into(),
            title: "Bash".into(),
            description: "Execute a bash command".to_owned(),
            input_schema: schema(
                r#"{"type":"object","properties":{"command":{"type":"string","description":"The bash command to execute"},"timeout":{"type":"integer","description":"Timeout in milliseconds (default: 30000)"}},"required":["command"]}"#,
            ),
            output_schema: Some(schema(render::COMPLETED_SCHEMA)),
            hints: Hints { read_only: false, destructive: true, idempotent: false, open_world: true },
        }
    }

    fn may(&self) -> &'static str {
        super::MAY_RUN
    }

    fn lets_go(&self) -> bool {
        true
    }

    fn check(&self, given: &Given<'_>) -> Result<(), Failure> {
        super::check(FOREGROUND, given)
    }

    fn call(&self, call: &Call<'_>) -> Result<Output, Failure> {
        let args = Args::parse(call.arguments)?;
        let command =
            args.string("command")?.ok_or_else(|| Failure::InvalidInput("command is missing.".to_owned()))?;
        let shell = call.host.shell();
        let (default, most) = shell.timeouts().map_err(|error| failure(call, &error))?;
        let most_ms = i64::try_from(most.as_millis()).unwrap_or(i64::MAX);
        let timeout = match args.integer("timeout", 1, most_ms)? {
            Some(ms) => Duration::from_millis(ms.unsigned_abs()),
            None => default,
        };
        let chosen = choose_profile(call)?;
        let request =
            Request { command, run_as: chosen.run_as, timeout: Some(timeout), uses: call.uses.clone() };
        let tell = |line: &str| call.host.report(line);
        let news = call.streams.then_some(&tell as &dyn Fn(&str));
        let shown_chars = call.room.saturating_sub(render::NOTE_CHARS);
        let ask = |target: &Target, withdrawn: &Cancel| {
            call.host.ask_about_host(&request.command, target, withdrawn)
        };
        // A client that is not told of progress would give up before the person answers a form. Over HTTP, the answer of
        // an approver counts for a command that is repeated.
        let is_http = call.uses.client().is_some_and(|client| client.principal.is_some());
        let ask = (call.answer_by.is_none() || is_http).then_some(&ask as &Ask<'_>);
        let wait = Wait { cancel: call.cancel, news, shown_chars, until: call.answer_by, ask };
        let ran = shell.run_within(&request, &wait).map_err(|error| failure(call, &error))?;
        Ok(match ran {
            Ran::ToItsEnd(mut completed) => {
                let workspace = &shell.operator().site().workspace;
                let succeeded = completed.outcome.status == Status::Code(0);
                completed.notes.extend(forgotten::note(&request.command, workspace).filter(|_| succeeded));
                render::completed(call, &completed, (timeout, most), chosen.note.as_deref())
            }
            Ran::IntoBackground(goes_on) => render::goes_on(call, &goes_on, timeout, chosen.note.as_deref()),
        })
    }
}
