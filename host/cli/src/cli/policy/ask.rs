//! The command `policy ask`: has a person asked about hosts or tools, by a change of the user's policy.toml.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use scorpiox_policy::{Network, Policy, Profile, Then};
use scorpiox_shell::{DEFAULT_PROFILE, Shell};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_text::argument;
use scorpiox_workspace_config::Operator;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::edit::{self, Change, EMPTY};
use super::judge::{Judge, Names};
use super::{What, restricted};
use crate::cli::environment::Environment;

pub(super) const HELP: &str = "\
Examples:
  scorpiox-code policy ask host                    # about hosts that no entry of the list covers
  scorpiox-code policy ask tool WebSearch ReadDocs # before each call";

/// Kind of access that a person can be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Askable {
    /// Reaching a host that no entry of the list covers from a command
    Host,
    /// Calling a tool
    Tool,
    /// Not possible: reading a file from a command
    #[value(hide = true)]
    Read,
    /// Not possible: writing a file from a command
    #[value(hide = true)]
    Write,
}

/// Question that the user wants.
#[derive(Debug, Args)]
pub(in crate::cli) struct Wish {
    /// The kind of access
    what: Askable,
    /// The tools
    subjects: Vec<String>,
    /// The profile that commands run under
    #[arg(long, default_value = DEFAULT_PROFILE)]
    profile: String,
    /// Show the change without writing it
    #[arg(long)]
    print: bool,
}

pub(super) fn run(environment: &Environment, wish: &Wish) -> Result<ExitCode> {
    if let Askable::Read | Askable::Write = wish.what {
        return Err(about_files(wish));
    }
    let before = Operator::new(environment.site());
    let own = before.own_text()?;
    let text = own.clone().unwrap_or_else(|| EMPTY.to_owned());
    let after = match wish.what {
        Askable::Host => about_hosts(&before, &text, wish)?,
        Askable::Tool => about_tools(environment, &before, text.clone(), &wish.subjects)?,
        Askable::Read | Askable::Write => return Err(about_files(wish)),
    };
    if after == text {
        terminal::print(&Shown::line("Nothing to change: a person is asked about it."));
        return Ok(ExitCode::SUCCESS);
    }
    let is_about_network = wish.what == Askable::Host;
    edit::conclude(
        environment,
        &before,
        Change { own, text: after, is_about_network, is_shown_only: wish.print },
    )
}

/// Returns why nobody is asked about files of commands: no tier holds a system call until a person answers.
fn about_files(wish: &Wish) -> anyhow::Error {
    let (word, act) = match wish.what {
        Askable::Write => ("write", "writes"),
        _ => ("read", "reads"),
    };
    let path = wish.subjects.first().and_then(|path| argument(path)).unwrap_or_else(|| "PATH".to_owned());
    anyhow!(
        "nobody can be asked about a file that a command {act}: no tier of the sandbox waits for an answer. Instead, open \
         or close it for commands (`scorpiox-code policy allow {word} {path}`, `scorpiox-code policy deny {word} {path}`), \
         ask before each call of a tool that reads files (`scorpiox-code policy ask tool ReadDocs ReadImage`), or ask about \
         programs by a rule with `programs` in [[rules]]"
    )
}

/// Returns the text under which a person is asked about the hosts that the list of a profile does not cover.
fn about_hosts(operator: &Operator, text: &str, wish: &Wish) -> Result<String> {
    ensure!(
        wish.subjects.is_empty(),
        "a person is asked about all hosts that the list does not cover: leave out {}, or run `policy allow host` for it",
        wish.subjects.join(" ")
    );
    let name = &wish.profile;
    let before = profile(&operator.loaded()?.policy, name)?;
    match &before.network.value {
        Network::Open => {
            bail!("every host is allowed: the network of profile {name} is open ({})", before.network.source)
        }
        Network::Off => bail!(
            "no host is reached: the network of profile {name} is off ({}); write `mode = \"allowlist\"` first",
            before.network.source
        ),
        Network::Allowlist { .. } if before.unknown_hosts.value.asks() => {
            return Ok(text.to_owned());
        }
        Network::Allowlist { .. } => {}
    }
    let mut document: DocumentMut = text.parse().context("policy.toml cannot be read")?;
    let table = edit::section_of(&mut document, &["shell", "profile", name].map(str::to_owned))?;
    table.insert("unknown_hosts", value("ask"));
    let text = document.to_string();
    let after = operator.with_own(text.clone())?;
    let after = profile(&after.loaded()?.policy, name)?;
    ensure!(
        after.unknown_hosts.value.asks(),
        "a change of your policy.toml cannot ask: `unknown_hosts` of profile {name} is \"deny\" ({})",
        after.unknown_hosts.source
    );
    Ok(text)
}

fn profile<'a>(policy: &'a Policy, name: &str) -> Result<&'a Profile> {
    let known = || policy.shell.profiles.keys().cloned().collect::<Vec<_>>().join(", ");
    let profile = policy.shell.profiles.get(name);
    profile.with_context(|| format!("there is no shell profile {name:?}; known profiles: {}", known()))
}

/// Returns the text under which a person is asked before each call of these tools.
fn about_tools(
    environment: &Environment,
    operator: &Operator,
    mut text: String,
    tools: &[String],
) -> Result<String> {
    ensure!(!tools.is_empty(), "name a tool; `scorpiox-code tools` lists them");
    for tool in tools {
        let operator = restricted(operator.with_own(text.clone())?, None)?;
        let shell = Shell::new(Arc::new(operator));
        let judge = Judge::new(environment, &shell, Names::AsWritten)?;
        let verdict = judge.verdict(What::Tool, tool, DEFAULT_PROFILE)?;
        ensure!(verdict.allowed, "{tool} is denied, and nobody is asked about it: {}", verdict.because);
        if asks(&shell, tool)? {
            continue;
        }
        let mut document: DocumentMut = text.parse().context("policy.toml cannot be read")?;
        add_rule(&mut document, tool)?;
        text = document.to_string();
    }
    Ok(text)
}

/// Returns `true` if a person is asked before each call of a tool.
fn asks(shell: &Shell, tool: &str) -> Result<bool> {
    let operator = shell.operator();
    let (places, circumstances) = (operator.places()?, operator.circumstances(None, None)?);
    let mut rules = operator.policy()?.calls.about(tool, None, &circumstances, &places);
    Ok(rules.any(|rule| rule.then == Then::Ask && rule.covers_every_call() && !rule.reports))
}

fn add_rule(document: &mut DocumentMut, tool: &str) -> Result<()> {
    let rules = document.entry("rules").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let rules = rules.as_array_of_tables_mut().context("`rules` is not written as tables [[rules]]")?;
    let has = |name: &str| rules.iter().any(|rule| rule.get("name").and_then(Item::as_str) == Some(name));
    // Names of tools are at most as long as names of rules, less the prefix.
    let mut name = format!("ask {tool}");
    let mut number = 2;
    while has(&name) {
        name = format!("ask {tool} {number}");
        number += 1;
    }
    let mut rule = Table::new();
    rule.insert("name", value(name));
    rule.insert("tools", value(toml_edit::Array::from_iter([tool])));
    rule.insert("then", value("ask"));
    rules.push(rule);
    Ok(())
}
