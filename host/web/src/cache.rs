//! Cache of recent responses.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::request::Response;

/// Lifetime of a cached response.
const KEPT_TIME: Duration = Duration::from_mins(15);
/// Maximum total size of all responses in bytes.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Cached responses by URL and request headers.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    kept: HashMap<String, Kept>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    response: Arc<Response>,
    since: Instant,
}

impl Cache {
    pub(crate) fn get(&mut self, key: &str, now: Instant) -> Option<Arc<Response>> {
        let found = self.kept.get(key)?;
        if now.duration_since(found.since) > KEPT_TIME {
            self.remove(&key.to_owned());
            return None;
        }
        Some(Arc::clone(&found.response))
    }

    pub(crate) fn put(&mut self, key: String, response: Arc<Response>, now: Instant) {
        let size = key.len() + response.size();
        if size > MAX_BYTES / 2 {
            return;
        }
        self.remove(&key);
        while self.bytes + size > MAX_BYTES {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.since);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            self.remove(&oldest);
        }
        self.bytes += size;
        self.kept.insert(key, Kept { response, since: now });
    }

    fn remove(&mut self, key: &String) {
        if let Some(gone) = self.kept.remove(key) {
            self.bytes -= key.len() + gone.response.size();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: usize) -> Arc<Response> {
        Arc::new(Response { url: String::new(), status: 200, headers: Vec::new(), body: vec![0; bytes] })
    }

    #[test]
    fn answers_get_old() {
        let (mut cache, now) = (Cache::default(), Instant::now());
        cache.put("a".into(), page(1), now);
        assert!(cache.get("a", now + KEPT_TIME).is_some());
        assert!(cache.get("a", now + KEPT_TIME + Duration::from_secs(1)).is_none());
        assert_eq!(cache.bytes, 0);
    }

    #[test]
    fn the_oldest_make_room() {
        let (mut cache, now) = (Cache::default(), Instant::now());
        for at in 0..5_u32 {
            cache.put(at.to_string(), page(8 * 1024 * 1024), now + Duration::from_secs(at.into()));
        }
        let kept: Vec<bool> = (0..5).map(|at| cache.get(&at.to_string(), now).is_some()).collect();
        assert_eq!(kept, [false, false, true, true, true]);
        cache.put("4".into(), page(1), now);
        assert!(cache.bytes < 17 * 1024 * 1024, "the old answer is gone: {}", cache.bytes);
        cache.put("large".into(), page(MAX_BYTES), now);
        assert!(cache.get("large", now).is_none());
    }
}
