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
            while signed.is_good().await {
                sleep(LOOK_TIME).await;
            }
        };
        Some(Box::pin(async move {
            tokio::select! {
                () = sleep(Duration::from_secs(until.saturating_sub(now()))) => {}
                () = withdrawn => tracing::info!("a stream ends: its token's key is no longer its issuer's"),
            }
        }))
    }
}

impl Signed {
    /// Returns `true` if the issuer publishes the key. Keys that cannot be read are none, as for a new request.
    async fn is_good(&self) -> bool {
        self.issuer.keys().await.is_ok_and(|keys| keys.accept(&self.key))
    }
}
