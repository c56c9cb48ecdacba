//! Output: text and data for the model, and progress messages for the user.

use scorpiox_tool_kit::{Client, Failure, Output, time};
use serde::Serialize;

use crate::merge::Page;
use crate::outcome::{Cause, Outcome, Report};

/// Maximum number of results in the text, if it has room for them.
const MAX_SHOWN: usize = 20;
/// Length of the heading without the query, in characters.
const HEADING_CHARS: usize = 150;
/// Maximum number of results in the data.
const MAX_DATA: usize = 30;

/// Error if all engines are disabled.
pub(crate) const NONE_ENABLED: &str = "Every search engine is disabled in the operator's settings. Ask the operator to enable one; searching again does not help until then.";

#[derive(Serialize)]
struct Data<'a> {
    query: &'a str,
    results: Vec<ResultData<'a>>,
    engines: Vec<EngineData<'a>>,
}

#[derive(Serialize)]
struct ResultData<'a> {
    rank: usize,
    title: &'a str,
    url: &'a str,
    snippet: &'a str,
    engines: &'a [&'static str],
    score: f64,
}

#[derive(Serialize)]
struct EngineData<'a> {
    name: &'a str,
    status: &'static str,
    results: usize,
    duration_ms: u64,
    message: Option<String>,
}

/// Returns the result of a search that at least one engine answered.
pub(crate) fn output(room: usize, query: &str, pages: &[Page], reports: &[Report]) -> Output {
    let results = pages.iter().take(MAX_DATA).enumerate().map(|(index, page)| ResultData {
        rank: index + 1,
        title: &page.title,
        url: &page.url,
        snippet: &page.snippet,
        engines: &page.engines,
        score: (page.score * 1e6).round() / 1e6,
    });
    let engines = reports.iter().map(|report| EngineData {
        name: report.engine.name,
        status: status(&report.outcome),
        results: count(&report.outcome),
        duration_ms: report.duration_ms,
        message: message(&report.outcome),
    });
    let data = Data { query, results: results.collect(), engines: engines.collect() };
    Output::with_data(text(room, query, pages, reports), &data)
}

fn text(room: usize, query: &str, pages: &[Page], reports: &[Report]) -> String {
    let engines: Vec<String> =
        reports.iter().map(|r| format!("{} {}", r.engine.name, brief(&r.outcome))).collect();
    let engines = format!("Engines: {}.", engines.join(", "));
    let around = format!("{query:?}{engines}").chars().count() + HEADING_CHARS;
    let mut left = room.saturating_sub(around);
    let shown: Vec<String> = pages
        .iter()
        .take(MAX_SHOWN)
        .enumerate()
        .map(|(index, page)| found(index + 1, page))
        .take_while(|found| {
            let fits = left.checked_sub(found.chars().count());
            left = fits.unwrap_or(0);
            fits.is_some()
        })
        .collect();
    let heading = heading(query, pages.len(), shown.len());
    format!("{heading}\n{}\n{engines}", shown.concat())
}

/// Formats a result, preceded by a blank line.
fn found(number: usize, page: &Page) -> String {
    let snippet = if page.snippet.is_empty() { String::new() } else { format!("   {}\n", page.snippet) };
    let engines = page.engines.join(", ");
    format!("\n{number}. {}\n   {}\n{snippet}   [{engines}]\n", page.title, page.url)
}

fn heading(query: &str, found: usize, shown: usize) -> String {
    match found {
        0 => format!(
            "Nothing was found for {query:?} by the engines that answered. Search for fewer or other words."
        ),
        1 => format!("1 result for {query:?}"),
        _ if found > shown => format!("The best {shown} of {found} results for {query:?}"),
        _ => format!("{found} results for {query:?}"),
    }
}

/// Returns the failure of a search that no engine answered.
pub(crate) fn failure(client: &impl Client, query: &str, reports: &[Report]) -> Failure {
    let table: Vec<String> = reports.iter().map(row).collect();
    let table = table.join("\n");
    if reports.iter().all(|report| matches!(report.outcome, Outcome::Denied(_))) {
        return Failure::Denied(format!("No search engine may be asked.\n{table}"));
    }
    if let Some(why) = unknown_names(reports) {
        return Failure::Failed(format!(
            "No search engine answered {query:?}: this machine cannot look up names of hosts ({why}). Is it offline?"
        ));
    }
    let suspended = |report: &Report| match report.outcome {
        Outcome::Suspended { until, .. } => Some(until),
        _ => None,
    };
    let ends: Option<Vec<u64>> = reports.iter().map(suspended).collect();
    let first = ends.and_then(|ends| ends.into_iter().min());
    let what = first.map_or_else(
        || format!("No search engine answered {query:?}."),
        |until| {
            format!(
                "All search engines are suspended after failures, the first until {}.",
                time::rfc3339(until)
            )
        },
    );
    Failure::Failed(format!("{what}\n{table}\n{}", advice(client)))
}

/// Words of the error of a name that was not looked up.
const LOOKUP: &str = "failed to lookup address information";

/// Returns the error of the first engine, if no engine's name was looked up.
fn unknown_names(reports: &[Report]) -> Option<&str> {
    let (first, others) = reports.split_first()?;
    let Outcome::Failed(why) = &first.outcome else { return None };
    let is_so = |report: &Report| matches!(&report.outcome, Outcome::Failed(why) if why.contains(LOOKUP));
    (is_so(first) && others.iter().all(is_so)).then_some(why)
}

fn advice(client: &impl Client) -> String {
    format!(
        "Try again in a minute, or read a known address with {}. If this stays so, the operator can set `key` for brave-api, tavily, exa, kagi or google, or `base_url` for searxng, in [search.engine.NAME] of policy.toml.",
        client.tool_name("ReadDocs")
    )
}

fn row(report: &Report) -> String {
    let name = report.engine.name;
    let brief = brief(&report.outcome);
    let message = message(&report.outcome).map(|message| format!(" ({message})")).unwrap_or_default();
    format!("- {name}: {brief}{message}, {} ms", report.duration_ms)
}

/// Returns the status name of the output schema.
fn status(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Hits(_) => "ok",
        Outcome::Empty => "empty",
        Outcome::Captcha | Outcome::Refused(_) => "blocked",
        Outcome::TimedOut => "timed_out",
        Outcome::Failed(_) => "failed",
        Outcome::Denied(_) => "denied",
        Outcome::Suspended { .. } => "suspended",
    }
}

fn count(outcome: &Outcome) -> usize {
    if let Outcome::Hits(hits) = outcome { hits.len() } else { 0 }
}

/// Describes an outcome after the engine's name, in one or two words.
fn brief(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Hits(hits) => hits.len().to_string(),
        other => status(other).replace('_', " "),
    }
}

/// Returns the reason for missing results.
fn message(outcome: &Outcome) -> Option<String> {
    Some(match outcome {
        Outcome::Hits(_) | Outcome::Empty | Outcome::TimedOut => return None,
        Outcome::Captcha => "it asks for a captcha".to_owned(),
        Outcome::Refused(status) => format!("HTTP {status}"),
        Outcome::Failed(why) | Outcome::Denied(why) => why.clone(),
        Outcome::Suspended { until, cause } => {
            let after = match cause {
                Cause::Failures => "repeated failures",
                Cause::Refused => "repeated refusals",
                Cause::Captcha => "a captcha",
            };
            format!("until {}, after {after}", time::rfc3339(*until))
        }
    })
}

/// Formats a progress message after the engine's label.
pub(crate) fn progress(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Hits(hits) if hits.len() == 1 => "1 result".to_owned(),
        Outcome::Hits(hits) => format!("{} results", hits.len()),
        Outcome::Empty => "nothing found".to_owned(),
        other => brief(other),
    }
}
