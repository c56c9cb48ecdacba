//! Current keys of an issuer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::jwt::Keys;
use parking_lot::RwLock;
use scorpiox_executor::AsyncRuntime;
use scorpiox_fs::Stamp;
use scorpiox_policy::access::{Jwt, KeysFrom};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::issuer::address::{Address, read};

/// Time for which fetched keys are fresh.
const FRESH_TIME: Duration = Duration::from_mins(10);
/// Further time for which they remain valid while fetching fails.
const STALE_TIME: Duration = Duration::from_hours(1);
/// Time for which the keys of a file remain valid while it is unusable: it may be incomplete while it is written.
const FILE_STALE_TIME: Duration = Duration::from_secs(10);
/// Minimum time between two fetches, even if a token has an unknown key.
const PAUSE: Duration = Duration::from_mins(1);
/// Minimum time between two attempts to read an unusable file.
const FILE_PAUSE: Duration = Duration::from_secs(1);

/// Source of an issuer's keys, with the current ones.
pub struct Issuer {
    source: KeySource,
    handle: Handle,
    current: RwLock<Option<Current>>,
    /// Time of the last refresh attempt. The lock is held during a refresh.
    looking: Mutex<Option<Instant>>,
    /// Time since which refreshing has failed.
    failing: RwLock<Option<Instant>>,
    has_news: AtomicBool,
}

#[derive(Clone)]
struct Current {
    keys: Arc<Keys>,
    since: Instant,
    stamp: Option<Stamp>,
}

enum KeySource {
    File(PathBuf),
    Url(Address),
}

impl Issuer {
    /// Creates the issuer of a policy. A key file is read immediately.
    ///
    /// # Errors
    ///
    /// Fails if a file of keys or authorities is unusable.
    pub fn new(jwt: &Jwt, runtime: Arc<AsyncRuntime>) -> io::Result<Arc<Self>> {
        let handle = runtime.handle().map_err(io::Error::other)?.clone();
        let source = match &jwt.keys {
            KeysFrom::File(path) => KeySource::File(path.into()),
            KeysFrom::Url(url) => {
                KeySource::Url(Address::new(url, jwt.ca.as_deref(), runtime).map_err(io::Error::other)?)
            }
        };
        let issuer = Self {
            source,
            handle,
            current: RwLock::default(),
            looking: Mutex::default(),
            failing: RwLock::default(),
            has_news: AtomicBool::new(false),
        };
        if let KeySource::File(path) = &issuer.source {
            let (keys, stamp) = keys_in(path).map_err(io::Error::other)?;
            if keys.is_empty() {
                let why = format!("no key in {} signs with RS256, ES256 or EdDSA", path.display());
                return Err(io::Error::other(why));
            }
            issuer.take(keys, Some(stamp));
        }
        Ok(Arc::new(issuer))
    }

    /// Returns `true` if the keys have changed since the last call.
    pub fn has_news(&self) -> bool {
        self.has_news.swap(false, Ordering::AcqRel)
    }

    /// Returns `true` if these keys are in use.
    pub fn has(&self, keys: &Arc<Keys>) -> bool {
        self.current.read().as_ref().is_some_and(|current| Arc::ptr_eq(&current.keys, keys))
    }

    /// Returns `true` if the keys can be used immediately. Old keys are refreshed in the background.
    pub fn is_current(self: &Arc<Self>) -> bool {
        let current = self.current.read();
        let Some(current) = current.as_ref() else { return false };
        self.is_fresh(current) || self.looks_beside(current)
    }

    /// Returns the keys, refreshing them if they are old.
    ///
    /// # Errors
    ///
    /// Fails if there are no keys and none can be fetched.
    pub async fn keys(self: &Arc<Self>) -> Result<Arc<Keys>, String> {
        let current = self.current.read().clone();
        if let Some(current) = &current
            && (self.is_fresh(current) || self.looks_beside(current))
        {
            return Ok(Arc::clone(&current.keys));
        }
        let failed = self.look(current.as_ref().map(|current| current.since)).await.err();
        match (self.current.read().as_ref(), failed) {
            (Some(current), None) => Ok(Arc::clone(&current.keys)),
            (Some(current), Some(_)) if self.is_bearable(current) => Ok(Arc::clone(&current.keys)),
            (_, failed) => Err(failed.unwrap_or_else(|| "the keys of the issuer are not known".to_owned())),
        }
    }

    /// Refreshes the keys because a token has an unknown one. Returns `true` if that succeeded.
    pub async fn look_again(self: &Arc<Self>) -> bool {
        if matches!(self.source, KeySource::File(_)) {
            // The file has just been checked.
            return false;
        }
        let since = self.current.read().as_ref().map(|current| current.since);
        self.look(since).await.is_ok()
    }

    /// Returns `true` if old keys may be used during a background refresh, so that no request waits for a
    /// silent issuer.
    fn looks_beside(self: &Arc<Self>, current: &Current) -> bool {
        if matches!(self.source, KeySource::File(_)) {
            return false;
        }
        // After a long idle time, the request waits for the current keys.
        let is_failing = self.failing.read().is_some();
        if !(current.since.elapsed() < FRESH_TIME * 2 || is_failing && self.is_bearable(current)) {
            return false;
        }
        let is_free = self.looking.try_lock().is_ok_and(|looked| !was_just_now(*looked, PAUSE));
        if is_free {
            let (issuer, since) = (Arc::clone(self), current.since);
            self.handle.spawn(async move { drop(issuer.look(Some(since)).await) });
        }
        true
    }

    /// Returns `true` if keys that cannot be refreshed are not too old.
    fn is_bearable(&self, current: &Current) -> bool {
        match self.source {
            KeySource::File(_) => self.failing.read().is_none_or(|since| since.elapsed() < FILE_STALE_TIME),
            KeySource::Url(..) => current.since.elapsed() < FRESH_TIME + STALE_TIME,
        }
    }

    fn is_fresh(&self, current: &Current) -> bool {
        match &self.source {
            KeySource::File(path) => {
                path.metadata().is_ok_and(|about| Some(Stamp::of(&about)) == current.stamp)
            }
            KeySource::Url(..) => current.since.elapsed() < FRESH_TIME,
        }
    }

    /// Reads or fetches the keys, unless another caller has done so in the meantime or a moment ago.
    async fn look(self: &Arc<Self>, known: Option<Instant>) -> Result<(), String> {
        let mut looking = self.looking.lock().await;
        if self.current.read().as_ref().map(|current| current.since) != known {
            return Ok(());
        }
        let pause = match self.source {
            KeySource::File(_) => FILE_PAUSE,
            KeySource::Url(..) => PAUSE,
        };
        if was_just_now(*looking, pause) {
            return Err("the keys of the issuer were asked for a moment ago".to_owned());
        }
        *looking = Some(Instant::now());
        let issuer = Arc::clone(self);
        #[expect(clippy::disallowed_methods, reason = "the lock `looking` lets only one run at a time")]
        let found = self.handle.spawn_blocking(move || issuer.find()).await;
        let found = found.map_err(|error| format!("the keys of the issuer cannot be read: {error}"))?;
        match found {
            Ok((keys, stamp)) => {
                if matches!(self.source, KeySource::File(_)) {
                    // The next change is noticed immediately.
                    *looking = None;
                }
                self.take(keys, stamp);
                Ok(())
            }
            Err(error) => {
                tracing::warn!("{error}");
                self.failing.write().get_or_insert_with(Instant::now);
                Err(error)
            }
        }
    }

    fn take(&self, keys: Keys, stamp: Option<Stamp>) {
        *self.failing.write() = None;
        let mut current = self.current.write();
        let is_new = current.as_ref().is_none_or(|current| *current.keys != keys);
        self.has_news.fetch_or(is_new, Ordering::AcqRel);
        *current = Some(Current { keys: Arc::new(keys), since: Instant::now(), stamp });
    }

    fn find(&self) -> Result<(Keys, Option<Stamp>), String> {
        match &self.source {
            KeySource::File(path) => keys_in(path).map(|(keys, stamp)| (keys, Some(stamp))),
            KeySource::Url(address) => address.fetch().map(|keys| (keys, None)),
        }
    }
}

fn was_just_now(when: Option<Instant>, pause: Duration) -> bool {
    when.is_some_and(|when| when.elapsed() < pause)
}

fn keys_in(path: &Path) -> Result<(Keys, Stamp), String> {
    let told = |why: &dyn std::fmt::Display| format!("the keys in {} cannot be used: {why}", path.display());
    let (json, about) = read(path).map_err(|error| told(&error))?;
    Keys::parse(&json).map(|keys| (keys, Stamp::of(&about))).map_err(|error| told(&error))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Starts a server that accepts connections and never answers. Its issuer has keys of the given age.
    fn silent(age: Duration) -> (Arc<Issuer>, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a mode");
        let url = format!("http://{}/keys", listener.local_addr().expect("an address"));
        let jwt = Jwt {
            name: None,
            issuer: "https://id.example.com".to_owned(),
            audiences: vec!["https://mcp.example.com".to_owned()],
            keys: KeysFrom::Url(url),
            ca: None,
            algorithms: Vec::new(),
            clock_skew: 0,
            scopes: BTreeSet::new(),
            groups_claim: None,
            name_claim: None,
        };
        let issuer = Issuer::new(&jwt, Arc::default()).expect("an issuer");
        issuer.take(Keys::parse(br#"{"keys":[]}"#).expect("keys"), None);
        issuer.current.write().as_mut().expect("keys").since =
            Instant::now().checked_sub(age).expect("a time");
        (issuer, listener)
    }

    /// Returns `true` if the server gets a connection within a time limit.
    fn is_asked(listener: &TcpListener, within: Duration) -> bool {
        let until = Instant::now() + within;
        while Instant::now() < until {
            if listener.accept().is_ok() {
                return true;
            }
            #[expect(clippy::disallowed_methods, reason = "a thread of the test")]
            thread::sleep(Duration::from_millis(5));
        }
        false
    }

    #[test]
    fn keys_that_are_old_are_asked_for_while_they_are_used() {
        let (issuer, listener) = silent(FRESH_TIME / 2);
        assert!(issuer.is_current() && !is_asked(&listener, Duration::from_millis(200)));
        let (issuer, listener) = silent(FRESH_TIME + Duration::from_mins(1));
        let begun = Instant::now();
        assert!(issuer.is_current() && begun.elapsed() < Duration::from_secs(5), "nobody waits");
        assert!(is_asked(&listener, Duration::from_secs(10)));
        assert!(issuer.is_current() && !is_asked(&listener, Duration::from_millis(200)), "once is enough");
        // However long refreshing has been failing.
        *issuer.failing.write() = Some(Instant::now());
        assert!(issuer.is_current());
        let (issuer, _listener) = silent(FRESH_TIME + STALE_TIME);
        *issuer.failing.write() = Some(Instant::now());
        assert!(!issuer.is_current(), "too old");
        let (issuer, _listener) = silent(FRESH_TIME * 2);
        assert!(!issuer.is_current(), "after a long rest it is waited for");
    }
}
