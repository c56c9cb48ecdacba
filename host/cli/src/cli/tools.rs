//! The command `scorpiox-code tools`: shows each tool, its sandbox, its permissions, and for one tool its arguments.

mod arguments;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use scorpiox_sandbox::Tier;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, Style, rows};
use scorpiox_text::nearest;
use serde_json::{Value, json};

use super::call;
use super::environment::Environment;
use super::policy::{effects, restricted};
use scorpiox_capabilities::Capability;
use scorpiox_capabilities::approved::Approved;
use scorpiox_policy::Policy;
use scorpiox_shell::Shell;
use scorpiox_tools::plugins::Plugins;
use scorpiox_tools::{Definition, Kind, Tool};
use scorpiox_workspace_config::Operator;

/// Maximum number of rows of a tool's description.
const MAX_ROWS: usize = 40;

/// A tool, in words for users.
struct Described {
    name: String,
    state: State,
    /// Rules of the policy about its calls.
    rules: Vec<String>,
    runs: String,
    may: Vec<String>,
    may_not: Vec<&'static str>,
    definition: Option<Definition>,
}

/// Condition under which a tool is listed.
enum State {
    On,
    /// Listed only in some situations.
    Sometimes,
    /// Switched off by the settings.
    Off,
    /// Closed by the policy, with the reason.
    Closed(String),
}

impl State {
    /// Returns the word after a tool's name.
    fn words(&self) -> String {
        match self {
            Self::On => String::new(),
            Self::Sometimes => "  (listed when the descriptions of skills do not all fit)".to_owned(),
            Self::Off => "  (switched off)".to_owned(),
            Self::Closed(why) => format!("  (closed: {why})"),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Sometimes => "sometimes",
            Self::Off => "off",
            Self::Closed(_) => "closed",
        }
    }
}

pub(super) fn run(environment: &Environment, name: Option<&str>, is_json: bool) -> Result<ExitCode> {
    let all = all(environment);
    let chosen: Vec<_> = match name {
        None => all.iter().collect(),
        Some(name) => {
            let found = all.iter().find(|tool| tool.name == name);
            let found = found.or_else(|| all.iter().find(|tool| tool.name.eq_ignore_ascii_case(name)));
            let Some(found) = found else {
                let meant = nearest(name, all.iter().map(|tool| &*tool.name));
                let meant = meant.map_or(String::new(), |meant| format!("; did you mean {meant}"));
                bail!("there is no tool {name:?}{meant}; `scorpiox-code tools` lists all");
            };
            vec![found]
        }
    };
    if is_json {
        let tools: Vec<_> = chosen.iter().map(|tool| tool.as_json()).collect();
        terminal::print(&Shown::json(&json!({ "tools": tools }).to_string()));
    } else {
        let is_single = name.is_some();
        let shown = chosen.iter().map(|tool| tool.shown(is_single));
        terminal::print(&shown.fold(Shown::default(), |shown, tool| shown.and(&tool)));
        if !is_single && terminal::can_ask() {
            terminal::complain("`scorpiox-code tools NAME` shows the arguments of a tool, and an example.");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns all tools, built-in ones first.
fn all(environment: &Environment) -> Vec<Described> {
    // Without a policy that can be used, there are no restrictions to apply.
    let operator = restricted(Operator::new(environment.site()), None);
    let operator = Arc::new(operator.unwrap_or_else(|_| Operator::new(environment.site())));
    let (plugins, shell) = (Plugins::new(Arc::clone(&operator)), Shell::new(Arc::clone(&operator)));
    let settings = &environment.settings;
    let offered = plugins.tools();
    let tools = environment.registry.tools().chain(&offered).map(|tool| {
        let on = settings.tools_enabled() && settings.tool_enabled(&tool.name);
        // Errors of the policy are reported by calls and by `doctor`.
        let original = plugins.authors_name(&tool.name);
        let check =
            |policy: &Policy| policy.tools.check_tool_as(&tool.name, original.as_deref()).map(drop).err();
        let state = match operator.policy().ok().and_then(check) {
            Some(why) => State::Closed(why.to_string()),
            None if !on => State::Off,
            None if tool.is_conditional() => State::Sometimes,
            None => State::On,
        };
        let rules = effects(&operator, &plugins, &tool.name);
        described(tool, state, rules, &shell)
    });
    let tools = tools.collect();
    shell.shut_down();
    tools
}

fn described(tool: &Tool, state: State, rules: Vec<String>, shell: &Shell) -> Described {
    let (name, definition) = (tool.name.clone().into_owned(), tool.fixed_definition());
    match &tool.kind {
        Kind::Native(native) => {
            let is_command = COMMANDS.contains(&&*tool.name);
            let runs = if is_command { commands(shell) } else { "runs in the server itself".to_owned() };
            let may = vec![native.may().to_owned()];
            Described { name, state, rules, runs, may, may_not: Vec::new(), definition }
        }
        Kind::Wasm { component, .. } | Kind::Plugin { component, .. } => {
            let limits = &component.limits;
            let runs = format!(
                "runs in a WebAssembly sandbox: {} s, {} MiB, {} KiB of output a call",
                limits.cpu.as_secs(),
                limits.memory_bytes / (1024 * 1024),
                limits.output_bytes / 1024
            );
            let grants = component.grants.iter();
            let mut may: Vec<_> =
                grants.map(|grant| format!("{} ({})", grant.describe(), grant.name())).collect();
            may.extend(component.approved.iter().flat_map(|approved| approved_rights(approved)));
            let without = Capability::POWERS.iter().filter(|(_, given_by)| {
                !given_by.iter().any(|capability| component.grants.contains(capability))
            });
            let may_not = without.map(|(power, _)| *power).collect();
            Described { name, state, rules, runs, may, may_not, definition }
        }
    }
}

impl Described {
    /// Returns the tool for a terminal. `is_single` adds the description, the arguments and an example.
    fn shown(&self, is_single: bool) -> Shown {
        let mut text = String::new();
        if is_single && let Some(definition) = &self.definition {
            rows(&mut text, "  ", &definition.description, MAX_ROWS);
        }
        let head = format!("{}{}", self.name, self.state.words());
        let shown = Shown::line_with(&head, &self.name, Style::Heading).and(&Shown::text(&text));
        let mut text = String::new();
        for rule in &self.rules {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {rule}");
        }
        let _ = writeln!(text, "  {}", self.runs);
        for right in &self.may {
            let _ = writeln!(text, "  may {right}");
        }
        if !self.may_not.is_empty() {
            let _ = writeln!(text, "  may not: {}", self.may_not.join(", "));
        }
        let shown = shown.and(&Shown::lines(&text));
        if !is_single {
            return shown;
        }
        let mut text = String::new();
        arguments::describe(&mut text, &self.schema());
        let shown = shown.and(&Shown::text(&text));
        match self.example() {
            Some(example) => shown.and(&Shown::line(&format!("  Example: {example}"))),
            None => shown.and(&Shown::line("  Only a client can call it, because it ends with its server.")),
        }
    }

    /// Returns the schema of the arguments; null if the definition is unknown.
    fn schema(&self) -> Value {
        let schema = self.definition.as_ref().map(|definition| definition.input_schema.get());
        schema.and_then(|schema| serde_json::from_str(schema).ok()).unwrap_or_default()
    }

    /// Returns a command that calls the tool; `None` if only a client can call it.
    fn example(&self) -> Option<String> {
        if self.name == call::BACKGROUND {
            return None;
        }
        let known = call::known_example(&self.name).map(str::to_owned);
        let arguments = known.unwrap_or_else(|| arguments::example(&self.schema()));
        Some(format!("scorpiox-code call {} {arguments}", self.name).trim_end().to_owned())
    }

    /// Returns the tool in the form that docs/json.md defines.
    fn as_json(&self) -> Value {
        let why = if let State::Closed(why) = &self.state { Some(why) } else { None };
        let definition = self.definition.as_ref();
        json!({
            "name": self.name,
            "description": definition.map(|definition| &definition.description),
            "state": self.state.name(),
            "closed_because": why,
            "rules": self.rules,
            "runs": self.runs,
            "may": self.may,
            "may_not": self.may_not,
            "input_schema": self.schema(),
            "example": self.example(),
        })
    }
}

/// Tools that run commands.
pub(super) const COMMANDS: [&str; 2] = ["Bash", "BackgroundBash"];

/// Describes the sandbox of commands on this machine.
pub(super) fn commands(shell: &Shell) -> String {
    match shell.tier() {
        Ok(Tier::None) => "runs commands without any sandbox".to_owned(),
        Ok(tier) => format!("runs commands in a sandbox of tier {tier}"),
        Err(error) => format!("runs no command: {error}"),
    }
}

/// Describes the approved permissions of a plugin that are not granted through an interface of this project.
fn approved_rights(approved: &Approved) -> Vec<String> {
    let mut rights = Vec::new();
    if !approved.env.is_empty() {
        rights.push(format!("see variables of the server's environment (env: {})", approved.env.join(", ")));
    }
    rights.extend(approved.random.then(|| "draw random numbers (random)".to_owned()));
    rights
}
