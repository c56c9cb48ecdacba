//! Exports audit lines as log records.

use std::io;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::logs::v1::{ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;
use scorpiox_audit::Sink;

use crate::otlp::collector::{CONTENT_TYPE, Collector};
use crate::otlp::record;

/// Maximum size of the lines in one message. Collectors accept 4 MiB or more, and a record contains most of
/// its line twice.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// Maximum number of characters of an error message to display.
const MAX_WHY: usize = 200;

/// Sink that sends audit lines to a collector. Each message is confirmed.
pub struct Logs {
    collector: Collector,
    machine: String,
    is_required: bool,
}

impl Logs {
    /// Creates a sink for lines of this machine. If lines are required, a rejected line counts as a failure.
    pub fn new(collector: Collector, machine: &str, is_required: bool) -> Self {
        Self { collector, machine: machine.to_owned(), is_required }
    }

    /// Sends lines. Returns the number of lines that the collector rejected permanently.
    fn send_some(&mut self, lines: &[&[u8]]) -> io::Result<u64> {
        let answer = self.collector.send(self.message(lines))?;
        let rejected = match rejected(&answer) {
            Ok(rejected) => rejected,
            Err(why) if self.is_required => return Err(io::Error::other(why)),
            // An invalid response means that no line was accepted, as far as is known.
            Err(_) => return Ok(u64::try_from(lines.len()).unwrap_or(u64::MAX)),
        };
        if rejected.records != 0 && self.is_required {
            return Err(io::Error::other(format!(
                "the collector rejected {} of {} lines{}",
                rejected.records,
                lines.len(),
                rejected.why
            )));
        }
        Ok(u64::try_from(rejected.records).unwrap_or(0))
    }

    fn message(&self, lines: &[&[u8]]) -> Vec<u8> {
        let records = lines.iter().map(|line| record::of(line)).collect();
        let scope = InstrumentationScope { name: "scorpiox-code/audit".to_owned(), ..Default::default() };
        let scoped = ScopeLogs { scope: Some(scope), log_records: records, ..Default::default() };
        let attributes = record::resource(&self.machine);
        let logs = ResourceLogs {
            resource: Some(Resource { attributes, ..Default::default() }),
            scope_logs: vec![scoped],
            ..Default::default()
        };
        ExportLogsServiceRequest { resource_logs: vec![logs] }.encode_to_vec()
    }
}

impl Sink for Logs {
    /// Sends a message without records, which a collector answers like any other.
    fn check(&mut self) -> io::Result<()> {
        self.collector.send(ExportLogsServiceRequest::default().encode_to_vec()).map(drop)
    }

    fn send(&mut self, lines: &[u8]) -> io::Result<u64> {
        let mut left_out = 0;
        let (mut some, mut bytes) = (Vec::new(), 0);
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if bytes + line.len() > MAX_MESSAGE_BYTES && !some.is_empty() {
                left_out += self.send_some(&some)?;
                (some, bytes) = (Vec::new(), 0);
            }
            bytes += line.len();
            some.push(line);
        }
        if !some.is_empty() {
            left_out += self.send_some(&some)?;
        }
        Ok(left_out)
    }
}

/// Records rejected by the collector in a partial success.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rejected {
    /// Number of rejected records; negative only if the collector misbehaves.
    records: i64,
    /// Error message, formatted as the end of a sentence.
    why: String,
}

/// Parses a response, which is empty or a message according to the protocol. Any other response means that no
/// line was accepted.
fn rejected(answer: &Response<Bytes>) -> Result<Rejected, String> {
    // The protocol requires 200. Some collectors return 204 for an empty response.
    let is_taken = matches!(answer.status(), StatusCode::OK | StatusCode::NO_CONTENT);
    if is_taken && answer.body().is_empty() {
        return Ok(Rejected::default());
    }
    if answer.status() != StatusCode::OK {
        return Err(format!("it answers {} where the protocol asks for 200 OK", answer.status()));
    }
    let kind = answer.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_ours = kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with(CONTENT_TYPE.as_bytes()));
    if !is_ours {
        let kind = kind.map_or_else(|| "no content type".into(), String::from_utf8_lossy);
        return Err(format!("its answer is no {CONTENT_TYPE}, but {kind}: is this a collector's address?"));
    }
    let message = ExportLogsServiceResponse::decode(answer.body().clone());
    let message = message.map_err(|error| format!("its answer cannot be read: {error}"))?;
    let Some(partial) = message.partial_success else { return Ok(Rejected::default()) };
    let why: String = partial.error_message.chars().filter(|c| !c.is_control()).take(MAX_WHY).collect();
    let why = if why.is_empty() { why } else { format!(": {why}") };
    Ok(Rejected { records: partial.rejected_log_records, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, kind: Option<&str>, body: &'static [u8]) -> Result<Rejected, String> {
        let mut answer = Response::builder().status(status);
        if let Some(kind) = kind {
            answer = answer.header(header::CONTENT_TYPE, kind);
        }
        rejected(&answer.body(Bytes::from_static(body)).expect("an answer"))
    }

    #[test]
    fn only_an_answer_of_the_protocol_says_that_lines_were_taken() {
        let kind = Some("application/x-protobuf");
        assert_eq!(read(200, None, b""), Ok(Rejected::default()));
        assert_eq!(read(204, None, b""), Ok(Rejected::default()));
        assert_eq!(read(200, kind, b"\x0a\x00"), Ok(Rejected::default()));
        assert_eq!(
            read(200, Some("Application/X-Protobuf; a=b"), b"\x0a\x02\x08\x03").map(|told| told.records),
            Ok(3)
        );
        let rejected = Rejected { records: -1, why: ": too old".to_owned() };
        let negative = b"\x0a\x14\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x07too old";
        assert_eq!(read(200, kind, negative), Ok(rejected));
        for (status, kind, body) in [
            (206, kind, &b""[..]),
            (200, Some("text/html"), b"<html>"),
            (200, Some("application/json"), b"{}"),
            (200, None, b"\x0a\x00"),
            (200, kind, b"\x0a\x09\x08"),
            (200, kind, b"\x0a\x05\x12\x03\xff\xfe\xfd"),
        ] {
            read(status, kind, body).expect_err("no collector");
        }
    }
}
