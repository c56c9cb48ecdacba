//! Tests of a collector that accepts an export request but rejects some of its log records, as OTLP allows.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use scorpiox_tests::Program;
use serde_json::json;

use super::observe::{TOKEN, policy, until};

/// Collector that runs for the duration of the test.
struct Collector {
    address: SocketAddr,
    /// Number of log records that it rejects in each request.
    rejects: Arc<AtomicU64>,
    /// Number of received requests with log records.
    taken: Arc<AtomicUsize>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (rejects, taken) = (Arc::<AtomicU64>::default(), Arc::<AtomicUsize>::default());
        let (of_thread, messages) = (Arc::clone(&rejects), Arc::clone(&taken));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (rejects, messages) = (Arc::clone(&of_thread), Arc::clone(&messages));
                thread::spawn(move || Self::answer(stream, &rejects, &messages));
            }
        });
        Self { address, rejects, taken }
    }

    /// Answers the requests of a connection.
    fn answer(mut stream: TcpStream, rejects: &AtomicU64, messages: &AtomicUsize) -> Option<()> {
        loop {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).ok()?;
                head.extend(byte);
            }
            let head = String::from_utf8_lossy(&head).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            let mut body = vec![0; length.parse().ok()?];
            stream.read_exact(&mut body).ok()?;
            let rejects = u8::try_from(rejects.load(Ordering::SeqCst)).expect("a small number");
            let is_empty = body.is_empty();
            messages.fetch_add(usize::from(!is_empty), Ordering::SeqCst);
            // `ExportLogsServiceResponse { partial_success: { rejected_log_records, error_message } }`
            let answer = if is_empty || rejects == 0 {
                Vec::new()
            } else {
                [&[0x0a, 11, 0x08, rejects, 0x12, 7][..], b"too old"].concat()
            };
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            )
            .ok()?;
            stream.write_all(&answer).ok()?;
        }
    }

    fn policy(&self, audit: &str) -> String {
        policy(&format!("[audit]\n{audit}export = [\"http://{}/v1/logs\"]\n", self.address))
    }
}

#[test]
fn a_call_whose_line_is_rejected_is_refused_where_each_line_is_required() {
    let (program, collector) = (Program::new(), Collector::start());
    program.put("home/.scorpiox/policy.toml", collector.policy("required = true\n"));
    let mut server = program.serve_http(0);
    TOKEN.clone_into(&mut server.token);
    let list = || server.shown(TOKEN).text("TaskManager", json!({ "action": "list" }));
    assert!(!list().contains("export"), "{}", list());
    collector.rejects.store(1, Ordering::SeqCst);
    // The line of the last call is sent after its answer, so it may have been accepted.
    let refused = until("a call is refused", || Some(list()).filter(|text| text.contains("export")));
    assert!(refused.contains("rejected 1 of 1 lines: too old"), "{refused}");
    assert!(refused.contains(&collector.address.to_string()), "{refused}");
    collector.rejects.store(0, Ordering::SeqCst);
    // The server retries the export after a while.
    until("a call is taken again", || (!list().contains("export")).then_some(()));
    assert!(collector.taken.load(Ordering::SeqCst) >= 2, "{:?}", collector.taken);
}

#[test]
fn a_line_that_is_rejected_costs_no_call_where_none_is_required() {
    let (program, collector) = (Program::new(), Collector::start());
    collector.rejects.store(1, Ordering::SeqCst);
    program.put("home/.scorpiox/policy.toml", collector.policy(""));
    let mut server = program.serve_http(0);
    TOKEN.clone_into(&mut server.token);
    let told = server.shown(TOKEN).text("TaskManager", json!({ "action": "list" }));
    assert!(!told.contains("export") && !told.contains("too old"), "{told}");
    server.end();
    assert!(collector.taken.load(Ordering::SeqCst) > 0);
}
