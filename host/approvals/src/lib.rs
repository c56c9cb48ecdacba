//! Approvals of calls: questions that wait for an answer, and answers with their proof.
//!
//! A [`Wanted`] describes a call that rules ask about. [`Requests`] keeps it in a store as a [`Request`] with a
//! number until it is answered, so that an answer survives restarts and reaches every server. Equal calls that
//! wait at the same time share a request.
//!
//! Invariants:
//! - An approval holds for a call with the same [binding](Wanted::binding): tool, component, arguments,
//!   workspace, principal, and the text of the deciding rules.
//! - An approval is used up by the calls that waited for it, unless it is remembered. Each of them has a seat of its
//!   own: what a server that died leaves unused, no later call uses.
//! - An approval that holds always is given by an approver alone. For the person at the machine it is an entry of the
//!   policy, which [`always`](always()) verifies; for a principal it is remembered here.
//! - Through the strong channel, an answer counts only with a signature over its [statement](Request::statement)
//!   by an approver whom each deciding rule accepts, with a key or a [`Credential`]. [`proven`] verifies it at each use, so that write access to
//!   the store does not suffice to approve.

mod always;
mod credential;
mod proof;
mod read_before;
mod request;
mod requests;
mod scan;
mod shown;
mod wanted;

pub use always::{Always, always};
pub use credential::Credential;
pub use proof::{Proof, Unproven, proven};
pub use read_before::Reader;
pub use request::{Answer, Decision, Extent, Request, Seat, State, Way};
pub use requests::{Answered, Joined, Listed, MAX_OPEN, Requests, Trouble, Why};
pub use shown::{MAX_SHOWN_CHARS, shown};
pub use wanted::{Asking, Wanted};
