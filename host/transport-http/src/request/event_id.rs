//! Event IDs, by which a client resumes a stream after losing its connection.
//!
//! An ID contains the number of a stream, the request that the stream answers, and the number of an event.
//! Stream numbers are unique across servers and restarts. A client therefore never receives events of another
//! stream, and the server can still answer the request if the stream is lost.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use scorpiox_mcp::jsonrpc::Id;

/// Random start of this server's stream numbers.
static BEGIN: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// Unique number of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamNumber(u64);

impl StreamNumber {
    /// Returns a new stream number.
    pub fn give() -> Self {
        Self(BEGIN.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)))
    }

    /// Returns `true` if this server issued the number.
    pub fn was_given_here(self) -> bool {
        self.0.wrapping_sub(*BEGIN) < GIVEN.load(Ordering::Relaxed)
    }
}

/// Stream that a client reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Number of the stream.
    pub number: StreamNumber,
    /// Request that the stream answers; `None` for unsolicited messages.
    pub answers: Option<Answers>,
}

/// Requests that a stream answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answers {
    /// The request with this ID.
    Request(Id<'static>),
    /// The requests of a batch.
    Batch,
}

impl Source {
    /// Returns the prefix of the stream's event IDs. The number of the event follows.
    pub fn prefix(&self) -> String {
        let number = self.number.0;
        match &self.answers {
            None => format!("{number:x}."),
            Some(Answers::Batch) => format!("{number:x}.."),
            Some(Answers::Request(id)) => {
                format!("{number:x}.{}.", BASE64_URL_SAFE_NO_PAD.encode(id.as_json()))
            }
        }
    }

    /// Parses an event ID into the stream and the number of the event.
    pub fn parse(id: &str) -> Option<(Self, u64)> {
        let (source, event) = id.rsplit_once('.')?;
        let (number, answers) =
            source.split_once('.').map_or((source, None), |(number, of)| (number, Some(of)));
        let answers = match answers {
            None => None,
            Some("") => Some(Answers::Batch),
            Some(request) => {
                let json = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(request).ok()?).ok()?;
                Some(Answers::Request(Id::from_json(&json).ok()?.into_owned()))
            }
        };
        let number = StreamNumber(u64::from_str_radix(number, 16).ok()?);
        Some((Self { number, answers }, event.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_what_it_was_made_of() {
        let request = |json: &str| Some(Answers::Request(Id::from_json(json).expect("an id").into_owned()));
        let kinds = [None, Some(Answers::Batch), request("-7"), request(r#""a.b \" ü""#)];
        for answers in kinds {
            let source = Source { number: StreamNumber::give(), answers };
            for event in [0, 7, u64::MAX] {
                let id = format!("{}{event}", source.prefix());
                assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
                assert_eq!(Source::parse(&id), Some((source.clone(), event)), "{id}");
            }
        }
        for none in ["", ".", "1", "x.1", "1.x", "1.!.1", "1.MQ.", "1.eA.1", "1-0", "1.MQ.1.1", "-1.1"] {
            assert_eq!(Source::parse(none), None, "{none}");
        }
    }

    #[test]
    fn numbers_are_given_once() {
        let (one, other) = (StreamNumber::give(), StreamNumber::give());
        assert_ne!(one, other);
        assert!(one.was_given_here() && other.was_given_here());
        let others = [BEGIN.wrapping_add(1 << 32), BEGIN.wrapping_sub(1)];
        assert!(!others.into_iter().any(|number| StreamNumber(number).was_given_here()));
    }
}
