//! What plugins offer beside tools: prompts, resources and templates of their addresses.
//!
//! Reading order: [`Offers`] is what a plugin said of itself when a person approved it; [`check`] says whether it may
//! be shown to people and clients; [`Served`] is what of it clients are given, under which names; [`template`] matches
//! addresses; [`render`] writes contents for clients.
//!
//! Invariants: what clients are told is what was approved, however the component lists it later. A plugin serves no
//! address of a scheme that is this server's, or another plugin's own.

pub mod check;
mod model;
pub mod render;
mod served;
pub mod template;

pub use check::BadOffer;
pub use model::{Offers, Prompt, PromptArgument, Resource, ResourceTemplate};
pub use served::{Served, scheme};
