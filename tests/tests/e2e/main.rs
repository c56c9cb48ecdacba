//! End-to-end tests of the built program, over real pipes. A single test binary contains one module per
//! subject.

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
#[cfg(unix)] // signals, and process information of Linux
mod faults;
mod http;
mod json;
#[cfg(unix)]
mod managed;
mod plugins;
mod revisions;
mod seen;
#[cfg(unix)]
mod setup;
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
