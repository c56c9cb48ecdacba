//! Warnings of the database during a commit.
//!
//! PostgreSQL answers a commit whose wait for a standby was cancelled with success and a warning: it is kept
//! and visible, but a standby that takes over may lack it. A `COMMIT` without a transaction gets a warning,
//! too. A commit with a warning is therefore in doubt: see `doubt`.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio_postgres::error::{DbError, Severity};

/// Makes the server send its warnings, whatever the database or the role sets.
pub(crate) const SENT: &str = "; SET LOCAL client_min_messages = warning";

/// The last warning over a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Warnings(Arc<Mutex<Option<String>>>);

impl Warnings {
    /// Notes a message of the server if it is a warning, or of an unknown kind.
    pub(crate) fn note(&self, message: &DbError) {
        let kinds = [Severity::Notice, Severity::Info, Severity::Log, Severity::Debug];
        if message.parsed_severity().is_none_or(|severity| !kinds.contains(&severity)) {
            *self.0.lock() = Some(message.message().to_owned());
        }
    }

    /// Returns the last warning since the previous call.
    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().take()
    }
}
