//! Compiles and otherwise processes untrusted components before they run.
//!
//! Invariants: none of this happens in the current process, which contains no compiler. The program embeds
//! the compiler as bytes that are not loaded before they are needed. It runs as a worker
//! ([`scorpiox_sandbox::worker`]), which can only compute, within [`BOUNDS`]. The returned code is complete and
//! belongs to the requested component.
//!
//! Limitation: the worker limits the cost of compilation, but not the behavior of the generated code. The
//! compiler must ensure that the code stays in its sandbox, as for the built-in tools.

mod code;

use std::io::{Read as _, Seek as _};
use std::time::Duration;

use flate2::read::GzDecoder;
use scorpiox_component_abi::anatomy::Anatomy;
use scorpiox_sandbox::CellError;
use scorpiox_sandbox::worker::{Bounds, Work, WorkEnd, run};

pub use code::{Code, hash};
use scorpiox_component_abi::anatomy::Comment;

/// Compressed compiler.
static COMPILER: &[u8] = include_bytes!(env!("SCORPIOX_COMPILER"));

/// Identifies the compiler: another version may generate different code for the same component.
pub const COMPILER_NAME: &str = env!("SCORPIOX_COMPILER_HASH");

/// Limits for processing one component. A component that bundles Python takes 12 s of CPU time and 330 MiB.
pub const BOUNDS: Bounds =
    Bounds { cpu_seconds: 120, time: Duration::from_mins(5), memory: 1024 * MIB, output: 512 * MIB };

/// Limits for inspecting one component. The largest permitted file (128 MiB) is read in a second. Types that
/// expand exponentially hit one of these limits.
pub const INSPECT_BOUNDS: Bounds =
    Bounds { cpu_seconds: 20, time: Duration::from_mins(1), memory: 512 * MIB, output: 16 * MIB };

const MIB: u64 = 1024 * 1024;

/// Reason why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The bytes are invalid. The message may contain text from them.
    #[error("{0}")]
    Refused(String),
    /// The work exceeds its time limit.
    #[error(
        "compiling it takes longer than the limit of {} s of processor time, or {} s in all",
        .0.cpu_seconds, .0.time.as_secs()
    )]
    Time(Bounds),
    /// The work exceeds its memory limit.
    #[error("compiling it needs more than the limit of {} MiB of memory", .0.memory / MIB)]
    Memory(Bounds),
    /// The compiled code exceeds its size limit.
    #[error("its compiled code is larger than the limit of {} MiB", .0.output / MIB)]
    Output(Bounds),
    /// The compiler crashed, or returned an invalid result.
    #[error("the compiler failed: {0}")]
    Failed(String),
    /// The caller cancelled the work.
    #[error("it was cancelled")]
    Stopped,
    /// The worker could not be started; a later attempt may succeed.
    #[error("it cannot be compiled now: {0}")]
    Unavailable(#[from] CellError),
}

impl CompileError {
    /// Returns `true` if the error is caused by the bytes, so that another attempt fails the same way.
    pub fn is_lasting(&self) -> bool {
        !matches!(self, Self::Stopped | Self::Unavailable(_))
    }
}

/// Compiles a component to native code.
pub fn compile(component: &[u8], stop: impl Fn() -> bool) -> Result<Code, CompileError> {
    let made = work("compile", component, BOUNDS, stop)?;
    Code::checked(made, component)
}

/// Returns the structure of a component or a core module without compiling it.
pub fn inspect(bytes: &[u8], stop: impl Fn() -> bool) -> Result<Anatomy, CompileError> {
    let made = work("inspect", bytes, INSPECT_BOUNDS, stop).map_err(|error| match error {
        CompileError::Time(_) | CompileError::Memory(_) | CompileError::Output(_) => CompileError::Refused(
            "only looking into it takes more time, memory or room than it may; its types are too large"
                .to_owned(),
        ),
        error => error,
    })?;
    let made = whole(made)?;
    serde_json::from_slice(&made).map_err(|error| CompileError::Failed(error.to_string()))
}

/// Converts a core module to a component. The module must contain its types, or be built for WASI preview 1.
pub fn encode(module: &[u8], stop: impl Fn() -> bool) -> Result<Vec<u8>, CompileError> {
    whole(work("encode", module, BOUNDS, stop)?)
}

/// Files of a WIT package: their names and texts.
pub type Package = Vec<(String, String)>;

/// Returns the doc comments of the functions that the worlds of the first package export. The other packages
/// are its dependencies.
pub fn comments(packages: &[Package], stop: impl Fn() -> bool) -> Result<Vec<Comment>, CompileError> {
    let failed = |error: serde_json::Error| CompileError::Failed(error.to_string());
    let input = serde_json::to_vec(packages).map_err(failed)?;
    let made = whole(work("comments", &input, BOUNDS, stop)?)?;
    let comments: Vec<(Option<String>, String, String)> = serde_json::from_slice(&made).map_err(failed)?;
    let comment = |(interface, function, text)| Comment { interface, function, text };
    Ok(comments.into_iter().map(comment).collect())
}

fn work(
    task: &str,
    input: &[u8],
    bounds: Bounds,
    stop: impl Fn() -> bool,
) -> Result<std::fs::File, CompileError> {
    let mut program = GzDecoder::new(COMPILER);
    match run(Work { program: &mut program, task, input, bounds }, stop)? {
        WorkEnd::Done(made) => Ok(made),
        WorkEnd::Refused(why) => Err(CompileError::Refused(plain(&why))),
        WorkEnd::Time => Err(CompileError::Time(bounds)),
        WorkEnd::Memory => Err(CompileError::Memory(bounds)),
        WorkEnd::Output => Err(CompileError::Output(bounds)),
        WorkEnd::Crashed(how) => Err(CompileError::Failed(one_line(&how))),
        WorkEnd::Stopped => Err(CompileError::Stopped),
    }
}

/// Replaces control characters in a text with untrusted names, so that it is safe for a terminal.
fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(shown).collect()
}

/// Formats an untrusted text on one line: the output of a crashing program has several.
fn one_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn whole(mut made: std::fs::File) -> Result<Vec<u8>, CompileError> {
    let failed = |error: std::io::Error| CompileError::Failed(error.to_string());
    let mut bytes = Vec::new();
    made.rewind().and_then(|()| made.read_to_end(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
