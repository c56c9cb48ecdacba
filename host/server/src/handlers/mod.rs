//! One file for each group of methods.

pub(crate) mod lifecycle;
pub(crate) mod listing;
pub(crate) mod prompts;
pub(crate) mod skills;
