//! `requestState`: sealed tokens that a client returns to this server, with their creation time, the number of
//! the call, and the answers of earlier rounds.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use crate::seal::Seal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum age of a token. A client that takes longer to ask its user has to start over.
const MAX_AGE: Duration = Duration::from_hours(24);
/// Maximum size of the answers in a token, in bytes.
const MAX_ANSWERS_BYTES: usize = 64 * 1024;
/// Maximum difference between the clocks of two servers, or of one before and after it was set.
const MAX_SKEW: Duration = Duration::from_mins(1);
/// Size of the leading timestamp in bytes.
const TIME_BYTES: usize = 16;
/// Size of the call number in bytes.
const NUMBER_BYTES: usize = 16;

/// Number of a call, the same in all its rounds. Random, so no two calls have the same.
pub type CallNumber = [u8; NUMBER_BYTES];

/// The call that a token belongs to: a method or tool, and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// Key of the calling principal, if known.
    pub principal: String,
    /// Name of the method or tool.
    pub name: String,
    /// The raw arguments.
    pub arguments: String,
}

/// An answer of an earlier round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// The client's answer.
    #[serde(rename = "a")]
    pub answer: Value,
    /// Time to the answer in milliseconds; `None` if the client was not asked.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Time of the question, in milliseconds since 1970; `None` if the client was not asked.
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
}

/// Answers of earlier rounds, by request key.
pub type Answers = BTreeMap<String, Known>;

/// An opened token.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// Creation time of the token, in milliseconds since 1970.
    pub made: u64,
    /// Age of the token.
    pub age: Duration,
    /// Number of the call.
    pub number: CallNumber,
    /// Answers in the token.
    pub answers: Answers,
}

/// Checks that the answers fit into a token.
pub fn can_carry(answers: &Answers) -> Result<(), String> {
    let size = serde_json::to_vec(answers).map_or(usize::MAX, |json| json.len());
    if size <= MAX_ANSWERS_BYTES {
        return Ok(());
    }
    Err(format!("the answers so far have {size} bytes; the limit is {MAX_ANSWERS_BYTES}"))
}

/// Creates the token of a call.
pub fn mark(seal: &Seal, subject: &Subject, number: &CallNumber, answers: &Answers) -> Option<String> {
    let mut content = since_epoch(SystemTime::now()).as_millis().to_be_bytes().to_vec();
    content.extend_from_slice(number);
    if !answers.is_empty() {
        serde_json::to_writer(&mut content, answers).ok()?;
    }
    seal.seal(&content, &bound(subject))
}

/// Opens a token, if it belongs to this call and has not expired.
pub fn open(seal: &Seal, mark: &str, subject: &Subject) -> Option<Opened> {
    let content = seal.open(mark, &bound(subject))?;
    let (made, rest) = content.split_first_chunk::<TIME_BYTES>()?;
    let (number, answers) = rest.split_first_chunk::<NUMBER_BYTES>()?;
    let made = u64::try_from(u128::from_be_bytes(*made)).ok()?;
    let Some(age) = age(made) else {
        tracing::warn!("a token is from the future: the clocks of servers differ, or this one was set back");
        return None;
    };
    let answers = match answers {
        [] => Answers::default(),
        json => serde_json::from_slice(json).ok()?,
    };
    (age <= MAX_AGE).then_some(Opened { made, age, number: *number, answers })
}

/// Returns the time since a moment in milliseconds since 1970, or `None` if the moment is in the future by more than
/// [`MAX_SKEW`].
pub fn age(since: u64) -> Option<Duration> {
    age_at(since_epoch(SystemTime::now()), Duration::from_millis(since))
}

fn age_at(now: Duration, since: Duration) -> Option<Duration> {
    (since.saturating_sub(now) <= MAX_SKEW).then(|| now.saturating_sub(since))
}

/// Returns a new call number.
pub(crate) fn number() -> Option<CallNumber> {
    let mut number = CallNumber::default();
    getrandom::fill(&mut number).ok()?;
    Some(number)
}

/// Returns the strings that a token is bound to.
fn bound(subject: &Subject) -> [&str; 3] {
    [&subject.principal, &subject.name, &subject.arguments]
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn subject(name: &str, arguments: &str) -> Subject {
        Subject { principal: "ann".to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
    }

    #[test]
    fn a_mark_is_of_one_call_and_holds_its_answers() {
        let seal = Seal::of(&[7; 32], "states");
        let (call, none) = (subject("a.b", "{}"), Answers::default());
        let known = Known { answer: json!({ "action": "accept" }), after: Some(7), asked: Some(8) };
        let answers = Answers::from([("name".to_owned(), known)]);
        let (first, second) = (mark(&seal, &call, &[3; 16], &none), mark(&seal, &call, &[3; 16], &answers));
        let (first, second) = (first.expect("a mark"), second.expect("a mark"));
        assert_ne!(first, second);
        assert_eq!(open(&seal, &first, &call).expect("its own").answers, none);
        assert_eq!(open(&seal, &second, &call).expect("its own").answers, answers);
        assert_eq!(open(&seal, &second, &call).expect("its own").number, [3; 16]);
        let of_another = Subject { principal: "bob".to_owned(), ..call.clone() };
        for other in [of_another, subject("a.c", "{}"), subject("a.b", "{\"x\":1}"), subject("a.b{}", "")] {
            assert_eq!(open(&seal, &second, &other), None);
        }
        for tampered in [format!("{second}-TAMPERED"), format!("A{second}"), String::new()] {
            assert_eq!(open(&seal, &tampered, &call), None);
        }
    }

    #[test]
    fn a_token_from_the_future_is_refused() {
        let (minute, second) = (Duration::from_mins(1), Duration::from_secs(1));
        let now = minute * 100;
        assert_eq!(age_at(now, minute * 99), Some(minute));
        assert_eq!(age_at(now, now + MAX_SKEW), Some(Duration::ZERO));
        assert_eq!(age_at(now, now + MAX_SKEW + second), None);
    }

    #[test]
    fn what_is_too_long_to_be_carried_is_refused() {
        let known = |length| Known { answer: json!("x".repeat(length)), after: None, asked: None };
        assert!(can_carry(&Answers::from([("a".to_owned(), known(60_000))])).is_ok());
        let error = can_carry(&Answers::from([("a".to_owned(), known(70_000))])).expect_err("refused");
        assert!(error.contains("the limit is 65536"), "{error}");
    }
}
