//! The shell's tools: parse arguments and render results. [`scorpiox_capabilities::shell`] decides which
//! commands run, and how.

mod background;
mod bash;
mod forgotten;
mod names;
mod plan;
mod refused_arguments;
mod render;

use super::{Call, Failure, Given};
use scorpiox_shell::{As, ShellError};
use scorpiox_tool_kit::Args;

pub(super) use background::{BackgroundBash, KillBgTask, ListBgTasks, ReadBgOutput};
pub(super) use bash::Bash;
pub use plan::still_running;

/// Names of the tools that run commands.
const FOREGROUND: &str = "Bash";
const BACKGROUND: &str = "BackgroundBash";

/// Profile of a call, and the note about it in the result.
struct Chosen {
    run_as: As,
    note: Option<String>,
}

/// Chooses the profile. A command runs read-only while a plan is active.
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

/// Access of commands, described for users.
const MAY_RUN: &str =
    "read, write and reach what a profile of the policy allows: see `scorpiox-code policy show`";

/// Fails for a command that is too long, and for arguments that ask for another way to run it. Arguments that cannot be
/// read are refused by the call.
fn check(tool: &'static str, given: &Given<'_>) -> Result<(), Failure> {
    refused_arguments::check(tool, given)?;
    let command = Args::parse(given.arguments).and_then(|args| args.string("command"));
    let Ok(Some(command)) = command else { return Ok(()) };
    scorpiox_shell::check_length(&command).map_err(|error| described(&error, error.to_string()))
}

/// Describes a shell error, and the tool that helps.
fn failure(call: &Call<'_>, error: &ShellError) -> Failure {
    let text = match error {
        ShellError::TooManyTasks(_) => format!("{error}; end one with {}", call.name("KillBgTask")),
        ShellError::NoTasks(_) => format!("{error}. {} starts one", call.name("BackgroundBash")),
        error => error.to_string(),
    };
    described(error, text)
}

/// Returns the failure of a shell error that a text describes.
fn described(error: &ShellError, text: String) -> Failure {
    let mut first = text.chars();
    // Errors start in lower case to follow a colon; this is a sentence.
    let sentence = first.next().map(|c| c.to_uppercase().collect::<String>() + first.as_str());
    let kind = match error {
        ShellError::Operator(_) | ShellError::NotGranted(_) | ShellError::Rule { .. } => Failure::Denied,
        ShellError::NoTask(_) | ShellError::NoTasks(_) => Failure::NotFound,
        ShellError::Command(_) => Failure::InvalidInput,
        _ => Failure::Failed,
    };
    kind(sentence.unwrap_or(text))
}
