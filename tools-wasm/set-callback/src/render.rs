//! Texts and data of results.

use std::fmt::Write;

use scorpiox_tool_kit::time;
use serde::Serialize;

use crate::slots::{Left, Slot};
use crate::{SLOTS, Waiting};

/// Length of a message in lists, in characters.
const SHOWN_CHARS: usize = 40;

/// Active callbacks as data.
#[derive(Serialize)]
pub(crate) struct Data<'a> {
    callbacks: Vec<CallbackData<'a>>,
    waiting: Vec<WaitingData<'a>>,
}

#[derive(Serialize)]
struct CallbackData<'a> {
    callback_id: u32,
    message: &'a str,
    delay_seconds: u32,
    fires_at: String,
    /// Remaining fires; -1 means indefinitely.
    left: i64,
}

#[derive(Serialize)]
struct WaitingData<'a> {
    callback_id: u32,
    fired_at: String,
    message: &'a str,
}

pub(crate) fn data<'a>(slots: &'a [(u32, Slot)], waiting: &'a [Waiting]) -> Data<'a> {
    let callback = |(id, slot): &'a (u32, Slot)| CallbackData {
        callback_id: *id,
        message: &slot.message,
        delay_seconds: slot.delay_seconds,
        fires_at: time::rfc3339(slot.due),
        left: match slot.left {
            Left::Times(times) => i64::from(times),
            Left::ForEver => -1,
        },
    };
    let waiting_data = |waiting: &'a Waiting| WaitingData {
        callback_id: waiting.timer,
        fired_at: time::rfc3339(waiting.fired_at),
        message: &waiting.text,
    };
    Data {
        callbacks: slots.iter().map(callback).collect(),
        waiting: waiting.iter().map(waiting_data).collect(),
    }
}

/// Formats the result of scheduling. `is_default` is `true` if the caller did not pass a number of repeats.
pub(crate) fn scheduled(id: u32, slot: &Slot, replaced: bool, is_default: bool) -> String {
    let repeats = match slot.left {
        Left::Times(times) => format!("repeats {times} times"),
        Left::ForEver => "repeats infinitely".to_owned(),
    };
    let note = if replaced { " It replaces the callback that was there." } else { "" };
    let default = if is_default { " With repeat_count 1 it would fire once." } else { "" };
    format!(
        "Callback scheduled: fires every {}s, {repeats}.\nIt has slot {id}.{note}{default} Its message comes with the next tool result after it fired.",
        slot.delay_seconds
    )
}

pub(crate) fn list(slots: &[(u32, Slot)], waiting: &[Waiting], now: u64) -> String {
    let mut text = if slots.is_empty() {
        "No active callbacks.".to_owned()
    } else {
        format!("Active callbacks ({}/{SLOTS}):", slots.len())
    };
    for (id, slot) in slots {
        let seconds = slot.due.saturating_sub(now).div_ceil(1000);
        let left = match slot.left {
            Left::Times(times) => format!("{times} left"),
            Left::ForEver => "repeats infinitely".to_owned(),
        };
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        let message = short(&slot.message);
        let _ = write!(text, "\n  [{id}] \"{message}\" - fires in {minutes}m{seconds:02}s ({left})");
    }
    if !waiting.is_empty() {
        let _ = write!(text, "\nFired, and coming with this or the next tool result ({}):", waiting.len());
        for message in waiting {
            let (id, at) = (message.timer, time::rfc3339(message.fired_at));
            let _ = write!(text, "\n  [{id}] at {at}: {}", short(&message.text));
        }
    }
    text
}

pub(crate) fn cancelled(id: u32, slot: &Slot) -> String {
    format!("Cancelled callback slot {id}: \"{}\"", short(&slot.message))
}

pub(crate) fn cancelled_all(count: usize) -> String {
    match count {
        0 => "No active callbacks.".to_owned(),
        1 => "Cancelled 1 callback.".to_owned(),
        _ => format!("Cancelled {count} callbacks."),
    }
}

pub(crate) fn fired(id: u32, slot: &Slot, missed: u64, now: u64) -> String {
    let left = match slot.left {
        Left::Times(0) => "last time".to_owned(),
        Left::Times(times) => format!("{times} left"),
        Left::ForEver => "repeats infinitely".to_owned(),
    };
    let late = match missed {
        0 => String::new(),
        1 => ", 1 earlier fire was missed".to_owned(),
        _ => format!(", {missed} earlier fires were missed"),
    };
    // Another session may have set the message, so none of its lines may look like the server's text.
    let message = slot.message.replace('\n', "\n>");
    format!("[Callback {id} fired at {}, {left}{late}] {message}", time::rfc3339(now))
}

/// Returns the beginning of a message on one line.
fn short(message: &str) -> String {
    let line = message.replace(['\n', '\r', '\t'], " ");
    let mut short: String = line.chars().take(SHOWN_CHARS).collect();
    if line.chars().nth(SHOWN_CHARS).is_some() {
        short.push('…');
    }
    short
}
