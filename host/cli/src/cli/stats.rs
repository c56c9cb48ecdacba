//! The command `scorpiox-code stats`: prints the statistics of running servers.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use scorpiox_audit::{Posted, PrincipalFigures, ToolFigures, posted, time};
use scorpiox_command_output::{human_bytes, human_duration};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Table;
use scorpiox_terminal::{Shown, columns, wrapped};
use scorpiox_text::line::escaped;
use serde_json::{Value, json};

use super::environment::Environment;
use crate::auditing::{mib, millis};
use scorpiox_metering::records::run_folder;

pub(super) fn run(environment: &Environment, is_json: bool) -> Result<ExitCode> {
    let folder = run_folder(&environment.own_home);
    let servers = posted(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    terminal::print(&if is_json { Shown::json(&as_json(&servers)) } else { as_text(&servers) });
    Ok(ExitCode::SUCCESS)
}

fn as_json(servers: &[Posted]) -> String {
    let servers: Vec<Value> = servers
        .iter()
        .map(|posted| {
            let mut server = serde_json::to_value(posted).unwrap_or_default();
            server["started"] = json!(time::rfc3339(posted.server.started));
            server["posted"] = json!(time::rfc3339(posted.server.posted));
            server["uptime_ms"] = json!(uptime(posted).as_millis());
            server
        })
        .collect();
    json!({ "servers": servers }).to_string()
}

fn as_text(servers: &[Posted]) -> Shown {
    let mut shown = Shown::default();
    for posted in servers {
        let mut text = String::from(if shown.as_str().is_empty() { "" } else { "\n" });
        let server = &posted.server;
        let client = if server.client.is_empty() { "an unknown client" } else { &server.client };
        let head = format!(
            "server {}, version {}: {}, for {}",
            server.pid,
            escaped(&server.version),
            escaped(&server.workspace),
            escaped(client),
        );
        for (index, row) in wrapped(&head, columns() - 2).into_iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}{row}", if index == 0 { "" } else { "  " });
        }
        let up = human_duration(uptime(posted));
        let _ = writeln!(text, "  up {up}, {} of memory", mib(server.rss_bytes));
        if posted.tools.is_empty() {
            text.push_str("  no calls yet\n");
            shown = shown.and(&Shown::text(&text));
            continue;
        }
        shown = shown.and(&Shown::text(&text));
        let mut table =
            Table::new(["  tool", "calls", "p50", "p90", "p99", "max", "memory", "not done"], &[0])
                .with_details();
        let rows: Vec<_> = posted.tools.iter().map(row).collect();
        shown = shown.and(&Shown::headed(&table.render(&rows)));
        if !posted.principals.is_empty() {
            let mut table =
                Table::new(["  principal", "calls", "processor", "stored", "in", "out", "not done"], &[0])
                    .with_details();
            let rows: Vec<_> = posted.principals.iter().map(principal_row).collect();
            shown = shown.and(&Shown::headed(&table.render(&rows)));
        }
    }
    if servers.is_empty() {
        shown = Shown::line("no server is running, or none was called yet");
    }
    shown
}

fn row(figures: &ToolFigures) -> [String; 8] {
    let ToolFigures { calls, errors, cancelled, refused, peak_memory_bytes, .. } = figures;
    let [p50, p90, p99, max] = [figures.p50_ms, figures.p90_ms, figures.p99_ms, figures.max_ms].map(short);
    let memory = if *peak_memory_bytes == 0 { String::new() } else { mib(*peak_memory_bytes) };
    let tool = format!("  {}", escaped(&figures.tool));
    [tool, calls.to_string(), p50, p90, p99, max, memory, not_done(*errors, *cancelled, *refused)]
}

/// Lists the calls that did not do what was asked, by outcome.
fn not_done(errors: u64, cancelled: u64, refused: u64) -> String {
    let errors = (errors > 0).then(|| format!("{errors} error{}", if errors == 1 { "" } else { "s" }));
    let cancelled = (cancelled > 0).then(|| format!("{cancelled} cancelled"));
    let refused = (refused > 0).then(|| format!("{refused} refused"));
    [errors, cancelled, refused].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Formats a time with few digits, so that all of them fit a row.
fn short(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.1} ms"),
        ms if ms < 1000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1000.0),
    }
}

fn principal_row(figures: &PrincipalFigures) -> [String; 7] {
    let PrincipalFigures { principal, calls, errors, cancelled, refused, .. } = figures;
    let processor = millis(figures.processor_ms);
    let [stored, received, sent] =
        [figures.stored_bytes, figures.received_bytes, figures.sent_bytes].map(human_bytes);
    let not_done = not_done(*errors, *cancelled, *refused);
    [format!("  {}", escaped(principal)), calls.to_string(), processor, stored, received, sent, not_done]
}

fn uptime(posted: &Posted) -> Duration {
    Duration::from_millis(time::now().saturating_sub(posted.server.started))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(tool: &str) -> ToolFigures {
        ToolFigures {
            tool: tool.to_owned(),
            calls: 12_345,
            errors: 1,
            cancelled: 0,
            refused: 22,
            p50_ms: 0.04,
            p90_ms: 123.4,
            p99_ms: 99_999.0,
            max_ms: 600_000.0,
            peak_memory_bytes: 200 << 20,
            ..ToolFigures::default()
        }
    }

    #[test]
    fn a_row_of_large_figures_fits_eighty_columns() {
        let mut table =
            Table::new(["  tool", "calls", "p50", "p90", "p99", "max", "memory", "not done"], &[0])
                .with_details();
        let text = table.render(&[row(&figures("AskUserQuestion"))]);
        assert_eq!(
            text,
            "  tool             calls  p50     p90     p99      max      memory     not done\n  \
             AskUserQuestion  12345  0.0 ms  123 ms  100.0 s  600.0 s  200.0 MiB\n    1 error, 22 refused\n"
        );
    }
}
