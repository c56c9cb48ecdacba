//! The time for which a caller's authentication is good, for streams that outlive the request that opened them.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::ended::now;
use crate::issuer::Issuer;
use crate::jwt::SigningKey;

/// Interval at which an open stream looks whether the key of its token is still its issuer's.
const LOOK_TIME: Duration = Duration::from_secs(10);

/// Completes when an authentication is not good any more.
pub(crate) type Over = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// Time for which an authentication is good. By default, it does not end.
#[derive(Clone, Default)]
pub(crate) struct Good {
    /// Expiry, in seconds since 1970; `None` if it does not expire.
    pub(crate) until: Option<u64>,
    signed: Option<Arc<Signed>>,
}

/// Signature of a token, which is good as long as its issuer publishes the key.
struct Signed {
    issuer: Arc<Issuer>,
    key: SigningKey,
}

impl Good {
    /// Returns the time of a token that an issuer's key signed.
    pub(crate) fn of(until: u64, issuer: &Arc<Issuer>, key: SigningKey) -> Self {
        let signed = Signed { issuer: Arc::clone(issuer), key };
        Self { until: Some(until), signed: Some(Arc::new(signed)) }
    }

    /// Returns a future that completes when the authentication is not good any more. Returns `None` if it does not
    /// end.
    pub(crate) fn over(&self) -> Option<Over> {
        let until = self.until?;
        let signed = self.signed.clone();
        let withdrawn = async move {
            let Some(signed) = signed else { return std::future::pending().await };
            let mut looks = Looks::default();
            while looks.go_on(&signed.is_good().await) {
                sleep(LOOK_TIME).await;
            }
            looks.why_ended()
        };
        Some(Box::pin(async move {
            tokio::select! {
                () = sleep(Duration::from_secs(until.saturating_sub(now()))) => {}
                why = withdrawn => tracing::info!("a stream ends: {why}"),
            }
        }))
    }
}

impl Signed {
    /// Returns `true` if the issuer publishes the key. Fails if its keys cannot be read.
    async fn is_good(&self) -> Result<bool, String> {
        self.issuer.keys().await.map(|keys| keys.accept(&self.key))
    }
}

/// Looks at the key of an open stream. New requests are refused as soon as keys cannot be read; streams stay for one
/// more look, so that a moment without keys, such as while a file is replaced, does not end all of them.
#[derive(Default)]
struct Looks {
    has_failed: bool,
}

impl Looks {
    /// Returns `true` if the stream goes on after a look.
    fn go_on(&mut self, is_good: &Result<bool, String>) -> bool {
        let had_failed = std::mem::replace(&mut self.has_failed, is_good.is_err());
        is_good.as_ref().map_or(!had_failed, |is_good| *is_good)
    }

    /// Returns why the last look ended the stream.
    fn why_ended(&self) -> &'static str {
        if self.has_failed {
            "the keys of its token's issuer cannot be read"
        } else {
            "its token's key is no longer its issuer's"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_ends_when_its_key_is_gone_or_keys_cannot_be_read_twice() {
        let (good, gone, unread) = (Ok(true), Ok(false), Err("unreadable".to_owned()));
        for (looks, goes_on) in [
            (vec![&good, &good], true),
            (vec![&good, &gone], false),
            (vec![&unread], true),
            (vec![&unread, &good, &unread], true),
            (vec![&good, &unread, &unread], false),
            (vec![&unread, &gone], false),
        ] {
            let mut known = Looks::default();
            let last = looks.iter().map(|look| known.go_on(look)).last();
            assert_eq!(last, Some(goes_on), "{looks:?}");
            let is_unread = looks.last().is_some_and(|look| look.is_err());
            assert_eq!(known.why_ended().contains("cannot be read"), is_unread, "{looks:?}");
        }
    }
}
