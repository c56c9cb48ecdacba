//! Prompts, resources and resource templates of plugins.
//!
//! Reading order: [`Offers`] has a plugin's own description at the time of its approval, and [`check`]
//! validates it. [`Served`] has the part that clients see, with the names they see; [`template`] matches
//! URIs; [`render`] converts contents for clients.
//!
//! Invariants: clients see the approved offers, even if the component later lists different ones. A plugin
//! serves no URI whose scheme belongs to this server or to another plugin.

pub mod check;
mod model;
pub mod render;
mod served;
pub mod template;

pub use check::BadOffer;
pub use model::{Offers, Prompt, PromptArgument, Resource, ResourceTemplate};
pub use served::{Served, scheme};
