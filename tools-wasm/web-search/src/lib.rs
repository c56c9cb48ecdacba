//! `WebSearch`: queries several engines concurrently and returns one ranked list.
//!
//! [`engines`] has one file per engine, with data and a parser. [`round`] queries them all at the same time.
//! [`merge`] combines their lists into one. [`breaker`] records in the store which engines are suspended for
//! a while. The host transfers bytes and sets an honest User-Agent. This crate interprets the bytes.
//!
//! Invariant: an engine's response never ends a search. In the worst case, the engine is reported as failed.

mod breaker;
#[cfg(target_arch = "wasm32")]
mod component;
mod engine;
mod engines;
mod html;
mod identity;
mod json;
mod markup;
mod merge;
mod outcome;
mod page;
mod query;
mod report;
mod request;
mod round;
mod settings;
mod snippet;
mod url;
mod verdict;

use scorpiox_page::line as clean;
use scorpiox_tool_kit::web::{Progress, Web};
use scorpiox_tool_kit::{Args, Client, Definition, Failure, Hints, Output, Store};

pub use settings::EngineSettings;

use outcome::{Outcome, Report};
use settings::Target;

/// Returns the tool definition.
pub fn definition() -> Definition {
    Definition {
        name: "WebSearch",
        title: "Search the web",
        description: "Search the web using 11 engines concurrently".to_owned(),
        input_schema: include_str!("input-schema.json"),
        output_schema: Some(include_str!("output-schema.json")),
        hints: Hints { read_only: true, destructive: false, idempotent: true, open_world: true },
    }
}

/// Handles a call. `clock` returns milliseconds since 1970, and is read repeatedly while engines are queried.
pub fn call(
    web: &mut impl Web,
    settings: &[EngineSettings],
    progress: &mut impl Progress,
    store: &mut impl Store,
    client: &impl Client,
    clock: &impl Fn() -> u64,
    arguments: &str,
) -> Result<Output, Failure> {
    let query = query::read(&Args::parse(arguments)?)?;
    let chosen = settings::choose(settings);
    if chosen.is_empty() {
        return Err(Failure::Failed(report::NONE_ENABLED.to_owned()));
    }
    // If the store is unreadable, no engine counts as suspended.
    let records = breaker::load(store).unwrap_or_default();
    // The transaction ends here, so that other writers need not wait for the engines.
    let _ = store.commit();
    let now = clock();
    let suspension = |target: &Target| records.get(target.engine.name)?.suspension(now);
    let open: Vec<Target> = chosen.iter().filter(|target| suspension(target).is_none()).cloned().collect();
    let mut answered = round::ask(web, progress, clock, &open, &query)?;
    remember(store, &answered, clock());
    let mut reports = Vec::with_capacity(chosen.len());
    for target in &chosen {
        reports.push(match suspension(target) {
            Some(outcome) => Report { engine: target.engine, outcome, duration_ms: 0 },
            None => answered.remove(0),
        });
    }
    conclude(client, &query, &reports)
}

/// Saves the outcomes of the engines, even if the call fails, because a failure rolls back uncommitted
/// writes. If the store is not writable, the next search takes longer, but this one keeps its result.
fn remember(store: &mut impl Store, reports: &[Report], now: u64) {
    if breaker::save(store, reports, now).is_ok() {
        let _ = store.commit();
    }
}

fn conclude(client: &impl Client, query: &str, reports: &[Report]) -> Result<Output, Failure> {
    let answered = |report: &Report| matches!(report.outcome, Outcome::Hits(_) | Outcome::Empty);
    if !reports.iter().any(answered) {
        return Err(report::failure(client, query, reports));
    }
    let lists = reports.iter().filter_map(|report| match &report.outcome {
        Outcome::Hits(hits) => Some((report.engine, hits.as_slice())),
        _ => None,
    });
    let lists = lists.collect();
    let pages = merge::merge(lists);
    Ok(report::output(client.room(), query, &pages, reports))
}

#[cfg(test)]
mod tests;
