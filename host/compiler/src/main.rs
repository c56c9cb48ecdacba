//! The only program of this project that compiles WebAssembly.
//!
//! At build time, `scorpiox-compiler --out FOLDER NAME=GUEST.wasm …` converts each core wasm guest to a
//! component (`NAME.component.wasm`) and compiles it to native code (`NAME.cwasm`). Unchanged files are not
//! rewritten, to avoid rebuilds.
//!
//! The server embeds this program, and starts it as a worker for untrusted components: see [`worker`].
//! Therefore no other program of the project contains a compiler or a WIT parser.

mod build;
mod comments;
mod compile;
mod docs;
mod encode;
mod inspect;
mod signature;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = worker::main() {
        return code;
    }
    match build::run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scorpiox-compiler: {error:#}");
            ExitCode::FAILURE
        }
    }
}
