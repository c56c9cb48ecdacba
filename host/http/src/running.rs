//! Running a message, on a thread where it may take its time.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use scorpiox_rpc::{Incoming, Message};
use scorpiox_server::{Reply, Session, Step};
use tokio::sync::OwnedSemaphorePermit;

use crate::endpoint::Endpoint;
use crate::sessions::Client;
use crate::stream::Stream;

/// Calls that run at once.
pub(crate) const MAX_RUNNING: usize = 64;
/// Calls that wait for one that runs to end.
const MAX_WAITING: usize = 192;

/// Too many calls wait already.
pub(crate) struct Busy;

/// Begins to run what a body says; what comes of it is said on `stream`, which ends with the answer. A subscription
/// leaves it open.
pub(crate) fn run(
    endpoint: &Arc<Endpoint>,
    client: Arc<Client>,
    body: Bytes,
    stream: Arc<Stream>,
) -> Result<(), Busy> {
    let work = move |permit: OwnedSemaphorePermit| {
        perform(&client.session, &body, &stream);
        client.session.follow_list_changes();
        drop(permit);
    };
    if let Ok(permit) = Arc::clone(&endpoint.running).try_acquire_owned() {
        endpoint.handle.spawn_blocking(move || work(permit));
        return Ok(());
    }
    if endpoint.waiting.fetch_add(1, Ordering::AcqRel) >= MAX_WAITING {
        endpoint.waiting.fetch_sub(1, Ordering::AcqRel);
        return Err(Busy);
    }
    let endpoint = Arc::clone(endpoint);
    endpoint.handle.clone().spawn(async move {
        let permit = Arc::clone(&endpoint.running).acquire_owned().await;
        endpoint.waiting.fetch_sub(1, Ordering::AcqRel);
        // It is never closed.
        if let Ok(permit) = permit {
            endpoint.handle.spawn_blocking(move || work(permit));
        }
    });
    Ok(())
}

fn perform(session: &Session, body: &[u8], stream: &Arc<Stream>) {
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
                Step::Work(work, right) => session.perform(&work, &right, &reply),
            }
        }
        Ok(Incoming::Batch(batch)) => session.batch_answer(&batch.0, &reply),
        Err(error) => Some(error.reply()),
    };
    stream.end(answer);
}
