//! The command `scorpiox-code stats --days`: prints the usage of principals.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;

use crate::auditing::millis;
use anyhow::{Context as _, Result};
use scorpiox_audit::principals::Names;
use scorpiox_command_output::human_bytes;
use scorpiox_metering::usage::{Day, Row, Used, since};
use scorpiox_terminal::{Shown, Table, print};
use scorpiox_workspace_config::Operator;
use serde_json::json;

use super::environment::Environment;

pub(super) fn run(environment: &Environment, days: u64, is_json: bool) -> Result<ExitCode> {
    let ledger = environment.ledger(&Arc::new(Operator::new(environment.site())));
    let first = Day::today().before(days - 1);
    let rows = since(&*ledger, first).with_context(|| format!("{} cannot be read", ledger.location()))?;
    let shown = if is_json {
        Shown::json(&json!({ "since": first.to_string(), "used": rows }).to_string())
    } else {
        Shown::text(&as_text(first, &rows))
    };
    print(&shown);
    Ok(ExitCode::SUCCESS)
}

fn as_text(first: Day, rows: &[Row]) -> String {
    if rows.is_empty() {
        return format!("since {first} no principal used anything over HTTP\n");
    }
    let mut sums: BTreeMap<&str, Used> = BTreeMap::new();
    for row in rows {
        *sums.entry(&row.principal).or_default() += row.used;
    }
    let names = Names::of(sums.keys().copied());
    let head = ["principal", "calls", "refused", "processor", "stored", "in", "out"];
    let rows: Vec<_> = sums.into_iter().map(|(principal, used)| row(names.shown(principal), &used)).collect();
    format!("since {first}, in UTC\n{}", Table::new(head, &[0]).render(&rows))
}

fn row(principal: String, used: &Used) -> [String; 7] {
    let [stored, received, sent] = [used.stored, used.received, used.sent].map(human_bytes);
    let processor = millis(used.processor().as_secs_f64() * 1000.0);
    [principal, used.calls.to_string(), used.refused.to_string(), processor, stored, received, sent]
}
