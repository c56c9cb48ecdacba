//! Runs WebAssembly components: compiles and loads them, instantiates them for each call, and enforces
//! limits.
//!
//! [`compile`] compiles components that users install, in a sandboxed worker.
//!
//! Invariants: each call gets a new store and a new instance, so that no state passes from one call to the
//! next. The exception are calls with resources of a plugin, which live in an instance retained for the
//! client's session (`instances`). Each call has a budget of time, memory and output. A cancelled call stops
//! within two ticks. This crate knows components and capabilities, but nothing of the protocol.

pub mod bindings;
mod call;
mod code_cache;
pub mod compile;
mod component;
mod engines;
mod fault;
mod functions;
mod handler;
mod hints;
mod instances;
mod limits;
mod loading;
mod names;
mod offers;
mod pool;
mod printed;
mod program;
mod resources;
mod service;
mod state;
mod tasks;
mod ticker;
mod wait;

pub use call::{Finished, Runtime};
pub use code_cache::{CodeCache, LoadError};
pub use component::{Binary, Component, Load, PluginIdentity};
pub use engines::Engines;
pub use fault::Fault;
pub use functions::{DROP_SAID, Exported, Functions, TAKEN};
pub use instances::{IDLE, MAX_HANDLES};
pub use limits::Limits;
pub use names::{Exports, ToolNames, function_name, tool_name};
pub use offers::{OFFER_INTERFACES, is_offer};
pub use pool::{MAX_KEPT, MAX_MEMORY_BYTES, pooled_config};
pub use program::{TAKES as PROGRAM_TAKES, is_program};
pub use service::{NAME as SERVICE_TOOL, TAKES as SERVICE_TAKES, is_service};
pub use state::CallState;
pub use ticker::{Awake, Beat, TICK, Ticker};

#[cfg(test)]
mod tests;
