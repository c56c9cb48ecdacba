//! Commands: what clients see of them, and what becomes of the machine.

mod background;
mod compatibility;
mod exchanged;
mod network;
mod output;
mod plan;
mod policy;
mod processes;
mod prompts;
mod protected;
mod results;
mod support;
mod tiers;
mod use_up;
