//! The command line: the program as people, clients and scripts start it.
//!
//! What it starts is in crates of its own; their order, from the bottom: `scorpiox-operator` (the policy as it
//! holds here), `scorpiox-shell` (commands), `scorpiox-capabilities` (what a component may be given),
//! `scorpiox-runtime` (calls of components), `scorpiox-mcp` (the protocol's shapes), `scorpiox-tools` (what there
//! is to call), `scorpiox-server` (apps, workspaces, sessions), `scorpiox-stdio` (the transport).
//!
//! Invariant: nothing is decided here. What a command prints is asked of the crate that decides it for a client.

pub mod cli;
