//! SetCallback: messages that are delivered after a delay, once or repeatedly.
//!
//! There are eight slots. Each slot has a record and a timer with the same number. The host watches the
//! timers and calls [`fire`] when a timer is due. This crate decides everything else.

#[cfg(target_arch = "wasm32")]
mod component;
pub mod memory;
mod render;
mod slots;

use scorpiox_tool_kit::{Args, Definition, Failure, Hints, Output, Store, args};

use slots::{Left, Slot};

/// Number of slots.
pub const SLOTS: u32 = 8;
/// Maximum length of a message, in characters.
const MAX_MESSAGE_CHARS: usize = 2048;
const MIN_DELAY_SECONDS: i64 = 1;
const MAX_DELAY_SECONDS: i64 = 3600;
const DEFAULT_REPEATS: i64 = 20;
const MAX_REPEATS: i64 = 1_000_000;
/// Repeat count that means indefinitely.
const FOR_EVER: i64 = -1;
/// Maximum number of waiting messages that `list` shows.
const SHOWN_WAITING: u32 = 20;

/// The `timer` interface (see `wit/timer.wit`).
pub trait Timers {
    /// Arms timer `id` for `due`, in milliseconds since 1970.
    fn arm(&mut self, id: u32, due: u64) -> Result<(), Failure>;
    /// Disarms timer `id`.
    fn disarm(&mut self, id: u32) -> Result<(), Failure>;
    /// Returns messages that are not attached to a result yet.
    fn undelivered(&mut self, limit: u32) -> Result<Vec<Waiting>, Failure>;
}

/// A message that fired but is not delivered to the client yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The slot that fired.
    pub timer: u32,
    /// Time of firing, in milliseconds since 1970.
    pub fired_at: u64,
    /// Text for the client.
    pub text: String,
}

/// Returns the tool definition.
pub fn definition() -> Definition {
    Definition {
        name: "SetCallback",
        title: "Set callback",
        description: "Manage scheduled callback messages with repeats".to_owned(),
        input_schema: include_str!("input-schema.json"),
        output_schema: Some(include_str!("output-schema.json")),
        hints: Hints { read_only: false, destructive: false, idempotent: false, open_world: false },
    }
}

/// Handles a call at the time `now` (milliseconds since 1970).
pub fn call<H: Store + Timers>(host: &mut H, now: u64, arguments: &str) -> Result<Output, Failure> {
    let args = Args::parse(arguments)?;
    let action = args.trimmed("action")?.unwrap_or_default();
    match action.as_str() {
        "set" => set(host, now, &args),
        "list" => list(host, now),
        "cancel" => cancel(host, &args),
        "" => Err(Failure::InvalidInput("action is missing; use set, list or cancel.".to_owned())),
        other => Err(Failure::InvalidInput(format!(
            "action {:?} is unknown; use set, list or cancel.",
            args::shown(other)
        ))),
    }
}

fn set<H: Store + Timers>(host: &mut H, now: u64, args: &Args<'_>) -> Result<Output, Failure> {
    let slot = Slot { message: message(args)?, delay_seconds: delay(args)?, left: repeats(args)?, due: 0 };
    let slot = Slot { due: now + slot.delay_millis(), ..slot };
    let taken = slots::all(host)?;
    let id = match slot_argument(args)? {
        Some(id) => id,
        None => (0..SLOTS)
            .find(|id| !taken.iter().any(|(used, _)| used == id))
            .ok_or_else(|| Failure::Failed(format!("Error: all callback slots full (max {SLOTS})")))?,
    };
    let replaced = taken.iter().any(|(used, _)| *used == id);
    slots::save(host, id, &slot)?;
    host.arm(id, slot.due)?;
    let is_default = args.integer("repeat_count", FOR_EVER, MAX_REPEATS)?.is_none();
    let text = render::scheduled(id, &slot, replaced, is_default);
    output(host, text)
}

fn message(args: &Args<'_>) -> Result<String, Failure> {
    let message = args.trimmed("message")?.ok_or_else(|| {
        Failure::InvalidInput("message is missing; set needs the text that comes back.".to_owned())
    })?;
    let length = message.chars().count();
    if length > MAX_MESSAGE_CHARS {
        return Err(Failure::InvalidInput(format!(
            "message has {length} characters; the limit is {MAX_MESSAGE_CHARS}. Shorten it."
        )));
    }
    Ok(message)
}

fn delay(args: &Args<'_>) -> Result<u32, Failure> {
    let delay = args.integer("delay_seconds", MIN_DELAY_SECONDS, MAX_DELAY_SECONDS)?.ok_or_else(|| {
        Failure::InvalidInput(format!(
            "delay_seconds is missing; set needs {MIN_DELAY_SECONDS} to {MAX_DELAY_SECONDS} seconds."
        ))
    })?;
    Ok(u32::try_from(delay).unwrap_or(u32::MAX))
}

fn repeats(args: &Args<'_>) -> Result<Left, Failure> {
    match args.integer("repeat_count", FOR_EVER, MAX_REPEATS)?.unwrap_or(DEFAULT_REPEATS) {
        FOR_EVER => Ok(Left::ForEver),
        0 => Err(Failure::InvalidInput(
            "repeat_count must be at least 1, or -1 to repeat for ever, but was 0.".to_owned(),
        )),
        count => Ok(Left::Times(u32::try_from(count).unwrap_or(u32::MAX))),
    }
}

fn slot_argument(args: &Args<'_>) -> Result<Option<u32>, Failure> {
    let id = args.integer("callback_id", 0, i64::from(SLOTS) - 1)?;
    Ok(id.and_then(|id| u32::try_from(id).ok()))
}

fn list<H: Store + Timers>(host: &mut H, now: u64) -> Result<Output, Failure> {
    let slots = slots::all(host)?;
    let waiting = host.undelivered(SHOWN_WAITING)?;
    Ok(Output::with_data(render::list(&slots, &waiting, now), &render::data(&slots, &waiting)))
}

fn cancel<H: Store + Timers>(host: &mut H, args: &Args<'_>) -> Result<Output, Failure> {
    let active = slots::all(host)?;
    let text = if let Some(id) = slot_argument(args)? {
        let Some((_, slot)) = active.iter().find(|(used, _)| *used == id) else {
            return Err(Failure::NotFound(format!(
                "No callback is active in slot {id}; action \"list\" shows the active ones."
            )));
        };
        drop_slot(host, id)?;
        render::cancelled(id, slot)
    } else {
        for (id, _) in &active {
            drop_slot(host, *id)?;
        }
        render::cancelled_all(active.len())
    };
    output(host, text)
}

fn drop_slot<H: Store + Timers>(host: &mut H, id: u32) -> Result<(), Failure> {
    slots::delete(host, id)?;
    host.disarm(id)
}

fn output<H: Store + Timers>(host: &mut H, text: String) -> Result<Output, Failure> {
    let slots = slots::all(host)?;
    let waiting = host.undelivered(SHOWN_WAITING)?;
    Ok(Output::with_data(text, &render::data(&slots, &waiting)))
}

/// Fires timer `id`, which was due at `due`, at the time `now`. Returns the message for the client, if any.
/// Rearms the timer while fires are left, relative to `now`: missed fires are merged into this one.
pub fn fire<H: Store + Timers>(host: &mut H, id: u32, due: u64, now: u64) -> Result<Option<String>, Failure> {
    let Some(mut slot) = slots::load(host, id)? else { return Ok(None) };
    let missed = now.saturating_sub(due) / slot.delay_millis();
    slot.left = slot.left.after_a_fire();
    slot.due = now + slot.delay_millis();
    let text = render::fired(id, &slot, missed, now);
    if slot.left == Left::Times(0) {
        slots::delete(host, id)?;
    } else {
        slots::save(host, id, &slot)?;
        host.arm(id, slot.due)?;
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests;
