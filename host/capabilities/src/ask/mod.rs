//! Questions to the person: what a call asks with, and what becomes of it.
//!
//! A client that shows forms asks itself. For others there is the [`Prompter`], with what this machine has.

mod host;
#[cfg(not(unix))]
mod no_prompter;
#[cfg(unix)]
mod person;
#[cfg(unix)]
mod prompter;

use scorpiox_ask::{Answers, Questions};

use crate::notices::{List, Severity};
use crate::requests::{Abilities, Answer, ClientRequest, Unmet};

pub use host::{AskCtx, AskFailure};
#[cfg(not(unix))]
pub use no_prompter::{Prompter, ways_here};
#[cfg(unix)]
pub use prompter::{Prompter, ways_here};

/// The person and the model on the other side, for one call.
pub trait Counterpart: Send + Sync {
    /// Asks the person.
    fn ask(&self, questions: &Questions) -> Asked;
    /// The call cannot be made again, since an earlier run has changed what it works with: nobody is asked
    /// [`Asked::Later`].
    fn runs_once(&self) {}
    /// Asks the client's model, with the parameters of `sampling/createMessage`.
    fn sample(&self, parameters: serde_json::Value) -> Result<serde_json::Value, Unsampled>;
    /// What the client can be requested.
    fn abilities(&self) -> Abilities;
    /// Requests all of these of the client, each under its key; the answers have their order.
    fn request(&self, requests: &[(String, ClientRequest)]) -> Result<Vec<Answer>, Unmet>;
    /// A message for the client's log, of a plugin.
    fn log(&self, severity: Severity, plugin: &str, message: &str);
    /// A list has changed: tells all clients that want to know.
    fn list_changed(&self, list: List);
    /// A resource of a plugin has changed: tells all clients that subscribed to it, if it is that plugin's.
    fn resource_updated(&self, plugin: &str, uri: &str);
}

/// Why the model gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Unsampled {
    Unavailable(String),
    Refused(String),
    Cancelled,
}

/// Ends a run whose question the client asks once the call has ended: the call is made again with the answer.
#[derive(Debug, thiserror::Error)]
#[error("the person is asked first")]
pub struct Later;

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The person answered, or declined.
    Answered(Answers),
    /// The call is to stop.
    Cancelled,
    /// The client asks once the call has ended, and calls again.
    Later,
    /// There is no way to ask here, or none worked: why.
    NoWay(String),
}
