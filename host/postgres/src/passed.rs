//! What one process has for whichever of the others it concerns: the database tells all of them, and keeps nothing.
//!
//! A text goes in pieces, as notifications are short. Those of one transaction come together and in their order.

use std::sync::Arc;

use scorpiox_store::StoreError;
use tokio_postgres::Notification;

use crate::database::Database;

/// Where the database tells of texts.
pub(crate) const CHANNEL: &str = "scorpiox_code_passed";
/// A notification has less than 8,000 bytes, of which some are no part of the text.
const PIECE_BYTES: usize = 7800;
/// Most bytes of a text.
const MAX_BYTES: usize = 2 * 1024 * 1024;

/// Is told each text.
pub(crate) type Hear = Box<dyn Fn(&str) + Send + Sync>;

impl Database {
    /// Passes a text in ASCII on to all processes that hear. Where a connection breaks it may come twice.
    ///
    /// # Errors
    ///
    /// Those of connecting and writing, and a text of more than 2 MiB.
    pub fn pass_on(&self, text: &str) -> Result<(), StoreError> {
        if !text.is_ascii() || text.len() > MAX_BYTES {
            return Err(StoreError::Other(format!("{} bytes are too long to be passed on", text.len())));
        }
        let pieces: Vec<&str> = text
            .as_bytes()
            .chunks(PIECE_BYTES)
            .map(|piece| std::str::from_utf8(piece).unwrap_or_default())
            .collect();
        self.look(|lease| {
            lease.row(
                "SELECT count(pg_notify('scorpiox_code_passed', concat_ws(' ', $1::text, n, cardinality($2), piece))::text)
                 FROM unnest($2::text[]) WITH ORDINALITY AS pieces (piece, n)",
                &[&self.token, &pieces],
            )
        })?;
        Ok(())
    }

    /// Has somebody told each text that another process passes on from now on.
    ///
    /// # Errors
    ///
    /// No room for a thread.
    pub fn hear_passed(self: &Arc<Self>, hear: impl Fn(&str) + Send + Sync + 'static) -> std::io::Result<()> {
        self.notices.hear_passed(Box::new(hear));
        self.listen()
    }
}

/// A text of which some pieces have come.
#[derive(Default)]
pub(crate) struct Pieces {
    who: String,
    next: usize,
    text: String,
}

impl Pieces {
    /// The text that ends with a piece; who passed it on comes first.
    pub(crate) fn add(&mut self, notification: &Notification) -> Option<(String, String)> {
        let mut parts = notification.payload().splitn(4, ' ');
        let (who, number, of, piece) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let (number, of): (usize, usize) = (number.parse().ok()?, of.parse().ok()?);
        if number == 1 {
            *self = Self { who: who.to_owned(), ..Self::default() };
            self.next = 1;
        }
        if who != self.who || number != self.next || self.text.len() + piece.len() > MAX_BYTES {
            *self = Self::default();
            return None;
        }
        self.next += 1;
        self.text.push_str(piece);
        (number == of).then(|| {
            let Self { who, text, .. } = std::mem::take(self);
            (who, text)
        })
    }
}
