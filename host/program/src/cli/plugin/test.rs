//! Trying a plugin that is not installed: for those who write one.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, ensure};
use scorpiox_plugin::Shelf;
use scorpiox_rpc::Output;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use super::add::Source;
use super::decide::{policy_for, recorded, refused_by_policy};
use super::look::Look;
use crate::bindings::any_tool::exports::scorpiox::tool::tool::{ToolError, ToolResult};
use crate::bindings::any_tool::scorpiox::tool::types::Content;
use crate::capabilities::shell::Shell;
use crate::cli::environment::Environment;
use crate::cli::policy;
use crate::plugins::held_to;
use crate::runtime::{Component, Kept, Setup, Ticker};
use crate::server::{Audience, Context, Options};

/// What its lines are called.
const TEST: &str = "plugin test";

pub(super) fn run(
    environment: &Environment,
    source: &Path,
    tool: Option<&str>,
    arguments: &str,
) -> Result<ExitCode> {
    let staged = Source::read(source)?.stage(&Shelf::new(&environment.own_home))?;
    let look = Look::at(environment, staged.installed.clone())?;
    let Some(tool) = tool else {
        terminal::print(&Shown::text(&look.text()));
        terminal::print(&Shown::text("\nIt can be added. Name a tool to call it.\n"));
        return Ok(ExitCode::SUCCESS);
    };
    allowed(environment, &look, tool)?;
    let manifest = &look.installed.manifest;
    let kept = Kept::new(&environment.own_home);
    let asked = (&manifest.capabilities, &look.folders);
    let mut component = held_to(&look.installed, &look.component, asked, &manifest.limits, &kept)?;
    // What an installed plugin of that name stored is not its.
    let prefix = format!("{}.", manifest.name);
    let tool = tool.strip_prefix(&prefix).unwrap_or(tool);
    let known: Vec<_> = look.described.tools.iter().filter_map(|known| known["name"].as_str()).collect();
    ensure!(known.contains(&tool), "{} has no tool {tool}; there are {}", manifest.name, known.join(", "));
    let parsed: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(arguments);
    parsed.with_context(|| format!("the arguments are no JSON object: {arguments}"))?;
    component.name = format!("plugin-trial/{}", manifest.name).into();
    call(environment, &component, tool, arguments)
}

/// Whether the operator lets the plugin run, which nobody approved; a trial leaves a line, too.
fn allowed(environment: &Environment, look: &Look, tool: &str) -> Result<()> {
    let shell = Shell::new(policy::setup(environment));
    let policy = policy_for(environment, &shell, TEST, look)?;
    let name = look.installed.name.as_str();
    let content = look.content();
    let checked = policy.plugins.check_run(&look.candidate(&content));
    let bare = tool.strip_prefix(&format!("{name}.")).unwrap_or(tool);
    let checked = checked.and_then(|_| policy.tools.check_tool(&format!("{name}.{bare}")).map(drop));
    checked.inspect_err(|refusal| refused_by_policy(environment, TEST, look, refusal))?;
    recorded(environment, TEST, &look.installed.name, Some(look))
}

/// Calls the tool as a server would, with what the plugin asks for.
fn call(environment: &Environment, component: &Component, tool: &str, arguments: &str) -> Result<ExitCode> {
    let options = Options { audience: Audience::Person, ..environment.options() };
    let context = Arc::new(Context::new(options, Output::new(std::io::sink())));
    let ticks = Arc::clone(&context);
    let ticker = Ticker::new(Box::new(move |_| ticks.runtime.tick()));
    let _awake = ticker.begin();
    let mut setup = context.own_setup();
    let plan =
        context.active_plan().map_err(|fault| anyhow!("whether a plan is active is not known: {fault}"))?;
    setup.read_only = plan.is_some();
    setup.on_progress = Arc::new(|message: &str| terminal::complain(message));
    let begun = Instant::now();
    let called = context.runtime.call_tool(component, &setup, tool, arguments);
    let duration = begun.elapsed();
    let (text, code) = match called {
        Ok(finished) if finished.value.is_err() => (said(finished.value), ExitCode::FAILURE),
        Ok(finished) => (said(finished.value), ExitCode::SUCCESS),
        Err(fault) => (format!("{tool} has no result: {fault}\n"), ExitCode::FAILURE),
    };
    terminal::print(&Shown::said(&text));
    terminal::print(&Shown::text(&summary(&setup, duration.as_secs_f64() * 1000.0)));
    Ok(code)
}

fn said(result: Result<ToolResult, ToolError>) -> String {
    let mut text = String::new();
    match result {
        Ok(result) => {
            for content in result.content {
                let _ = match content {
                    Content::Text(said) => writeln!(text, "{}", said.trim_end()),
                    Content::Image(image) => {
                        writeln!(text, "({}, {} bytes)", image.mime_type, image.data.len())
                    }
                    Content::Document(document) => writeln!(text, "{}\n{}", document.uri, document.text),
                };
            }
            if let Some(structured) = result.structured {
                let _ = writeln!(text, "structured: {structured}");
            }
        }
        Err(error) => {
            let _ = match error {
                ToolError::InvalidInput(why) => writeln!(text, "error, invalid input: {why}"),
                ToolError::Denied(why) => writeln!(text, "error, denied: {why}"),
                ToolError::NotFound(why) => writeln!(text, "error, not found: {why}"),
                ToolError::TimedOut(why) => writeln!(text, "error, timed out: {why}"),
                ToolError::Failed(why) => writeln!(text, "error: {why}"),
                ToolError::Cancelled => writeln!(text, "error: cancelled"),
            };
        }
    }
    text
}

/// What the call took, and what it touched.
fn summary(setup: &Setup, milliseconds: f64) -> String {
    let memory = setup.uses.memory().div_ceil(1024);
    let mut text = format!("\n{milliseconds:.1} ms with loading, {memory} KiB of memory\n");
    for line in setup.uses.lines() {
        let _ = writeln!(text, "touched {line}");
    }
    text
}
