//! Cache of recently rendered pages, since a long page is read in parts by several calls.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::Page;

/// Lifetime of a cached page; the same as for fetched pages.
const KEPT_TIME: Duration = Duration::from_mins(15);
/// Maximum total size of all pages in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Pages by URL and wait time, newest last.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<Shown>);

#[derive(Debug)]
struct Shown {
    url: String,
    wait: Duration,
    page: Page,
    since: Instant,
}

impl Recent {
    pub(super) fn get(&self, url: &str, wait: Duration, now: Instant) -> Option<Page> {
        let found = self.0.iter().rev().find(|shown| shown.url == url && shown.wait == wait)?;
        (now.duration_since(found.since) <= KEPT_TIME).then(|| found.page.clone())
    }

    pub(super) fn put(&mut self, url: &str, wait: Duration, page: Page, now: Instant) {
        self.0.retain(|shown| now.duration_since(shown.since) <= KEPT_TIME && shown.url != url);
        self.0.push_back(Shown { url: url.to_owned(), wait, page, since: now });
        while self.0.iter().map(|shown| shown.page.html.len()).sum::<usize>() > MAX_BYTES {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: usize) -> Page {
        Page { url: String::new(), status: 200, html: "x".repeat(bytes), notes: Vec::new() }
    }

    #[test]
    fn pages_are_kept_for_a_while_and_within_bounds() {
        let (mut recent, now, wait) = (Recent::default(), Instant::now(), Duration::from_secs(1));
        recent.put("a", wait, page(1), now);
        assert!(recent.get("a", wait, now).is_some());
        assert!(recent.get("a", Duration::ZERO, now).is_none(), "waited for otherwise");
        assert!(recent.get("a", wait, now + KEPT_TIME + wait).is_none());
        for url in ["b", "c", "d", "e"] {
            recent.put(url, wait, page(10 * 1024 * 1024), now);
        }
        let kept: Vec<_> = ["a", "b", "c", "d", "e"].map(|url| recent.get(url, wait, now).is_some()).into();
        assert_eq!(kept, [false, false, true, true, true]);
    }
}
