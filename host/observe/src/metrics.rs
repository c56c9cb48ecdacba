//! The figures, as Prometheus reads them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;
use scorpiox_audit::Counts;
use scorpiox_http::Load;

use crate::{Watched, process};

/// Times by which calls are told apart, in milliseconds: from a call that stays in memory to a long command.
const BOUNDS: [u64; 15] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 120_000];

/// All figures at this moment.
pub(crate) fn text(watched: &Watched, is_ready: Option<bool>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Snapshot::of(watched, is_ready)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// What was counted when somebody asked.
#[derive(Debug)]
struct Snapshot {
    workspaces: Vec<Figures>,
    load: Load,
    database: Option<[usize; 2]>,
    is_ready: Option<bool>,
}

/// Of a workspace.
#[derive(Debug)]
struct Figures {
    workspace: String,
    tools: BTreeMap<String, Counts>,
    principals: BTreeMap<String, Counts>,
}

impl Snapshot {
    fn of(watched: &Watched, is_ready: Option<bool>) -> Self {
        let figures = |(workspace, opened): (String, Arc<scorpiox_server::Workspace>)| {
            let figures = opened.records().figures();
            let (tools, principals) = (figures.counts_of_tools(), figures.counts_of_principals());
            Figures { workspace, tools, principals }
        };
        Self {
            workspaces: watched.server.workspaces().into_iter().map(figures).collect(),
            load: watched.server.load(),
            database: watched.database.as_ref().map(|database| database.connections()),
            is_ready,
        }
    }
}

/// A gauge without labels.
pub(crate) fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: &impl EncodeGaugeValue,
) -> fmt::Result {
    encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(value)
}

/// A counter without labels; `_total` comes after its name.
pub(crate) fn counter(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: &impl EncodeCounterValue,
) -> fmt::Result {
    let none: Option<&Exemplar<NoLabelSet, f64>> = None;
    encoder.encode_descriptor(name, help, None, MetricType::Counter)?.encode_counter(value, none)
}

/// A family of counters, each with its labels.
fn counters<const N: usize, V: EncodeCounterValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = ([(&'static str, String); N], V)>,
) -> fmt::Result {
    let none: Option<&Exemplar<NoLabelSet, f64>> = None;
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, value) in values {
        family.encode_family(&labels)?.encode_counter(&value, none)?;
    }
    Ok(())
}

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let encoder = &mut encoder;
        self.server(encoder)?;
        self.tools(encoder)?;
        self.principals(encoder)?;
        process::encode(encoder)
    }
}

impl Snapshot {
    fn server(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Load { connections, sessions, running, waiting, answered, .. } = &self.load;
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        let info = encoder.encode_descriptor("scorpiox_build", "The program", None, MetricType::Info);
        info?.encode_info(&version)?;
        if let Some(is_ready) = self.is_ready {
            gauge(
                encoder,
                "scorpiox_ready",
                "1 if calls would be served when it was asked last",
                &u64::from(is_ready),
            )?;
        }
        for (name, help, value) in [
            ("scorpiox_connections", "Connections of clients", connections),
            ("scorpiox_sessions", "Sessions that are held", sessions),
            ("scorpiox_calls_running", "Calls that run", running),
            ("scorpiox_calls_waiting", "Calls that wait for one that runs to end", waiting),
        ] {
            gauge(encoder, name, help, &(*value as u64))?;
        }
        if let Some([open, idle]) = self.database {
            let help = "Connections to the database";
            gauge(encoder, "scorpiox_database_connections", help, &(open as u64))?;
            let help = "Connections to the database that nothing uses";
            gauge(encoder, "scorpiox_database_connections_idle", help, &(idle as u64))?;
        }
        let answers = answered.iter().map(|(code, count)| ([("code", code.to_string())], *count));
        counters(encoder, "scorpiox_http_responses", "Requests that were answered, by status", answers)
    }

    fn tools(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let each = || {
            self.workspaces.iter().flat_map(|figures| {
                figures.tools.iter().map(move |(tool, counts)| {
                    ([("workspace", figures.workspace.clone()), ("tool", tool.clone())], counts)
                })
            })
        };
        let outcomes = each().flat_map(|([workspace, tool], counts)| {
            counts.outcomes().map(|(outcome, count)| {
                ([workspace.clone(), tool.clone(), ("outcome", outcome.to_owned())], count)
            })
        });
        counters(encoder, "scorpiox_calls", "Calls that ended, by outcome", outcomes)?;
        let denied = each().map(|(labels, counts)| (labels, counts.denied()));
        counters(encoder, "scorpiox_calls_denied", "Calls to which something was denied", denied)?;
        let help = "How long calls took that ran";
        let name = "scorpiox_call_duration_seconds";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, counts) in each() {
            let mut below = 0;
            let mut buckets: Vec<(f64, u64)> = Vec::with_capacity(BOUNDS.len() + 1);
            for bound in BOUNDS.map(Duration::from_millis) {
                // Each bucket has those that are in none before it.
                let up_to = counts.up_to(bound).max(below);
                buckets.push((bound.as_secs_f64(), up_to - below));
                below = up_to;
            }
            let all = counts.run();
            buckets.push((f64::INFINITY, all.saturating_sub(below)));
            let mut encoder = family.encode_family(&labels)?;
            encoder.encode_histogram::<NoLabelSet>(counts.time().as_secs_f64(), all, &buckets, None)?;
        }
        let name = "scorpiox_guest_memory_peak_bytes";
        let mut family =
            encoder.encode_descriptor(name, "The most memory of a guest", None, MetricType::Gauge)?;
        for (labels, counts) in each().filter(|(_, counts)| counts.memory() > 0) {
            family.encode_family(&labels)?.encode_gauge(&counts.memory())?;
        }
        Ok(())
    }

    fn principals(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let each = || {
            self.workspaces.iter().flat_map(|figures| {
                figures.principals.iter().map(move |(principal, counts)| {
                    ([("workspace", figures.workspace.clone()), ("principal", principal.clone())], counts)
                })
            })
        };
        let outcomes = each().flat_map(|([workspace, principal], counts)| {
            counts.outcomes().map(|(outcome, count)| {
                ([workspace.clone(), principal.clone(), ("outcome", outcome.to_owned())], count)
            })
        });
        counters(encoder, "scorpiox_principal_calls", "Calls of each principal, by outcome", outcomes)?;
        let processor = each().map(|(labels, counts)| (labels, counts.cost().processor.as_secs_f64()));
        let help = "Processor time of each principal's calls and commands";
        counters(encoder, "scorpiox_principal_processor_seconds", help, processor)?;
        let bytes = each().flat_map(|([workspace, principal], counts)| {
            let cost = counts.cost();
            [("received", cost.received), ("sent", cost.sent), ("stored", cost.stored)].map(
                |(what, bytes)| ([workspace.clone(), principal.clone(), ("what", what.to_owned())], bytes),
            )
        });
        counters(encoder, "scorpiox_principal_bytes", "Bytes of each principal's calls", bytes)
    }
}
