//! Ids of sessions: they carry what a session begins with, so that it outlives the process.

use std::time::Duration;

use scorpiox_mcp::Params;
use scorpiox_mcp::params::Text;
use scorpiox_seal::Seal;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Longest name of a client that is carried along, in characters.
const MAX_NAME: usize = 48;
/// Bytes that tell sessions apart.
const NUMBER_BYTES: usize = 16;

/// How long an id is good, whatever its client does. What ended before is known by that.
pub const LIFETIME: Duration = Duration::from_hours(30 * 24);

/// What tells a session from all others.
pub type Number = [u8; NUMBER_BYTES];

/// What a client can do.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is one capability")]
pub struct Can {
    /// Shows forms.
    pub elicits: bool,
    /// Lets its model be asked.
    pub samples: bool,
    /// Shows a channel.
    pub channel: bool,
    /// Says which folders it works on.
    pub roots: bool,
}

/// What a client said when it shook hands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    #[serde(rename = "r")]
    revision: String,
    #[serde(rename = "n")]
    name: String,
    #[serde(rename = "v")]
    version: String,
    /// When it began, in seconds.
    #[serde(rename = "t")]
    begun: u64,
    /// Shows forms, lets its model be asked, shows a channel.
    #[serde(rename = "c")]
    can: (bool, bool, bool),
    /// Says which folders it works on.
    #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
    has_roots: bool,
}

impl Handshake {
    /// What the parameters of `initialize` said, as far as it was taken: the revision, and what the client can do. `now` is
    /// in seconds.
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

    /// The message that says the same again.
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

    /// The id of a session that began like this.
    pub fn id(&self, number: &Number, seal: &Seal, bound_to: &[String; 2]) -> Option<String> {
        let mut content = number.to_vec();
        serde_json::to_writer(&mut content, self).ok()?;
        seal.seal(&content, &bound_to.each_ref().map(String::as_str))
    }

    /// What an id says; none where this server did not give it, or too long ago, or to somebody else or for another
    /// workspace.
    pub fn opened(id: &str, seal: &Seal, bound_to: &[String; 2], now: u64) -> Option<(Number, Self)> {
        let content = seal.open(id, &bound_to.each_ref().map(String::as_str))?;
        let (number, handshake) = content.split_first_chunk::<NUMBER_BYTES>()?;
        let handshake: Self = serde_json::from_slice(handshake).ok()?;
        (now < handshake.until()).then_some((*number, handshake))
    }

    /// Until when an id is good, in seconds.
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
