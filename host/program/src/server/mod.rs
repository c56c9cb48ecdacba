//! The server: sessions, requests, answers.
//!
//! Reading order: [`session`] is what is known about the client, `workers` decides which
//! thread reads and which works, `dispatch` names the method's handler, `inflight` keeps
//! the promise of exactly one answer, `rendering` writes results for models, `handlers` has one file for each method group,
//! `callbacks` fires timers, `records` keeps what calls did, `tool_news` tells of changed lists.

mod brought;
mod callbacks;
mod client;
mod context;
mod counterpart;
mod dispatch;
mod handlers;
mod inflight;
mod outgoing;
mod plan_notes;
mod progress;
pub(crate) mod records;
mod rendering;
mod serve;
mod session;
mod subscriptions;
mod tool_call;
mod tool_news;
mod unknown_arguments;
mod workers;

pub use client::{Client, Shown, Unanswered};
pub(crate) use context::state_folder;
pub use context::{Audience, Context, Options};
pub use progress::Progress;
pub use rendering::ToolResult;
pub use serve::{End, Server};
