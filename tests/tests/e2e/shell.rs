//! Tests of commands: the results that clients see, and the effects on the machine.

mod areas;
mod background;
mod brought;
mod compatibility;
mod configurations;
mod exchanged;
mod git;
mod home;
mod led;
mod moves;
mod network;
mod output;
mod persons;
mod plan;
mod policy;
mod processes;
mod prompts;
mod protected;
mod results;
mod subfolders;
pub(crate) mod support;
mod tiers;
mod together;
mod unseen;
mod untold;
mod use_up;
