//! The command `policy replay`: judges the calls that the audit has under the policy as it is now, or under another
//! file.
//!
//! Invariant: a call is judged only if the audit has all that decides about it. Others are counted as such, with the
//! reason. Nothing is changed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::{Result, ensure};
use clap::Args;
use scorpiox_audit::read::{Line, Reader};
use scorpiox_audit::{Filter, Record, time};
use scorpiox_metering::records::audit_folder;
use scorpiox_policy::{Loaded, Policy};
use scorpiox_shell::Shell;
use scorpiox_terminal::{self as terminal, Shown};
use scorpiox_text::line::{clean, escaped_json};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::calls::{CallVerdict, Given, Outcome};
use super::judge::{Judge, Names};
use super::tools::Tools;
use super::{Caller, What, reads, restricted_shell, restrictions_in, shell, shell_under};
use crate::cli::environment::Environment;

pub(super) const HELP: &str = "\
Only calls of this workspace are judged, by [tools], [access], [plugins] and [[rules]]. Arguments are in the audit
only with `arguments = true` in [audit]; a call whose arguments, groups or earlier reads decide and are not there is
counted as one that cannot be told. Hosts and files of calls are not judged.";

/// Maximum number of different changes, reasons and cases that are kept apart.
const MAX_KEPT: usize = 2000;
/// Maximum number of verdicts that are kept for equal calls.
const MAX_VERDICTS: usize = 20_000;
/// Maximum size of the calls whose verdicts are kept, in bytes.
const MAX_VERDICT_BYTES: usize = 32 * 1024 * 1024;
/// Maximum number of lines that are printed of a kind.
const MAX_SHOWN: usize = 100;
/// Maximum length of a reason, in bytes.
const MAX_REASON_BYTES: usize = 300;

/// Calls to judge, and the policy to judge them by.
#[derive(Debug, Args)]
pub(in crate::cli) struct Chosen {
    /// The policy to judge by, instead of the one in use
    file: Option<PathBuf>,
    /// Only calls since this time (UTC): 90s, 30m, 2h, 7d, 2026-11-22, 2026-11-22T09:30
    #[arg(long, value_name = "TIME", default_value = "7d", value_parser = time::since)]
    since: u64,
    /// Print the differences as JSON
    #[arg(long)]
    json: bool,
    /// Print the calls that can be told as cases for `policy test`, with their outcomes under the policy
    #[arg(long, conflicts_with = "json")]
    cases: bool,
}

/// A call as the audit has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Call {
    tool: String,
    /// JSON object; `None` if it is not recorded.
    arguments: Option<String>,
    client: Option<String>,
    principal: Option<String>,
    /// `true` if an identity provider vouches for the principal, so that its groups are not known.
    has_issuer: bool,
}

/// A judgement under the policy, or the reason why there is none.
type Told = std::result::Result<(Outcome, String), String>;

/// A difference: the tool, the recorded outcome, the present one, and what decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    tool: String,
    was: Outcome,
    now: Outcome,
    because: String,
}

#[derive(Debug, Default)]
struct Counted {
    calls: u64,
    same: u64,
    changes: BTreeMap<Change, u64>,
    /// Calls that cannot be told, by tool and reason.
    untold: BTreeMap<(String, String), u64>,
    /// Calls beyond what is kept apart.
    beyond: u64,
    /// Cases in the order of the calls.
    cases: Vec<String>,
    known_cases: BTreeSet<String>,
}

pub(super) fn run(environment: &Environment, chosen: &Chosen) -> Result<ExitCode> {
    let shell = judged_by(environment, chosen.file.as_deref())?;
    Judge::new(environment, &shell, Names::AsWritten)?;
    let workspace = environment.workspace.path.to_string_lossy().into_owned();
    let filter = Filter { since: Some(chosen.since), workspace: Some(workspace), ..Filter::default() };
    let mut reader = Reader::new(&audit_folder(&environment.own_home));
    let mut replay = Replay::new(environment, &shell);
    let mut counted = Counted::default();
    while let Some(line) = reader.next()? {
        if let Line::Whole(record, text) = line
            && filter.wants(&record)
            && is_call(&record, &environment.registry.names())
        {
            replay.add(&record, &text, &mut counted);
        }
    }
    if chosen.cases {
        terminal::print(&cases(&counted));
    } else if chosen.json {
        terminal::print(&Shown::json(&as_json(&counted, chosen.since)));
    } else {
        terminal::print(&as_text(&counted, chosen.since));
    }
    Ok(ExitCode::SUCCESS)
}

fn judged_by(environment: &Environment, file: Option<&Path>) -> Result<Shell> {
    let Some(file) = file else { return Ok(shell(environment)) };
    ensure!(file.exists(), "{} does not exist", file.display());
    Ok(shell_under(environment, Loaded::of(Policy::load(file)?)))
}

struct Replay<'a> {
    environment: &'a Environment,
    shell: &'a Shell,
    tools: Rc<Tools>,
    /// The policy under restrictions, by their numbers.
    restricted: RefCell<HashMap<Vec<usize>, Option<Rc<Shell>>>>,
    /// Verdicts about calls that occurred.
    verdicts: HashMap<Call, Told>,
    /// Size of these calls.
    verdict_bytes: usize,
}

impl<'a> Replay<'a> {
    fn new(environment: &'a Environment, shell: &'a Shell) -> Self {
        Self {
            environment,
            shell,
            tools: Rc::default(),
            restricted: RefCell::default(),
            verdicts: HashMap::new(),
            verdict_bytes: 0,
        }
    }

    fn add(&mut self, record: &Record, text: &str, counted: &mut Counted) {
        let calls = record.more_calls.saturating_add(1);
        counted.calls = counted.calls.saturating_add(calls);
        let call = Call::of(record, text);
        let told = match recorded(record) {
            Some(was) => self.told(&call).map(|(now, because)| (was, now, because)),
            None => Err("it was refused for a reason other than a rule of the policy".to_owned()),
        };
        match told {
            Err(why) => {
                let key = (call.tool, why);
                add(&mut counted.untold, key, calls, &mut counted.beyond);
            }
            Ok((was, now, because)) => {
                if let Some(case) = call.case(now).filter(|_| counted.cases.len() < MAX_KEPT)
                    && counted.known_cases.insert(case.clone())
                {
                    if was != now {
                        counted.cases.push(format!("# recorded as {was}"));
                    }
                    counted.cases.push(case);
                }
                if was == now {
                    counted.same = counted.same.saturating_add(calls);
                } else {
                    let change = Change { tool: call.tool, was, now, because };
                    add(&mut counted.changes, change, calls, &mut counted.beyond);
                }
            }
        }
    }

    fn told(&mut self, call: &Call) -> Told {
        if let Some(told) = self.verdicts.get(call) {
            return told.clone();
        }
        let told = self.judge(call);
        let bytes = self.verdict_bytes + call.bytes();
        if self.verdicts.len() < MAX_VERDICTS && bytes <= MAX_VERDICT_BYTES {
            self.verdict_bytes = bytes;
            self.verdicts.insert(call.clone(), told.clone());
        }
        told
    }

    /// Judges a call as if no file had been read before, and as if all had. If that decides, it cannot be told.
    fn judge(&self, call: &Call) -> Told {
        let failed = |error: anyhow::Error| clean(&format!("{error:#}"), MAX_REASON_BYTES);
        let policy = &self.shell.operator().loaded().map_err(|error| error.to_string())?.policy;
        let is_about_callers = !policy.access.is_empty()
            || policy.conditions().any(|conditions| !conditions.callers.is_everybody());
        if call.has_issuer && is_about_callers {
            return Err("its caller decides, whose groups and scopes are not recorded".to_owned());
        }
        let globs: Vec<_> = policy.globs_read_before().into_keys().map(str::to_owned).collect();
        let first = self.under(call, Vec::new()).map_err(failed)??;
        if globs.is_empty() {
            return Ok(first);
        }
        let second = self.under(call, globs).map_err(failed)??;
        if first.0 == second.0 {
            return Ok(first);
        }
        Err("the files that were read before (`after`) decide".to_owned())
    }

    fn under(&self, call: &Call, after: Vec<String>) -> Result<Told> {
        let caller = Caller { name: call.principal.clone(), ..Caller::default() };
        let given = Given { client: call.client.clone(), after, ..Given::default() };
        let numbers = restrictions_in(self.shell, &caller, given.client.as_deref(), |policy, known| {
            reads::add_given(&given.after, known);
            reads::add_of(&self.tools, self.environment, policy, What::Call, &call.tool, known);
        })?;
        let restricted = self.restricted(numbers)?;
        let mut judge =
            Judge::new(self.environment, restricted.as_deref().unwrap_or(self.shell), Names::AsWritten)?;
        (judge.principal, judge.tools) = (caller.principal(judge.http()), Rc::clone(&self.tools));
        let arguments = call.arguments.as_deref().map(serde_json::from_str::<Value>).transpose()?;
        let verdict = match arguments {
            Some(arguments) => Some(judge.call(&call.tool, &arguments, &given)?),
            None => judge.call_without_arguments(&call.tool, &given)?,
        };
        Ok(verdict.map_or_else(
            || Err("its arguments decide, and are not recorded".to_owned()),
            |CallVerdict { outcome, because }| Ok((outcome, clean(&because, MAX_REASON_BYTES))),
        ))
    }
}

impl Replay<'_> {
    /// Returns the shell under some restrictions, if there are any.
    fn restricted(&self, numbers: Vec<usize>) -> Result<Option<Rc<Shell>>> {
        if let Some(known) = self.restricted.borrow().get(&numbers) {
            return Ok(known.clone());
        }
        let restricted = restricted_shell(self.shell, &numbers)?.map(Rc::new);
        self.restricted.borrow_mut().insert(numbers, restricted.clone());
        Ok(restricted)
    }
}

fn add<K: Ord>(all: &mut BTreeMap<K, u64>, key: K, calls: u64, beyond: &mut u64) {
    let count =
        if all.len() >= MAX_KEPT && !all.contains_key(&key) { beyond } else { all.entry(key).or_default() };
    *count = count.saturating_add(calls);
}

/// Returns `true` if a line is about a call of a tool, and not about a decision or another request.
fn is_call(record: &Record, built_in: &[&str]) -> bool {
    // Tools of plugins have a dot in their names, unless they were renamed or have no prefix.
    let is_of_plugin = record.tool.contains('.') || record.plugin.is_some();
    built_in.contains(&&*record.tool) || is_of_plugin && !record.tool.contains(['/', ':', ' '])
}

/// Returns the recorded outcome as far as the policy decided; `None` if the call was refused for another reason.
fn recorded(record: &Record) -> Option<Outcome> {
    let mut is_asked = false;
    for used in &record.uses {
        let is_denied = !used.allowed && !used.hidden && used.reported.is_empty();
        match &*used.capability {
            "tools" | "access" | "plugins" if is_denied => return Some(Outcome::Deny),
            "rules" if is_denied && used.why.ends_with(": denied") => return Some(Outcome::Deny),
            "rules" if is_denied => is_asked = true,
            "approval" if used.allowed => is_asked = true,
            _ => {}
        }
    }
    match &*record.outcome {
        _ if is_asked => Some(Outcome::Ask),
        "refused" => None,
        _ => Some(Outcome::Allow),
    }
}

impl Call {
    fn of(record: &Record, text: &str) -> Self {
        /// Arguments exactly as they are recorded.
        #[derive(Deserialize)]
        struct Given<'a> {
            #[serde(borrow)]
            arguments: Option<&'a RawValue>,
        }
        let given = serde_json::from_str::<Given<'_>>(text).ok().and_then(|given| given.arguments);
        let present = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Self {
            tool: record.tool.clone(),
            arguments: given.map(|raw| raw.get().to_owned()),
            client: record.client.as_ref().and_then(|client| present(&client.name)),
            principal: present(&record.principal),
            has_issuer: !record.issuer.is_empty(),
        }
    }

    /// Returns the size of its texts.
    fn bytes(&self) -> usize {
        let optional = [&self.arguments, &self.client, &self.principal];
        self.tool.len() + optional.into_iter().flatten().map(String::len).sum::<usize>()
    }

    /// Returns the case for `policy test`, if the call can be written as one.
    fn case(&self, outcome: Outcome) -> Option<String> {
        let arguments = self.arguments.as_deref()?;
        // A quote in a text has another form in JSON.
        let arguments = escaped_json(arguments).replace('\'', "\\u0027");
        let mut case = format!("{} call {} '{arguments}'", outcome.word(), self.tool);
        for (key, value) in [("client", &self.client), ("as", &self.principal)] {
            let Some(value) = value else { continue };
            if value.contains(['\'', '\n']) || value.chars().any(scorpiox_text::is_deceptive) {
                return None;
            }
            // Writing to a `String` cannot fail.
            _ = write!(case, " {key} '{value}'");
        }
        Some(case)
    }
}

fn cases(counted: &Counted) -> Shown {
    let head = format!("# {} different calls of the audit.", counted.known_cases.len());
    counted.cases.iter().fold(Shown::line(&head), |page, case| page.and(&Shown::line(case)))
}

fn as_json(counted: &Counted, since: u64) -> String {
    let changes: Vec<_> = counted
        .changes
        .iter()
        .map(|(Change { tool, was, now, because }, calls)| {
            json!({"tool": tool, "was": was.word(), "now": now.word(), "because": because, "calls": calls})
        })
        .collect();
    let untold: Vec<_> = counted
        .untold
        .iter()
        .map(|((tool, why), calls)| json!({"tool": tool, "why": why, "calls": calls}))
        .collect();
    json!({
        "since": time::rfc3339(since),
        "calls": counted.calls,
        "same": counted.same,
        "changes": changes,
        "untold": untold,
        "not_kept_apart": counted.beyond,
    })
    .to_string()
}

fn as_text(counted: &Counted, since: u64) -> Shown {
    let differing: u64 = counted.changes.values().sum();
    let untold: u64 = counted.untold.values().sum();
    let head = format!(
        "{} calls since {}: {} as recorded, {differing} would change, {untold} cannot be told.",
        counted.calls,
        time::rfc3339(since),
        counted.same
    );
    let mut page = Shown::line(&head);
    let mut changes: Vec<_> = counted.changes.iter().collect();
    changes.sort_by_key(|(_, calls)| std::cmp::Reverse(**calls));
    for (Change { tool, was, now, because }, calls) in changes.iter().take(MAX_SHOWN) {
        page = page.and(&Shown::line(&format!("  {calls} × {tool}: {was} → {now}: {because}")));
    }
    for ((tool, why), calls) in counted.untold.iter().take(MAX_SHOWN) {
        page = page.and(&Shown::line(&format!("  {calls} × {tool} cannot be told: {why}")));
    }
    let hidden = changes.len().saturating_sub(MAX_SHOWN) + counted.untold.len().saturating_sub(MAX_SHOWN);
    if hidden > 0 {
        page = page.and(&Shown::line(&format!("{hidden} further lines are not shown; --json has them.")));
    }
    if counted.beyond > 0 {
        let beyond = format!("{} calls were not kept apart, because too many differ.", counted.beyond);
        page = page.and(&Shown::line(&beyond));
    }
    page
}

#[cfg(test)]
mod tests {
    use scorpiox_audit::Use;

    use super::*;
    use crate::cli::policy::calls::parse_case;

    fn record(outcome: &str, uses: Vec<Use>) -> Record {
        Record { tool: "Bash".to_owned(), outcome: outcome.to_owned(), uses, ..Record::default() }
    }

    fn used(capability: &str, allowed: bool, why: &str) -> Use {
        Use { capability: capability.to_owned(), allowed, why: why.to_owned(), ..Use::default() }
    }

    #[test]
    fn the_recorded_outcome_is_that_of_the_policy() {
        for (outcome, uses, was) in [
            ("ok", vec![used("network", false, "not in the list")], Some(Outcome::Allow)),
            ("error", Vec::new(), Some(Outcome::Allow)),
            ("refused", vec![used("rules", false, "rule push: denied")], Some(Outcome::Deny)),
            ("refused", vec![used("rules", false, "rule push: no answer")], Some(Outcome::Ask)),
            ("refused", vec![used("rules", false, "rule push: the person denied it")], Some(Outcome::Ask)),
            ("ok", vec![used("approval", true, "")], Some(Outcome::Ask)),
            ("refused", vec![used("tools", false, "closed")], Some(Outcome::Deny)),
            ("refused", Vec::new(), None),
            (
                "ok",
                vec![Use { reported: "deny".to_owned(), ..used("rules", false, "x") }],
                Some(Outcome::Allow),
            ),
        ] {
            assert_eq!(recorded(&record(outcome, uses.clone())), was, "{outcome} {uses:?}");
        }
    }

    #[test]
    fn calls_of_all_tools_are_told_from_other_lines() {
        let of = |tool: &str, plugin: Option<&str>| {
            let plugin = plugin.map(|name| scorpiox_audit::read::Plugin {
                name: name.to_owned(),
                ..scorpiox_audit::read::Plugin::default()
            });
            is_call(&Record { tool: tool.to_owned(), plugin, ..Record::default() }, &["Bash"])
        };
        assert!(of("Bash", None) && of("weather.now", Some("weather")) && of("now", Some("weather")));
        assert!(!of("policy clear", None) && !of("prompts/get", Some("weather")) && !of("", None));
    }

    #[test]
    fn a_case_is_read_back_as_the_call_that_it_was() {
        let text = r#"{"tool":"Bash","arguments":{"command":"echo 'a  b' \"c\"\né"}}"#;
        let mut call = Call::of(&record("ok", Vec::new()), text);
        call.client = Some("claude code".to_owned());
        let case = call.case(Outcome::Ask).expect("a case");
        assert!(!case.contains('\n'), "{case}");
        let rest = case.strip_prefix("ask call ").expect("a case");
        let (tool, arguments, _, given) = parse_case(rest).expect("it can be read");
        assert_eq!((tool.as_str(), given.client.as_deref()), ("Bash", Some("claude code")));
        assert_eq!(arguments, json!({"command": "echo 'a  b' \"c\"\né"}));
        assert_eq!(Call { client: Some("a'b".to_owned()), ..call.clone() }.case(Outcome::Ask), None);
        assert_eq!(Call { arguments: None, ..call }.case(Outcome::Ask), None);
        let begun = Call::of(&record("ok", Vec::new()), r#"{"tool":"Bash","arguments_begin":"{\"comm"}"#);
        assert_eq!(begun.arguments, None, "a part of the arguments decides nothing");
    }
}
