//! Metrics in the exposition format of Prometheus.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::Load;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;
use scorpiox_audit::{Cost, Counts};
use scorpiox_metering::records::AuditState;
use scorpiox_store_postgres::Database;

use crate::observe::Watched;
#[cfg(unix)]
use crate::observe::process;
use crate::observe::ready::{NotReady, reasons};

/// Histogram bounds for call durations, in milliseconds: from in-memory calls to long commands.
const BOUNDS: [u64; 15] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 120_000];

/// Encodes the current values of all metrics.
pub(crate) fn text(watched: &Watched, not_ready: Option<NotReady>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Snapshot::of(watched, not_ready)));
    let mut text = String::new();
    encode(&mut text, &registry)?;
    Ok(text)
}

/// Values at the time of a scrape.
#[derive(Debug)]
struct Snapshot {
    tools: Vec<Counted>,
    principals: Vec<Counted>,
    load: Load,
    database: Option<DatabaseFigures>,
    not_ready: Option<NotReady>,
    refusals: Vec<([Label; 2], u64)>,
    audits: Vec<(String, AuditState)>,
}

/// Figures of the database.
#[derive(Debug)]
struct DatabaseFigures {
    /// Number of open connections, and of idle ones among them.
    connections: [usize; 2],
    lost_writes: u64,
}

impl DatabaseFigures {
    fn of(database: &Database) -> Self {
        Self { connections: database.connections(), lost_writes: database.lost_writes() }
    }
}

/// Name and value of a label.
type Label = (&'static str, String);

/// Counters of a tool or a principal in a workspace, with its labels.
type Counted = ([Label; 2], Counts);

impl Snapshot {
    fn of(watched: &Watched, not_ready: Option<NotReady>) -> Self {
        let (mut tools, mut principals) = (Vec::new(), Vec::new());
        let (mut refusals, mut audits) = (Vec::new(), Vec::new());
        for (workspace, opened) in watched.server.workspaces() {
            let figures = opened.records().figures();
            let refused = opened.records().refusals().into_iter();
            refusals
                .extend(refused.map(|(why, count)| {
                    ([("workspace", workspace.clone()), ("why", why.to_owned())], count)
                }));
            audits.push((workspace.clone(), opened.records().audit_state()));
            let labelled = |kind: &'static str, counts: BTreeMap<String, Counts>| {
                let workspace = workspace.clone();
                counts
                    .into_iter()
                    .map(move |(name, counts)| ([("workspace", workspace.clone()), (kind, name)], counts))
            };
            tools.extend(labelled("tool", figures.counts_of_tools()));
            principals.extend(labelled("principal", figures.counts_of_principals()));
        }
        Self {
            tools,
            principals,
            load: watched.server.load(),
            database: watched.database.as_deref().map(DatabaseFigures::of),
            not_ready,
            refusals,
            audits,
        }
    }
}

/// Encodes a gauge without labels.
pub(crate) fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    value: &impl EncodeGaugeValue,
) -> fmt::Result {
    encoder.encode_descriptor(name, help, None, MetricType::Gauge)?.encode_gauge(value)
}

/// Encodes a family of Boolean gauges with labels.
fn gauges<const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = ([Label; N], bool)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in values {
        family.encode_family(&labels)?.encode_gauge(&u64::from(value))?;
    }
    Ok(())
}

/// Encodes a family of counters with labels.
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
        self.audit(encoder)?;
        #[cfg(unix)]
        process::encode(encoder)?;
        Ok(())
    }
}

impl Snapshot {
    fn server(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Load { connections, sessions, running, waiting, answered, .. } = &self.load;
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        let info = encoder.encode_descriptor("scorpiox_build", "The program", None, MetricType::Info);
        info?.encode_info(&version)?;
        let help = "1 if calls would be served";
        gauge(encoder, "scorpiox_ready", help, &u64::from(self.not_ready.is_none()))?;
        let help = "1 for the reason why calls would not be served";
        let unready = self.not_ready.as_ref().map(|why| why.reason);
        let each = reasons().map(|reason| ([("reason", reason.to_owned())], unready == Some(reason)));
        gauges(encoder, "scorpiox_not_ready", help, each)?;
        for (name, help, value) in [
            ("scorpiox_connections", "Connections of clients", connections),
            ("scorpiox_sessions", "Sessions that are held", sessions),
            ("scorpiox_calls_running", "Calls that run", running),
            ("scorpiox_calls_waiting", "Calls that wait for one that runs to end", waiting),
        ] {
            gauge(encoder, name, help, &(*value as u64))?;
        }
        if let Some(DatabaseFigures { connections: [open, idle], lost_writes }) = self.database {
            let help = "Connections to the database";
            gauge(encoder, "scorpiox_database_connections", help, &(open as u64))?;
            let help = "Connections to the database that nothing uses";
            gauge(encoder, "scorpiox_database_connections_idle", help, &(idle as u64))?;
            let help = "Times that the database came back without writes that it had acknowledged";
            let none: Option<&Exemplar<NoLabelSet, f64>> = None;
            encoder
                .encode_descriptor("scorpiox_database_lost_writes", help, None, MetricType::Counter)?
                .encode_counter(&lost_writes, none)?;
        }
        let answers = answered.iter().map(|(code, count)| ([("code", code.to_string())], *count));
        counters(encoder, "scorpiox_http_responses", "Requests that were answered, by status", answers)
    }

    /// Encodes the metrics of refusals and of the audit log.
    fn audit(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let refusals = self.refusals.iter().cloned();
        counters(encoder, "scorpiox_calls_refused", "Refused calls, by the reason", refusals)?;
        let label = |workspace: &str| ("workspace", workspace.to_owned());
        let blocked = self.audits.iter().map(|(workspace, state)| ([label(workspace)], state.is_blocked));
        let help = "1 while lines of the audit cannot be written";
        gauges(encoder, "scorpiox_audit_blocked", help, blocked)?;
        let kept = self.audits.iter().map(|(workspace, state)| ([label(workspace)], state.is_policy_kept));
        let help = "1 while a broken policy is not in force and the last valid one is";
        gauges(encoder, "scorpiox_policy_kept", help, kept)?;
        let exports = self.audits.iter().flat_map(|(workspace, state)| {
            let each = state.exports.iter();
            each.map(move |(place, takes)| ([label(workspace), ("place", place.clone())], !takes))
        });
        gauges(encoder, "scorpiox_audit_export_down", "1 while an export takes no lines", exports)
    }

    fn tools(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counters(encoder, "scorpiox_calls", "Calls that ended, by outcome", outcomes(&self.tools))?;
        let denied = self.tools.iter().map(|(labels, counts)| (labels.clone(), counts.denied()));
        counters(encoder, "scorpiox_calls_denied", "Calls to which something was denied", denied)?;
        let help = "How long calls took that ran";
        let name = "scorpiox_call_duration_seconds";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, counts) in &self.tools {
            let within = counts.within(BOUNDS.map(Duration::from_millis));
            let bounds = BOUNDS.map(|bound| Duration::from_millis(bound).as_secs_f64());
            let mut buckets: Vec<_> = bounds.into_iter().zip(within).collect();
            let all = counts.run();
            buckets.push((f64::INFINITY, all.saturating_sub(within.iter().sum())));
            let mut encoder = family.encode_family(labels)?;
            encoder.encode_histogram::<NoLabelSet>(counts.time().as_secs_f64(), all, &buckets, None)?;
        }
        let name = "scorpiox_guest_memory_peak_bytes";
        let mut family =
            encoder.encode_descriptor(name, "The most memory of a guest", None, MetricType::Gauge)?;
        for (labels, counts) in self.tools.iter().filter(|(_, counts)| counts.memory() > 0) {
            family.encode_family(labels)?.encode_gauge(&counts.memory())?;
        }
        Ok(())
    }

    fn principals(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let all = &self.principals;
        counters(encoder, "scorpiox_principal_calls", "Calls of each principal, by outcome", outcomes(all))?;
        let processor =
            all.iter().map(|(labels, counts)| (labels.clone(), counts.cost().processor.as_secs_f64()));
        let help = "Processor time of each principal's calls and commands";
        counters(encoder, "scorpiox_principal_processor_seconds", help, processor)?;
        let bytes = all.iter().flat_map(|(labels, counts)| {
            let Cost { received, sent, stored, .. } = counts.cost();
            [("received", received), ("sent", sent), ("stored", stored)]
                .map(|(what, bytes)| (and(labels, "what", what), bytes))
        });
        counters(encoder, "scorpiox_principal_bytes", "Bytes of each principal's calls", bytes)
    }
}

/// Returns the number of calls for each outcome, with labels.
fn outcomes(counted: &[Counted]) -> impl Iterator<Item = ([Label; 3], u64)> {
    counted.iter().flat_map(|(labels, counts)| {
        counts.outcomes().map(|(outcome, count)| (and(labels, "outcome", outcome), count))
    })
}

/// Appends a label.
fn and([one, other]: &[Label; 2], name: &'static str, value: &str) -> [Label; 3] {
    [one.clone(), other.clone(), (name, value.to_owned())]
}
