//! Starts this program as a client does, and asks it for its tools.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use scorpiox_mcp::Revision;
use scorpiox_sandbox::program::{self, Task};
use serde_json::{Value, json};

use super::super::environment::Environment;

/// Maximum time of the handshake.
const TIME: Duration = Duration::from_secs(20);
/// Maximum number of bytes of the answers.
const MAX_BYTES: usize = 4 << 20;
/// Identifier of the request for tools.
const TOOLS: u64 = 2;

/// Answer of the server.
pub(super) struct Answered {
    /// Number of tools.
    pub(super) tools: usize,
    /// Time from the start of the program to its end.
    pub(super) time: Duration,
}

/// Starts the server and asks for its tools.
pub(super) fn run(environment: &Environment) -> Result<Answered> {
    let client = json!({ "name": "scorpiox-code setup", "version": env!("CARGO_PKG_VERSION") });
    let revision = Revision::NEWEST_HANDSHAKE.name();
    let messages = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": {}, "clientInfo": client,
        } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": TOOLS, "method": "tools/list" }),
    ];
    let input = messages.map(|message| message.to_string()).join("\n") + "\n";
    let begun = Instant::now();
    let answered = program::ask(Task {
        program: &environment.binary,
        arguments: &environment.chosen()?,
        input: input.as_bytes(),
        folder: &environment.workspace.path,
        time: TIME,
        most: MAX_BYTES,
    })?;
    let time = begun.elapsed();
    let output = String::from_utf8(answered.output).context("its answer is no text")?;
    let messages = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answer = messages.into_iter().find(|message| message["id"] == TOOLS);
    let said = answered.said.lines().next_back().unwrap_or_default();
    let answer =
        answer.with_context(|| format!("it ended ({}) without an answer: {said}", answered.status))?;
    let error = &answer["error"]["message"];
    ensure!(error.is_null(), "it answers with an error: {error}");
    let tools = answer["result"]["tools"].as_array().context("its answer has no tools")?.len();
    Ok(Answered { tools, time })
}
