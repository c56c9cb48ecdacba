//! An MCP server whose tools run in WebAssembly component sandboxes.
//!
//! Reading order: [`mcp`] (the protocol's shapes), [`server`] (requests and answers),
//! [`tools`] and [`plugins`] (what there is to call), [`runtime`] (running a component),
//! [`capabilities`] (what a component may do). Of the crates beside this one `scorpiox-rpc` has the
//! framing and the envelope, and `scorpiox-store` is where state lives.
//!
//! Invariants: `rpc` knows no tools, `runtime` knows no MCP, capabilities know neither;
//! modules import downward only, but for three places that `layers` lists. `bindings` is the only place that generates WIT bindings.

pub mod bindings;
pub mod capabilities;
pub mod cli;
#[cfg(test)]
mod layers;
pub mod mcp;
pub mod plugins;
pub mod runtime;
pub mod server;
pub mod tools;
pub mod worked_on;
pub mod workspace;
