//! The finished program, over real pipes. One test binary, a module for each subject.

mod ask;
mod audit;
mod batches;
mod bulk;
mod callbacks;
mod cancel;
mod cli;
mod config;
mod conversations;
mod documents;
mod faults;
mod managed;
mod plugins;
mod revisions;
mod seen;
mod shell;
mod skills;
mod smoke;
mod taskmanager;
mod terminal;
mod tools;
mod uninstall;
mod web;
