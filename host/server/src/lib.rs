//! The protocol server, independent of any transport: the process-wide app, workspaces, client sessions, and
//! the handling of each request.
//!
//! Reading order: [`app`], [`workspace`] and [`session`] own the state their names suggest, and [`reply`]
//! carries a request's answer and progress. `messages` receives client messages, `dispatch` maps a method to
//! its handler, `scope` is the context of a handler, and `handlers` has one file for each method group.
//! `inflight` guarantees exactly one answer per request, `rendering` writes results for models, `callbacks`
//! fires timers, `policy_change` puts a changed policy into force, and `list_changed` sends list change
//! notifications. [`skills`] finds and reads skills.

pub mod app;
mod approvals;
mod batch;
mod callbacks;
mod client;
mod component_call;
mod deliveries;
mod dispatch;
mod handlers;
mod list_changed;
mod messages;
mod plan_notes;
mod policy_change;
mod read_before;
mod rendering;
mod request;
mod scope;
pub mod session;
mod skill_component;
pub mod skills;
mod subscriptions;
mod tool_call;
pub mod workspace;

pub use app::App;
pub use client::Client;
pub use dispatch::recorded;
pub use handlers::skills::MAX_RESOURCE_BYTES;
pub use messages::{Step, Work};
pub use policy_change::READ_AT_START;
pub use read_before::because as because_read;
pub use rendering::ToolResult;
pub use scorpiox_exchange::{Admission, Channel, Progress, Reply, Ticket};
pub use session::Transport;
pub use session::{Audience, Session, SessionOptions};
pub use workspace::{OpenStore, Workspace, WorkspaceOptions};

use scorpiox_exchange::{inflight, outgoing, progress, reply, request_state, rounds};
