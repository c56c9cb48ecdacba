//! Rounds of a call, in the revision without server requests: the answers that came with the repeated call,
//! and the requests for the next round.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::seal::Seal;
use scorpiox_mcp::result::Enveloped;
use scorpiox_mcp::{Params, Revision, RpcError};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::request_state::{self, Answers, CallNumber, Known, Subject};

/// Handling of answers that come without a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmarked {
    /// Rejects them, because the server did not ask for them.
    Refused,
    /// Accepts them, because a client may know the keys of a plugin's requests in advance.
    Taken,
}

/// Rounds of one call.
#[derive(Debug)]
pub struct Rounds {
    subject: Subject,
    number: CallNumber,
    /// Creation time of the token that came with the call and its age; `None` without a token.
    asked: Option<(u64, Duration)>,
    /// Number of answers in the token.
    carried: usize,
    /// Answers used in earlier rounds and in this one.
    known: Answers,
    /// Answers that came with this round.
    given: Map<String, Value>,
    /// Requests to the client by key, as JSON.
    requests: BTreeMap<String, Box<RawValue>>,
}

impl Rounds {
    /// Parses the token and the answers of a call.
    pub fn read(
        params: &Params<'_>,
        seal: &Seal,
        subject: Subject,
        unmarked: Unmarked,
    ) -> Result<Self, RpcError> {
        let refused = || {
            RpcError::invalid_params(
                "requestState is not what this server gave for these arguments; call again without inputResponses",
            )
        };
        let is_there = |raw: &&RawValue| raw.get() != "null";
        let responses = params.raw("inputResponses").filter(is_there);
        let given = match responses {
            None => Map::new(),
            Some(raw) => {
                params.object("inputResponses")?;
                serde_json::from_str(raw.get()).unwrap_or_default()
            }
        };
        let state = params.raw("requestState").filter(is_there);
        let Some(state) = state else {
            if responses.is_some() && unmarked == Unmarked::Refused {
                return Err(refused());
            }
            let number = request_state::number().ok_or_else(|| {
                RpcError::internal("the system gives no random bytes to number the call with")
            })?;
            let (known, requests) = Default::default();
            return Ok(Self { subject, number, asked: None, carried: 0, known, given, requests });
        };
        let state: String = serde_json::from_str(state.get()).map_err(|_| refused())?;
        let opened = request_state::open(seal, &state, &subject).ok_or_else(refused)?;
        let (asked, known) = (Some((opened.made, opened.age)), opened.answers);
        let (number, carried) = (opened.number, known.len());
        Ok(Self { subject, number, asked, carried, known, given, requests: BTreeMap::new() })
    }

    /// Returns the number of the call.
    pub fn number(&self) -> CallNumber {
        self.number
    }

    /// Returns the number of runs for which a client that answers each question once needs the call, up to this
    /// round.
    pub fn runs(&self) -> usize {
        self.carried + 1
    }

    /// Makes this a new call, without answers of earlier rounds. Without random bytes it keeps its number, with
    /// which no approval is good any more.
    pub fn start_over(&mut self) {
        self.known.clear();
        self.number = request_state::number().unwrap_or(self.number);
    }

    /// Returns the time of the question whose answer this is, in milliseconds since 1970.
    pub fn asked(&self, key: &str) -> Option<u64> {
        self.known.get(key)?.asked
    }

    /// Returns the time since the question whose answer this is, or `None` if the client was not asked, or the
    /// question is from the future.
    pub fn since_question(&self, key: &str) -> Option<Duration> {
        self.known.get(key)?.asked.and_then(request_state::age)
    }

    /// Returns the answer to a request and the time it took, if there is a valid one.
    pub fn answer<T>(
        &mut self,
        key: &str,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Option<(T, Option<Duration>)> {
        if let Some(known) = self.known.get(key)
            && let Ok(answer) = read(&known.answer)
        {
            return Some((answer, known.after.map(Duration::from_millis)));
        }
        let given = self.given.get(key)?;
        let answer = read(given).ok()?;
        let after = self.asked.map(|(_, age)| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        let asked = self.asked.map(|(made, _)| made);
        self.known.insert(key.to_owned(), Known { answer: given.clone(), after, asked });
        Some((answer, self.asked.map(|(_, age)| age)))
    }

    /// Checks that the answers so far fit into a token.
    pub fn can_go_on(&self) -> Result<(), String> {
        request_state::can_carry(&self.known)
    }

    /// Adds a request for the next round.
    pub fn ask(&mut self, key: &str, request: Box<RawValue>) {
        self.requests.insert(key.to_owned(), request);
    }

    /// Returns the result that makes the client call again, if there are requests for it.
    pub fn required(
        &self,
        revision: Revision,
        seal: &Seal,
    ) -> Option<Result<Enveloped<InputRequired<'_>>, RpcError>> {
        if self.requests.is_empty() {
            return None;
        }
        let Some(request_state) = request_state::mark(seal, &self.subject, &self.number, &self.known) else {
            return Some(Err(RpcError::internal(
                "the system gives no random bytes to mark the question with",
            )));
        };
        let body = InputRequired { input_requests: &self.requests, request_state };
        Some(Ok(Enveloped::input_required(revision, body)))
    }
}

/// Requests that the client must answer in the next round.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InputRequired<'a> {
    input_requests: &'a BTreeMap<String, Box<RawValue>>,
    request_state: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn subject() -> Subject {
        Subject { principal: String::new(), name: "a.b".to_owned(), arguments: "{}".to_owned() }
    }

    fn rounds(params: &Value, seal: &Seal, unmarked: Unmarked) -> Result<Rounds, RpcError> {
        let text = params.to_string();
        let members = serde_json::from_str(&text).expect("JSON");
        Rounds::read(&Params::new(Some(members)).expect("params"), seal, subject(), unmarked)
    }

    fn number(answer: &Value) -> Result<u64, String> {
        answer.as_u64().ok_or_else(|| "no number".to_owned())
    }

    fn raw() -> Box<RawValue> {
        RawValue::from_string("{}".to_owned()).expect("JSON")
    }

    fn taken_again(seal: &Seal) -> Rounds {
        rounds(&json!({}), seal, Unmarked::Taken).expect("read")
    }

    fn state(rounds: &Rounds, seal: &Seal) -> Value {
        let required = rounds.required(Revision::V2026_07_28, seal).expect("asked").expect("a mark");
        serde_json::to_value(&required).expect("JSON")["requestState"].clone()
    }

    #[test]
    fn answers_go_from_round_to_round() {
        let seal = Seal::of(&[7; 32], "states");
        let mut first = rounds(&json!({}), &seal, Unmarked::Taken).expect("read");
        assert!(first.answer("one", number).is_none());
        first.ask("one", raw());
        let params = json!({ "requestState": state(&first, &seal), "inputResponses": { "one": 1 } });
        let mut second = rounds(&params, &seal, Unmarked::Taken).expect("read");
        let (one, after) = second.answer("one", number).expect("answered");
        assert!(one == 1 && after.is_some());
        assert!(second.number() == first.number() && (first.runs(), second.runs()) == (1, 1));
        assert!(second.since_question("one").is_some() && second.since_question("two").is_none());
        second.ask("two", raw());
        let params =
            json!({ "requestState": state(&second, &seal), "inputResponses": { "two": 2, "more": 3 } });
        let mut third = rounds(&params, &seal, Unmarked::Taken).expect("read");
        assert_eq!(third.answer("one", number).map(|(one, _)| one), Some(1), "it came with the mark");
        assert!(third.number() == first.number() && third.runs() == 2);
        assert!(third.since_question("one").is_some(), "its time came with the mark");
        assert_eq!(third.answer("two", number).map(|(two, _)| two), Some(2));
        assert!(third.required(Revision::V2026_07_28, &seal).is_none());
        third.start_over();
        third.ask("one", raw());
        let fourth = rounds(&json!({ "requestState": state(&third, &seal) }), &seal, Unmarked::Taken);
        let mut fourth = fourth.expect("read");
        assert!(fourth.answer("one", number).is_none() && fourth.number() != first.number());
    }

    #[test]
    fn what_is_no_answer_is_asked_for_again_and_a_mark_of_others_is_refused() {
        let seal = Seal::of(&[7; 32], "states");
        for params in [
            json!({ "inputResponses": { "wrong": 1 } }),
            json!({ "inputResponses": { "one": "text" } }),
            json!({ "inputResponses": null }),
            json!({}),
        ] {
            let mut rounds = rounds(&params, &seal, Unmarked::Taken).expect("read");
            assert!(rounds.answer("one", number).is_none(), "{params}");
        }
        let unmarked = json!({ "inputResponses": { "one": 1 } });
        assert!(rounds(&unmarked, &seal, Unmarked::Refused).is_err());
        let mut taken = rounds(&unmarked, &seal, Unmarked::Taken).expect("read");
        assert_eq!(taken.answer("one", number).expect("answered"), (1, None), "nobody asked");
        assert!(taken.since_question("one").is_none() && taken.number() != taken_again(&seal).number());
        for state in [json!("made up"), json!(7), json!({})] {
            let params = json!({ "requestState": state, "inputResponses": { "one": 1 } });
            assert!(rounds(&params, &seal, Unmarked::Taken).is_err(), "{params}");
        }
        assert!(rounds(&json!({ "inputResponses": 5 }), &seal, Unmarked::Taken).is_err());
    }
}
