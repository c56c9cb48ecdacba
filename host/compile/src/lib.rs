//! Compiling what strangers ship, and whatever else is done with the bytes of it before it runs.
//!
//! Invariants: none of it happens in this process, which has no compiler. The program carries one as bytes that
//! nothing touches before it is needed; it runs as a worker ([`scorpiox_cell::worker`]), which can do nothing but
//! compute, within [`BOUNDS`]. Code that comes back is of the component that was asked for, and whole.
//!
//! What this does not give: native code is what the compiler made of it. The worker bounds what a component costs
//! while it is compiled; that the code stays in its sandbox when it runs is the compiler's promise, as it is for
//! the tools that were compiled with this program.

mod code;

use std::io::{Read as _, Seek as _};
use std::time::Duration;

use flate2::read::GzDecoder;
use scorpiox_anatomy::Anatomy;
use scorpiox_cell::CellError;
use scorpiox_cell::worker::{Bounds, Work, WorkEnd, run};

pub use code::{Code, hash};
pub use scorpiox_anatomy::Comment;

/// The compiler, packed.
static COMPILER: &[u8] = include_bytes!(env!("SCORPIOX_COMPILER"));

/// Names the compiler: another one may make other code of the same component.
pub const COMPILER_NAME: &str = env!("SCORPIOX_COMPILER_HASH");

/// What the work on one component may take. A whole Python takes 12 s of processor time and 330 MiB.
pub const BOUNDS: Bounds =
    Bounds { cpu_seconds: 120, time: Duration::from_mins(5), memory: 1024 * MIB, output: 512 * MIB };

/// What looking into one may take. The largest file there may be (128 MiB) is read in a second; types that grow from few
/// bytes end at one of these.
pub const INSPECT_BOUNDS: Bounds =
    Bounds { cpu_seconds: 20, time: Duration::from_mins(1), memory: 512 * MIB, output: 16 * MIB };

const MIB: u64 = 1024 * 1024;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// There is something wrong with the bytes. They may speak here.
    #[error("{0}")]
    Refused(String),
    /// It takes more time than it may.
    #[error(
        "compiling it takes longer than the limit of {} s of processor time, or {} s in all",
        .0.cpu_seconds, .0.time.as_secs()
    )]
    Time(Bounds),
    /// It takes more memory than it may.
    #[error("compiling it needs more than the limit of {} MiB of memory", .0.memory / MIB)]
    Memory(Bounds),
    /// There is more code than there may be.
    #[error("its compiled code is larger than the limit of {} MiB", .0.output / MIB)]
    Output(Bounds),
    /// The compiler crashed, or gave what is no result.
    #[error("the compiler failed: {0}")]
    Failed(String),
    /// Nobody wants the result any more.
    #[error("it was cancelled")]
    Stopped,
    /// The worker cannot be had; another time it may.
    #[error("it cannot be compiled now: {0}")]
    Unavailable(#[from] CellError),
}

impl CompileError {
    /// Whether it says something about the bytes, so that trying again gives the same.
    pub fn is_lasting(&self) -> bool {
        !matches!(self, Self::Stopped | Self::Unavailable(_))
    }
}

/// The native code of a component.
pub fn compile(component: &[u8], stop: impl Fn() -> bool) -> Result<Code, CompileError> {
    let made = work("compile", component, BOUNDS, stop)?;
    Code::checked(made, component)
}

/// What a component or a core module is made of. Nothing of it is compiled.
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

/// The component of a core module that has its types in it, or was built for WASI preview 1.
pub fn encode(module: &[u8], stop: impl Fn() -> bool) -> Result<Vec<u8>, CompileError> {
    whole(work("encode", module, BOUNDS, stop)?)
}

/// Files of a package of WIT: their names and texts.
pub type Package = Vec<(String, String)>;

/// The doc comments of the functions that the worlds of the first package export; the others are packages that
/// it uses.
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
        WorkEnd::Crashed(how) => Err(CompileError::Failed(plain(&how))),
        WorkEnd::Stopped => Err(CompileError::Stopped),
    }
}

/// A text that names of strangers may be in, without what acts on a terminal.
fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(shown).collect()
}

fn whole(mut made: std::fs::File) -> Result<Vec<u8>, CompileError> {
    let failed = |error: std::io::Error| CompileError::Failed(error.to_string());
    let mut bytes = Vec::new();
    made.rewind().and_then(|()| made.read_to_end(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
