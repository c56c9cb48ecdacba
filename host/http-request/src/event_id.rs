//! Ids of events: a client that lost its connection names the last one that it has, and is told what came after.
//!
//! An id has the number of a stream, the request that the stream answers, and the number of an event. Numbers of streams
//! are given once: by no other server, and not again when a server is started again. So no client is told what belongs to
//! another stream, and where a stream is gone its request can still be answered.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use scorpiox_rpc::Id;

/// Where the numbers of this server begin: drawn by lot.
static BEGIN: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// What tells one stream from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamNumber(u64);

impl StreamNumber {
    /// One that no stream has.
    pub fn give() -> Self {
        Self(BEGIN.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)))
    }

    /// Whether this server gave it.
    pub fn was_given_here(self) -> bool {
        self.0.wrapping_sub(*BEGIN) < GIVEN.load(Ordering::Relaxed)
    }
}

/// Which stream a client reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its number.
    pub number: StreamNumber,
    /// What it answers; none where it says what nobody asked for.
    pub answers: Option<Answers>,
}

/// What a stream answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answers {
    /// The request of this id.
    Request(Id<'static>),
    /// The requests of a batch.
    Batch,
}

impl Source {
    /// What the ids of its events begin with; the number of the event follows.
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

    /// The stream and the number of the event that an id names.
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
