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
#[cfg(unix)]
mod documents;
#[cfg(unix)] // signals, and what Linux says of a process
mod faults;
mod http;
#[cfg(unix)]
mod managed;
mod plugins;
mod revisions;
mod seen;
#[cfg(unix)]
mod shell;
mod skills;
mod smoke;
#[cfg(unix)]
mod store;
mod taskmanager;
#[cfg(unix)]
mod terminal;
mod tools;
#[cfg(unix)]
mod uninstall;
mod web;
