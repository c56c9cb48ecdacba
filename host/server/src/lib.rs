//! The server: what is built once, what belongs to a workspace, what belongs to a client's session, and where
//! one request's answer goes. It knows no transport.
//!
//! Reading order: [`app`], [`workspace`] and [`session`] own what their names say, [`reply`] is where a request's
//! answer and progress go. `messages` takes what a client sends, `dispatch` names a method's handler, `scope` is what
//! handlers work with, and `handlers` has one file for each method group. `inflight` keeps the promise of exactly one
//! answer, `rendering` writes results for models, `callbacks` fires timers,
//! `list_changed` tells of changed lists.

pub mod app;
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
mod rendering;
mod request;
mod scope;
pub mod session;
mod skill_component;
mod subscriptions;
mod tool_call;
pub mod workspace;

pub use app::App;
pub use client::Client;
pub use messages::{Step, Work};
pub use rendering::ToolResult;
pub use scorpiox_exchange::{Admission, Channel, Progress, Reply, Ticket};
pub use session::Transport;
pub use session::{Audience, Session, SessionOptions};
pub use workspace::{OpenStore, Workspace, WorkspaceOptions};

use scorpiox_exchange::{inflight, outgoing, progress, reply, request_state, rounds};
