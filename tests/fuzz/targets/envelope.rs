//! Fuzzes JSON-RPC lines: each is a message or is refused without a crash, and echoed values are single-line
//! JSON.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_mcp::jsonrpc::{Incoming, Message, reply};

fuzz_target!(|line: &[u8]| {
    let answer = match Incoming::parse(line) {
        Ok(Incoming::Single(Message::Request { id, method, params })) => {
            if let Some(params) = params {
                let _ = (params.flaw(), params.get("name"));
            }
            reply::result(&id, &method)
        }
        Ok(Incoming::Batch(batch)) => {
            for member in batch.0 {
                let _ = Message::parse(member.get());
            }
            return;
        }
        Ok(Incoming::Single(_)) => return,
        Err(refusal) => reply::error(refusal.id.as_ref(), refusal.code, &refusal.message, None::<&()>),
    };
    assert_eq!(answer.iter().filter(|byte| **byte == b'\n').count(), 1);
    serde_json::from_slice::<serde_json::Value>(&answer).expect("an answer is JSON");
});
