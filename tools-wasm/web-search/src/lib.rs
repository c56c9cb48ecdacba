//! `WebSearch`: several engines at once, one ranked list.
//!
//! One file an engine in [`engines`], data and a parser; [`round`] asks them all at the same
//! time; [`merge`] makes one list of theirs; [`breaker`] remembers, in the store, which engine
//! is better left alone for a while. The host moves bytes and sets an honest User-Agent; what
//! the bytes mean is decided here.
//!
//! Invariant: what an engine sends never ends a search. The worst it can do is to be reported
//! as failed.

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

/// What clients are told.
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

/// Runs one call. `clock` gives milliseconds since 1970 and is read again and again while engines
/// are waited for.
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
    // A store that cannot be read only means that no engine is known to be suspended.
    let records = breaker::load(store).unwrap_or_default();
    // Nobody's writing waits while engines are waited for.
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

/// Keeps what became of the engines; also when the call fails, which rolls back what is not
/// committed. A store that cannot be written costs the next search time, not this one its
/// result.
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
