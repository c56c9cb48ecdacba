//! The command `scorpiox-code search QUERY`: prints the results of WebSearch and the status of each engine,
//! so that an engine with changed pages is noticed.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use serde_json::{Value, json};

use super::call;
use super::environment::Environment;

pub(super) fn run(environment: &Environment, query: &str) -> Result<ExitCode> {
    let result = call::result(environment, "WebSearch", &json!({ "query": query }))?;
    if result["isError"] == true {
        let text = result["content"][0]["text"].as_str().unwrap_or("the search failed");
        terminal::print(&Shown::said(text));
        return Ok(ExitCode::FAILURE);
    }
    terminal::print(&Shown::lines(&table(&result["structuredContent"])));
    Ok(ExitCode::SUCCESS)
}

fn table(found: &Value) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    for engine in list(&found["engines"]) {
        let message = engine["message"].as_str().unwrap_or_default();
        let line = format!(
            "{:<12} {:<10} {:>3} {:>7} ms  {message}",
            word(&engine["name"]),
            word(&engine["status"]).replace('_', " "),
            number(&engine["results"]),
            number(&engine["duration_ms"]),
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for result in list(&found["results"]) {
        let engines: Vec<_> = list(&result["engines"]).iter().map(word).collect();
        let _ = write!(
            text,
            "\n{:>2}. {}\n    {}\n    {}\n",
            number(&result["rank"]),
            word(&result["title"]),
            word(&result["url"]),
            engines.join(", ")
        );
    }
    if list(&found["results"]).is_empty() {
        text.push_str("\nNothing was found.\n");
    }
    text
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_and_results_are_shown() {
        let found = json!({
            "engines": [
                {"name": "bing", "status": "ok", "results": 10, "duration_ms": 321, "message": null},
                {"name": "yahoo", "status": "timed_out", "results": 0, "duration_ms": 6000, "message": "after 6 s"},
            ],
            "results": [{"rank": 1, "title": "T", "url": "https://a.example/", "engines": ["bing", "brave"]}],
        });
        let expected = "bing         ok          10     321 ms\n\
                        yahoo        timed out    0    6000 ms  after 6 s\n\
                        \n 1. T\n    https://a.example/\n    bing, brave\n";
        assert_eq!(table(&found), expected);
        assert!(table(&json!({})).contains("Nothing was found."));
    }
}
