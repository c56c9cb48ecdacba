//! Commands for plugins and skills: [`install`] adds, updates, signs and removes them, and [`author`] creates and
//! inspects new ones. [`skills`] holds the files of skills.

pub mod author;
pub mod install;
pub mod skills;
