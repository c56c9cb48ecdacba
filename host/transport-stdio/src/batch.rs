//! Batches, each of which is queued like a single call.

use bytes::Bytes;
use scorpiox_mcp::jsonrpc::{code, reply};
use serde_json::value::RawValue;

use super::reading::Waiting;
use super::workers::Admission;
use super::{Input, Server};

impl Server {
    /// Answers the messages of a batch, one after the other, in one array.
    pub(super) fn batch(&self, line: &Bytes, members: &[&RawValue], input: Input) -> Option<Input> {
        let Self { session, output, .. } = self;
        if !session.takes_batches() {
            let message = "batches are not part of this revision; send one message a line";
            session.refuse_batch(members);
            output.send_later(&reply::error(None, code::INVALID_REQUEST, message, None::<&()>));
            return Some(input);
        }
        match self.workers.admit(Waiting { line: line.clone(), ticket: None }, line.len()) {
            Admission::Run(_) => {
                self.with_input_on_loan(input, line.len(), || session.batch_answer(members, &self.reply))
            }
            Admission::Queued => Some(input),
            Admission::Refused(_) => {
                if let Some(refusals) = session.refuse_busy_batch(members, &self.reply) {
                    output.send_later(&refusals);
                }
                Some(input)
            }
        }
    }
}
