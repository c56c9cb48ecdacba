//! Lines of the audit, as log records.

use std::io;

use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::logs::v1::{ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message as _;
use scorpiox_audit::Sink;

use crate::collector::Collector;
use crate::record;

/// Most bytes of lines in one message: collectors take 4 MiB or more, and a record has most of a line twice.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// Most characters of a collector's words.
const MAX_WHY: usize = 200;

/// A collector that takes lines of the audit. Each message is confirmed.
pub struct Logs {
    collector: Collector,
    machine: String,
    is_required: bool,
}

impl Logs {
    /// For lines of this machine. Where they are required, one that the collector rejects fails as one that it does not
    /// take.
    pub fn new(collector: Collector, machine: &str, is_required: bool) -> Self {
        Self { collector, machine: machine.to_owned(), is_required }
    }

    /// Sends lines; how many of them the collector rejected, for good.
    fn send_some(&mut self, lines: &[&[u8]]) -> io::Result<u64> {
        let answer = self.collector.send(self.message(lines))?;
        let (rejected, why) = rejected(&answer);
        if rejected > 0 && self.is_required {
            return Err(io::Error::other(format!(
                "the collector rejected {rejected} of {} lines{why}",
                lines.len()
            )));
        }
        Ok(rejected)
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
    /// A message without records: a collector answers it as any other.
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

/// The number of records that a collector says that it did not take, though it took the message; and its words about that.
fn rejected(answer: &[u8]) -> (u64, String) {
    let answer = ExportLogsServiceResponse::decode(answer).unwrap_or_default();
    let Some(partial) = answer.partial_success else { return (0, String::new()) };
    let why: String = partial.error_message.chars().filter(|c| !c.is_control()).take(MAX_WHY).collect();
    let why = if why.is_empty() { why } else { format!(": {why}") };
    (u64::try_from(partial.rejected_log_records).unwrap_or(0), why)
}
