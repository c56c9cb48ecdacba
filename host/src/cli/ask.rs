//! `scorpiox-code ask`: the screen of AskUserQuestion, in a terminal that the server opened.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use rustix::process::{Signal, getpid, kill_process};
use scorpiox_ask::request::{read_request, write_answer};
use scorpiox_ask::screen;

pub(super) fn run(request: &Path, answer: &Path) -> Result<ExitCode> {
    let (questions, asking) = read_request(request)?;
    end_with(request.to_owned())?;
    screen::run(&questions, |answers| write_answer(answer, answers).map_err(anyhow::Error::from))?;
    drop(asking);
    Ok(ExitCode::SUCCESS)
}

/// How often it is looked whether somebody still wants to know.
const LOOK_TIME: Duration = Duration::from_millis(200);

/// Ends the screen when the questions are taken back, which is said by taking their file away.
fn end_with(request: PathBuf) -> Result<()> {
    let watch = move || {
        while request.exists() {
            thread::sleep(LOOK_TIME);
        }
        // The screen restores the terminal.
        let _ = kill_process(getpid(), Signal::TERM);
    };
    thread::Builder::new().name("asker".to_owned()).spawn(watch)?;
    Ok(())
}
