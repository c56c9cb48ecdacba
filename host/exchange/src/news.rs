//! Notifications that many clients receive. Each line is serialized once, on first use.

use std::cell::OnceCell;

use bytes::Bytes;
use scorpiox_mcp::jsonrpc::reply;
use serde_json::json;

/// Notification that a resource has changed.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";

/// A callback message.
pub struct CallbackNews<'a> {
    timer: u32,
    fired_at: u64,
    text: &'a str,
    for_channel: OnceCell<Bytes>,
    for_log: OnceCell<Bytes>,
}

impl<'a> CallbackNews<'a> {
    /// Creates the message of a timer that fired at `fired_at`, in milliseconds since 1970.
    #[must_use]
    pub fn new(timer: u32, fired_at: u64, text: &'a str) -> Self {
        Self { timer, fired_at, text, for_channel: OnceCell::new(), for_log: OnceCell::new() }
    }

    /// Returns the notification for clients that show channel messages.
    pub fn for_channel(&self) -> &Bytes {
        self.for_channel.get_or_init(|| {
            let params = json!({ "content": self.text, "meta": { "callback_id": self.timer.to_string() } });
            reply::notification("notifications/claude/channel", &params).into()
        })
    }

    /// Returns the notification for a client's log.
    pub fn for_log(&self) -> &Bytes {
        self.for_log.get_or_init(|| {
            let data = json!({ "callback_id": self.timer, "fired_at": self.fired_at, "message": self.text });
            let params = json!({ "level": "info", "logger": "callback", "data": data });
            reply::notification("notifications/message", &params).into()
        })
    }
}

/// A changed resource.
pub struct ResourceNews<'a> {
    /// URI of the resource.
    pub uri: &'a str,
    line: OnceCell<Bytes>,
}

impl<'a> ResourceNews<'a> {
    /// Creates the change of a resource.
    #[must_use]
    pub fn new(uri: &'a str) -> Self {
        Self { uri, line: OnceCell::new() }
    }

    /// Returns the notification for subscribers.
    pub fn line(&self) -> &Bytes {
        self.line.get_or_init(|| reply::notification(RESOURCE_UPDATED, &json!({ "uri": self.uri })).into())
    }
}
