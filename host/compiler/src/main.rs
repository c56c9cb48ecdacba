//! The only program of this project that compiles WebAssembly.
//!
//! While the project is built, `scorpiox-compiler --out FOLDER NAME=GUEST.wasm …` makes of each core wasm guest a
//! component (`NAME.component.wasm`) and its native code (`NAME.cwasm`). Files that would not change are not
//! written, so that nothing is rebuilt for them.
//!
//! The server carries this program as bytes, and starts it as a worker for what strangers ship: [`worker`]. So no
//! other program of the project has a compiler, or a parser of WIT, in its memory.

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
