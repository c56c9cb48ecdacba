//! Running components: an engine for most and one for those of WASI 0.3, a fresh instance for each call, limits on all of it.
//!
//! Invariants: every call gets a new store and a new instance, so nothing is left of
//! one call for the next, but for calls with resources of a plugin, which live in an
//! instance that is kept for a client's session (`instances`); every call has a budget of
//! time, memory and output; a call that is cancelled stops within two ticks. Knows
//! components and capabilities, and nothing of the protocol.

pub mod bindings;
mod call;
mod code_cache;
mod component;
mod engines;
mod fault;
mod functions;
mod handler;
mod instances;
mod limits;
mod loading;
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
pub use functions::{Exported, Functions, function_name, tool_name};
pub use instances::{IDLE, MAX_HANDLES};
pub use limits::Limits;
pub use offers::{OFFER_INTERFACES, is_offer};
pub use pool::{MAX_KEPT, MAX_MEMORY_BYTES, pooled_config};
pub use program::{TAKES as PROGRAM_TAKES, is_program};
pub use service::{NAME as SERVICE_TOOL, TAKES as SERVICE_TAKES, is_service};
pub use state::CallState;
pub use ticker::{Awake, Beat, TICK, Ticker};
