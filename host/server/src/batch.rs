//! JSON-RPC batches: several messages in one, with one answer.

use scorpiox_mcp::jsonrpc::{Message, reply};
use serde_json::value::RawValue;

use super::messages::Step;
use super::reply::Reply;
use super::session::Session;
use scorpiox_mcp::params::Text;
use scorpiox_mcp::{Params, RpcError};

/// Limit of a batch's answers in bytes, beyond which its remaining requests are refused as busy.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

impl Session {
    /// Returns `true` if the session's revision has batches.
    pub fn takes_batches(&self) -> bool {
        self.facts().revision.is_some_and(|revision| revision.features().batches)
    }

    /// Runs the messages of a batch in sequence and returns their answers in one array, if there are any. All
    /// members are registered before the first one runs, so that a cancel notification reaches those that
    /// wait.
    pub fn batch_answer(&self, members: &[&RawValue], reply: &Reply) -> Option<Vec<u8>> {
        let steps: Vec<_> = members.iter().map(|member| self.batch_member(member, reply)).collect();
        let mut bytes = 0;
        let answer = |step| {
            let answer = match step {
                Step::Nothing => None,
                Step::Answer(answer) => Some(answer),
                Step::Work(work, ticket) if bytes > MAX_ANSWER_BYTES => {
                    Some(self.refuse_busy(&work, &ticket, reply))
                }
                Step::Work(work, ticket) => self.perform(&work, &ticket, reply),
            };
            bytes += answer.as_ref().map_or(0, Vec::len);
            answer
        };
        let answers: Vec<_> = steps.into_iter().filter_map(answer).collect();
        (!answers.is_empty()).then(|| reply::batch(&answers))
    }

    /// Records the requests of a batch that is refused as a whole, because the session's revision has none.
    pub fn refuse_batch(&self, members: &[&RawValue]) {
        for member in members {
            let Ok(Message::Request { method, params, .. }) = Message::parse(member.get()) else { continue };
            let name = Params::new(params).ok();
            let name = name.and_then(|params| params.optional::<Text<'_>>("name", "a string").ok().flatten());
            self.refuse_unread(&method, name.as_ref().map(|name| &*name.0));
        }
    }

    /// Returns the answers to a batch that is refused because the server is at capacity.
    pub fn refuse_busy_batch(&self, members: &[&RawValue], reply: &Reply) -> Option<Vec<u8>> {
        let refused = |member: &&RawValue| match Message::parse(member.get()) {
            Ok(message) => self.refuse_busy_message(message, reply),
            Err(error) => Some(error.reply()),
        };
        let refusals: Vec<_> = members.iter().filter_map(refused).collect();
        (!refusals.is_empty()).then(|| reply::batch(&refusals))
    }

    fn batch_member<'a>(&self, member: &'a RawValue, reply: &Reply) -> Step<'a> {
        match Message::parse(member.get()) {
            Err(error) => Step::Answer(error.reply()),
            Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                Step::Answer(RpcError::invalid_request("initialize must not be part of a batch").reply(&id))
            }
            Ok(Message::Request { id, method, .. }) if method == "subscriptions/listen" => {
                Step::Answer(RpcError::method_not_found(&method).reply(&id))
            }
            Ok(message) => self.step(message, reply),
        }
    }
}
