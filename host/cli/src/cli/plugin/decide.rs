//! Approval, denial and removal of plugins.

use std::fs;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use scorpiox_audit::{APPROVAL, BUILT_IN, Component, Outcome, PluginLabel, Uses};
use scorpiox_executor::Cancel;
use scorpiox_plugin::{
    Approval, ComponentName, Decision, Decisions, Hashes, Installed, PluginFolder, PluginName, Record,
    Secrets,
};
use scorpiox_policy::{Approve, Policy, Refusal, Source};
use scorpiox_sandbox::remove_folder;
use scorpiox_store::Mode;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, columns, wrapped};
use serde_json::value::RawValue;

use scorpiox_plugin_manager::install::{Beside, Look, is_still};

use crate::cli::environment::Environment;
use crate::cli::recorder::Recorder;
use scorpiox_metering::records::{NO_POLICY, NOT_APPROVED};
use scorpiox_workspace_config::Operator;

/// Name of approvals in the audit.
const APPROVE: &str = "plugin approve";

pub(super) fn approve(environment: &Environment, name: &PluginName, said: Said<'_>) -> Result<ExitCode> {
    // An installed plugin was put there by the user, so its version is not questioned.
    decide(environment, find(environment, name)?, Said { allow_downgrade: true, ..said })
}

/// Answers given on the command line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Said<'a> {
    /// Hash of the plugin that may run.
    pub(super) yes: Option<&'a str>,
    /// `true` if an older version than the approved one may be offered for approval.
    pub(super) allow_downgrade: bool,
    /// `true` if the plugin's names are used without its own name as a prefix.
    pub(super) plain_names: bool,
}

/// Displays an installed plugin, asks the user, and stores the answer.
fn decide(environment: &Environment, installed: Installed, said: Said<'_>) -> Result<ExitCode> {
    let mut look = Look::at(&environment.site(), installed, None)?;
    look.plain_names = said.plain_names;
    match judge(environment, APPROVE, &look, said)? {
        judged if judged.is_approved() => {
            let plugin_folder = PluginFolder::new(&environment.own_home);
            let _alone =
                plugin_folder.lock().context("cannot wait for other processes that change plugins")?;
            ensure!(
                is_still(&plugin_folder, &look),
                "{} was changed or removed meanwhile; nothing was approved",
                look.installed.name
            );
            recorded_judged(environment, APPROVE, &look, judged)?;
            kept(environment, &look)
        }
        judged => {
            refused(environment, APPROVE, &look, judged);
            Ok(not_approved(&look, judged))
        }
    }
}

/// Outcome of the decision about a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// The plugin may run.
    Approved,
    /// The plugin may run as an update, because the policy trusts its signer. Contains the policy line.
    BySigner(Source),
    /// The plugin may not run.
    Refused,
    /// There is no terminal to ask the user.
    NotAsked,
    /// Users may not approve the plugin, because of this policy line.
    OfThePolicyAlone(Source),
}

impl Judged {
    /// Returns `true` if the plugin may run.
    pub(super) fn is_approved(self) -> bool {
        matches!(self, Self::Approved | Self::BySigner(_))
    }

    /// Returns the reason for the denial, and the rule, for the audit. Returns `None` for an approval.
    fn denial(self) -> Option<(&'static str, String)> {
        match self {
            Self::Approved | Self::BySigner(_) => None,
            Self::Refused => Some(("the person said no", APPROVAL.to_owned())),
            Self::NotAsked => Some(("there was no terminal to ask at", APPROVAL.to_owned())),
            Self::OfThePolicyAlone(rule) => Some((
                "`approve` of [plugins] leaves that to the policy, which does not list it",
                rule.to_string(),
            )),
        }
    }
}

/// Displays a plugin, and asks the user. A wrong hash and a refusal by the policy are errors; both are
/// recorded as refusals of `what`.
pub(super) fn judge(environment: &Environment, what: &str, look: &Look, said: Said<'_>) -> Result<Judged> {
    let (name, hash) = (&look.installed.name, look.hashes().approval);
    let beside = Beside::of(&environment.site(), look)?;
    terminal::print(&Shown::text(&look.text()));
    if let Some(judged) = judged_by_policy(environment, what, look, beside.as_ref(), said.allow_downgrade)? {
        return Ok(judged);
    }
    match said.yes {
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

/// Returns the decision of the operator's policy, or `None` if the user must decide.
fn judged_by_policy(
    environment: &Environment,
    what: &str,
    look: &Look,
    beside: Option<&Beside>,
    allow_downgrade: bool,
) -> Result<Option<Judged>> {
    let operator = Operator::new(environment.site());
    let plugins = &policy_for(environment, &operator, what, look)?.plugins;
    let (name, hashes) = (look.installed.name.as_str(), look.hashes());
    let plugin = look.candidate(&hashes);
    if let Some(signer) = plugins.signed_by(&plugin) {
        told(&format!("Signed by {} ([plugins.signers], {}).", signer.value.name, signer.source));
    } else if look.is_signed() {
        told(
            "It is signed, and counts as unsigned: the policy does not trust the signer's key for it, or the signature is of \
             other content, and `scorpiox-code plugin sign` signs it again.",
        );
    }
    if let Some(beside) = beside {
        terminal::print(&Shown::text(&beside.text()));
    }
    if let Err(refusal) = plugins.check(&plugin) {
        refused_by_policy(environment, what, look, &refusal);
        bail!("{refusal}; nothing was changed")
    }
    let older = beside.filter(|beside| beside.is_older());
    let rule = plugins.approves(&plugin);
    // A rule with the hash refers to this exact version.
    if let Some(rule) = rule.filter(|rule| older.is_none() || rule.value.hash().is_some()) {
        told(&format!("The policy approves it: `allow` of [plugins] has {} ({}).", rule.value, rule.source));
        return Ok(Some(Judged::Approved));
    }
    if let Some(older) = older.filter(|_| rule.is_some() || !allow_downgrade) {
        return Err(too_old(environment, what, look, older, rule.is_some()));
    }
    if let Some((signer, line)) = beside.and_then(|beside| beside.signer(plugins, look)) {
        told(&format!(
            "{} lets its signed versions take the place of signed ones that asked for as much (`approve`, {line}).",
            signer.name
        ));
        return Ok(Some(Judged::BySigner(line)));
    }
    if plugins.approve.value == Approve::Person {
        return Ok(None);
    }
    told(&format!(
        "Not approved: `approve` of [plugins] ({}) leaves that to the policy, which does not list {name} with its hash or a signer of it.",
        plugins.approve.source
    ));
    Ok(Some(Judged::OfThePolicyAlone(plugins.approve.source)))
}

/// Prints a remark about the plugin, above the question.
fn told(text: &str) {
    terminal::print(&Shown::text(&format!("\n{}\n", wrapped(text, columns()).join("\n"))));
}

/// Reports that a version is older than the approved one, and records the refusal.
fn too_old(
    environment: &Environment,
    what: &str,
    look: &Look,
    older: &Beside,
    is_by_policy: bool,
) -> anyhow::Error {
    record_refusal(
        environment,
        what,
        look,
        ("it is older than the approved version", APPROVAL),
        NOT_APPROVED,
    );
    let ((before, now), name) = (older.versions(), &look.installed.name);
    let next = if is_by_policy {
        "a signature approves no older version; the policy can list its hash"
    } else {
        "--allow-downgrade asks about it all the same"
    };
    anyhow!("{name} {now} is older than {before}, which is approved; {next}; nothing was changed")
}

/// Returns the policy. Records a refusal if the policy cannot be used or closes this workspace.
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

/// Records that the policy refused a plugin.
pub(super) fn refused_by_policy(environment: &Environment, what: &str, look: &Look, refusal: &Refusal) {
    let rule = refusal.decided_by.to_string();
    record_refusal(environment, what, look, (&refusal.why, &rule), NO_POLICY);
}

/// Records a decision about a plugin before it takes effect, with the policy line or the user as its rule.
pub(super) fn recorded(
    environment: &Environment,
    what: &str,
    name: &PluginName,
    look: Option<&Look>,
) -> Result<()> {
    recorded_as(environment, what, name, look, None)
}

/// Like [`recorded`], for a decision by the policy line `by`.
fn recorded_as(
    environment: &Environment,
    what: &str,
    name: &PluginName,
    look: Option<&Look>,
    by: Option<Source>,
) -> Result<()> {
    let recorder = Recorder::new(environment);
    let hashes = look.map(Look::hashes);
    let by_policy = hashes.as_ref().and_then(|hashes| {
        let approves = recorder.operator().policy().ok()?.plugins.approves(&look?.candidate(hashes))?;
        Some(approves.source.to_string())
    });
    let uses = Uses::default();
    let by_policy = by.map(|by| by.to_string()).or(by_policy);
    uses.allowed("plugins", shown(name, look), by_policy.unwrap_or_else(|| APPROVAL.to_owned()));
    let installed = || PluginFolder::new(&environment.own_home).find(name).ok();
    let approved = || match Decisions::read(&environment.own_home).ok()?.get(name)?.decision {
        Decision::Approved(ref approval) => Some(approval.hashes(environment.home.as_deref())),
        Decision::Denied => None,
    };
    // A plugin that is not inspected is identified by the decision about it.
    let (hashes, version) = match look {
        Some(look) => (hashes, Some(look.installed.manifest.version.clone())),
        None => (approved(), installed().map(|installed| installed.manifest.version)),
    };
    recorder.record(what, Some(labelled(name, version.as_deref(), hashes.as_ref())), &uses, Outcome::Ok)
}

/// Records the decision about a plugin before it is installed: its approval, or that it is there and may not run.
pub(super) fn recorded_judged(
    environment: &Environment,
    what: &str,
    look: &Look,
    judged: Judged,
) -> Result<()> {
    if !judged.is_approved() {
        return recorded_unapproved(environment, what, look, judged);
    }
    let by = if let Judged::BySigner(line) = judged { Some(line) } else { None };
    recorded_as(environment, what, &look.installed.name, Some(look), by)
}

/// Records that a plugin was installed, but may not run.
fn recorded_unapproved(environment: &Environment, what: &str, look: &Look, judged: Judged) -> Result<()> {
    let uses = Uses::default();
    if let Some((why, rule)) = judged.denial() {
        uses.denied("plugins", shown(&look.installed.name, Some(look)), why, rule);
    }
    record_of(environment, what, look, &uses, Outcome::Ok)
}

/// Records that an action was refused because of the missing approval.
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
    // The action is refused in any case. The recorder has already reported a failure to record.
    _ = record_of(environment, what, look, &uses, Outcome::Refused(kind));
}

/// Formats a plugin and its hash for the audit.
fn shown(name: &PluginName, look: Option<&Look>) -> String {
    let hash = look.map(|look| format!("@sha256:{}", look.hashes().plugin)).unwrap_or_default();
    format!("{name}{hash}")
}

/// Returns a plugin as the component of a record.
fn labelled<'a>(name: &'a PluginName, version: Option<&'a str>, hashes: Option<&'a Hashes>) -> Component<'a> {
    let (hash, component) =
        hashes.map_or(("", ""), |hashes| (hashes.plugin.as_str(), hashes.component.as_str()));
    Component::Plugin(PluginLabel {
        name: name.as_str(),
        version: version.unwrap_or_default(),
        hash,
        component,
    })
}

/// Records a decision about an inspected plugin.
fn record_of(
    environment: &Environment,
    what: &str,
    look: &Look,
    uses: &Uses,
    outcome: Outcome,
) -> Result<()> {
    let (installed, hashes) = (&look.installed, look.hashes());
    let label = labelled(&installed.name, Some(&installed.manifest.version), Some(&hashes));
    Recorder::new(environment).record(what, Some(label), uses, outcome)
}

/// Stores an approval that was recorded.
pub(super) fn kept(environment: &Environment, look: &Look) -> Result<ExitCode> {
    keep(environment, look)?;
    let name = &look.installed.name;
    terminal::print(&Shown::line(&format!("{name} is approved.")));
    // The first call reports secrets that cannot be read.
    let kept = Secrets::read(&environment.own_home, name).unwrap_or_default();
    for key in look.installed.manifest.secrets.keys().filter(|key| kept.get(key).is_none()) {
        let next = format!("It needs a secret: `scorpiox-code plugin secret set {name} {key}` sets it.");
        terminal::print(&Shown::line(&next));
    }
    Ok(ExitCode::SUCCESS)
}

/// Explains the state of a plugin that is installed, but not approved.
pub(super) fn not_approved(look: &Look, judged: Judged) -> ExitCode {
    let name = &look.installed.name;
    let said = if judged == Judged::NotAsked {
        let option = if look.plain_names { " --plain-names" } else { "" };
        format!(
            "Not approved yet: nobody can be asked here. Approve it in a terminal with `scorpiox-code plugin approve \
             {name}{option}`, or add `--yes HASH` with the hash that its reviewer gave you."
        )
    } else {
        format!(
            "{name} is installed and waits for approval; until then it does not run. `scorpiox-code plugin remove \
             {name}` deletes it."
        )
    };
    terminal::print(&Shown::text(&format!("\n{}\n", wrapped(&said, columns()).join("\n"))));
    ExitCode::FAILURE
}

/// Explains that the approved version stays, because the new one was not approved.
pub(super) fn not_taken(name: &PluginName, judged: Judged) -> ExitCode {
    let why = if judged == Judged::NotAsked {
        "Not approved: nobody can be asked here. Add `--yes HASH` with the hash that its reviewer gave you. "
    } else {
        ""
    };
    let said = format!("{why}Nothing was changed: {name} stays as it was approved before.");
    terminal::print(&Shown::text(&format!("\n{}\n", wrapped(&said, columns()).join("\n"))));
    ExitCode::FAILURE
}

fn keep(environment: &Environment, look: &Look) -> Result<()> {
    let Look { installed, component, signature, origin, stamps, described, folders, .. } = look;
    let operator = Operator::new(environment.site());
    let hashes = look.hashes();
    let signer = operator.policy()?.plugins.signed_by(&look.candidate(&hashes));
    let approval = Approval {
        manifest: installed.manifest_fingerprint.clone(),
        component: component.clone(),
        definitions: described.fingerprint(),
        stamps: *stamps,
        capabilities: installed.manifest.capabilities.clone(),
        folders: folders.clone(),
        limits: installed.manifest.limits.clone(),
        signature: signature.clone(),
        origin: origin.clone(),
        signer: signer.map(|signer| signer.value.key().to_owned()),
        tools: RawValue::from_string(described.text())?,
        offers: described.offers.text().map(RawValue::from_string).transpose()?,
        plain_names: look.plain_names,
    };
    set(environment, &installed.name, Decision::Approved(Box::new(approval)))
}

/// Denies a plugin, even if it cannot be inspected.
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
    let is_there = plugin_folder.paths_of(name).iter().any(|path| path.symlink_metadata().is_ok());
    let has_decision = || Ok::<_, anyhow::Error>(Decisions::read(&environment.own_home)?.get(name).is_some());
    // Unreadable secrets are there, too.
    let keeps_secrets =
        || Secrets::read(&environment.own_home, name).map_or(true, |kept| kept.names().next().is_some());
    if is_there || purge || has_decision()? || keeps_secrets() {
        recorded(environment, "plugin remove", name, None)?;
    }
    let mut decided = false;
    Decisions::change(&environment.own_home, |decisions| decided = decisions.remove(name))?;
    let mut removed = false;
    for path in plugin_folder.paths_of(name) {
        let Ok(about) = path.symlink_metadata() else { continue };
        let gone = if about.is_dir() { remove_folder(&path) } else { fs::remove_file(&path) };
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
        0 => "Its stored data is kept, for the next plugin of this name; `--purge` deletes it.".to_owned(),
        1 => "What it stored in 1 workspace is gone.".to_owned(),
        several => format!("What it stored in {several} workspaces is gone."),
    };
    terminal::print(&Shown::line(&format!("{name} is removed. {data}")));
    Ok(ExitCode::SUCCESS)
}

/// Deletes the stored data of a plugin. Returns the number of workspaces that contained some.
fn forget_data(environment: &Environment, name: &PluginName) -> Result<usize> {
    let mut had_some = 0;
    for store in environment.kept()?.everywhere()? {
        let mut transaction = store
            .begin(Mode::Write, &Cancel::default(), &mut || {})
            .with_context(|| format!("{} cannot be opened", store.location()))?;
        had_some += usize::from(transaction.forget(&ComponentName::of_plugin(name))?);
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
