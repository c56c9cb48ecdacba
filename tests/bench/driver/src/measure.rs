//! Measures servers side by side, in alternating rounds, so that noise affects all of them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::requests::{Requests, WINDOW};
use crate::server::Server;

/// One kind of request to one of the servers.
pub struct Lane {
    /// Index of the server in the list of servers.
    pub server: usize,
    pub requests: Requests,
    /// Number of requests in a round.
    pub amount: usize,
}

/// Returns the median time of an exchange in each lane, in seconds, for sequential requests. The first of
/// `rounds + 1` rounds is a warm-up.
pub fn times<const N: usize>(
    servers: &mut [Server],
    lanes: &mut [Lane; N],
    rounds: usize,
) -> Result<[f64; N]> {
    let mut samples: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for round in 0..=rounds {
        for (lane, samples) in lanes.iter_mut().zip(&mut samples) {
            let server = &mut servers[lane.server];
            let checked = if round == 0 { lane.amount } else { 1 };
            let mut before = Instant::now();
            for left in (0..lane.amount).rev() {
                let answer = server.exchange(lane.requests.take(1))?;
                let now = Instant::now();
                if round > 0 {
                    samples.push((now - before).as_secs_f64());
                }
                before = now;
                if left < checked {
                    lane.requests.check_last(answer).with_context(|| server.name)?;
                    before = Instant::now();
                }
            }
        }
    }
    Ok(samples.map(median))
}

/// Returns the median throughput of each lane in answers per second, with [`WINDOW`] requests in flight. The
/// first of `rounds + 1` rounds is a warm-up.
pub fn rates<const N: usize>(
    servers: &mut [Server],
    lanes: &mut [Lane; N],
    rounds: usize,
) -> Result<[f64; N]> {
    let mut samples: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for round in 0..=rounds {
        for (lane, samples) in lanes.iter_mut().zip(&mut samples) {
            let server = &mut servers[lane.server];
            let time = pipeline(server, &mut lane.requests, lane.amount)?;
            if round > 0 {
                samples.push(lane.amount as f64 / time.as_secs_f64());
            }
        }
    }
    Ok(samples.map(median))
}

/// Returns the time of `amount` requests if the next request follows each answer.
pub fn pipeline(server: &mut Server, requests: &mut Requests, amount: usize) -> Result<Duration> {
    let (mut sent, mut answered, mut length) = (0, 0, 0);
    let begin = Instant::now();
    while answered < amount {
        let more = (amount - sent).min(WINDOW - (sent - answered));
        if more > 0 {
            server.send(requests.take(more))?;
            sent += more;
        }
        let chunk = server.receive(length)?;
        length += chunk.len();
        #[allow(clippy::naive_bytecount)] // the compiler vectorizes this loop
        let lines = chunk.iter().filter(|byte| **byte == b'\n').count();
        answered += lines;
    }
    let time = begin.elapsed();
    requests.check_all(server.received(length), amount).with_context(|| server.name)?;
    Ok(time)
}

/// Returns the median of the samples.
pub fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}
