//! `scorpiox-code call TOOL JSON`: one call through the whole server, over a connection in
//! memory.

use std::io::{BufRead, BufReader, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use scorpiox_rpc::{Output, memory};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use serde_json::{Value, json};

use super::environment::Environment;
use crate::mcp::Revision;
use crate::server::{Audience, Context, End, Options, Server};

const EXAMPLE: &str = "'{\"action\": \"list\", \"query\": \"\"}'";

/// Bytes in flight in each direction.
const PIPE_BYTES: usize = 64 * 1024;

pub(super) fn run(environment: &Environment, tool: &str, arguments: &str, whole: bool) -> Result<ExitCode> {
    let arguments: Value = serde_json::from_str(arguments).with_context(|| {
        format!("the arguments are not JSON; write them like {EXAMPLE}, but they are {arguments}")
    })?;
    let result = result(environment, tool, &arguments)?;
    if whole {
        terminal::print(&Shown::json(&format!("{result:#}")));
    } else {
        for content in result["content"].as_array().into_iter().flatten() {
            let text = content["text"].as_str().map_or_else(|| described(content), str::to_owned);
            terminal::print(&Shown::said(&text));
        }
    }
    Ok(if result["isError"] == true { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Content that is no text: for a person, what it is.
fn described(content: &Value) -> String {
    match (content["mimeType"].as_str(), content["data"].as_str()) {
        (Some(mime_type), Some(data)) => {
            format!("({mime_type}, {} bytes; --json shows them)", data.len() / 4 * 3)
        }
        _ => format!("{content:#}"),
    }
}

/// The result of one call.
pub(super) fn result(environment: &Environment, tool: &str, arguments: &Value) -> Result<Value> {
    let options = Options { audience: Audience::Person, ..environment.options() };
    let (mut requests, input) = memory::pipe(PIPE_BYTES);
    let (output, answers) = memory::pipe(PIPE_BYTES);
    let context = Arc::new(Context::new(options, Output::new(output)));
    let server = Server::start(context, input, || false);
    let mut answers = BufReader::new(answers).lines();
    let mut ask = |id: u32, method: &str, params: Value| -> Result<Value> {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(requests, "{request}")?;
        // Notifications may come before it.
        loop {
            let line = answers.next().context("the server gave no answer")??;
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                return Ok(message);
            }
        }
    };
    let client = json!({ "name": "scorpiox-code call", "version": env!("CARGO_PKG_VERSION") });
    ask(
        1,
        "initialize",
        json!({
            "protocolVersion": Revision::NEWEST_HANDSHAKE.name(), "capabilities": {}, "clientInfo": client,
        }),
    )?;
    let answer = ask(2, "tools/call", json!({ "name": tool, "arguments": arguments }))?;
    server.shut_down(End::Signal);
    if let Some(message) = answer["error"]["message"].as_str() {
        bail!("{message}");
    }
    Ok(answer["result"].clone())
}
