//! Batches: several messages in one line, answered in one.

use bytes::Bytes;
use scorpiox_rpc::{Message, code, reply};
use serde_json::value::RawValue;

use super::reading::Waiting;
use super::steps::{BUSY_CALL, Step, Work, busy};
use super::{Input, Server};
use crate::mcp::RpcError;
use crate::server::dispatch;
use crate::server::tool_call::record_unrun;
use crate::server::workers::Admission;

impl Server {
    /// Answers the messages of a batch, one after the other, in one array.
    pub(super) fn batch(&self, line: &Bytes, members: &[&RawValue], input: Input) -> Option<Input> {
        let output = &self.context.output;
        let revision = self.context.session.facts().revision;
        if !revision.is_some_and(|revision| revision.features().batches) {
            let message = "batches are not part of this revision; send one message a line";
            output.send_later(&reply::error(None, code::INVALID_REQUEST, message, None::<&()>));
            return Some(input);
        }
        match self.workers.admit(Waiting { line: line.clone(), ticket: None }, line.len()) {
            Admission::Run(_) => self.with_input_on_loan(input, line.len(), || self.batch_answer(members)),
            Admission::Queued => Some(input),
            Admission::Refused(_) => {
                let refusals: Vec<_> =
                    members.iter().filter_map(|member| self.refused_member(member)).collect();
                if !refusals.is_empty() {
                    output.send_later(&reply::batch(&refusals));
                }
                Some(input)
            }
        }
    }

    /// Runs a batch. Its members are registered before the first one runs, so that a cancel
    /// reaches those that wait.
    pub(super) fn batch_answer(&self, members: &[&RawValue]) -> Option<Vec<u8>> {
        let steps: Vec<_> = members.iter().map(|member| self.batch_member(member)).collect();
        let answer = |step| match step {
            Step::Nothing => None,
            Step::Answer(answer) => Some(answer),
            Step::Work(Work { request, handler, ticket }) => self.perform(&request, handler, &ticket),
        };
        let answers: Vec<_> = steps.into_iter().filter_map(answer).collect();
        (!answers.is_empty()).then(|| reply::batch(&answers))
    }

    fn batch_member<'a>(&self, member: &'a RawValue) -> Step<'a> {
        match Message::parse(member.get()) {
            Err(error) => {
                Step::Answer(reply::error(error.id.as_ref(), error.code, &error.message, None::<&()>))
            }
            Ok(Message::Request { id, method, .. }) if method == "initialize" => {
                Step::Answer(RpcError::invalid_request("initialize must not be part of a batch").reply(&id))
            }
            Ok(message) => self.step(message),
        }
    }

    /// The refusal of a batch's member, where it expects an answer.
    fn refused_member(&self, member: &RawValue) -> Option<Vec<u8>> {
        match Message::parse(member.get()) {
            Ok(Message::Request { id, method, params }) => {
                let facts = self.context.session.facts();
                if let Ok(request) = dispatch::read(id.clone(), &method, params, facts) {
                    record_unrun(&self.context, &request, BUSY_CALL);
                }
                Some(busy().reply(&id))
            }
            Ok(_) => None,
            Err(error) => Some(reply::error(error.id.as_ref(), error.code, &error.message, None::<&()>)),
        }
    }
}
