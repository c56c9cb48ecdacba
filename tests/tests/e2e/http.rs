//! Tests of the built program over HTTP.

mod access;
#[cfg(unix)]
mod admin;
#[cfg(unix)]
mod admin_approvals;
#[cfg(unix)]
mod admin_screens;
mod admission;
#[cfg(unix)]
mod busy;
#[cfg(unix)]
mod database;
#[cfg(unix)]
mod disks;
#[cfg(unix)]
mod flooded;
#[cfg(target_os = "linux")]
mod gone;
mod heavy;
mod hostile;
mod jwt;
#[cfg(unix)]
mod limits;
mod modern;
#[cfg(unix)]
mod narrowed;
#[cfg(unix)]
mod observe;
#[cfg(unix)]
mod others;
#[cfg(unix)]
mod proxies;
#[cfg(unix)]
mod rejected;
#[cfg(unix)]
mod relayed;
#[cfg(unix)]
mod replicas;
#[cfg(unix)]
mod revoked;
mod sessions;
#[cfg(unix)]
mod stalled;
#[cfg(unix)]
mod team;
#[cfg(unix)]
mod tls;
#[cfg(target_os = "linux")]
mod unknown_hosts;
#[cfg(target_os = "linux")]
mod unsent;
#[cfg(unix)]
mod webdriver;
mod workspaces;
