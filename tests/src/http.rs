//! Serves the built program over HTTP and provides a client with full control over each request.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Program;
#[cfg(unix)]
use crate::program::ends_within;

/// Maximum time to wait for any single response before a test fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum time that a stream may carry nothing but keep-alive comments.
const ONLY_COMMENTS: Duration = Duration::from_secs(90);
pub const NEWEST: &str = "2026-07-28";

/// HTTP server process. Killed when dropped.
pub struct HttpServer {
    pub child: Child,
    pub address: SocketAddr,
    pub token: String,
    /// Remaining standard output of the process.
    pub output: Option<BufReader<ChildStdout>>,
}

impl Program {
    /// Serves over HTTP on a port; 0 picks a free one.
    pub fn serve_http(&self, port: u16) -> HttpServer {
        self.serve_http_at(&format!("127.0.0.1:{port}"))
    }

    /// Serves over HTTP at an address.
    pub fn serve_http_at(&self, address: &str) -> HttpServer {
        let mut server = HttpServer::spawn(self.command(), address);
        // The token file is absent if the policy configures access differently.
        let token = std::fs::read_to_string(self.home().join(".scorpiox/http/token")).unwrap_or_default();
        token.trim().clone_into(&mut server.token);
        server
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Request with the headers that every client sends. A test changes only the relevant parts.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    /// Sets a header, replacing an existing one.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a header, keeping existing ones.
    pub fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    pub fn method(mut self, method: &str) -> Self {
        method.clone_into(&mut self.method);
        self
    }

    pub fn path(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Returns the bytes sent over the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let says_length = |(name, _): &(String, String)| {
            ["content-length", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str())
        };
        if !self.headers.iter().any(says_length) && (self.method == "POST" || !self.body.is_empty()) {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }
}

/// Response, or only its head.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    /// Headers by lowercase name.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Response {
    /// Parses the body as JSON. A server sends a late response as the last event of a stream.
    pub fn json(&self) -> Value {
        let is_stream = self.header("content-type") == Some("text/event-stream");
        let last = || self.body.lines().rev().find_map(|line| line.strip_prefix("data: "));
        let text = if is_stream { last().unwrap_or_default() } else { &self.body };
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Returns the code of the JSON-RPC error in the body.
    pub fn code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {self:?}"))
    }
}

/// Single client connection.
pub struct Connection {
    stream: BufReader<TcpStream>,
    /// Received bytes of events that are not parsed yet: a proxy may join several events in one chunk, or
    /// split one.
    events: Vec<u8>,
}

impl Connection {
    /// Sends raw bytes; `true` if the write succeeded.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    /// Reads until the connection ends.
    pub fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest);
        String::from_utf8_lossy(&rest).into_owned()
    }

    /// `true` if the server closes the connection within `time`.
    pub fn is_closed_within(&mut self, time: Duration) -> bool {
        self.stream.get_ref().set_read_timeout(Some(time)).expect("a time");
        self.stream.read_to_end(&mut Vec::new()).is_ok()
    }

    /// Reads the head of a response.
    pub fn head(&mut self) -> Response {
        let status = self.line();
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut headers = BTreeMap::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        Response { status: status.unwrap_or_default(), headers, body: String::new() }
    }

    /// Reads a complete response.
    pub fn response(&mut self) -> Response {
        let mut response = self.head();
        let mut body = Vec::new();
        if response.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = self.chunk() {
                body.extend(chunk);
            }
        } else if let Some(length) = response.header("content-length") {
            body.resize(length.parse().expect("a length"), 0);
            self.stream.read_exact(&mut body).expect("a body");
        }
        response.body = String::from_utf8(body).expect("UTF-8");
        response
    }

    /// Reads the next event of a stream: its ID and its data, or `None` at the end of the stream. Skips
    /// comments.
    pub fn event(&mut self) -> Option<(Option<String>, String)> {
        let begun = Instant::now();
        loop {
            if let Some(event) = self.piece()? {
                return Some(event);
            }
            assert!(begun.elapsed() < ONLY_COMMENTS, "nothing but comments for {ONLY_COMMENTS:?}");
        }
    }

    /// Reads the next event that is a message.
    pub fn message(&mut self) -> Option<Value> {
        loop {
            let (_, data) = self.event()?;
            if !data.is_empty() {
                return Some(message(&data));
            }
        }
    }

    /// Reads the next message if it arrives within `time`. A final comment may extend the wait.
    pub fn message_within(&mut self, time: Duration) -> Option<Value> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            let Some((_, data)) = self.piece()? else { continue };
            if !data.is_empty() {
                return Some(message(&data));
            }
        }
        None
    }

    /// Reads an event or a comment.
    #[allow(clippy::option_option)]
    fn piece(&mut self) -> Option<Option<(Option<String>, String)>> {
        let end = loop {
            match self.events.windows(2).position(|ends| ends == b"\n\n") {
                Some(end) => break end + 2,
                None => {
                    let chunk = self.chunk()?;
                    self.events.extend(chunk);
                }
            }
        };
        let piece: Vec<u8> = self.events.drain(..end).collect();
        let piece = String::from_utf8(piece).expect("UTF-8");
        let field = |name: &str| {
            piece.lines().find_map(|line| Some(line.strip_prefix(name)?.trim_start().to_owned()))
        };
        Some(field("data:").map(|data| (field("id:"), data)))
    }

    /// Reads the next chunk of a body, as text.
    pub fn text(&mut self) -> String {
        String::from_utf8(self.chunk().unwrap_or_default()).expect("UTF-8")
    }

    fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.line();
        let size = usize::from_str_radix(line.trim(), 16).ok().filter(|size| *size > 0)?;
        let mut chunk = vec![0; size + 2];
        self.stream.read_exact(&mut chunk).ok()?;
        chunk.truncate(size);
        Some(chunk)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.stream.read_line(&mut line);
        line.trim_end().to_owned()
    }
}

fn message(data: &str) -> Value {
    serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"))
}

impl HttpServer {
    /// Starts a program that serves at an address, for clients without a token.
    pub fn spawn(mut command: Command, address: &str) -> Self {
        command.args(["serve", "--http", address]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        output.read_line(&mut line).expect("a line");
        let address = line.split("://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.and_then(|address| address.parse().ok()).expect("an address");
        Self { child, address, token: String::new(), output: Some(output) }
    }

    /// Returns the address of the metrics endpoint, which the program prints on its next line.
    pub fn watched_at(&mut self) -> SocketAddr {
        let mut line = String::new();
        self.output.as_mut().expect("a pipe").read_line(&mut line).expect("a line");
        let address = line.split("://").nth(1).and_then(|rest| rest.split('/').next());
        address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("no address: {line}"))
    }

    pub fn connect(&self) -> Connection {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time");
        Connection { stream: BufReader::new(stream), events: Vec::new() }
    }

    /// Returns a view of this server that sends `token` with each request.
    pub fn shown<'a>(&'a self, token: &'a str) -> Shown<'a> {
        Shown { server: self, token }
    }

    /// Builds a POST of a message, in the form that clients of the handshake era send.
    pub fn post(&self, message: &Value) -> Request {
        let headers = [
            ("Host", self.address.to_string()),
            ("Authorization", format!("Bearer {}", self.token)),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ];
        Request {
            method: "POST".to_owned(),
            path: "/mcp".to_owned(),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).into(),
            body: message.to_string().into_bytes(),
        }
    }

    /// Builds a request of the revision without a handshake.
    pub fn modern(&self, method: &str, mut params: Value) -> Request {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(NEWEST);
        if params["_meta"]["io.modelcontextprotocol/clientCapabilities"].is_null() {
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        let name = params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned);
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = self.post(&message).with("MCP-Protocol-Version", NEWEST).with("Mcp-Method", method);
        match name {
            Some(name) => request.with("Mcp-Name", &name),
            None => request,
        }
    }

    /// Sends a request on a new connection and waits for the response.
    pub fn ask(&self, request: &Request) -> Response {
        Self::asked(self.address, request)
    }

    /// Sends a request to any HTTP server and waits for the response.
    pub fn asked(address: SocketAddr, request: &Request) -> Response {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time");
        let mut connection = Connection { stream: BufReader::new(stream), events: Vec::new() };
        connection.send(&request.bytes());
        connection.response()
    }

    /// Sends a request like [`Self::ask`], with the body in a packet of its own, as many clients do.
    pub fn ask_in_parts(&self, request: &Request) -> Response {
        let stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time");
        let mut connection = Connection { stream: BufReader::new(stream), events: Vec::new() };
        let bytes = request.bytes();
        let head = bytes.windows(4).position(|end| end == b"\r\n\r\n").expect("a head") + 4;
        connection.send(&bytes[..head]);
        // Long enough for the proxy to pass the head on.
        std::thread::sleep(Duration::from_millis(2));
        connection.send(&bytes[head..]);
        connection.response()
    }

    /// Sends a request on a new connection and returns the raw response. Fails if the server disconnects
    /// before the end.
    pub fn try_ask(&self, request: &Request) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(&request.clone().with("Connection", "close").bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    /// Starts a session and returns its ID.
    pub fn session(&self, revision: &str, capabilities: Value) -> String {
        let client = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": client });
        let message = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let response = self.ask(&self.post(&message));
        assert_eq!(response.json()["result"]["protocolVersion"], revision, "{response:?}");
        let id = response.header("mcp-session-id").expect("an id").to_owned();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let answered = self.ask(&self.post(&ready).with("Mcp-Session-Id", &id));
        assert_eq!((answered.status, answered.body.as_str()), (202, ""));
        id
    }

    /// Builds a request of a session.
    pub fn in_session(&self, session: &str, id: u64, method: &str, params: &Value) -> Request {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.post(&message).with("Mcp-Session-Id", session)
    }

    /// Builds the GET request for the stream of a session's server-initiated messages.
    pub fn listen(&self, session: &str) -> Request {
        let request = self.post(&Value::Null).method("GET").body("").without("Content-Type");
        request.with("Accept", "text/event-stream").with("Mcp-Session-Id", session)
    }

    /// Ends the process the way Windows ends processes without a window.
    #[cfg(windows)]
    pub fn end(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("ended");
    }

    /// Signals the process to stop and returns how long it took to exit.
    #[cfg(unix)]
    pub fn end(&mut self) -> Duration {
        let begun = Instant::now();
        let process = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(process, rustix::process::Signal::TERM).expect("a signal");
        ends_within(&mut self.child, PATIENCE).expect("the server does not end");
        begun.elapsed()
    }
}

/// View of a server that shows a token with each request.
pub struct Shown<'a> {
    server: &'a HttpServer,
    token: &'a str,
}

impl Shown<'_> {
    /// Sends a request with the token.
    pub fn ask(&self, request: Request) -> Response {
        self.server.ask(&request.with("Authorization", &format!("Bearer {}", self.token)))
    }

    /// Sends a request of the revision without a handshake and returns the response.
    pub fn modern(&self, method: &str, params: Value) -> Response {
        self.ask(self.server.modern(method, params))
    }

    /// Calls a tool and returns the text of its result.
    pub fn text(&self, tool: &str, arguments: Value) -> String {
        let response = self.modern("tools/call", json!({ "name": tool, "arguments": arguments }));
        let answer = response.json();
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}
