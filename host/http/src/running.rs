//! Running a message, on a thread where it may take its time.

use std::sync::Arc;

use bytes::Bytes;
use scorpiox_rpc::{Incoming, Message};
use scorpiox_server::{Reply, Step};

use crate::endpoint::Endpoint;
use crate::places::{Held, Places};
use crate::sessions::Client;
use crate::stream::Stream;

/// A body that was read, and the room that it takes.
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    pub(crate) room: Held,
}

/// Begins to run what a body says; what comes of it is said on `stream`, which ends with the answer. A subscription
/// leaves it open.
pub(crate) fn run(endpoint: &Arc<Endpoint>, client: Arc<Client>, body: Body, stream: Arc<Stream>) {
    let shared = Arc::clone(endpoint);
    endpoint.handle.spawn_blocking(move || {
        perform(&shared.places, &client, &body.bytes, &stream);
        drop(body.room);
        client.session.follow_list_changes();
    });
}

/// Only what may take long needs a place: an answer to a question, or a cancel, never waits for the calls that it is for.
fn perform(places: &Places, client: &Client, body: &[u8], stream: &Arc<Stream>) {
    let session = &client.session;
    let ticker = session.ticker();
    let _awake = ticker.begin();
    let reply: Reply = stream.clone();
    // It was read before, and borrows from the body, which two threads cannot share.
    let answer = match Incoming::parse(body) {
        Ok(Incoming::Single(message)) => {
            let is_request = matches!(message, Message::Request { .. });
            match session.step(message, &reply) {
                // It stays open, as the client asked.
                Step::Nothing if is_request => return,
                Step::Nothing => None,
                Step::Answer(answer) => Some(answer),
                Step::Work(work, right) => match places.enter(&client.principal) {
                    Some(_place) => session.perform(&work, &right, &reply),
                    None => Some(session.refuse_busy(&work, &right)),
                },
            }
        }
        Ok(Incoming::Batch(batch)) => match places.enter(&client.principal) {
            Some(_place) => session.batch_answer(&batch.0, &reply),
            None => session.refuse_busy_batch(&batch.0),
        },
        Err(error) => Some(error.reply()),
    };
    stream.end(answer);
}
