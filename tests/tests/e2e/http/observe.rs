//! Tests of observability: probes, metrics scraped by a real Prometheus, and spans and log records sent to a
//! real collector.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use scorpiox_test_support::postgres::Postgres;
use scorpiox_tests::Program;
use scorpiox_tests::http::HttpServer;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::database::{serve, store};
use super::proxies::free;

pub(super) const TOKEN: &str = "token-of-the-team-0123456789";
/// Maximum time for external programs to observe an expected state.
const PATIENCE: Duration = Duration::from_secs(60);

/// Returns a policy with one token, followed by `more`.
pub(super) fn policy(more: &str) -> String {
    let hash: String = Sha256::digest(TOKEN).iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "version = 1\n[http.auth]\nkind = \"token\"\n[http.auth.tokens.ann]\nsha256 = \"{hash}\"\n\
         [access.most]\nallow = [\"*\"]\ndeny = [\"PlanMode\"]\n{more}"
    )
}

fn served(more: &str) -> (Program, HttpServer) {
    let program = Program::new();
    program.put("home/.scorpiox/policy.toml", policy(more));
    let mut server = program.serve_http(0);
    TOKEN.clone_into(&mut server.token);
    (program, server)
}

/// Starts a server that stores its data in a database.
fn served_by(database: &Postgres) -> (Program, HttpServer) {
    let program = Program::new();
    let more = store(&database.database())
        + "[http.observe]\nlisten = \"127.0.0.1:0\"\n[audit]\nexport = [\"tcp://127.0.0.1:9\"]\n";
    program.put("home/.scorpiox/policy.toml", policy(&more));
    let mut server = serve(&program);
    TOKEN.clone_into(&mut server.token);
    (program, server)
}

/// Fetches a path and returns the status, the body and the elapsed time.
fn get(address: SocketAddr, path: &str) -> (u16, String, Duration) {
    asked(address, "GET", path)
}

fn asked(address: SocketAddr, method: &str, path: &str) -> (u16, String, Duration) {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time");
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
        .expect("written");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    (status, body, begun.elapsed())
}

fn call(server: &HttpServer, tool: &str, arguments: Value) -> u16 {
    let params = json!({ "name": tool, "arguments": arguments });
    server.shown(TOKEN).modern("tools/call", params).status
}

/// Polls until `look` returns a value.
pub(super) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// External process that is killed when dropped.
struct Other(Child);

impl Other {
    fn start(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).spawn();
        Self(child.unwrap_or_else(|error| panic!("{command:?}: {error}; install it")))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn probes_say_yes_or_no_and_figures_are_there_for_who_asks() {
    let (_program, mut server) = served("[http.observe]\nlisten = \"127.0.0.1:0\"\n");
    let at = server.watched_at();
    assert_eq!(get(at, "/livez").0, 200);
    assert_eq!(get(at, "/readyz").1, "ready\n");
    assert_eq!((asked(at, "POST", "/readyz").0, get(at, "/mcp").0), (405, 404));
    // The probes respond regardless of the number of open connections.
    let held: Vec<_> = (0..200).map(|_| TcpStream::connect(at).expect("a connection")).collect();
    let (status, _, took) = get(at, "/livez");
    assert!(status == 200 && took < Duration::from_secs(2), "{status} after {took:?}");
    drop(held);
    assert_eq!(call(&server, "TaskManager", json!({ "action": "create", "text": "x" })), 200);
    assert_eq!(call(&server, "PlanMode", json!({ "action": "status" })), 403);
    assert_eq!(
        call(&server, "Bash", json!({ "command": "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done" })),
        200
    );
    // CPU time of processes that are never waited for counts too.
    const UNSEEN: &str = "python3 -c 'import os,signal,time\nsignal.signal(signal.SIGCHLD,signal.SIG_IGN)\n\
                          if os.fork()==0:\n  t=time.process_time()\n  while time.process_time()-t<1.5: pass\n  os._exit(0)\ntime.sleep(4)'";
    assert_eq!(call(&server, "Bash", json!({ "command": UNSEEN })), 200);
    let (_, figures, _) = get(at, "/metrics");
    for line in [
        "scorpiox_calls_total{workspace=\"default\",tool=\"TaskManager\",outcome=\"ok\"} 1",
        "scorpiox_call_duration_seconds_count{workspace=\"default\",tool=\"TaskManager\"} 1",
        "scorpiox_principal_calls_total{workspace=\"default\",principal=\"ann\",outcome=\"refused\"} 1",
        "scorpiox_principal_calls_total{workspace=\"default\",principal=\"ann\",outcome=\"ok\"} 3",
        "scorpiox_http_responses_total{code=\"403\"} 1",
        "scorpiox_ready 1",
        "# EOF",
    ] {
        assert!(figures.lines().any(|found| found == line), "{line}:\n{figures}");
    }
    let value = |start: &str| -> f64 {
        let line = figures.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}"));
        line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a number")
    };
    assert!(value("scorpiox_principal_processor_seconds_total{") > 1.2, "a command's time counts: {figures}");
    assert!(
        value("scorpiox_principal_bytes_total{workspace=\"default\",principal=\"ann\",what=\"stored\"") > 0.0
    );
    assert!(value("process_resident_memory_bytes") > 1e6 && value("process_open_fds") > 3.0);
}

#[test]
fn a_server_that_is_told_to_end_is_not_ready_and_alive() {
    let (program, mut server) = served("[http.observe]\nlisten = \"127.0.0.1:0\"\n");
    let at = server.watched_at();
    assert_eq!(get(at, "/readyz").0, 200);
    thread::scope(|scope| {
        scope.spawn(|| call(&server, "Bash", json!({ "command": "touch began; sleep 4" })));
        until("the command runs", || program.workspace().join("began").exists().then_some(()));
        let pid = server.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
        until("it is not ready", || (get(at, "/readyz").0 == 503).then_some(()));
        assert_eq!(get(at, "/livez").0, 200);
    });
}

#[test]
fn a_server_whose_policy_changed_is_not_ready() {
    let (program, mut server) = served("[http.observe]\nlisten = \"127.0.0.1:0\"\n");
    let at = server.watched_at();
    assert_eq!(get(at, "/readyz").0, 200);
    program.put("home/.scorpiox/policy.toml", policy("[http.observe]\nlisten = \"127.0.0.1:1\"\n"));
    let is_changed =
        |said: &String| said.starts_with("not ready (policy_changed): the workspace default: All tools");
    until("it is not ready", || Some(get(at, "/readyz").1).filter(is_changed));
    assert_eq!((get(at, "/livez").0, call(&server, "TaskManager", json!({ "action": "list" }))), (200, 503));
    // The same holds in a session.
    let session = server.session("2025-11-25", json!({}));
    let params = json!({ "name": "TaskManager", "arguments": { "action": "list" } });
    assert_eq!(server.ask(&server.in_session(&session, 3, "tools/call", &params)).status, 503);
    let (_, figures, _) = get(at, "/metrics");
    let refused = "scorpiox_calls_refused_total{workspace=\"default\",why=\"policy_changed\"} 2";
    for line in ["scorpiox_ready 0", "scorpiox_not_ready{reason=\"policy_changed\"} 1", refused] {
        assert!(figures.lines().any(|found| found == line), "{line}:\n{figures}");
    }
}

/// Starts a log server that accepts connections until it is stopped.
fn log_server(address: SocketAddr) -> (Arc<AtomicBool>, thread::JoinHandle<()>) {
    let ends = Arc::new(AtomicBool::new(false));
    let listener = TcpListener::bind(address).expect("a port");
    listener.set_nonblocking(true).expect("a mode");
    let is_over = Arc::clone(&ends);
    let takes = thread::spawn(move || {
        let mut held = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            held.extend(listener.accept().ok());
            let mut bytes = [0; 4096];
            held.iter_mut().for_each(|(stream, _)| {
                let _ = stream.set_nonblocking(true);
                let _ = stream.read(&mut bytes);
            });
            thread::sleep(Duration::from_millis(5));
        }
    });
    (ends, takes)
}

#[test]
fn a_server_whose_required_export_is_away_is_not_ready_and_refuses_calls_with_a_status() {
    let logs = free();
    let (_program, mut server) = served(&format!(
        "[http.observe]\nlisten = \"127.0.0.1:0\"\n[audit]\nrequired = true\nexport = [\"tcp://{logs}\"]\n"
    ));
    let at = server.watched_at();
    let list = || call(&server, "TaskManager", json!({ "action": "list" }));
    // The readiness check works before the first line is sent.
    let is_down = |said: &String| said.starts_with("not ready (export): the workspace default: ");
    let said = until("it says why", || Some(get(at, "/readyz").1).filter(is_down));
    assert!(said.contains(&logs.to_string()), "{said}");
    assert_eq!(list(), 503);
    let (ends, takes) = log_server(logs);
    until("it is ready", || (get(at, "/readyz").0 == 200).then_some(()));
    assert_eq!(list(), 200);
    ends.store(true, Ordering::Relaxed);
    takes.join().expect("it ended");
    until("it is not ready again", || (get(at, "/readyz").0 == 503).then_some(()));
    assert_eq!(list(), 503);
    let (_, figures, _) = get(at, "/metrics");
    let down = format!("scorpiox_audit_export_down{{workspace=\"default\",place=\"tcp://{logs}\"}} 1");
    let refused = "scorpiox_calls_refused_total{workspace=\"default\",why=\"export\"} 2";
    for line in ["scorpiox_not_ready{reason=\"export\"} 1", &down, refused] {
        assert!(figures.lines().any(|found| found == line), "{line}:\n{figures}");
    }
}

/// An unresponsive log server is detected within seconds, and meanwhile no response starts as a stream.
#[test]
fn a_required_export_that_is_silent_is_refused_with_a_status_too() {
    // The backlog is full, so the next connection attempt blocks.
    let listener =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None);
    let listener = listener.expect("a socket");
    rustix::net::bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0))).expect("an address");
    rustix::net::listen(&listener, 0).expect("it listens");
    let logs = TcpListener::from(listener);
    let at = logs.local_addr().expect("an address");
    let queued: Vec<_> =
        (0..8).map_while(|_| TcpStream::connect_timeout(&at, Duration::from_millis(200)).ok()).collect();
    assert!(queued.len() < 8, "it takes more");
    let (_program, server) = served(&format!("[audit]\nrequired = true\nexport = [\"tcp://{at}\"]\n"));
    let begun = Instant::now();
    let params = json!({ "name": "TaskManager", "arguments": { "action": "list" } });
    let answer = server.shown(TOKEN).modern("tools/call", params);
    assert_eq!(answer.status, 503, "{:?} {}", begun.elapsed(), answer.body);
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
}

#[test]
fn a_server_whose_audit_is_blocked_is_not_ready() {
    let (program, mut server) =
        served("[http.observe]\nlisten = \"127.0.0.1:0\"\n[audit]\nrequired = true\n");
    let at = server.watched_at();
    assert_eq!((get(at, "/readyz").0, call(&server, "TaskManager", json!({ "action": "list" }))), (200, 200));
    // A file replaces the directory of the audit file.
    let folder = program.home().join(".scorpiox/audit");
    fs::rename(&folder, program.home().join("audit-was")).expect("renamed");
    fs::write(&folder, "").expect("written");
    until("it is not ready", || get(at, "/readyz").1.starts_with("not ready (audit): ").then_some(()));
    assert_eq!(call(&server, "TaskManager", json!({ "action": "list" })), 503);
    let (_, figures, _) = get(at, "/metrics");
    for line in ["scorpiox_not_ready{reason=\"audit\"} 1", "scorpiox_audit_blocked{workspace=\"default\"} 1"]
    {
        assert!(figures.lines().any(|found| found == line), "{line}:\n{figures}");
    }
}

#[test]
fn a_server_whose_database_is_away_says_so_in_time() {
    let mut database = Postgres::start();
    let (_program, mut server) = served_by(&database);
    let at = server.watched_at();
    assert_eq!(get(at, "/readyz").0, 200);
    let figures = get(at, "/metrics").1;
    assert!(figures.contains("scorpiox_database_connections "), "{figures}");
    assert!(figures.contains("scorpiox_database_lost_writes_total 0\n"), "{figures}");
    // An earlier success with the workspace does not count as proof that the database works.
    assert_eq!(call(&server, "TaskManager", json!({ "action": "create", "text": "x" })), 200);
    database.kill();
    until("it is not ready", || (get(at, "/readyz").0 == 503).then_some(()));
    let (_, figures, _) = get(at, "/metrics");
    assert!(figures.lines().any(|line| line == "scorpiox_ready 0"), "{figures}");
    for _ in 0..20 {
        let (status, _, took) = get(at, "/readyz");
        assert!(status == 503 && took < Duration::from_secs(2), "{status} after {took:?}");
        assert_eq!(get(at, "/livez").0, 200);
    }
    database.begin();
    until("it is ready again", || (get(at, "/readyz").0 == 200).then_some(()));
}

/// A role that may connect can lock a table against all others.
#[test]
fn a_server_that_cannot_read_one_of_its_tables_is_not_ready() {
    let database = &Postgres::start();
    let (_program, mut server) = served_by(database);
    let at = server.watched_at();
    assert_eq!(call(&server, "TaskManager", json!({ "action": "create", "text": "x" })), 200);
    let psql = |sql: &str| database.psql("test0", sql).expect("an answer");
    for table in ["entry", "usage", "timer", "message", "commit_mark", "ended", "relay"] {
        until("it is ready", || (get(at, "/readyz").0 == 200).then_some(()));
        thread::scope(|scope| {
            let lock = format!("BEGIN; LOCK TABLE scorpiox_code.{table}; SELECT pg_sleep(600)");
            let holds = scope.spawn(move || database.psql("test0", &lock));
            let not_ready = || (get(at, "/readyz").0 == 503).then_some(());
            until(&format!("{table} cannot be read"), not_ready);
            psql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK%pg_sleep(600)'",
            );
            holds.join().expect("it ended").expect_err("it was ended");
        });
    }
    until("it is ready in the end", || (get(at, "/readyz").0 == 200).then_some(()));
}

#[test]
fn prometheus_reads_all_figures() {
    let (program, mut server) = served("[http.observe]\nlisten = \"127.0.0.1:0\"\n");
    let (at, own) = (server.watched_at(), free());
    for _ in 0..3 {
        assert_eq!(call(&server, "TaskManager", json!({ "action": "list" })), 200);
    }
    let config = format!(
        "global: {{ scrape_interval: 1s }}\nscrape_configs: [{{ job_name: scorpiox, static_configs: [{{ targets: ['{at}'] }}] }}]\n"
    );
    let config = program.put("prometheus/prometheus.yml", config);
    let folder = config.parent().expect("a folder");
    let log = fs::File::create(folder.join("log")).expect("a file");
    let mut prometheus = Command::new("prometheus");
    prometheus.arg("--config.file").arg(&config).arg("--storage.tsdb.path").arg(folder.join("data"));
    prometheus.arg(format!("--web.listen-address={own}")).stdout(Stdio::null()).stderr(log);
    let _prometheus = Other::start(&mut prometheus);
    let query = |text: &str| -> Vec<Value> {
        let Ok(_) = TcpStream::connect(own) else { return Vec::new() };
        let (_, body, _) = get(own, &format!("/api/v1/query?query={text}"));
        let body: Value = serde_json::from_str(body.trim()).unwrap_or_default();
        body["data"]["result"].as_array().cloned().unwrap_or_default()
    };
    let calls = until("it read the calls", || query("scorpiox_calls_total%7Boutcome=%22ok%22%7D").pop());
    assert_eq!((&calls["metric"]["tool"], &calls["value"][1]), (&json!("TaskManager"), &json!("3")));
    // Prometheus evaluates a quantile of the histogram.
    let p99 = "histogram_quantile(0.99,scorpiox_call_duration_seconds_bucket)";
    let p99 = query(p99).pop().expect("a quantile");
    let seconds: f64 = p99["value"][1].as_str().and_then(|text| text.parse().ok()).expect("a number");
    assert!(seconds > 0.0 && seconds < 10.0, "{p99}");
    let problems = query("scrape_samples_scraped").pop().expect("samples");
    assert_ne!(problems["value"][1], "0");
}

/// Collects the words in a dashboard's expressions that may be metric names.
fn figures_of(dashboard: &Value, found: &mut std::collections::BTreeSet<String>) {
    match dashboard {
        Value::Array(items) => items.iter().for_each(|item| figures_of(item, found)),
        Value::Object(members) => members.iter().for_each(|(name, member)| match (name.as_str(), member) {
            ("expr" | "query", Value::String(text)) => {
                let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let is_figure = |word: &&str| word.starts_with("scorpiox_") || word.starts_with("process_");
                found.extend(words.filter(is_figure).map(str::to_owned));
            }
            _ => figures_of(member, found),
        }),
        _ => {}
    }
}

/// Returns the metric names in a text.
fn figures_in(text: &str) -> std::collections::BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("scorpiox_") || word.starts_with("process_")).collect()
}

#[test]
fn prometheus_raises_each_alert_when_it_should_and_the_document_says_what_to_do_then() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output =
        Command::new("promtool").args(["test", "rules"]).arg(root.join("tests/team/alerts.yml")).output();
    let output = output.expect("promtool runs (Debian's package prometheus)");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("a file");
    let (rules, cases) = (read("deploy/prometheus/scorpiox-code.yml"), read("tests/team/alerts.yml"));
    let alerts: Vec<_> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let page = read("docs/operations.md");
    assert!(!alerts.is_empty());
    for alert in &alerts {
        assert!(page.contains(&format!("| `{alert}` |")), "{alert} is not in the document");
        assert!(
            cases.contains(&format!("alertname: {alert}\n        exp_alerts:")),
            "{alert} is never raised"
        );
    }
    assert_eq!(page.matches("| `Scorpiox").count(), alerts.len(), "the document has others");
}

#[test]
fn the_dashboard_and_the_rules_use_only_figures_that_there_are() {
    let database = Postgres::start();
    let (_program, mut server) = served_by(&database);
    let at = server.watched_at();
    assert_eq!((get(at, "/readyz").0, call(&server, "TaskManager", json!({ "action": "list" }))), (200, 200));
    assert_eq!(call(&server, "PlanMode", json!({ "action": "status" })), 403);
    let (_, figures, _) = get(at, "/metrics");
    let names: std::collections::BTreeSet<_> = figures
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join("deploy/grafana/scorpiox-code.json")).expect("a dashboard");
    let mut used = std::collections::BTreeSet::new();
    figures_of(&serde_json::from_str(&text).expect("JSON"), &mut used);
    assert!(used.len() > 12, "{used:?}");
    // Metrics that the documentation lists, and metrics that the alert rules use.
    let page = fs::read_to_string(root.join("docs/observing.md")).expect("a document");
    let of_page = figures_in(&page);
    let rules = fs::read_to_string(root.join("deploy/prometheus/scorpiox-code.yml")).expect("rules");
    let of_rules = figures_in(&rules);
    assert!(of_rules.len() > 8, "{of_rules:?}");
    let is_there = |name: &str| names.contains(name) || names.contains(format!("{name}_bucket").as_str());
    for name in used.iter().map(String::as_str).chain(of_page.iter().chain(&of_rules).copied()) {
        assert!(is_there(name), "{name} is no figure: {names:?}");
    }
    for name in names {
        let told =
            ["_bucket", "_count", "_sum"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        assert!(of_page.contains(told), "{name} is not in the document");
    }
}

/// Real OpenTelemetry collector that prints the data it receives.
struct Collector {
    _process: Other,
    address: SocketAddr,
    log: PathBuf,
}

impl Collector {
    fn start(folder: &Path, kind: &str) -> Self {
        let (address, log) = (free(), folder.join(format!("{kind}.log")));
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/team/rotel/rotel-agent");
        let mut command = Command::new(&program);
        command.args(["start", "--exporter", "blackhole", "--disable-batching", "--debug-log", kind]);
        command.args(["--debug-log-verbosity", "detailed", "--otlp-grpc-endpoint", &free().to_string()]);
        command.args(["--otlp-http-endpoint", &address.to_string()]);
        let output = fs::File::create(&log).expect("a file");
        command.stderr(output.try_clone().expect("a file")).stdout(output);
        let process = Other::start(&mut command);
        until("the collector listens", || TcpStream::connect(address).ok());
        Self { _process: process, address, log }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).expect("a log")
    }
}

#[test]
fn a_collector_has_each_line_of_the_audit_and_a_span_for_each_call() {
    let program = Program::new();
    let folder = program.put("collector/here", "").parent().expect("a folder").to_owned();
    let (logs, traces) = (Collector::start(&folder, "logs"), Collector::start(&folder, "traces"));
    let more = format!(
        "[http.observe]\ntraces = \"http://{}/v1/traces\"\n[audit]\nrequired = true\nexport = [\"http://{}/v1/logs\"]\n",
        traces.address, logs.address
    );
    program.put("home/.scorpiox/policy.toml", policy(&more));
    let mut server = program.serve_http(0);
    TOKEN.clone_into(&mut server.token);
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let params = json!({ "name": "Bash", "arguments": { "command": "echo secret-of-the-caller" } });
    // With a header, also in a session; with `_meta`, which takes precedence over a header; and without a
    // parent span.
    let with_header = server.modern("tools/call", params.clone()).with("traceparent", &parent);
    assert_eq!(server.shown(TOKEN).ask(with_header).status, 200);
    let mut by_meta = params.clone();
    by_meta["_meta"] = json!({ "traceparent": parent.replace("4bf9", "aaaa") });
    assert_eq!(server.shown(TOKEN).modern("tools/call", by_meta).status, 200);
    assert_eq!(call(&server, "PlanMode", json!({})), 403);
    // Calls that fail before they run are traced too: without a name, and of an unknown tool.
    for (params, status) in [(json!({}), 400), (json!({ "name": "Nothing" }), 400)] {
        let request =
            server.modern("tools/call", params).with("traceparent", &parent.replace("4bf9", "bbbb"));
        assert_eq!(server.shown(TOKEN).ask(request).status, status);
    }
    server.end();
    let audit = fs::read_to_string(program.home().join(".scorpiox/audit/audit.jsonl")).expect("an audit");
    let lines: Vec<Value> = audit.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let ids: Vec<_> = lines.iter().map(|line| line["trace_id"].as_str().unwrap_or_default()).collect();
    assert_eq!(ids[..2], [TRACE.to_owned(), TRACE.replace("4bf9", "aaaa")], "{audit}");
    assert_eq!(ids[3..], [TRACE.replace("4bf9", "bbbb"), TRACE.replace("4bf9", "bbbb")], "{audit}");
    let said = logs.said();
    for line in audit.lines() {
        assert!(said.contains(line), "{line}\nis not in\n{said}");
    }
    assert!(said.contains("gen_ai.tool.name") && said.contains(TRACE), "{said}");
    let said = traces.said();
    assert!(
        said.contains("tools/call Bash") && said.contains(TRACE) && said.contains("00f067aa0ba902b7"),
        "{said}"
    );
    assert!(said.contains("shell") && said.contains("scorpiox.rule"), "what it used is in events: {said}");
    assert!(!said.contains("secret-of-the-caller"), "no argument is told: {said}");
}

#[test]
fn a_collector_that_is_away_costs_no_call_and_a_required_one_refuses_them() {
    let program = Program::new();
    let folder = program.put("collector/here", "").parent().expect("a folder").to_owned();
    let collector = Collector::start(&folder, "logs");
    let away = free();
    let more = format!(
        "[http.observe]\ntraces = \"http://{away}/v1/traces\"\n[audit]\nexport = [\"http://{away}/v1/logs\"]\n"
    );
    program.put("home/.scorpiox/policy.toml", policy(&more));
    let mut server = program.serve_http(0);
    TOKEN.clone_into(&mut server.token);
    let begun = Instant::now();
    for _ in 0..20 {
        assert_eq!(call(&server, "TaskManager", json!({ "action": "list" })), 200);
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // If each call requires its audit line, no call runs while the export fails, and the error names the
    // endpoint.
    server.end();
    let required = more.replace("[audit]\n", "[audit]\nrequired = true\n");
    program.put("home/.scorpiox/policy.toml", policy(&required));
    let mut server = program.serve_http(0);
    TOKEN.clone_into(&mut server.token);
    let refused = server.shown(TOKEN).text("TaskManager", json!({ "action": "list" }));
    // The path may be a token of the collector.
    assert!(refused.contains(&format!("the export to http://{away}/… (")), "{refused}");
    assert!(!refused.contains("v1/logs"), "{refused}");
    server.end();
    drop(collector);
}

#[test]
fn authorities_of_a_collector_that_cannot_be_used_are_said_at_the_start() {
    let program = Program::new();
    let file = program.home().join("ca.pem");
    let traces = "[http.observe]\ntraces = \"https://collector.example.com:4318/v1/traces\"\n";
    program.put("home/.scorpiox/policy.toml", policy(&format!("{traces}ca = {}\n", json!(file))));
    for content in [None, Some("no certificate\n")] {
        if let Some(content) = content {
            fs::write(&file, content).expect("written");
        }
        let (status, _, errors) = program.run(&["serve", "--http", "127.0.0.1:0"]);
        assert!(!status.success() && errors.contains("ca.pem"), "{content:?}: {errors}");
    }
    // The file must not be writable by commands of the workspace.
    let made = rcgen::generate_simple_self_signed(vec!["example.com".to_owned()]).expect("a certificate");
    let inside = program.put("workspace/ca.pem", made.cert.pem());
    program.put("home/.scorpiox/policy.toml", policy(&format!("{traces}ca = {}\n", json!(inside))));
    let (status, _, errors) = program.run(&["serve", "--http", "127.0.0.1:0"]);
    assert!(!status.success() && errors.contains("ca.pem is where commands"), "{errors}");
}

/// Servers that share a machine and a policy each get their own metrics address.
#[test]
fn servers_with_one_policy_take_the_first_address_that_is_free() {
    let [one, other] = [free(), free()];
    let program = Program::new();
    let policy = policy(&format!("[http.observe]\nlisten = [\"{one}\", \"{other}\"]\n"));
    program.put("home/.scorpiox/policy.toml", &policy);
    let mut servers = [program.serve_http(0), program.serve_http(0)];
    assert_eq!(servers.each_mut().map(HttpServer::watched_at), [one, other]);
    for address in [one, other] {
        assert_eq!(get(address, "/readyz").0, 200);
    }
    let output = program.command().args(["serve", "--http", "127.0.0.1:0"]).output().expect("it runs");
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{why}");
    let line = policy.lines().position(|line| line.starts_with("listen")).expect("a line") + 1;
    let expected =
        format!("`listen` of [http.observe] (policy.toml line {line}): {other}, the last of those in it,");
    assert!(why.contains(&expected) && why.contains("one address for each"), "{why}");
    let (_, shown, _) = program.run(&["policy", "show"]);
    assert!(shown.contains(&format!("listen = [\"{one}\", \"{other}\"]")), "{shown}");
}
