//! The tools: their names, where they run, and what they may access. [`offers`] has prompts and resources.

mod ask;
mod builtin;
pub mod listing_cache;
pub mod offers;
pub mod plugins;
mod registry;
mod shell;
mod tool;
pub mod unknown_arguments;

pub use builtin::builtin;
pub use registry::Registry;
pub use shell::still_running;
use tool::schema;

/// Reason why a tool call has no result, as reported by the tool.
pub use scorpiox_tool_kit::Failure;

pub use tool::{
    Call, Definition, Given, Hints, Kind, Marks, NativeTool, Output, OutputContent, Tool, ToolHost,
};
