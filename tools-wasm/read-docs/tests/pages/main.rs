//! Results of calls, over a web with a single page: one test program, with a module for each subject.

#![allow(missing_docs, unreachable_pub)]

mod behaviour;
mod choice;
mod cjk;
mod code;
mod disk;
mod fake;
mod files;
mod forms;
mod generated;
mod hostile;
mod hostile_kinds;
mod kinds;
mod large;
mod layers;
mod markup;
mod pdf;
mod twins;
mod word;
