//! The command `scorpiox-code ask`: displays AskUserQuestion in a terminal that the server opened.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use scorpiox_questions::request::{read_request, write_answer};
use scorpiox_questions::screen;

pub(super) fn run(request: &Path, answer: &Path) -> Result<ExitCode> {
    let (questions, asking) = read_request(request)?;
    // The server withdraws questions by deleting their file.
    let is_wanted = || request.exists();
    screen::run(&questions, is_wanted, |answers| write_answer(answer, answers).map_err(anyhow::Error::from))?;
    drop(asking);
    Ok(ExitCode::SUCCESS)
}
