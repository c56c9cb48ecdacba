//! Fuzzes IDs of sessions and of stream events: unknown IDs are rejected, and issued IDs decode to the same
//! value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_exchange::seal::Seal;
use scorpiox_mcp::Params;
use scorpiox_mcp::jsonrpc::{Incoming, Message};
use scorpiox_transport_http::request::event_id::Source;
use scorpiox_transport_http::request::session_id::{Can, Handshake, Number};

const NOW: u64 = 1_800_000_000;

fuzz_target!(|data: &[u8]| {
    let seal = Seal::of(&[7; 32], "sessions");
    let own = ["web".to_owned(), "ann".to_owned()];
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(Handshake::opened(text, &seal, &own, NOW).is_none(), "nobody can guess a seal");
        if let Some((source, event)) = Source::parse(text) {
            let id = format!("{}{event}", source.prefix());
            assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
            assert_eq!(Source::parse(&id), Some((source, event)));
        }
    }
    // Handshake parameters of a client, in any form.
    let Ok(Incoming::Single(Message::Request { params, .. })) = Incoming::parse(data) else { return };
    let Ok(params) = Params::new(params) else { return };
    let can = Can { elicits: data.len() % 2 == 0, samples: true, channel: false, roots: true };
    let handshake = Handshake::of(&params, "2025-11-25", &can, NOW);
    let number = Number::default();
    let Some(id) = handshake.id(&number, &seal, &own) else { return };
    assert_eq!(Handshake::opened(&id, &seal, &own, NOW), Some((number, handshake.clone())));
    assert!(Incoming::parse(handshake.message().as_bytes()).is_ok());
});
