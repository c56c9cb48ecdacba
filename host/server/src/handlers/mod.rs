//! Request handlers, one file for each group of methods.

pub(crate) mod lifecycle;
pub(crate) mod listing;
pub(crate) mod offers;
pub(crate) mod prompts;
pub(crate) mod resources;
pub(crate) mod skills;
