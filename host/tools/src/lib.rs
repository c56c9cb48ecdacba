//! The tools: what each is called, where it runs, what it may touch.

mod ask;
mod builtin;
pub mod listing_cache;
pub mod plugins;
mod registry;
mod shell;
mod tool;
pub mod unknown_arguments;

pub use builtin::builtin;
pub use registry::Registry;
pub use shell::still_running;
use tool::schema;

/// Why a call of a tool has no result, as the tool says.
pub use scorpiox_tool_kit::Failure;

pub use tool::{Call, Definition, Hints, Kind, Marks, NativeTool, Output, OutputContent, Tool, ToolHost};
