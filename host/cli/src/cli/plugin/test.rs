//! Trial of a plugin that is not installed, for its author.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use scorpiox_plugin::{ComponentName, PluginFolder};
use scorpiox_plugin_manager::install::Look;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, columns, wrapped};
use serde_json::{Map, Value, json};

use super::add::Given;
use super::address::Addresses;
use super::decide::{policy_for, recorded, refused_by_policy};
use crate::cli::call::{described, parsed, result_in};
use crate::cli::environment::Environment;
use scorpiox_runtime::CodeCache;
use scorpiox_tools::Tool;
use scorpiox_tools::plugins::{self, OF_TRIAL, held_to, untried};
use scorpiox_workspace_config::Operator;

/// Name of trials in the audit.
const TEST: &str = "plugin test";

pub(super) fn run(
    environment: &Environment,
    (source, overrides): Given<'_>,
    tool: Option<&str>,
    arguments: &[String],
) -> Result<ExitCode> {
    called(environment, (source, overrides), tool, &object(arguments)?)
}

/// Returns the arguments of a tool as an object.
pub(super) fn object(arguments: &[String]) -> Result<Map<String, Value>> {
    match parsed(arguments)? {
        Value::Object(all) => Ok(all),
        other => {
            bail!("the arguments are not a JSON object: {other}; write {{\"name\": value}}, or name=text")
        }
    }
}

/// Tests a plugin with arguments that were parsed before.
pub(super) fn called(
    environment: &Environment,
    (source, overrides): Given<'_>,
    tool: Option<&str>,
    arguments: &Map<String, Value>,
) -> Result<ExitCode> {
    let source = Addresses::new(environment).source(source, overrides)?;
    let staged = source.stage(&PluginFolder::new(&environment.own_home))?;
    let look = Look::at(&environment.site(), staged.installed.clone(), Some(&source.anatomy))?;
    let Some(tool) = tool else {
        terminal::print(&Shown::text(&look.text()));
        terminal::print(&Shown::text("\nIt can be added. Name a tool to call it.\n"));
        return Ok(ExitCode::SUCCESS);
    };
    allowed(environment, &look, tool)?;
    let manifest = &look.installed.manifest;
    let cache = CodeCache::new(&environment.own_home);
    let asked = (&manifest.capabilities, &look.folders);
    let mut component = held_to((&look.installed, None), &look.hashes(), asked, &manifest.limits, &cache)?;
    component.secrets = untried(&look.installed, &manifest.capabilities)?;
    // The trial must not see the data of an installed plugin with the same name.
    let prefix = format!("{}.", manifest.name);
    let tool = tool.strip_prefix(&prefix).unwrap_or(tool);
    let known: Vec<_> = look.described.tools.iter().filter_map(|known| known["name"].as_str()).collect();
    ensure!(known.contains(&tool), "{} has no tool {tool}; its tools: {}", manifest.name, known.join(", "));
    component.name = ComponentName::from(&*format!("plugin-trial/{}", manifest.name));
    let (_, tools) = plugins::tools(&look.installed.name, component, &look.described.text())?;
    let code = call(environment, tools, &format!("{prefix}{tool}"), &Value::Object(arguments.clone()))?;
    if !look.installed.manifest.secrets.is_empty() {
        terminal::print(&Shown::text(&format!("Each secret has the value {OF_TRIAL} in a trial.\n")));
    }
    Ok(code)
}

/// Checks that the policy lets the unapproved plugin run, and records the trial.
fn allowed(environment: &Environment, look: &Look, tool: &str) -> Result<()> {
    let operator = Operator::new(environment.site());
    let policy = policy_for(environment, &operator, TEST, look)?;
    let name = look.installed.name.as_str();
    let hashes = look.hashes();
    let checked = policy.plugins.check_run(&look.candidate(&hashes));
    let bare = tool.strip_prefix(&format!("{name}.")).unwrap_or(tool);
    let checked = checked.and_then(|_| policy.tools.check_tool(&format!("{name}.{bare}")).map(drop));
    checked.inspect_err(|refusal| refused_by_policy(environment, TEST, look, refusal))?;
    recorded(environment, TEST, &look.installed.name, Some(look))
}

/// Calls the tool in the same way as every other call.
fn call(environment: &Environment, tools: Vec<Arc<Tool>>, name: &str, arguments: &Value) -> Result<ExitCode> {
    let workspace = environment.open();
    workspace.plugins().try_out(tools);
    let call = json!({ "name": name, "arguments": arguments, "_meta": { "progressToken": 0 } });
    let begun = Instant::now();
    let result = result_in(&workspace, call, &terminal::complain);
    let duration = begun.elapsed();
    workspace.close();
    let result = result?;
    let account = &result["_meta"]["scorpiox/account"];
    let error = account["error"].as_str();
    let mut text = said(&result, error);
    if result["isError"] == true {
        text = text.lines().map(|line| wrapped_if_seen(line) + "\n").collect();
        text.push_str(of_handle(&text, arguments));
    }
    terminal::print(&Shown::said(&text));
    terminal::print(&Shown::text(&summary(account, duration.as_secs_f64() * 1000.0)));
    Ok(if result["isError"] == true { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Formats the result of the tool, or its error.
fn said(result: &Value, error: Option<&str>) -> String {
    let mut text = match error {
        Some("failed" | "fault") => "error: ".to_owned(),
        Some(kind) => format!("error, {kind}: "),
        None => String::new(),
    };
    let mut is_shown = false;
    let structured = result.get("structuredContent");
    for content in result["content"].as_array().into_iter().flatten() {
        let shown = content["text"].as_str().map_or_else(|| described(content), str::to_owned);
        is_shown |= structured.is_some_and(|structured| is_same(&shown, structured));
        let _ = writeln!(text, "{}", shown.trim_end());
    }
    if let Some(structured) = structured.filter(|_| !is_shown) {
        let _ = writeln!(text, "structured: {structured}");
    }
    text
}

/// Wraps a line of an error at a terminal. Other programs get it as it is.
fn wrapped_if_seen(line: &str) -> String {
    if std::io::stdout().is_terminal() { wrapped(line, columns()).join("\n  ") } else { line.to_owned() }
}

/// Explains an error about a handle among the arguments: each trial has handles of its own.
fn of_handle(error: &str, arguments: &Value) -> &'static str {
    let is_missing = |value: &Value| {
        value
            .as_str()
            .is_some_and(|handle| !handle.is_empty() && error.contains(&format!("There is no {handle}")))
    };
    if arguments.as_object().is_some_and(|all| all.values().any(is_missing)) {
        "A handle ends with its command: `plugin test` makes a single call. A client's session keeps handles.\n"
    } else {
        ""
    }
}

/// Reports whether a text shows the structured result: as JSON, or as its only member `result`.
fn is_same(text: &str, structured: &Value) -> bool {
    let shown = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    shown == *structured || *structured == json!({ "result": shown })
}

/// Formats the resources that the call used, and what it accessed.
fn summary(account: &Value, milliseconds: f64) -> String {
    let memory = account["memory"].as_u64().unwrap_or_default().div_ceil(1024);
    let mut text = format!("\n{milliseconds:.1} ms with loading, {memory} KiB of memory\n");
    for line in account["touched"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let _ = writeln!(text, "touched {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_printed_once() {
        let result = |text: &str, structured: Value| json!({"content": [{"text": text}], "structuredContent": structured});
        assert_eq!(said(&result("{\n  \"a\": 1\n}", json!({"a": 1})), None), "{\n  \"a\": 1\n}\n");
        assert_eq!(said(&result("2", json!({"result": 2})), None), "2\n");
        assert_eq!(said(&result("text", json!({"result": "text"})), None), "text\n");
        assert_eq!(said(&result("about it", json!({"a": 1})), None), "about it\nstructured: {\"a\":1}\n");
    }

    #[test]
    fn an_error_about_a_handle_says_that_a_trial_has_none_before() {
        let error = "error: There is no cell-1; rx.things.cell.new makes another one.\n";
        assert!(of_handle(error, &json!({"self": "cell-1"})).starts_with("A handle ends with its command"));
        for other in [json!({"self": "cell-2"}), json!({"self": ""}), json!({"n": 1}), json!({})] {
            assert_eq!(of_handle(error, &other), "", "{other}");
        }
    }

    #[test]
    fn arguments_are_an_object_or_pairs() {
        let of = |all: &[&str]| object(&all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            of(&["n:=12", "t=x"]).expect("pairs"),
            *json!({"n": 12, "t": "x"}).as_object().expect("an object")
        );
        assert!(of(&[]).expect("none").is_empty());
        let error = of(&["[1]"]).expect_err("an error").to_string();
        assert!(error.starts_with("the arguments are not a JSON object: [1]; write "), "{error}");
    }
}
