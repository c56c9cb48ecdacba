//! The shell's tools: arguments in, results out. What may run, and how, is decided by
//! [`scorpiox_capabilities::shell`].

mod background;
mod bash;
mod plan;
mod render;

use super::{Call, Failure};
use scorpiox_shell::{As, ShellError};

pub(super) use background::{BackgroundBash, KillBgTask, ListBgTasks, ReadBgOutput};
pub(super) use bash::Bash;
pub use plan::still_running;

/// How a call runs, and what the result says about it.
struct Chosen {
    run_as: As,
    note: Option<String>,
}

/// While a plan is made nothing may be changed.
fn choose_profile(call: &Call<'_>) -> Result<Chosen, Failure> {
    let plan = call.host.active_plan().map_err(|fault| {
        Failure::Failed(format!(
            "Whether a plan is active cannot be found out, so the command was not run: {fault}"
        ))
    })?;
    Ok(match plan {
        None => Chosen { run_as: As::Client { read_only: false }, note: None },
        Some(goal) => Chosen {
            run_as: As::Client { read_only: true },
            note: Some(format!(
                "Plan mode is active ({:?}): the command runs read-only and without network. {} with \
                 action exit or reset ends it.",
                scorpiox_tool_kit::args::shown(&goal),
                call.name("PlanMode")
            )),
        },
    })
}

/// What commands may touch, for people.
const MAY_RUN: &str =
    "run commands, in a sandbox and under a profile of the policy: see `scorpiox-code policy show`";

/// Why the shell did not do it, and which tool helps.
fn failure(call: &Call<'_>, error: &ShellError) -> Failure {
    let text = match error {
        ShellError::TooManyTasks(_) => format!("{error}; end one with {}", call.name("KillBgTask")),
        ShellError::NoTasks(_) => format!("{error}. {} starts one", call.name("BackgroundBash")),
        error => error.to_string(),
    };
    let mut first = text.chars();
    // Errors begin in lower case, to follow a colon elsewhere; this is a sentence.
    let sentence = first.next().map(|c| c.to_uppercase().collect::<String>() + first.as_str());
    let kind = match error {
        ShellError::Operator(_) | ShellError::NotGranted(_) | ShellError::Rule { .. } => Failure::Denied,
        ShellError::NoTask(_) | ShellError::NoTasks(_) => Failure::NotFound,
        ShellError::Command(_) => Failure::InvalidInput,
        _ => Failure::Failed,
    };
    kind(sentence.unwrap_or(text))
}
