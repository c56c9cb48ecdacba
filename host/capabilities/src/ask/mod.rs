//! Questions to the user during a call.
//!
//! A client that can show forms asks the user itself. For other clients, [`Prompter`] asks with the means of
//! this machine.

mod host;
#[cfg(not(unix))]
mod no_prompter;
#[cfg(unix)]
mod person;
#[cfg(unix)]
mod prompter;

use scorpiox_questions::{Answers, Questions};

use crate::notices::{List, Severity};
use crate::requests::{Abilities, Answer, ClientRequest, Unmet};

pub use host::{AskCtx, AskFailure};
#[cfg(not(unix))]
pub use no_prompter::{Prompter, ways_here};
#[cfg(unix)]
pub use prompter::{Prompter, ways_here};

/// The user and the model on the client's side, for one call.
pub trait Counterpart: Send + Sync {
    /// Asks the user.
    fn ask(&self, questions: &Questions) -> Asked;
    /// Declares that the call cannot be repeated, because an earlier run has changed its state. After this,
    /// [`Asked::Later`] is never returned.
    fn runs_once(&self) {}
    /// Asks the client's model, with the parameters of `sampling/createMessage`.
    fn sample(&self, parameters: serde_json::Value) -> Result<serde_json::Value, Unsampled>;
    /// Returns the kinds of requests that the client supports.
    fn abilities(&self) -> Abilities;
    /// Sends all these requests to the client, each under its key. The answers have the same order.
    fn request(&self, requests: &[(String, ClientRequest)]) -> Result<Vec<Answer>, Unmet>;
    /// Sends a plugin's message to the client's log.
    fn log(&self, severity: Severity, plugin: &str, message: &str);
    /// Notifies all interested clients that a list has changed.
    fn list_changed(&self, list: List);
    /// Notifies all clients that subscribed to a resource, if it belongs to `plugin`.
    fn resource_updated(&self, plugin: &str, uri: &str);
}

/// Reason why the model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Unsampled {
    Unavailable(String),
    Refused(String),
    Cancelled,
}

/// Ends a run whose question the client asks after the end of the call. The client then repeats the call with
/// the answer.
#[derive(Debug, thiserror::Error)]
#[error("the person is asked first")]
pub struct Later;

/// Outcome of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The user answered or declined.
    Answered(Answers),
    /// The call was cancelled.
    Cancelled,
    /// The client asks after the end of the call, and repeats it.
    Later,
    /// No method of asking is available or worked; contains the reason.
    NoWay(String),
}
