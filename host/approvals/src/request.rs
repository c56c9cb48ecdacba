//! Requests for approval as the store keeps them.

use std::fmt;

use scorpiox_policy::Remember;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::wanted::Wanted;

/// Decision of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The call may run.
    Approve,
    /// The call is refused.
    Deny,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Approve => "approve",
            Self::Deny => "deny",
        })
    }
}

/// Extent of an approval.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// The calls that wait.
    #[default]
    Once,
    /// Equal calls until the client's session ends.
    Session,
    /// Equal calls in the workspace, until it is revoked.
    Workspace,
    /// Equal calls in all workspaces, until it is revoked.
    Always,
}

impl From<Remember> for Extent {
    fn from(remember: Remember) -> Self {
        match remember {
            Remember::Session => Self::Session,
            Remember::Workspace => Self::Workspace,
            Remember::Always => Self::Always,
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Workspace => "workspace",
            Self::Always => "always",
        })
    }
}

/// Way on which an answer arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// A question to the person: a form of the client, a terminal or a dialog.
    Question,
    /// The command `approvals`, without a key.
    Command,
    /// A signature.
    Key,
    /// A page of a server, with the approver's credential.
    Page,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Question => "question",
            Self::Command => "command",
            Self::Key => "key",
            Self::Page => "page",
        })
    }
}

/// Answer of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The decision.
    pub decision: Decision,
    /// Extent of an approval.
    #[serde(default)]
    pub extent: Extent,
    /// Name of the approver; empty through a weak channel, which does not prove a name.
    #[serde(default)]
    pub by: String,
    /// Way on which it arrived.
    pub channel: Way,
    /// Time of the answer, in milliseconds since 1970.
    pub at: u64,
    /// Words of the person to a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// Signature over [`Request::statement`], in minisign's format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// Random identification of a waiting call, which alone can use its share of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat(pub(crate) u64);

/// State of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nobody has answered.
    Open {
        /// Seats of the calls that wait.
        seats: Vec<Seat>,
        /// Number of calls that ended and are to be repeated.
        away: u32,
    },
    /// Somebody has answered.
    Answered {
        /// The answer.
        answer: Answer,
        /// Seats of the calls that waited and have not used it yet. Those of a server that died never do.
        seats: Vec<Seat>,
        /// Number of repeated calls that may use it.
        away: u32,
    },
}

/// A request for approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Number, for people.
    pub number: u64,
    /// Random identification, so that a signature fits no other request.
    pub id: String,
    /// The call.
    pub wanted: Wanted,
    /// Time of the question, in milliseconds since 1970.
    pub asked: u64,
    /// End of the time for an answer, or after it, for the call; in milliseconds since 1970.
    pub until: u64,
    /// The state.
    pub state: State,
}

impl Request {
    /// Returns the text that an approver signs, for a call that is about to run.
    pub fn statement(&self, wanted: &Wanted, answer: &Answer) -> String {
        let Answer { decision, extent, words, .. } = answer;
        let binding = wanted.binding_for(*extent);
        let words = words.as_deref().map_or_else(String::new, |words| format!("words: {}\n", json!(words)));
        format!(
            "scorpiox-code approval\ndecision: {decision}\nextent: {extent}\nnumber: {}\nid: {}\nasked: {}\ncall: \
             {binding}\n{words}",
            self.number, self.id, self.asked
        )
    }

    /// Returns `true` if this is the same request, whatever its state.
    pub fn is(&self, other: &Self) -> bool {
        (self.number, &self.id, self.asked) == (other.number, &other.id, other.asked)
            && self.wanted == other.wanted
    }

    /// Returns `true` if the request can be answered, or its answer used, at this time.
    pub fn is_current(&self, now: u64) -> bool {
        now < self.until
    }

    /// Returns `true` if the request waits for an answer at this time.
    pub fn is_open(&self, now: u64) -> bool {
        matches!(self.state, State::Open { .. }) && self.is_current(now)
    }

    /// Returns the time that is left, as people read it.
    pub fn time_left(&self, now: u64) -> String {
        match self.until.saturating_sub(now).div_ceil(1000) {
            seconds if seconds < 120 => format!("{seconds} s"),
            seconds if seconds < 7200 => format!("{} min", seconds.div_ceil(60)),
            seconds => format!("{} h", seconds.div_ceil(3600)),
        }
    }

    /// Returns the number of calls that an answer is for.
    pub fn calls(&self) -> usize {
        let (State::Open { seats, away } | State::Answered { seats, away, .. }) = &self.state;
        seats.len().saturating_add(usize::try_from(*away).unwrap_or(usize::MAX))
    }

    /// Returns the answer, if there is one.
    pub fn answer(&self) -> Option<&Answer> {
        match &self.state {
            State::Open { .. } => None,
            State::Answered { answer, .. } => Some(answer),
        }
    }
}
