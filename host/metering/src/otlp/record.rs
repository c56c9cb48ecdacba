//! Converts audit lines to log records.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, SeverityNumber};
use scorpiox_audit::{Record, time};

/// Event name of the records.
const EVENT: &str = "scorpiox.audit";

/// Converts a line to a log record, with the line as its body.
pub(crate) fn of(line: &[u8]) -> LogRecord {
    let text = String::from_utf8_lossy(line).into_owned();
    let record = Record::parse(&text);
    let outcome = record.as_ref().map_or("", |record| record.outcome.as_str());
    let (severity, name) = match outcome {
        "error" | "fault" | "refused" => (SeverityNumber::Warn, "WARN"),
        _ => (SeverityNumber::Info, "INFO"),
    };
    let now = nanos(SystemTime::now());
    LogRecord {
        time_unix_nano: record
            .as_ref()
            .and_then(|record| time::parse(&record.time))
            .map_or(now, |millis| millis * 1_000_000),
        observed_time_unix_nano: now,
        severity_number: severity.into(),
        severity_text: name.to_owned(),
        body: Some(string(text)),
        attributes: record.as_ref().map(attributes).unwrap_or_default(),
        trace_id: record.and_then(|record| bytes(&record.trace_id)).unwrap_or_default(),
        event_name: EVENT.to_owned(),
        ..Default::default()
    }
}

/// Returns the attributes to search by. Names follow OpenTelemetry's semantic conventions where they exist.
fn attributes(record: &Record) -> Vec<KeyValue> {
    let client = record.client.as_ref();
    let denials: Vec<_> = record.denied().map(|denied| denied.rule.clone()).collect();
    let texts = [
        ("gen_ai.tool.name", record.tool.as_str()),
        ("scorpiox.outcome", &record.outcome),
        ("scorpiox.fault", record.fault.as_deref().unwrap_or_default()),
        ("enduser.id", &record.principal),
        ("scorpiox.issuer", &record.issuer),
        ("scorpiox.client.name", client.map_or("", |client| client.name.as_str())),
        ("scorpiox.client.version", client.map_or("", |client| client.version.as_str())),
        ("scorpiox.component", record.component.as_deref().unwrap_or_default()),
        ("scorpiox.workspace", &record.workspace),
        ("scorpiox.policy", &record.policy),
        ("user.name", &record.user),
    ];
    let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
    let mut attributes: Vec<_> = texts.map(|(key, text)| attribute(key, string(text.to_owned()))).collect();
    let duration = AnyValue { value: Some(Value::DoubleValue(record.duration_ms)) };
    attributes.push(attribute("scorpiox.duration_ms", duration));
    if record.more_calls > 0 {
        let more = i64::try_from(record.more_calls).unwrap_or(i64::MAX);
        attributes.push(attribute("scorpiox.more_calls", AnyValue { value: Some(Value::IntValue(more)) }));
    }
    if !denials.is_empty() {
        attributes.push(attribute("scorpiox.denied_by", string(denials.join(", "))));
    }
    attributes
}

/// Returns the resource attributes, which identify the sender.
pub(crate) fn resource(machine: &str) -> Vec<KeyValue> {
    [
        ("service.name", "scorpiox-code".to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", format!("{machine}:{}", std::process::id())),
        ("host.name", machine.to_owned()),
    ]
    .map(|(key, text)| attribute(key, string(text)))
    .into()
}

fn attribute(key: &str, value: AnyValue) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(value), ..Default::default() }
}

fn string(text: String) -> AnyValue {
    AnyValue { value: Some(Value::StringValue(text)) }
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Parses a hexadecimal trace ID.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    let pairs = hex.as_bytes().chunks_exact(2);
    let read = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    (hex.len() == 32).then(|| pairs.map(read).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = concat!(
        r#"{"time":"2026-11-26T08:00:00.250Z","pid":7,"user":"ana","uid":1000,"machine":"m1","workspace":"/w","#,
        r#""policy":"abc","client":{"name":"claude","version":"2"},"principal":"ann","tool":"Bash","component":null,"#,
        r#""uses":[{"capability":"network","what":"a.example.com:443","allowed":false,"why":"no","rule":"policy.toml line 3"}],"#,
        r#""duration_ms":12.5,"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","outcome":"refused","fault":"policy","n":1,"hash":"00"}"#
    );

    #[test]
    fn a_record_has_the_line_and_what_people_look_for() {
        let record = of(LINE.as_bytes());
        assert_eq!(record.body, Some(string(LINE.to_owned())));
        assert_eq!(record.time_unix_nano, 1_795_680_000_250_000_000);
        assert_eq!(record.trace_id[..2], [0x4b, 0xf9]);
        assert_eq!(record.severity_text, "WARN");
        let has = |key: &str, text: &str| {
            record.attributes.iter().any(|one| one.key == key && one.value == Some(string(text.to_owned())))
        };
        for (key, text) in [
            ("gen_ai.tool.name", "Bash"),
            ("enduser.id", "ann"),
            ("scorpiox.client.name", "claude"),
            ("scorpiox.fault", "policy"),
            ("scorpiox.denied_by", "policy.toml line 3"),
        ] {
            assert!(has(key, text), "{key}: {:?}", record.attributes);
        }
        assert!(!record.attributes.iter().any(|one| one.key == "scorpiox.issuer"), "nothing empty");
    }

    #[test]
    fn a_line_that_is_none_is_sent_as_it_is() {
        let record = of(b"{damaged");
        assert_eq!(record.body, Some(string("{damaged".to_owned())));
        assert!(record.attributes.is_empty() && record.trace_id.is_empty() && record.time_unix_nano > 0);
    }
}
