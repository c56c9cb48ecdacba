//! Forwards events of the workspace to a session's client.

use super::Session;
use crate::list_changed::{LISTS, Offered, PerList, line_of};
use crate::workspace::Connected;
use scorpiox_capabilities::notices::List;
use scorpiox_exchange::news::{CallbackNews, ResourceNews};
use scorpiox_mcp::LogLevel;

impl Connected for Session {
    fn end_overdue(&self) {
        self.inflight.end_overdue();
    }

    fn is_idle(&self) -> bool {
        self.transport().is_none_or(|transport| transport.is_idle())
    }

    fn tell_callback(&self, news: &CallbackNews<'_>) {
        if !self.takes_notifications() {
            return;
        }
        let (facts, notices) = (self.facts(), &self.notices);
        if facts.channel || facts.traits.has_channel {
            notices.send_shared(news.for_channel());
        }
        if facts.log_level.is_none_or(|level| level <= LogLevel::Info) {
            notices.send_shared(news.for_log());
        }
    }

    /// A client that never listed anything has no list to be out of date, unless it has subscribed.
    fn needs_news(&self) -> bool {
        self.takes_notifications() && self.list_changed.knows_a_list() || self.subscriptions.want_any()
    }

    fn saw_lists(&self, seen: PerList<u64>, offered: &Offered) {
        let seen = self.list_changed.own(seen, || self.access(&self.workspace()).digests(offered));
        let takes_all = self.takes_notifications();
        let wanted = LISTS.map(|list| takes_all || self.subscriptions.want(list));
        let news = self.list_changed.saw(seen, wanted);
        for (list, _) in LISTS.into_iter().zip(news).filter(|(_, is_news)| *is_news) {
            // No lock is held: a write blocks until the client reads.
            if takes_all {
                self.notices.send_shared(line_of(list));
            }
            self.subscriptions.tell_list_changed(list);
        }
    }

    fn tell_list_changed(&self, list: List) {
        if self.takes_notifications() && self.list_changed.knows(list) {
            self.notices.send_shared(line_of(list));
        }
        self.subscriptions.tell_list_changed(list);
    }

    fn tell_resource_updated(&self, news: &ResourceNews<'_>) {
        if self.takes_notifications() && self.watched.contains(news.uri) {
            self.notices.send_shared(news.line());
        }
        self.subscriptions.tell_resource_updated(news.uri);
    }
}
