//! The command `scorpiox-code call TOOL JSON`: makes a call through the server over an in-memory connection.

use std::env;
use std::io::{BufRead, BufReader, IsTerminal as _, Read as _, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_mcp::jsonrpc::{Output, memory};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use serde_json::{Map, Value, json};

use super::environment::Environment;
use scorpiox_mcp::Revision;
use scorpiox_server::{Audience, Workspace};
use scorpiox_transport_stdio::streams::{Ringing, ring_while};
use scorpiox_transport_stdio::{End, Server};

/// Tools with arguments that examples show, and another example for all other tools.
const EXAMPLES: [(&str, &str); 12] = [
    ("Bash", "command='echo hi'"),
    ("ReadDocs", "url=README.md"),
    ("ReadImage", "file_path=picture.png"),
    ("WebSearch", "query='two words'"),
    ("InvokeSkill", "skill_name=NAME"),
    ("AskUserQuestion", r#"questions_json='{"questions":[{"question":"…","options":["A","B"]}]}'"#),
    ("ReadBgOutput", "task_id:=1"),
    ("KillBgTask", "task_id:=1"),
    ("BackgroundBash", "command='sleep 5'"),
    ("TaskManager", "action=list query="),
    ("SetCallback", "action=list"),
    ("PlanMode", "action=status"),
];
const EXAMPLE: &str = "name=text number:=5";
/// Tool that starts commands which end with their server, which ends with the call.
pub(super) const BACKGROUND: &str = "BackgroundBash";
const QUESTION: &str = "AskUserQuestion";

/// Exit code after a signal, as that of a shell for SIGINT.
const ENDED_BY_SIGNAL: i32 = 130;

/// Buffer size in each direction.
const PIPE_BYTES: usize = 64 * 1024;

pub(super) fn run(
    environment: &Environment,
    tool: &str,
    arguments: &[String],
    whole: bool,
) -> Result<ExitCode> {
    if tool == BACKGROUND {
        bail!(
            "a background command ends with its server, and the server of `call` ends with the call. Use `call Bash`, or a \
             client"
        );
    }
    let is_bare = arguments.is_empty();
    let arguments = parsed_for(tool, arguments)?;
    if let Some(folder) = &environment.workspace.instead_of {
        let (folder, workspace) = (folder.display(), environment.workspace.path.display());
        terminal::complain(&format!("{folder} is no project; the call works in {workspace}."));
    }
    let result = result(environment, tool, &arguments)?;
    if whole {
        terminal::print(&Shown::json(&format!("{result:#}")));
    } else {
        for content in result["content"].as_array().into_iter().flatten() {
            let text = content["text"].as_str().map_or_else(|| described(content), str::to_owned);
            terminal::print(&Shown::said(&text));
        }
    }
    let failed = result["isError"] == true;
    if failed && is_bare {
        terminal::complain(&format!(
            "Arguments follow the tool: scorpiox-code call {tool} {}",
            example(tool)
        ));
    }
    if failed && tool == QUESTION && std::io::stdin().is_terminal() && env::var_os("TMUX").is_none() {
        terminal::complain("`call` does not ask in the terminal that it was started in; run it in tmux.");
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns arguments of a tool as they are written on a command line.
fn example(tool: &str) -> &'static str {
    known_example(tool).unwrap_or(EXAMPLE)
}

/// Returns arguments of a built-in tool as they are written on a command line.
pub(super) fn known_example(tool: &str) -> Option<&'static str> {
    EXAMPLES.iter().find(|(name, _)| *name == tool).map(|(_, example)| *example)
}

/// Returns the arguments of a tool that no example is for.
pub(super) fn parsed(arguments: &[String]) -> Result<Value> {
    parsed_for("", arguments)
}

/// Returns arguments that are given as a JSON object, or each as `NAME=TEXT` or `NAME:=JSON`.
pub(super) fn parsed_for(tool: &str, arguments: &[String]) -> Result<Value> {
    let example = example(tool);
    if let [only] = arguments
        && only.trim_start().starts_with(['{', '['])
    {
        let not_json = || format!("the arguments are not JSON: {only}; write them like {example}");
        return serde_json::from_str(only).with_context(not_json);
    }
    let mut all = Map::new();
    for argument in arguments {
        let (name, value) = argument.split_once('=').with_context(|| {
            format!(
                "{argument:?} is neither a JSON object nor NAME=VALUE; write the arguments like {example}"
            )
        })?;
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => {
                let not_json =
                    || format!("the value of {name} is not JSON: {value}; write {name}=… for a text");
                (name, serde_json::from_str(value).with_context(not_json)?)
            }
            None => (name, Value::from(value)),
        };
        ensure!(!name.is_empty(), "{argument:?} has no name before the =");
        ensure!(all.insert(name.to_owned(), value).is_none(), "{name} is given twice");
    }
    Ok(Value::Object(all))
}

/// Describes content that is not text, for the terminal.
pub(super) fn described(content: &Value) -> String {
    match (content["mimeType"].as_str(), content["data"].as_str()) {
        (Some(mime_type), Some(data)) => {
            format!("({mime_type}, {} bytes; --json shows them)", data.len() / 4 * 3)
        }
        _ => format!("{content:#}"),
    }
}

/// Returns the result of a call.
pub(super) fn result(environment: &Environment, tool: &str, arguments: &Value) -> Result<Value> {
    let workspace = environment.open();
    let result = result_in(&workspace, json!({ "name": tool, "arguments": arguments }), &|_| {});
    workspace.close();
    result
}

/// Signals that ask the process to end while a call runs: they end the call, which then has its line in the audit, and
/// the process. They do nothing once this is dropped.
struct Signals {
    state: Arc<AtomicU8>,
    /// Closes the bell when dropped, which ends the thread.
    _ringing: Ringing,
}

/// State of [`Signals`]: the call runs, a signal ends it, or it has ended before.
const RUNNING: u8 = 0;
const ENDING: u8 = 1;
const OVER: u8 = 2;

impl Signals {
    fn end(server: &Arc<Server>, workspace: &Arc<Workspace>) -> Result<Self> {
        let (mut bell, ringer) = std::io::pipe()?;
        let ringing = ring_while(ringer)?;
        let (server, workspace) = (Arc::clone(server), Arc::clone(workspace));
        let state = Arc::new(AtomicU8::new(RUNNING));
        let signals = Self { state: Arc::clone(&state), _ringing: ringing };
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let is_told = bell.read(&mut [0]).is_ok_and(|read| read > 0);
            if is_told && state.compare_exchange(RUNNING, ENDING, Ordering::AcqRel, Ordering::Acquire).is_ok()
            {
                server.shut_down(End::Signal);
                workspace.close();
                std::process::exit(ENDED_BY_SIGNAL);
            }
        })?;
        Ok(signals)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // A signal that came before ends the process.
        let _ = self.state.compare_exchange(RUNNING, OVER, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Returns the result of a call with these parameters. `on_progress` receives its progress messages.
pub(super) fn result_in(
    workspace: &Arc<Workspace>,
    call: Value,
    on_progress: &dyn Fn(&str),
) -> Result<Value> {
    let (mut requests, input) = memory::pipe(PIPE_BYTES);
    let (output, answers) = memory::pipe(PIPE_BYTES);
    let server = Server::start(workspace, Audience::Person, input, Output::new(output));
    let signals = Signals::end(&server, workspace)?;
    let mut answers = BufReader::new(answers).lines();
    let mut ask = |id: u32, method: &str, params: Value| -> Result<Value> {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(requests, "{request}")?;
        // Notifications may precede the response.
        loop {
            let next = answers.next();
            while signals.state.load(Ordering::Acquire) == ENDING {
                // The process ends when the call has its line.
                thread::park();
            }
            let line = next.context("the server gave no answer")??;
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                return Ok(message);
            }
            if message["method"] == "notifications/progress"
                && let Some(text) = message["params"]["message"].as_str()
            {
                on_progress(text);
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
    let answer = ask(2, "tools/call", call)?;
    server.shut_down(End::Signal);
    if let Some(message) = answer["error"]["message"].as_str() {
        bail!("{message}");
    }
    Ok(answer["result"].clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(arguments: &[&str]) -> Result<Value, String> {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        parsed(&arguments).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn an_example_is_of_the_tool() {
        for (tool, example) in EXAMPLES {
            let words = ["echo".to_owned()];
            let error = parsed_for(tool, &words).expect_err("it is refused").to_string();
            assert!(error.ends_with(&format!("write the arguments like {example}")), "{error}");
        }
    }

    #[test]
    fn arguments_are_json_or_pairs() {
        for (given, expected) in [
            (&[][..], json!({})),
            (&[r#" {"a": [1]}"#], json!({ "a": [1] })),
            (
                &["command=ls -la | grep a=b", "timeout_ms:=500"],
                json!({ "command": "ls -la | grep a=b", "timeout_ms": 500 }),
            ),
            (
                &["a=", "b=5", "c:=null", "d:=\"x\"", "e={\"f\": 1}"],
                json!({ "a": "", "b": "5", "c": null, "d": "x", "e": "{\"f\": 1}" }),
            ),
            (&["überschrift=ja"], json!({ "überschrift": "ja" })),
        ] {
            assert_eq!(said(given), Ok(expected), "{given:?}");
        }
        for (given, expected) in [
            (&["{"][..], "the arguments are not JSON: {"),
            (&["list"], "\"list\" is neither a JSON object nor NAME=VALUE"),
            (&["{}", "a=1"], "neither a JSON object nor"),
            (&["a:=x"], "the value of a is not JSON: x; write a=… for a text"),
            (&["=x"], "has no name"),
            (&["a=1", "a=2"], "a is given twice"),
        ] {
            let error = said(given).expect_err("it is refused");
            assert!(error.contains(expected), "{given:?}: {error}");
        }
    }
}
