//! Limits on streams that stay open: subscriptions, notifications of sessions, and resumed answers.

use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_executor::shares::Shares;

use super::PART;

/// Divisor for the share of the connections that streams can use. The rest is for requests.
const SHARE: usize = 2;

/// Open streams of each principal.
pub struct Streams {
    open: Mutex<Shares<Arc<str>>>,
    /// Maximum number of streams of one principal.
    most: usize,
    all: usize,
}

/// An open stream, which counts until it is dropped.
pub struct OpenStream {
    all: Arc<Streams>,
    principal: Arc<str>,
}

impl Streams {
    /// Creates the limits of a server with so many connections, for one principal or for several (`are_many`).
    pub fn new(connections: usize, are_many: bool) -> Arc<Self> {
        let all = (connections / SHARE).max(1);
        let most = if are_many { (all / PART).max(1) } else { all };
        Arc::new(Self { open: Mutex::new(Shares::new(all, most)), most, all })
    }

    /// Counts a stream; returns `None` if its principal, or all together, have too many.
    pub fn open(self: &Arc<Self>, principal: &Arc<str>) -> Option<OpenStream> {
        let is_open = self.open.lock().take(Arc::clone(principal));
        is_open.then(|| OpenStream { all: Arc::clone(self), principal: Arc::clone(principal) })
    }

    /// Returns the reason for refusing a stream.
    pub fn why_full(&self) -> String {
        let Self { most, all, .. } = self;
        format!(
            "too many streams are open: a principal can have {most}, and all together {all}; close some of them"
        )
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.all.open.lock().give_back(&self.principal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_leave_connections_to_requests_and_to_other_principals() {
        let streams = Streams::new(8, true);
        let open = |who: &str| streams.open(&who.into());
        let of_one: Vec<_> = (0..2).map(|_| open("eve").expect("free")).collect();
        assert!(open("eve").is_none());
        let of_others = [open("ann").expect("free"), open("bob").expect("free")];
        assert!(open("cid").is_none(), "half of all");
        drop(of_one);
        assert!(open("cid").is_some());
        drop(of_others);
        let alone = Streams::new(8, false);
        let all: Vec<_> = (0..4).filter_map(|_| alone.open(&"ann".into())).collect();
        assert!(all.len() == 4 && alone.open(&"ann".into()).is_none());
    }
}
