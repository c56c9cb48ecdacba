//! Commands for plugins and skills: [`install`] adds, updates, signs and removes them, and [`author`] creates and
//! inspects new ones.

pub mod author;
pub mod install;
