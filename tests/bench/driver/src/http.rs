//! Measures the same calls over HTTP, on persistent connections.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::measure::median;
use crate::server::Program;
use crate::table::{Row, Target, Unit};
use crate::{Effort, Programs, watchdog};

/// Number of concurrent connections.
const CONNECTIONS: usize = 64;
/// Number of requests in a round, sequentially and on all connections.
const AMOUNT: usize = 200;
const MANY: usize = 2048;
/// Number of idle sessions.
const IDLE: usize = 10_000;

/// Exceeds the size of every response.
const BUFFER_BYTES: usize = 64 * 1024;

const NEWEST: &str = "2026-07-28";
const OLDER: &str = "2025-11-25";

/// Listening server. Killed when dropped.
struct HttpServer {
    name: &'static str,
    child: Child,
    address: String,
    token: String,
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl HttpServer {
    fn start(program: &Program, arguments: &[&str]) -> Result<Self> {
        let mut child = program.command().args(arguments).spawn()?;
        let output = child.stdout.take().context("no pipe")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.with_context(|| format!("no address: {line:?}"))?.trim().to_owned();
        let token = fs::read_to_string(program.own_home().join("http/token")).unwrap_or_default();
        Ok(Self { name: program.name, child, address, token: token.trim().to_owned() })
    }

    /// Formats a request for the wire.
    fn request(
        &self,
        revision: &str,
        session: Option<&str>,
        method: &str,
        name: &str,
        params: &str,
    ) -> Vec<u8> {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1000,"method":"{method}","params":{params}}}"#);
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            self.address,
            self.token,
            body.len()
        );
        if method != "initialize" {
            head.push_str(&format!("MCP-Protocol-Version: {revision}\r\n"));
        }
        if revision == NEWEST {
            head.push_str(&format!("Mcp-Method: {method}\r\nMcp-Name: {name}\r\n"));
        }
        if let Some(session) = session {
            head.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        }
        [head.as_bytes(), b"\r\n", body.as_bytes()].concat()
    }

    fn call(&self, revision: &str, session: Option<&str>, name: &str, arguments: &str) -> Vec<u8> {
        let meta = if revision == NEWEST {
            format!(
                r#","_meta":{{"io.modelcontextprotocol/protocolVersion":"{NEWEST}","io.modelcontextprotocol/clientCapabilities":{{}}}}"#
            )
        } else {
            String::new()
        };
        let params = format!(r#"{{"name":"{name}","arguments":{arguments}{meta}}}"#);
        self.request(revision, session, "tools/call", name, &params)
    }

    fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(&self.address)?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: vec![0; BUFFER_BYTES] })
    }

    /// Starts a session and returns its ID.
    fn session(&self, connection: &mut Connection) -> Result<String> {
        let params = format!(
            r#"{{"protocolVersion":"{OLDER}","capabilities":{{}},"clientInfo":{{"name":"bench","version":"1"}}}}"#
        );
        let answer = connection.exchange(&self.request(OLDER, None, "initialize", "", &params))?;
        let answer = String::from_utf8_lossy(answer).into_owned();
        let id = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        let id = id.with_context(|| format!("{}: no session: {answer}", self.name))?;
        let ready = self.request(OLDER, Some(&id), "notifications/initialized", "", "{}");
        let ready = String::from_utf8_lossy(&ready).replace("\"id\":1000,", "");
        let length = ready.split("\r\n\r\n").nth(1).map_or(0, str::len);
        let said = ready.lines().find(|line| line.starts_with("Content-Length")).unwrap_or_default();
        connection.exchange(ready.replace(said, &format!("Content-Length: {length}")).as_bytes())?;
        Ok(id)
    }

    /// Returns the resident memory in bytes.
    fn memory(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
        let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes * 1024.0)
    }
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    fn send(&mut self, request: &[u8]) -> Result<()> {
        watchdog::step();
        Ok(self.stream.write_all(request)?)
    }

    /// Reads a complete response.
    fn receive(&mut self) -> Result<&[u8]> {
        let mut length = 0;
        loop {
            let got = self.stream.read(&mut self.buffer[length..])?;
            ensure!(got > 0, "the connection ended: {}", String::from_utf8_lossy(&self.buffer[..length]));
            length += got;
            if is_whole(&self.buffer[..length]) {
                watchdog::step();
                return Ok(&self.buffer[..length]);
            }
        }
    }

    fn exchange(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.send(request)?;
        self.receive()
    }
}

fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { return false };
    let body = &answer[head + 4..];
    let lines = answer[..head].split(|byte| *byte == b'\n');
    let length = lines.filter_map(|line| {
        let line = std::str::from_utf8(line).ok()?;
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    match length.last() {
        Some(length) => body.len() >= length,
        None => body.ends_with(b"0\r\n\r\n") || answer.starts_with(b"HTTP/1.1 202"),
    }
}

/// One kind of request to one server.
struct Lane<'a> {
    server: &'a HttpServer,
    request: Vec<u8>,
    expected: &'static str,
    /// The same request for each connection, with distinct IDs, because an ID may occur only once in a
    /// session.
    requests: Vec<Vec<u8>>,
    times: Vec<f64>,
    rates: Vec<f64>,
}

impl<'a> Lane<'a> {
    fn new(server: &'a HttpServer, request: Vec<u8>, expected: &'static str) -> Result<Self> {
        let text = String::from_utf8(request.clone())?;
        let with_id =
            |number: usize| text.replace("\"id\":1000", &format!("\"id\":{}", 1000 + number)).into_bytes();
        let requests = (0..CONNECTIONS).map(with_id).collect();
        Ok(Self { server, request, expected, requests, times: Vec::new(), rates: Vec::new() })
    }

    fn check(&self, answer: &[u8]) -> Result<()> {
        let text = String::from_utf8_lossy(answer);
        ensure!(text.contains(self.expected), "{}: no {:?} in {text}", self.server.name, self.expected);
        Ok(())
    }

    fn one_at_a_time(&mut self, counts: bool) -> Result<()> {
        // The server closes idle connections, so each round opens a new one.
        let mut connection = self.server.connect()?;
        for number in 0..AMOUNT {
            let begin = Instant::now();
            let answer = connection.exchange(&self.request)?;
            let time = begin.elapsed().as_secs_f64();
            if number == 0 {
                self.check(answer)?;
            }
            if counts {
                self.times.push(time);
            }
        }
        Ok(())
    }

    fn all_at_once(&mut self, counts: bool) -> Result<()> {
        let mut many = (0..CONNECTIONS).map(|_| self.server.connect()).collect::<Result<Vec<_>>>()?;
        let begin = Instant::now();
        for (connection, request) in many.iter_mut().zip(&self.requests) {
            connection.send(request)?;
        }
        for number in 0..MANY {
            let (connection, request) =
                (&mut many[number % CONNECTIONS], &self.requests[number % CONNECTIONS]);
            connection.receive()?;
            if number + CONNECTIONS < MANY {
                connection.send(request)?;
            }
        }
        if counts {
            self.rates.push(MANY as f64 / begin.elapsed().as_secs_f64());
        }
        Ok(())
    }
}

pub fn rows(programs: &Programs, effort: Effort) -> Result<Vec<Row>> {
    let rmcp = HttpServer::start(&programs.rmcp, &["http"])?;
    let ours = HttpServer::start(&programs.ours, &["serve", "--http", "127.0.0.1:0"])?;
    let session = ours.session(&mut ours.connect()?)?;
    let rmcp_session = rmcp.session(&mut rmcp.connect()?)?;
    let echo = |revision, session| rmcp.call(revision, session, "echo", r#"{"text":"hello"}"#);
    let mut lanes = [
        Lane::new(&rmcp, echo(NEWEST, None), "hello")?,
        Lane::new(&rmcp, echo(OLDER, Some(&rmcp_session)), "hello")?,
        Lane::new(&ours, ours.call(NEWEST, None, "ListBgTasks", "{}"), "No background tasks")?,
        Lane::new(&ours, ours.call(NEWEST, None, "PlanMode", r#"{"action":"status"}"#), "not active")?,
        Lane::new(
            &ours,
            ours.call(OLDER, Some(&session), "PlanMode", r#"{"action":"status"}"#),
            "not active",
        )?,
    ];
    for round in 0..=effort.rounds.div_ceil(5) {
        for lane in &mut lanes {
            lane.one_at_a_time(round > 0)?;
        }
        for lane in &mut lanes {
            lane.all_at_once(round > 0)?;
        }
    }
    let times = lanes.each_mut().map(|lane| median(std::mem::take(&mut lane.times)));
    let rates = lanes.each_mut().map(|lane| median(std::mem::take(&mut lane.rates)));
    drop(lanes);
    let row = |figure: &str, unit, rmcp, ours, target| Row {
        figure: figure.to_owned(),
        unit,
        floor: None,
        rmcp: Some(rmcp),
        ours,
        target,
    };
    let mut rows = vec![
        row("HTTP, native no-op, 2026-07-28", Unit::Seconds, times[0], times[2], Target::None),
        row("HTTP, sandboxed read, 2026-07-28", Unit::Seconds, times[0], times[3], Target::TimesRmcp(1.5)),
        row("HTTP, sandboxed read, in a session", Unit::Seconds, times[1], times[4], Target::TimesRmcp(1.5)),
        row(
            "HTTP, 64 connections, sandboxed, 2026-07-28",
            Unit::PerSecond,
            rates[0],
            rates[3],
            Target::FasterThanRmcp(2.0),
        ),
        row(
            "HTTP, 64 connections, sandboxed, in a session",
            Unit::PerSecond,
            rates[1],
            rates[4],
            Target::FasterThanRmcp(2.0),
        ),
    ];
    let mut first = ours.connect()?;
    let before = ours.memory()?;
    for _ in 0..if effort.rounds < 10 { IDLE / 100 } else { IDLE } {
        ours.session(&mut first)?;
    }
    rows.push(Row::ours(
        "HTTP, memory of 10,000 idle sessions",
        Unit::Bytes,
        ours.memory()? - before,
        Target::AtMost(100.0 * 1024.0 * 1024.0),
    ));
    Ok(rows)
}
