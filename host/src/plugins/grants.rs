//! What an approved plugin is linked with.

use std::time::Duration;

use scorpiox_plugin::{Asks, Limits as Asked};

use crate::capabilities::Capability;
use crate::runtime::Limits;

const MIB: usize = 1024 * 1024;

/// What every plugin gets: neither reaches anything but the operator's log and the client's screen.
const FREE: [Capability; 2] = [Capability::Log, Capability::Progress];

/// Something that a plugin asks for, and that this program cannot hold it to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("plugin.toml asks for capabilities.{0}, which this version cannot give to plugins")]
pub struct Ungrantable(pub &'static str);

/// The capabilities of a plugin that was approved for these.
pub fn grants(asks: &Asks) -> Result<Vec<Capability>, Ungrantable> {
    let mut grants = FREE.to_vec();
    for (name, _, _) in asks.lines() {
        grants.push(match name {
            "store" => Capability::Store,
            "clock" => Capability::Clock,
            other => return Err(Ungrantable(other)),
        });
    }
    Ok(grants)
}

/// What a call of it may use.
pub fn limits(asked: &Asked) -> Limits {
    Limits {
        cpu: Duration::from_secs(asked.cpu_seconds.into()),
        memory_bytes: asked.memory_mib as usize * MIB,
        output_bytes: asked.output_kib as usize * 1024,
        store_bytes: u64::from(asked.store_mib) * MIB as u64,
    }
}
