//! Approving, denying and removing plugins.

use std::fs;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use scorpiox_audit::{APPROVAL, BUILT_IN, Outcome, Uses};
use scorpiox_executor::Cancel;
use scorpiox_plugin::{
    Approval, Decision, Decisions, Fingerprint, Installed, PluginFolder, PluginName, Record, Secrets,
};
use scorpiox_policy::{Approve, Policy, Refusal, Source};
use scorpiox_store::{Mode, SqliteStore, Store};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, columns, wrapped};
use serde_json::value::RawValue;

use super::look::Look;
use crate::cli::environment::Environment;
use crate::cli::environment::state_folder;
use scorpiox_operator::Operator;
use scorpiox_server::records::{NO_POLICY, NOT_APPROVED, Records};
use scorpiox_shell::Shell;
use scorpiox_tools::plugins::namespace;

/// What lines of approvals are called.
const APPROVE: &str = "plugin approve";

pub(super) fn approve(environment: &Environment, name: &PluginName, yes: Option<&str>) -> Result<ExitCode> {
    decide(environment, find(environment, name)?, yes)
}

/// Shows a plugin that is installed, asks, and keeps the answer.
fn decide(environment: &Environment, installed: Installed, yes: Option<&str>) -> Result<ExitCode> {
    let look = Look::at(environment, installed, None)?;
    match judge(environment, APPROVE, &look, yes)? {
        Judged::Approved => {
            let plugin_folder = PluginFolder::new(&environment.own_home);
            let _alone =
                plugin_folder.lock().context("cannot wait for other processes that change plugins")?;
            ensure!(
                is_still(&plugin_folder, &look),
                "{} was changed or removed meanwhile; nothing was approved",
                look.installed.name
            );
            approved(environment, APPROVE, &look)
        }
        judged => {
            refused(environment, APPROVE, &look, judged);
            Ok(not_approved(&look, judged))
        }
    }
}

/// Whether a plugin's files are those that were looked at.
pub(super) fn is_still(plugin_folder: &PluginFolder, look: &Look) -> bool {
    let is_it = |now: Installed| {
        now.manifest_fingerprint == look.installed.manifest_fingerprint
            && now.read_component().is_ok_and(|bytes| Fingerprint::of(&bytes) == look.component)
    };
    plugin_folder.find(&look.installed.name).is_ok_and(is_it)
}

/// What was said about a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// It may run.
    Approved,
    /// It may not.
    Refused,
    /// There was nobody to ask.
    NotAsked,
    /// No person may approve it, as this line says.
    OfThePolicyAlone(Source),
}

impl Judged {
    /// Why it is not approved, and by which rule, for the audit.
    fn denial(self) -> Option<(&'static str, String)> {
        match self {
            Self::Approved => None,
            Self::Refused => Some(("the person said no", APPROVAL.to_owned())),
            Self::NotAsked => Some(("there was no terminal to ask at", APPROVAL.to_owned())),
            Self::OfThePolicyAlone(rule) => Some((
                "`approve` of [plugins] leaves that to the policy, which does not list it",
                rule.to_string(),
            )),
        }
    }
}

/// Shows a plugin, and asks. The hash of another one is an error, and so is what the policy keeps out; both are
/// recorded as refusals of `what`.
pub(super) fn judge(environment: &Environment, what: &str, look: &Look, yes: Option<&str>) -> Result<Judged> {
    let (name, hash) = (&look.installed.name, look.hash());
    let before = replaced(environment, look)?;
    terminal::print(&Shown::text(&(look.text() + &before)));
    if let Some(judged) = judged_by_policy(environment, what, look)? {
        return Ok(judged);
    }
    match yes {
        Some(given) if given == hash.as_str() => Ok(Judged::Approved),
        Some(given) => {
            let why = "--yes names the hash of another plugin";
            record_refusal(environment, what, look, (why, APPROVAL), NOT_APPROVED);
            bail!("--yes {given} is not the hash of this plugin, which is {hash}; nothing was changed")
        }
        None if !terminal::can_ask() => Ok(Judged::NotAsked),
        None if terminal::ask(&format!("\nMay {name} run, with all of this? [y/N] "))? => {
            Ok(Judged::Approved)
        }
        None => Ok(Judged::Refused),
    }
}

/// What the operator's policy says, where it leaves nothing to a person.
fn judged_by_policy(environment: &Environment, what: &str, look: &Look) -> Result<Option<Judged>> {
    let operator = Operator::new(environment.site());
    let plugins = &policy_for(environment, &operator, what, look)?.plugins;
    let (name, content) = (look.installed.name.as_str(), look.content());
    let plugin = look.candidate(&content);
    if let Some(signer) = plugins.signed_by(&plugin) {
        let text = format!("\nSigned by {} ([plugins.signers], {}).", signer.value.name, signer.source);
        terminal::print(&Shown::text(&(wrapped(&text, columns()).join("\n") + "\n")));
    }
    if let Err(refusal) = plugins.check(&plugin) {
        refused_by_policy(environment, what, look, &refusal);
        bail!("{refusal}; nothing was changed")
    }
    if let Some(rule) = plugins.approves(&plugin) {
        let text =
            format!("\nThe policy approves it: `allow` of [plugins] has {} ({}).", rule.value, rule.source);
        terminal::print(&Shown::text(&(wrapped(&text, columns()).join("\n") + "\n")));
        return Ok(Some(Judged::Approved));
    }
    if plugins.approve.value == Approve::Person {
        return Ok(None);
    }
    let text = format!(
        "\nNot approved: `approve` of [plugins] ({}) leaves that to the policy, which does not list {name} with its hash or a signer of it.",
        plugins.approve.source
    );
    terminal::print(&Shown::text(&(wrapped(&text, columns()).join("\n") + "\n")));
    Ok(Some(Judged::OfThePolicyAlone(plugins.approve.source)))
}

/// The policy; where it cannot be used, or closes this folder, that leaves a line, too.
pub(super) fn policy_for<'s>(
    environment: &Environment,
    operator: &'s Operator,
    what: &str,
    look: &Look,
) -> Result<&'s Policy> {
    Ok(operator.policy().inspect_err(|error| {
        let why = (&*error.to_string(), &*error.rule().unwrap_or_else(|| BUILT_IN.to_owned()));
        record_refusal(environment, what, look, why, NO_POLICY);
    })?)
}

/// Leaves a line of what the policy refused.
pub(super) fn refused_by_policy(environment: &Environment, what: &str, look: &Look, refusal: &Refusal) {
    let rule = refusal.decided_by.to_string();
    record_refusal(environment, what, look, (&refusal.why, &rule), NO_POLICY);
}

/// What is in the place that a plugin would take: nothing of the two need be the same author's.
fn replaced(environment: &Environment, look: &Look) -> Result<String> {
    let decisions = Decisions::read(&environment.own_home)?;
    let Some(Record { decided_at, decision: Decision::Approved(approval) }) =
        decisions.get(&look.installed.name)
    else {
        return Ok(String::new());
    };
    if approval.component == look.component && approval.manifest == look.installed.manifest_fingerprint {
        return Ok(String::new());
    }
    let had: Vec<_> = approval.capabilities.lines().iter().map(|ask| ask.name).collect();
    let asks = look.installed.manifest.capabilities.lines();
    let new: Vec<_> = asks.iter().map(|ask| ask.name).filter(|name| !had.contains(name)).collect();
    let new = if new.is_empty() { "no other rights".to_owned() } else { new.join(", ") };
    let days = now().saturating_sub(*decided_at) / (24 * 60 * 60);
    let when = match days {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        days => format!("{days} days ago"),
    };
    let name = &look.installed.name;
    let has_secrets = Secrets::read(&environment.own_home, name)?.names().next().is_some();
    let takes = if has_secrets { "the stored data and the secrets" } else { "the stored data" };
    let said = format!("It takes the place, and {takes}, of the {name} that was approved {when}; new: {new}");
    Ok(format!("\n{}\n", wrapped(&said, columns() - 2).join("\n  ")))
}

/// Leaves a line in the audit of what was decided about a plugin, before it holds. The rule is the one of the policy that
/// decides in a person's place, or that a person did.
pub(super) fn recorded(
    environment: &Environment,
    what: &str,
    name: &PluginName,
    look: Option<&Look>,
) -> Result<()> {
    let recorder = Recorder::new(environment);
    let content = look.map(Look::content);
    let by_policy = content.as_ref().and_then(|content| {
        let approves =
            recorder.shell.operator().policy().ok()?.plugins.approves(&look?.candidate(content))?;
        Some(approves.source.to_string())
    });
    let uses = Uses::default();
    uses.allowed("plugins", shown(name, look), by_policy.unwrap_or_else(|| APPROVAL.to_owned()));
    recorder.record(what, look, &uses, Outcome::Ok)
}

/// Leaves a line of a plugin that was put into its place and may not run.
pub(super) fn recorded_unapproved(
    environment: &Environment,
    what: &str,
    look: &Look,
    judged: Judged,
) -> Result<()> {
    let uses = Uses::default();
    if let Some((why, rule)) = judged.denial() {
        uses.denied("plugins", shown(&look.installed.name, Some(look)), why, rule);
    }
    Recorder::new(environment).record(what, Some(look), &uses, Outcome::Ok)
}

/// Leaves a line of what was not done, since nobody approved it.
pub(super) fn refused(environment: &Environment, what: &str, look: &Look, judged: Judged) {
    if let Some((why, rule)) = judged.denial() {
        let is_policy = matches!(judged, Judged::OfThePolicyAlone(_));
        record_refusal(
            environment,
            what,
            look,
            (why, &rule),
            if is_policy { NO_POLICY } else { NOT_APPROVED },
        );
    }
}

fn record_refusal(
    environment: &Environment,
    what: &str,
    look: &Look,
    (why, rule): (&str, &str),
    kind: &'static str,
) {
    let uses = Uses::default();
    uses.denied("plugins", shown(&look.installed.name, Some(look)), why, rule);
    // Nothing is done, so that without a line there is nothing to withhold; that there is none was said.
    _ = Recorder::new(environment).record(what, Some(look), &uses, Outcome::Refused(kind));
}

/// A plugin and its content, as lines have it.
fn shown(name: &PluginName, look: Option<&Look>) -> String {
    let hash = look.map(|look| format!("@sha256:{}", look.content())).unwrap_or_default();
    format!("{name}{hash}")
}

/// What leaves lines of decisions.
struct Recorder {
    shell: Arc<Shell>,
    records: Arc<Records>,
}

impl Recorder {
    fn new(environment: &Environment) -> Self {
        let shell = Arc::new(Shell::new(Arc::new(Operator::new(environment.site()))));
        Self { records: Records::new(Arc::clone(&shell), &environment.workspace.path), shell }
    }

    fn record(&self, what: &str, look: Option<&Look>, uses: &Uses, outcome: Outcome) -> Result<()> {
        let component = look.map(|look| look.component.as_str());
        let recorded = self.records.record_decision(what, component, uses, outcome);
        recorded.map_err(|refused| anyhow!("{refused}"))
    }
}

/// Keeps an approval, which `what` gave.
pub(super) fn approved(environment: &Environment, what: &str, look: &Look) -> Result<ExitCode> {
    recorded(environment, what, &look.installed.name, Some(look))?;
    keep(environment, look)?;
    let name = &look.installed.name;
    terminal::print(&Shown::line(&format!("{name} is approved.")));
    // What cannot be read is said by the first call.
    let kept = Secrets::read(&environment.own_home, name).unwrap_or_default();
    for key in look.installed.manifest.secrets.keys().filter(|key| kept.get(key).is_none()) {
        let next = format!("It needs a secret: `scorpiox-code plugin secret set {name} {key}` sets it.");
        terminal::print(&Shown::line(&next));
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what comes of a plugin that is installed and not approved.
pub(super) fn not_approved(look: &Look, judged: Judged) -> ExitCode {
    let name = &look.installed.name;
    let said = if judged == Judged::NotAsked {
        format!(
            "Not approved: there is no terminal to ask at. Run `scorpiox-code plugin approve {name}` at one, or give \
             --yes the hash that came from who reviewed it."
        )
    } else {
        format!("{name} does not run. `scorpiox-code plugin remove {name}` deletes it.")
    };
    terminal::print(&Shown::text(&format!("\n{}\n", wrapped(&said, columns()).join("\n"))));
    ExitCode::FAILURE
}

fn keep(environment: &Environment, look: &Look) -> Result<()> {
    let Look { installed, component, signature, stamps, described, folders, .. } = look;
    let approval = Approval {
        manifest: installed.manifest_fingerprint.clone(),
        component: component.clone(),
        definitions: described.fingerprint(),
        stamps: *stamps,
        capabilities: installed.manifest.capabilities.clone(),
        folders: folders.clone(),
        limits: installed.manifest.limits.clone(),
        signature: signature.clone(),
        tools: RawValue::from_string(described.text())?,
    };
    set(environment, &installed.name, Decision::Approved(Box::new(approval)))
}

/// Not to run: also what cannot even be looked into.
pub(super) fn deny(environment: &Environment, name: &PluginName) -> Result<ExitCode> {
    let plugin_folder = PluginFolder::new(&environment.own_home);
    let _alone = plugin_folder.lock().context("cannot wait for other processes that change plugins")?;
    if !plugin_folder.paths_of(name).iter().any(|path| path.symlink_metadata().is_ok()) {
        bail!("there is no plugin {name}");
    }
    recorded(environment, "plugin deny", name, None)?;
    set(environment, name, Decision::Denied)?;
    terminal::print(&Shown::line(&format!("{name} does not run.")));
    Ok(ExitCode::SUCCESS)
}

fn set(environment: &Environment, name: &PluginName, decision: Decision) -> Result<()> {
    let record = Record { decided_at: now(), decision };
    Ok(Decisions::change(&environment.own_home, |decisions| decisions.set(name.clone(), record))?)
}

pub(super) fn remove(environment: &Environment, name: &PluginName, purge: bool) -> Result<ExitCode> {
    let plugin_folder = PluginFolder::new(&environment.own_home);
    let _alone = plugin_folder.lock().context("cannot wait for other processes that change plugins")?;
    if plugin_folder.paths_of(name).iter().any(|path| path.symlink_metadata().is_ok()) {
        recorded(environment, "plugin remove", name, None)?;
    }
    let mut decided = false;
    Decisions::change(&environment.own_home, |decisions| decided = decisions.remove(name))?;
    let mut removed = false;
    for path in plugin_folder.paths_of(name) {
        let Ok(about) = path.symlink_metadata() else { continue };
        let gone = if about.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        gone.with_context(|| format!("{} cannot be removed", path.display()))?;
        removed = true;
    }
    let had_secrets = Secrets::forget(&environment.own_home, name)?;
    let stored = if purge { forget_data(environment, name)? } else { 0 };
    if !removed && !decided && !had_secrets && stored == 0 {
        bail!("there is no plugin {name}");
    }
    let data = match stored {
        0 if purge => "It had stored nothing.".to_owned(),
        0 => "What it stored in workspaces stays, for whatever plugin has its name next.".to_owned(),
        1 => "What it stored in 1 workspace is gone.".to_owned(),
        several => format!("What it stored in {several} workspaces is gone."),
    };
    terminal::print(&Shown::line(&format!("{name} is removed. {data}")));
    Ok(ExitCode::SUCCESS)
}

/// Deletes what a plugin stored; in how many workspaces it had something.
fn forget_data(environment: &Environment, name: &PluginName) -> Result<usize> {
    let folder = state_folder(&environment.own_home);
    let mut had_some = 0;
    for entry in fs::read_dir(&folder).into_iter().flatten() {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "db") {
            continue;
        }
        let database = SqliteStore::new(path.clone(), environment.durability);
        let mut transaction = database
            .begin(Mode::Write, &Cancel::default(), &mut || {})
            .with_context(|| format!("{} cannot be opened", path.display()))?;
        had_some += usize::from(transaction.forget(&namespace(name))?);
        transaction.commit()?;
    }
    Ok(had_some)
}

pub(super) fn find(environment: &Environment, name: &PluginName) -> Result<Installed> {
    let found = PluginFolder::new(&environment.own_home).find_settled(name);
    found.map_err(|why| anyhow!("there is no plugin {name} that can be used: {why}"))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
