//! Sends a span for each call to a collector.
//!
//! The OpenTelemetry library batches spans and sends them from its own thread. An unreachable collector does
//! not delay calls; when the queue is full, new spans are dropped.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{Event, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanData, SpanEvents, SpanLinks, SpanProcessor as _};
use scorpiox_audit::{Aside, Outcome, Uses};
use scorpiox_metering::otlp::Collector;
use scorpiox_metering::records::{Ended, Kind, Watcher};

/// Maximum time that shutdown waits for spans in transit.
const END_TIME: Duration = Duration::from_secs(1);

/// Method of tool calls.
const CALL: &str = "tools/call";

/// Observer that sends a span for each call.
pub struct Spans {
    processor: BatchSpanProcessor,
    scope: InstrumentationScope,
}

impl Spans {
    /// Starts sending spans of this machine to the collector.
    ///
    /// # Errors
    ///
    /// Fails if the URL or the authorities are unusable.
    pub fn start(collector: Collector, machine: &str) -> Result<Arc<Self>, String> {
        collector.check()?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(collector.url())
            .with_protocol(Protocol::HttpBinary)
            .with_http_client(collector)
            .build()
            .map_err(|error| error.to_string())?;
        let resource = Resource::builder_empty()
            .with_attributes([
                KeyValue::new("service.name", "scorpiox-code"),
                KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
                KeyValue::new("service.instance.id", format!("{machine}:{}", std::process::id())),
                KeyValue::new("host.name", machine.to_owned()),
            ])
            .build();
        let mut processor = BatchSpanProcessor::builder(exporter).build();
        processor.set_resource(&resource);
        let scope = InstrumentationScope::builder("scorpiox-code").build();
        Ok(Arc::new(Self { processor, scope }))
    }

    /// Sends the remaining spans, for a limited time.
    pub fn end(&self) {
        if let Err(error) = self.processor.shutdown_with_timeout(END_TIME) {
            tracing::warn!("the last traces may not have arrived: {error}");
        }
    }
}

impl Watcher for Spans {
    fn ended(&self, ended: &Ended<'_>) {
        // Skip unsampled traces. A background command is covered by the span of its call.
        let Some(trace) = ended.uses.trace().filter(|trace| trace.is_sampled) else { return };
        if ended.kind == Kind::Task {
            return;
        }
        let (id, span) = (TraceId::from_bytes(trace.id), SpanId::from_bytes(trace.span));
        let start = UNIX_EPOCH + Duration::from_millis(ended.time);
        self.processor.on_end(SpanData {
            span_context: SpanContext::new(id, span, TraceFlags::SAMPLED, false, TraceState::default()),
            parent_span_id: trace.parent.map_or(SpanId::INVALID, SpanId::from_bytes),
            parent_span_is_remote: trace.parent.is_some(),
            span_kind: SpanKind::Server,
            name: name(ended).into(),
            start_time: start,
            end_time: start + ended.duration,
            attributes: attributes(ended),
            dropped_attributes_count: 0,
            events: events(ended.uses, start + ended.duration),
            links: SpanLinks::default(),
            status: status(ended.outcome),
            instrumentation_scope: self.scope.clone(),
        });
    }

    fn wants_traces(&self) -> bool {
        true
    }
}

/// Returns the span name by OpenTelemetry's conventions for MCP: method and target. Names of nonexistent
/// tools are omitted, because they would create unlimited distinct span names.
fn name(ended: &Ended<'_>) -> String {
    match ended.kind {
        Kind::Call => format!("{CALL} {}", ended.name),
        Kind::Unknown | Kind::Task => CALL.to_owned(),
        Kind::Method => ended.name.to_owned(),
    }
}

fn attributes(ended: &Ended<'_>) -> Vec<KeyValue> {
    let mut attributes = vec![KeyValue::new("scorpiox.outcome", ended.outcome.name())];
    if ended.kind == Kind::Method {
        attributes.push(KeyValue::new("mcp.method.name", ended.name.to_owned()));
    } else {
        attributes.push(KeyValue::new("mcp.method.name", CALL));
        attributes.push(KeyValue::new("gen_ai.tool.name", ended.name.to_owned()));
    }
    if let Outcome::Fault(kind) | Outcome::Refused(kind) = ended.outcome {
        attributes.push(KeyValue::new("error.type", kind));
    }
    if let Some(component) = ended.component {
        attributes.push(KeyValue::new("scorpiox.component", component.to_owned()));
    }
    if let Some(client) = ended.client {
        if let Some(principal) = &client.principal {
            attributes.push(KeyValue::new("enduser.id", scorpiox_audit::principals::name(principal)));
        }
        attributes.push(KeyValue::new("scorpiox.client", client.text.clone()));
    }
    let micros = i64::try_from(ended.cost.processor.as_micros()).unwrap_or(i64::MAX);
    attributes.push(KeyValue::new("scorpiox.processor_us", micros));
    attributes
}

/// Returns an event for each use. Uses have no timestamps of their own.
fn events(uses: &Uses, time: SystemTime) -> SpanEvents {
    let mut events = SpanEvents::default();
    uses.each(|capability, what, rule, why, aside| {
        let mut attributes = vec![
            KeyValue::new("scorpiox.what", what.to_owned()),
            KeyValue::new("scorpiox.rule", rule.to_owned()),
            // Hidden objects are neither allowed nor denied.
            match aside {
                Some(Aside::Hidden) => KeyValue::new("scorpiox.hidden", true),
                Some(Aside::Reported(outcome)) => KeyValue::new("scorpiox.reported", outcome),
                None => KeyValue::new("scorpiox.allowed", why.is_none()),
            },
        ];
        attributes.extend(why.map(|why| KeyValue::new("scorpiox.why", why.to_owned())));
        events.events.push(Event::new(capability, time, attributes, 0));
    });
    events
}

fn status(outcome: Outcome) -> Status {
    match outcome {
        Outcome::Ok | Outcome::InputRequired => Status::Ok,
        Outcome::Cancelled => Status::Unset,
        Outcome::Error | Outcome::Refused(_) | Outcome::Fault(_) => Status::error(outcome.name()),
    }
}
