//! What the policy says of a plugin, as it would be decided when one of its tools is called.

use anyhow::{Result, ensure};
use scorpiox_plugin::{Fingerprint, Ledger, PluginName, Shelf, Status};
use scorpiox_policy::{PluginsPolicy, Verdict};

use crate::cli::environment::Environment;

/// Of a plugin by `NAME` or `NAME@sha256:HASH`.
pub(super) fn verdict(environment: &Environment, plugins: &PluginsPolicy, subject: &str) -> Result<Verdict> {
    let Some((name, hash)) = subject.split_once('@') else { return named(environment, plugins, subject) };
    let digits = hash.strip_prefix("sha256:").unwrap_or_default();
    ensure!(
        digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()),
        "{hash:?} is no hash: write sha256: and 64 digits, as `plugin hash` prints them"
    );
    Ok(judged(plugins, name, &digits.to_ascii_lowercase()))
}

/// Of a plugin by its bare name: of what is installed and approved here, where something is.
pub(super) fn named(environment: &Environment, plugins: &PluginsPolicy, name: &str) -> Result<Verdict> {
    if let Some(content) = approved(environment, name)? {
        let verdict = judged(plugins, name, content.as_str());
        let because = format!("{}; what is installed and approved is sha256:{content}", verdict.because);
        return Ok(Verdict { because, ..verdict });
    }
    let verdict = judged(plugins, name, "");
    let listed: Vec<_> =
        plugins.listed(name).map(|rule| format!("{} ({})", rule.value, rule.source)).collect();
    if verdict.allowed || listed.is_empty() {
        return Ok(verdict);
    }
    let because = format!(
        "{}; nothing that is installed here under that name is approved, and by content `allow` has {}",
        verdict.because,
        listed.join(", ")
    );
    Ok(Verdict { because, ..verdict })
}

fn judged(plugins: &PluginsPolicy, name: &str, hash: &str) -> Verdict {
    let checked = plugins.check_run(name, hash).and_then(|()| plugins.check(name, hash));
    let rule = match checked {
        Err(refusal) => return Verdict::denied(refusal.to_string()),
        Ok(rule) => rule,
    };
    Verdict::allowed(match plugins.approves(name, hash) {
        Some(rule) => {
            format!("`allow` of [plugins] has \"{}\" ({}), which approves it", rule.value, rule.source)
        }
        None => format!(
            "`allow` of [plugins] has \"{}\" ({}); a {} approves it (`approve`, {})",
            rule.value, rule.source, plugins.approve.value, plugins.approve.source
        ),
    })
}

/// The content of the plugin of that name that is installed and approved.
fn approved(environment: &Environment, name: &str) -> Result<Option<Fingerprint>> {
    let Ok(name) = PluginName::try_from(name.to_owned()) else { return Ok(None) };
    let Ok(installed) = Shelf::new(&environment.own_home).find(&name) else { return Ok(None) };
    let ledger = Ledger::read(&environment.own_home)?;
    Ok(match Status::of(&installed, ledger.get(&name)) {
        Status::Approved(approval) => Some(approval.content()),
        Status::Waiting | Status::Denied | Status::Changed(_) => None,
    })
}
