//! What the workspace tells a session, and the session its client.

use scorpiox_rpc::reply;
use scorpiox_store::Message;
use serde_json::json;

use super::Session;
use crate::list_changed::TOOLS_LIST_CHANGED;
use crate::workspace::Connected;
use scorpiox_mcp::LogLevel;

impl Connected for Session {
    fn end_overdue(&self) {
        self.inflight.end_overdue();
    }

    fn is_idle(&self) -> bool {
        self.transport().is_none_or(|transport| transport.is_idle())
    }

    fn tell_callback(&self, message: &Message) {
        if !self.takes_notifications() {
            return;
        }
        let (facts, notices) = (self.facts(), &self.notices);
        let id = message.timer;
        if facts.channel || facts.traits.has_channel {
            let params = json!({ "content": message.text, "meta": { "callback_id": id.to_string() } });
            notices.send(&reply::notification("notifications/claude/channel", &params));
        }
        if facts.log_level.is_none_or(|level| level <= LogLevel::Info) {
            let data = json!({ "callback_id": id, "fired_at": message.fired_at, "message": message.text });
            let params = json!({ "level": "info", "logger": "callback", "data": data });
            notices.send(&reply::notification("notifications/message", &params));
        }
    }

    /// Who never listed tools knows none that could change; who subscribed knows them from elsewhere.
    fn needs_tool_news(&self) -> bool {
        self.takes_notifications() && self.list_changed.knows_a_list()
            || self.subscriptions.want_tools_list_changed()
    }

    fn saw_tools(&self, seen: u64) {
        let wanted = self.takes_notifications() || self.subscriptions.want_tools_list_changed();
        if !self.list_changed.saw(seen, wanted) {
            return;
        }
        // Nothing is held: writing can take as long as the client does not read.
        if self.takes_notifications() {
            self.notices.send(&reply::notification(TOOLS_LIST_CHANGED, &json!({})));
        }
        self.subscriptions.tell_tools_list_changed();
    }
}
