//! Attacks on the sandbox, from inside of it. Each test runs in each tier, and checks the state of the
//! machine, not only the results that the attacker sees.

#![cfg(target_os = "linux")]

mod attributes;
mod bed;
mod deputy;
mod files;
mod kernel;
mod processes;
mod protected;
mod sockets;
