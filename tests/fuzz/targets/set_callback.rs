//! Fuzzes sequences of calls and fires: each yields a result or an error, and the timers match the slots.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use scorpiox_tool_kit::{Failure, Order, Store};
use serde_json::json;
use set_callback::memory::MemoryHost;

#[derive(Arbitrary, Debug)]
enum Step<'a> {
    Raw(&'a str),
    Call {
        action: u8,
        message: Option<&'a str>,
        delay_seconds: Option<i16>,
        repeat_count: Option<i8>,
        callback_id: Option<i8>,
    },
    Fire {
        id: u8,
        late: u32,
    },
}

const ACTIONS: [&str; 3] = ["set", "list", "cancel"];

fuzz_target!(|steps: Vec<Step<'_>>| {
    let mut host = MemoryHost::default();
    let mut now = 1_795_214_432_000;
    for step in steps {
        let arguments = match step {
            Step::Raw(text) => text.to_owned(),
            Step::Call { action, message, delay_seconds, repeat_count, callback_id } => json!({
                "action": ACTIONS[usize::from(action) % ACTIONS.len()],
                "message": message, "delay_seconds": delay_seconds,
                "repeat_count": repeat_count, "callback_id": callback_id,
            })
            .to_string(),
            Step::Fire { id, late } => {
                let id = u32::from(id) % 8;
                if let Some(due) = host.armed.remove(&id) {
                    now = due.max(now) + u64::from(late);
                    set_callback::fire(&mut host, id, due, now).expect("fires").expect("a message");
                }
                continue;
            }
        };
        if let Err(Failure::Failed(text)) = set_callback::call(&mut host, now, &arguments) {
            assert!(text.starts_with("Error: all callback slots full"), "{text}");
        }
        let slots = host.store.scan("", None, 100, Order::Ascending).expect("scan").len();
        assert_eq!(slots, host.armed.len(), "each slot has a timer");
    }
});
