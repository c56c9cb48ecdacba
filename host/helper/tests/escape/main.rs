//! Attacks on the sandbox, from inside of it. Each test runs in each tier, and looks at what
//! became of the machine, not only at what the attacker was told.

#![cfg(target_os = "linux")]

mod attributes;
mod bed;
mod deputy;
mod files;
mod kernel;
mod processes;
mod protected;
mod sockets;
