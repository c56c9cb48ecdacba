//! Runs the program as a worker: one task on untrusted bytes, without any permissions. `scorpiox-compile` is
//! the server's side.

use std::io::{self, Read as _, Write as _};
use std::process::ExitCode;
use std::thread::available_parallelism;

use scorpiox_sandbox::confine::{Entered, enter};
use sha2::{Digest as _, Sha256};

/// Maximum number of threads. More threads compile faster, but each needs memory.
const MAX_THREADS: usize = 4;

/// Performs a task if this process was started as a worker; otherwise returns `None`.
pub(crate) fn main() -> Option<ExitCode> {
    Some(match enter(start_threads)? {
        Ok(mut entered) => match work(&mut entered) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => entered.refuse(&format!("{why:#}")),
        },
        Err(fault) => {
            eprintln!("the compiler cannot be confined: {fault}");
            ExitCode::FAILURE
        }
    })
}

/// Starts the threads; no more can be started afterwards.
fn start_threads() -> io::Result<()> {
    let threads = available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(io::Error::other)?;
    // Ensures that each thread has completed its initialization.
    rayon::broadcast(|_| ());
    Ok(())
}

fn work(entered: &mut Entered) -> anyhow::Result<()> {
    let mut input = Vec::new();
    entered.input.read_to_end(&mut input)?;
    match entered.task.as_str() {
        "compile" => {
            let code = crate::compile::compile(&input, env!("TARGET"))?;
            // The hashes let the server check that the code is complete and belongs to the component.
            entered.output.write_all(&Sha256::digest(&input))?;
            entered.output.write_all(&Sha256::digest(&code))?;
            entered.output.write_all(&code)?;
        }
        "encode" => entered.output.write_all(&crate::encode::encode(&input)?)?,
        "inspect" => entered.output.write_all(&crate::inspect::run(&input)?)?,
        "comments" => entered.output.write_all(&crate::comments::run(&input)?)?,
        task => anyhow::bail!("there is no task {task}"),
    }
    Ok(())
}
