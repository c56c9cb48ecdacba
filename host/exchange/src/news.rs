//! What many clients are told alike. Each line is made once, when the first of them takes it.

use std::cell::OnceCell;

use bytes::Bytes;
use scorpiox_rpc::reply;
use serde_json::json;

/// The notification that a resource has changed.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// The message of a callback.
pub struct CallbackNews<'a> {
    timer: u32,
    fired_at: u64,
    text: &'a str,
    for_channel: OnceCell<Bytes>,
    for_log: OnceCell<Bytes>,
}

impl<'a> CallbackNews<'a> {
    /// The timer that fired, when it did in milliseconds since 1970, and what it says.
    #[must_use]
    pub fn new(timer: u32, fired_at: u64, text: &'a str) -> Self {
        Self { timer, fired_at, text, for_channel: OnceCell::new(), for_log: OnceCell::new() }
    }

    /// For a client that shows what comes over a channel.
    pub fn for_channel(&self) -> &Bytes {
        self.for_channel.get_or_init(|| {
            let params = json!({ "content": self.text, "meta": { "callback_id": self.timer.to_string() } });
            reply::notification("notifications/claude/channel", &params).into()
        })
    }

    /// For a client's log.
    pub fn for_log(&self) -> &Bytes {
        self.for_log.get_or_init(|| {
            let data = json!({ "callback_id": self.timer, "fired_at": self.fired_at, "message": self.text });
            let params = json!({ "level": "info", "logger": "callback", "data": data });
            reply::notification("notifications/message", &params).into()
        })
    }
}

/// A resource that has changed.
pub struct ResourceNews<'a> {
    /// Its address.
    pub uri: &'a str,
    line: OnceCell<Bytes>,
}

impl<'a> ResourceNews<'a> {
    /// The change of a resource.
    #[must_use]
    pub fn new(uri: &'a str) -> Self {
        Self { uri, line: OnceCell::new() }
    }

    /// For those who subscribed to it.
    pub fn line(&self) -> &Bytes {
        self.line.get_or_init(|| reply::notification(RESOURCE_UPDATED, &json!({ "uri": self.uri })).into())
    }
}
