//! Open-loop load generator: calls are due at a fixed rate, regardless of outstanding answers.
//!
//! Invariant: the time of a call starts when the call is due. A call that starts late, because all
//! connections are busy or this program did not get a processor, includes that delay. (`oha
//! --latency-correction` starts when its own timer wakes up, which hides the delay on an overloaded machine.)
//!
//! It depends only on the standard library: `rustc -O generator.rs`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const USAGE: &str = "generator HOST:PORT RATE SECONDS CONNECTIONS TOKENS WORKSPACES TOOL ARGUMENTS
    calls TOOL so often a second; each connection is of the next token, and in the next of /w/w0/mcp, /w/w1/mcp, …
    (WORKSPACES 0: /mcp); `@` in ARGUMENTS is a number below 100";
const REVISION: &str = "2026-07-28";
/// Maximum time for an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Delay after which a call is skipped.
const TOO_LATE: Duration = Duration::from_secs(5);

struct Plan {
    address: String,
    rate: f64,
    count: u64,
    tokens: usize,
    workspaces: usize,
    tool: String,
    arguments: String,
    next: AtomicU64,
    start: Instant,
}

#[derive(Default)]
struct Found {
    /// Times in microseconds since each call was due, and the number of calls answered within the time of the
    /// run.
    times: Vec<u64>,
    in_time: u64,
    errors: BTreeMap<String, u64>,
}

struct Client {
    path: String,
    token: String,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    fn ask(&mut self, plan: &Plan, number: u64) -> Result<(), String> {
        let answered = self.exchange(plan, number);
        if answered.is_err() {
            self.connection = None;
        }
        let (status, body) = answered.map_err(|error| format!("connection: {:?}", error.kind()))?;
        match status {
            200 if !body.windows(14).any(|part| part == b"\"isError\":true") => Ok(()),
            200 => Err("isError".to_owned()),
            status => Err(status.to_string()),
        }
    }

    fn exchange(&mut self, plan: &Plan, number: u64) -> std::io::Result<(u16, Vec<u8>)> {
        let arguments = plan.arguments.replace('@', &(number % 100).to_string());
        let (tool, address) = (&plan.tool, &plan.address);
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"io.modelcontextprotocol/protocolVersion":"{REVISION}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        let request = format!(
            "POST {} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {REVISION}\r\nMcp-Method: tools/call\r\n\
             Mcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}",
            self.path,
            self.token,
            body.len()
        );
        if self.connection.is_none() {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            self.connection = Some(BufReader::new(stream));
        }
        let connection = self.connection.as_mut().expect("it was made");
        connection.get_mut().write_all(request.as_bytes())?;
        answer(connection)
    }
}

/// Reads the status and the body of an answer.
fn answer(connection: &mut BufReader<TcpStream>) -> std::io::Result<(u16, Vec<u8>)> {
    let mut line = String::new();
    let mut next = |connection: &mut BufReader<TcpStream>| {
        line.clear();
        match connection.read_line(&mut line)? {
            0 => Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)),
            _ => Ok(line.trim_end().to_ascii_lowercase()),
        }
    };
    let status = next(connection)?.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_default();
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let line = next(connection)?;
        match line.split_once(": ") {
            None => break,
            Some(("content-length", value)) => length = value.parse().unwrap_or_default(),
            Some(("transfer-encoding", value)) => is_chunked = value == "chunked",
            Some(_) => (),
        }
    }
    let mut body = Vec::new();
    if !is_chunked {
        body.resize(length, 0);
        connection.read_exact(&mut body)?;
        return Ok((status, body));
    }
    loop {
        let size = usize::from_str_radix(&next(connection)?, 16).unwrap_or_default();
        let begin = body.len();
        body.resize(begin + size, 0);
        connection.read_exact(&mut body[begin..])?;
        connection.read_exact(&mut [0; 2])?;
        if size == 0 {
            return Ok((status, body));
        }
    }
}

/// Executes due calls until all are done.
fn work(plan: &Plan, client: usize) -> Found {
    let path = match plan.workspaces {
        0 => "/mcp".to_owned(),
        count => format!("/w/w{}/mcp", client % count),
    };
    let token = format!("token-of-the-load-{:08}", client % plan.tokens);
    let mut client = Client { path, token, connection: None };
    let mut found = Found::default();
    loop {
        let number = plan.next.fetch_add(1, Ordering::Relaxed);
        if number >= plan.count {
            return found;
        }
        let due = plan.start + Duration::from_secs_f64(number as f64 / plan.rate);
        let late = Instant::now().saturating_duration_since(due);
        if late > TOO_LATE {
            *found.errors.entry("not begun".to_owned()).or_default() += 1;
            continue;
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let answered = client.ask(plan, number);
        found.times.push(due.elapsed().as_micros() as u64);
        match answered {
            Ok(()) if plan.start.elapsed().as_secs_f64() <= plan.count as f64 / plan.rate => {
                found.in_time += 1
            }
            Ok(()) => (),
            Err(error) => *found.errors.entry(error).or_default() += 1,
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [address, rate, seconds, connections, tokens, workspaces, tool, arguments] = &words[..] else {
        eprintln!("{USAGE}");
        std::process::exit(2);
    };
    let number = |word: &String| word.parse::<f64>().expect("a number");
    let rate = number(rate);
    let plan = Arc::new(Plan {
        address: address.clone(),
        rate,
        count: (rate * number(seconds)) as u64,
        tokens: number(tokens) as usize,
        workspaces: number(workspaces) as usize,
        tool: tool.clone(),
        arguments: arguments.clone(),
        next: AtomicU64::new(0),
        start: Instant::now() + Duration::from_millis(200),
    });
    let clients = (0..number(connections) as usize).map(|client| {
        let plan = Arc::clone(&plan);
        thread::Builder::new().stack_size(256 * 1024).spawn(move || work(&plan, client)).expect("a thread")
    });
    let clients: Vec<_> = clients.collect();
    let mut all = Found::default();
    for client in clients {
        let found = client.join().expect("a client that ends");
        all.times.extend(found.times);
        all.in_time += found.in_time;
        found.errors.into_iter().for_each(|(error, times)| *all.errors.entry(error).or_default() += times);
    }
    all.times.sort_unstable();
    // Nearest-rank percentile.
    let rank = |share: f64| (share * all.times.len() as f64).ceil() as usize;
    let at = |share: f64| {
        all.times.get(rank(share).saturating_sub(1)).copied().unwrap_or_default() as f64 / 1000.0
    };
    let errors: Vec<_> = all.errors.iter().map(|(error, times)| format!("\"{error}\": {times}")).collect();
    println!(
        "{{\"rate\": {rate}, \"due\": {}, \"in_time\": {}, \"p50\": {}, \"p90\": {}, \"p99\": {}, \"p99.9\": {}, \"max\": {}, \"errors\": {{{}}}}}",
        plan.count,
        all.in_time,
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0),
        errors.join(", ")
    );
}
