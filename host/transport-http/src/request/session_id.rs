//! Session IDs. They contain the handshake, so that a session outlives the process.

use std::time::Duration;

use scorpiox_exchange::seal::Seal;
use scorpiox_mcp::Params;
use scorpiox_mcp::params::Text;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Maximum length of the client name and version in an ID, in characters.
const MAX_NAME: usize = 48;
/// Size of a session number in bytes.
const NUMBER_BYTES: usize = 16;

/// Lifetime of an ID, independent of its use. It bounds how long ended sessions are remembered.
pub const LIFETIME: Duration = Duration::from_hours(30 * 24);

/// Unique number of a session.
pub type Number = [u8; NUMBER_BYTES];

/// Capabilities of a client.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is one capability")]
pub struct Can {
    /// `true` if the client supports elicitation.
    pub elicits: bool,
    /// `true` if the client supports sampling.
    pub samples: bool,
    /// `true` if the client shows a channel.
    pub channel: bool,
    /// `true` if the client lists its roots.
    pub roots: bool,
}

/// Content of a client's handshake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    #[serde(rename = "r")]
    revision: String,
    #[serde(rename = "n")]
    name: String,
    #[serde(rename = "v")]
    version: String,
    /// Time of the handshake, in seconds since 1970.
    #[serde(rename = "t")]
    begun: u64,
    /// Support for elicitation, sampling, and a channel.
    #[serde(rename = "c")]
    can: (bool, bool, bool),
    /// `true` if the client lists its roots.
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    has_roots: bool,
}

impl Handshake {
    /// Creates the handshake from the parameters of `initialize`, with the negotiated revision and
    /// capabilities. `now` is in seconds since 1970.
    pub fn of(params: &Params<'_>, revision: &str, can: &Can, now: u64) -> Self {
        let client = params.object("clientInfo").ok().flatten().unwrap_or_default();
        let text = |name| {
            let text = client.optional::<Text<'_>>(name, "").ok().flatten();
            text.map(|text| text.0.chars().take(MAX_NAME).collect()).unwrap_or_default()
        };
        Self {
            revision: revision.to_owned(),
            name: text("name"),
            version: text("version"),
            begun: now,
            can: (can.elicits, can.samples, can.channel),
            has_roots: can.roots,
        }
    }

    /// Returns an `initialize` message with the same content.
    pub fn message(&self) -> String {
        let (elicits, samples, channel) = self.can;
        let mut capabilities = json!({});
        let mut declare = |name: &str, value: Value, can| {
            if can {
                capabilities[name] = value;
            }
        };
        declare("elicitation", json!({}), elicits);
        declare("sampling", json!({}), samples);
        declare("roots", json!({}), self.has_roots);
        declare("experimental", json!({"claude/channel": {}}), channel);
        let client = json!({ "name": self.name, "version": self.version });
        let params =
            json!({ "protocolVersion": self.revision, "capabilities": capabilities, "clientInfo": client });
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()
    }

    /// Returns the ID of a session with this handshake.
    pub fn id(&self, number: &Number, seal: &Seal, bound_to: &[String; 2]) -> Option<String> {
        let mut content = number.to_vec();
        serde_json::to_writer(&mut content, self).ok()?;
        seal.seal(&content, &bound_to.each_ref().map(String::as_str))
    }

    /// Decrypts an ID. Returns `None` if it is not from this server, has expired, or is bound to another
    /// principal or workspace.
    pub fn opened(id: &str, seal: &Seal, bound_to: &[String; 2], now: u64) -> Option<(Number, Self)> {
        let content = seal.open(id, &bound_to.each_ref().map(String::as_str))?;
        let (number, handshake) = content.split_first_chunk::<NUMBER_BYTES>()?;
        let handshake: Self = serde_json::from_slice(handshake).ok()?;
        (now < handshake.until()).then_some((*number, handshake))
    }

    /// Returns the expiry of the ID, in seconds since 1970.
    pub fn until(&self) -> u64 {
        self.begun.saturating_add(LIFETIME.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    #[test]
    fn an_id_says_again_what_the_client_said() {
        let seal = Seal::of(&[1; 32], "sessions");
        let handshake = Handshake {
            revision: "2025-11-25".to_owned(),
            name: "é".repeat(MAX_NAME),
            version: "\"".repeat(MAX_NAME),
            begun: NOW,
            can: (true, false, true),
            has_roots: true,
        };
        let own = ["web", "ann"].map(str::to_owned);
        let id = handshake.id(&[9; NUMBER_BYTES], &seal, &own).expect("an id");
        assert!(id.len() < 512 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{}", id.len());
        assert_eq!(Handshake::opened(&id, &seal, &own, NOW), Some(([9; NUMBER_BYTES], handshake.clone())));
        for other in [["web", "bob"], ["docs", "ann"], ["ann", "web"], ["", "webann"]] {
            assert_eq!(Handshake::opened(&id, &seal, &other.map(str::to_owned), NOW), None, "{other:?}");
        }
        assert_eq!(Handshake::opened(&id, &Seal::of(&[2; 32], "sessions"), &own, NOW), None);
        let old = Handshake { begun: NOW - LIFETIME.as_secs(), ..handshake.clone() };
        let old = old.id(&[9; NUMBER_BYTES], &seal, &own).expect("an id");
        assert_eq!(Handshake::opened(&old, &seal, &own, NOW), None, "too old");
        let message: Value = serde_json::from_str(&handshake.message()).expect("JSON");
        assert_eq!(
            message["params"]["capabilities"],
            json!({"elicitation": {}, "roots": {}, "experimental": {"claude/channel": {}}})
        );
    }
}
