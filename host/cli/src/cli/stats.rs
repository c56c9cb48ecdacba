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
    terminal::print(&if is_json { Shown::json(&as_json(&servers)) } else { Shown::text(&as_text(&servers)) });
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

fn as_text(servers: &[Posted]) -> String {
    let mut text = String::new();
    for posted in servers {
        if !text.is_empty() {
            text.push('\n');
        }
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
            continue;
        }
        let mut table = Table::new(
            ["  tool", "calls", "errors", "cancelled", "refused", "p50", "p90", "p99", "max", "memory"],
            &[0],
        );
        let rows: Vec<_> = posted.tools.iter().map(row).collect();
        text.push_str(&table.render(&rows));
        if !posted.principals.is_empty() {
            let mut table = Table::new(
                [
                    "  principal",
                    "calls",
                    "errors",
                    "cancelled",
                    "refused",
                    "processor",
                    "stored",
                    "in",
                    "out",
                ],
                &[0],
            );
            let rows: Vec<_> = posted.principals.iter().map(principal_row).collect();
            text.push_str(&table.render(&rows));
        }
    }
    if text.is_empty() {
        text.push_str("no server is running, or none was called yet\n");
    }
    text
}

fn row(figures: &ToolFigures) -> [String; 10] {
    let ToolFigures { calls, errors, cancelled, refused, peak_memory_bytes, .. } = figures;
    let [p50, p90, p99, max] = [figures.p50_ms, figures.p90_ms, figures.p99_ms, figures.max_ms].map(millis);
    let memory = if *peak_memory_bytes == 0 { String::new() } else { mib(*peak_memory_bytes) };
    let tool = format!("  {}", escaped(&figures.tool));
    let [calls, errors, cancelled, refused] = [calls, errors, cancelled, refused].map(u64::to_string);
    [tool, calls, errors, cancelled, refused, p50, p90, p99, max, memory]
}

fn principal_row(figures: &PrincipalFigures) -> [String; 9] {
    let PrincipalFigures { principal, calls, errors, cancelled, refused, .. } = figures;
    let processor = millis(figures.processor_ms);
    let [stored, received, sent] =
        [figures.stored_bytes, figures.received_bytes, figures.sent_bytes].map(human_bytes);
    let [calls, errors, cancelled, refused] = [calls, errors, cancelled, refused].map(u64::to_string);
    [
        format!("  {}", escaped(principal)),
        calls,
        errors,
        cancelled,
        refused,
        processor,
        stored,
        received,
        sent,
    ]
}

fn uptime(posted: &Posted) -> Duration {
    Duration::from_millis(time::now().saturating_sub(posted.server.started))
}
