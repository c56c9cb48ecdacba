//! The end of a connection whose answer nobody waits for any more.
//!
//! PostgreSQL does not look whether its client is there while a statement waits for a lock, or a commit for a standby. So the statement is
//! cancelled, as long as that takes, and the place of the connection is taken until then: a process has no more connections there than it
//! may have. A commit that waits for a standby was kept on the server itself by then. It ends the wait, and is seen by others from
//! then on: see `doubt`, which asks the standby, too.

use std::pin::Pin;
use std::time::{Duration, Instant};

use tokio_postgres::NoTls;

use crate::address::Encryption;
use crate::connection::Connection;
use crate::tls;

/// The time for which a server is asked to end a statement. It ends one itself before that, and a transaction whose client is silent;
/// a pooler whose server is gone ends none.
pub(crate) const END_TIME: Duration = Duration::from_mins(1);
/// The time after which a server that takes no request is gone with all that it was at.
const AWAY_TIME: Duration = Duration::from_secs(5);
/// The time for one request.
const CANCEL_TIME: Duration = Duration::from_secs(2);
/// Between two requests: more than one statement was sent, and each may wait.
const CANCEL_PAUSE: Duration = Duration::from_millis(500);

impl Connection {
    /// Reports whether the server may be at something that nobody waits for.
    pub(crate) fn is_at_work(&mut self) -> bool {
        if self.client().is_closed() {
            return false;
        }
        self.waits() || self.has_left()
    }

    /// Has the server end what it is at, and waits until it has, or for so long.
    pub(crate) fn end_work(mut self, at_most: Duration) {
        let client = self.take_client();
        let (token, encryption) = (client.cancel_token(), self.encryption.clone());
        // Answers come in their order: after this one it is at nothing.
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
