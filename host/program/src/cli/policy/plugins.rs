//! What the policy says of a plugin, as it would be decided when one of its tools is called.

use anyhow::{Result, ensure};
use scorpiox_plugin::{Approval, Decisions, PluginFolder, PluginName, Status};
use scorpiox_policy::{Candidate, PluginsPolicy, Signed, Verdict};

use crate::cli::environment::Environment;
use scorpiox_tools::plugins::candidate;

/// Of a plugin by `NAME`, `NAME@sha256:HASH` or `NAME@signer:SIGNER`.
pub(super) fn verdict(environment: &Environment, plugins: &PluginsPolicy, subject: &str) -> Result<Verdict> {
    let Some((name, content)) = subject.split_once('@') else { return named(environment, plugins, subject) };
    if let Some(signer) = content.strip_prefix("signer:") {
        ensure!(plugins.signers.contains_key(signer), "[plugins.signers] has no {signer:?}");
        return Ok(judged(plugins, &Candidate::new(name, "", Signed::Supposedly(signer))));
    }
    let digits = content.strip_prefix("sha256:").unwrap_or_default();
    ensure!(
        digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()),
        "{content:?} is not a hash: write sha256: and 64 digits, as `plugin hash` prints them"
    );
    let hash = digits.to_ascii_lowercase();
    Ok(judged(plugins, &Candidate::new(name, &hash, Signed::Not)))
}

/// Of a plugin by its bare name: of what is installed and approved here, where something is.
pub(super) fn named(environment: &Environment, plugins: &PluginsPolicy, name: &str) -> Result<Verdict> {
    if let Some((name, approval)) = approved(environment, name)? {
        let content = approval.content();
        let verdict = judged(plugins, &candidate(&name, &content, &approval));
        let because = format!("{}; what is installed and approved is sha256:{content}", verdict.because);
        return Ok(Verdict { because, ..verdict });
    }
    let verdict = judged(plugins, &Candidate::named(name));
    let listed: Vec<_> =
        plugins.listed(name).map(|rule| format!("{} ({})", rule.value, rule.source)).collect();
    if verdict.allowed || listed.is_empty() {
        return Ok(verdict);
    }
    let because = format!(
        "{}; nothing that is installed here under that name is approved, and by content or signer `allow` has {}",
        verdict.because,
        listed.join(", ")
    );
    Ok(Verdict { because, ..verdict })
}

fn judged(plugins: &PluginsPolicy, plugin: &Candidate<'_>) -> Verdict {
    let checked = plugins.check_run(plugin).and_then(|_| plugins.check(plugin));
    let rule = match checked {
        Err(refusal) => return Verdict::denied(refusal.to_string()),
        Ok(rule) => rule,
    };
    Verdict::allowed(match plugins.approves(plugin) {
        Some(rule) => {
            format!("`allow` of [plugins] has \"{}\" ({}), which approves it", rule.value, rule.source)
        }
        None => format!(
            "`allow` of [plugins] has \"{}\" ({}); a {} approves it (`approve`, {})",
            rule.value, rule.source, plugins.approve.value, plugins.approve.source
        ),
    })
}

/// What was approved of the plugin of that name, if that is what is installed.
fn approved(environment: &Environment, name: &str) -> Result<Option<(PluginName, Box<Approval>)>> {
    let Ok(name) = PluginName::try_from(name.to_owned()) else { return Ok(None) };
    let Ok(installed) = PluginFolder::new(&environment.own_home).find(&name) else { return Ok(None) };
    let decisions = Decisions::read(&environment.own_home)?;
    Ok(match Status::of(&installed, decisions.get(&name)) {
        Status::Approved(approval) => Some((name, Box::new(approval.clone()))),
        Status::Waiting | Status::Denied | Status::Changed(_) => None,
    })
}
