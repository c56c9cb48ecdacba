//! What the workspace tells a session, and the session its client.

use scorpiox_rpc::reply;
use scorpiox_store::Message;
use serde_json::json;

use super::Session;
use crate::list_changed::{LISTS, Offered, PerList, notification};
use crate::subscriptions::RESOURCE_UPDATED;
use crate::workspace::Connected;
use scorpiox_capabilities::notices::List;
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

    /// Who never listed anything knows nothing that could change; who subscribed knows it from elsewhere.
    fn needs_news(&self) -> bool {
        self.takes_notifications() && self.list_changed.knows_a_list() || self.subscriptions.want_any()
    }

    fn saw_lists(&self, seen: PerList<u64>, offered: &Offered) {
        let seen = self.list_changed.own(seen, || self.digests(offered));
        let takes_all = self.takes_notifications();
        let wanted = LISTS.map(|list| takes_all || self.subscriptions.want(list));
        let news = self.list_changed.saw(seen, wanted);
        for (list, _) in LISTS.into_iter().zip(news).filter(|(_, is_news)| *is_news) {
            // Nothing is held: writing can take as long as the client does not read.
            if takes_all {
                self.notices.send(&reply::notification(notification(list), &json!({})));
            }
            self.subscriptions.tell_list_changed(list);
        }
    }

    fn tell_list_changed(&self, list: List) {
        if self.takes_notifications() && self.list_changed.knows(list) {
            self.notices.send(&reply::notification(notification(list), &json!({})));
        }
        self.subscriptions.tell_list_changed(list);
    }

    fn tell_resource_updated(&self, uri: &str) {
        if self.takes_notifications() && self.watched.contains(uri) {
            self.notices.send(&reply::notification(RESOURCE_UPDATED, &json!({ "uri": uri })));
        }
        self.subscriptions.tell_resource_updated(uri);
    }
}
