//! The tools: what each is called, where it runs, what it may touch.

mod ask;
mod builtin;
mod registry;
mod shell;
mod tool;

pub(crate) use ask::through_client;
pub use builtin::builtin;
pub use registry::Registry;
use tool::schema;

pub use tool::{Call, Definition, Failure, Hints, Kind, Marks, NativeTool, Output, OutputContent, Tool};
