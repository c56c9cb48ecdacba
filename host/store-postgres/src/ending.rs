//! Ends a connection whose answer is not awaited any more.
//!
//! PostgreSQL does not check for a disconnected client while a statement waits for a lock, or a commit for a
//! standby. The statement is therefore cancelled, and the connection's slot stays occupied until that
//! succeeds. This keeps the number of server connections of a process within its limit. A commit that waits
//! for a standby is already durable on the primary. Cancelling ends the wait and makes the commit visible:
//! see `doubt`, which also waits for the standby.

use std::pin::Pin;
use std::time::{Duration, Instant};

use tokio_postgres::NoTls;

use crate::address::Encryption;
use crate::connection::Connection;
use crate::tls;

/// Maximum time spent cancelling statements. The server itself ends a statement, or a transaction with a
/// silent client, before that. A pooler whose server is gone ends nothing.
pub(crate) const END_TIME: Duration = Duration::from_mins(1);
/// Time after which a server that accepts no cancel request counts as gone, along with its statements.
const AWAY_TIME: Duration = Duration::from_secs(5);
/// Timeout for one cancel request.
const CANCEL_TIME: Duration = Duration::from_secs(2);
/// Pause between two cancel requests. Several statements may have been sent, and each may wait.
const CANCEL_PAUSE: Duration = Duration::from_millis(500);

impl Connection {
    /// Returns `true` if the server may be working on a statement that nobody waits for.
    pub(crate) fn is_at_work(&mut self) -> bool {
        if self.client().is_closed() {
            return false;
        }
        self.waits() || self.has_left()
    }

    /// Cancels the running statements and waits until they have ended, for at most `at_most`.
    pub(crate) fn end_work(mut self, at_most: Duration) {
        let client = self.take_client();
        let (token, encryption) = (client.cancel_token(), self.encryption.clone());
        // Answers arrive in order: after this one the server is idle.
        let mut last: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let _ = client.batch_execute("ROLLBACK").await;
        });
        let begin = Instant::now();
        let mut reached = begin;
        while begin.elapsed() < at_most && reached.elapsed() < AWAY_TIME {
            let cancel = async {
                match &encryption {
                    Encryption::None => token.cancel_query(NoTls).await.is_ok(),
                    Encryption::Verified(authorities) => match tls::connector(authorities.as_deref()) {
                        Ok(tls) => token.cancel_query(tls).await.is_ok(),
                        Err(_) => false,
                    },
                }
            };
            if self.line.wait(cancel, CANCEL_TIME.min(at_most)) == Some(true) {
                reached = Instant::now();
            }
            if self.line.wait(last.as_mut(), CANCEL_PAUSE).is_some() {
                return;
            }
        }
        tracing::debug!("{}: a statement was given up, and may still run there", self.location());
    }
}
