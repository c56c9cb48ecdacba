//! Verdicts of the policy about plugins, equal to those for a call of their tools.

use anyhow::{Result, ensure};
use scorpiox_plugin::{Approval, Decisions, Hashes, Installed, PluginFolder, PluginName, Status};
use scorpiox_plugin_manager::install::Look;
use scorpiox_policy::{Candidate, PluginPattern, PluginsPolicy, Policy, Signed, Source, Sourced, Verdict};

use crate::cli::environment::Environment;
use scorpiox_text::nearest;
use scorpiox_tools::plugins::candidate;

/// Returns the verdict about a plugin given as `NAME`, `NAME@sha256:HASH` or `NAME@signer:SIGNER`.
pub(super) fn verdict(environment: &Environment, plugins: &PluginsPolicy, subject: &str) -> Result<Verdict> {
    let Some((name, content)) = subject.split_once('@') else {
        ensure!(
            PluginName::try_from(subject.to_owned()).is_ok(),
            "{subject:?} is no name of a plugin: write NAME, NAME@sha256:HASH or NAME@signer:SIGNER"
        );
        return named(environment, plugins, subject);
    };
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
    // The user may know an installed plugin by another of its hashes.
    let here = known(environment).into_iter().find(|(_, hashes)| hashes.kind(&hash).is_some());
    let also = here.as_ref().map_or([""; 3], |(_, hashes)| hashes.others());
    let hash = here.as_ref().map_or(&*hash, |(_, hashes)| hashes.plugin.as_str());
    let verdict = judged(plugins, &Candidate { also, ..Candidate::new(name, hash, Signed::Not) });
    if here.is_some() {
        return Ok(verdict);
    }
    let because = format!(
        "{}; no plugin that is installed here has that hash, which is taken for the one that `plugin hash` prints",
        verdict.because
    );
    Ok(Verdict { because, ..verdict })
}

/// Returns the verdict about a plugin given by name, preferably about the installed and approved version.
pub(super) fn named(environment: &Environment, plugins: &PluginsPolicy, name: &str) -> Result<Verdict> {
    if let Some((name, approval)) = approved(environment, name)? {
        let hashes = approval.hashes(environment.home.as_deref());
        let content = &hashes.plugin;
        let verdict = judged(plugins, &candidate(&name, &hashes, &approval));
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

/// Finds hashes in `[plugins]` that match no installed plugin, or that are of a kind that the list does not
/// accept. Returns the text before the rule, the rule, and the text after it.
pub(super) fn unknown_hashes(environment: &Environment, policy: &Policy) -> Vec<(String, Source, String)> {
    let PluginsPolicy { rules, .. } = &policy.plugins;
    let listed = [("denies", &rules.deny), ("allows", &rules.allow)];
    let listed = listed.into_iter().flat_map(|(what, rules)| rules.iter().map(move |rule| (what, rule)));
    let misspelled = misspelled(environment, listed.clone());
    let mut listed = listed.filter_map(|(what, rule)| Some((what, rule, rule.value.hash()?))).peekable();
    // Most policies contain no hashes, so that no plugin needs to be inspected.
    let known = if listed.peek().is_some() { known(environment) } else { Vec::new() };
    let note = |(what, rule, hash): (&str, &Sourced<PluginPattern>, &str)| {
        let found = known.iter().find_map(|(name, hashes)| Some((name, hashes, hashes.kind(hash)?)));
        let after = match found {
            None => ", and no plugin that is installed here has that hash; `plugin list` shows those that are, and \
                     `plugin hash` prints the hash of one"
                .to_owned(),
            Some((name, ..)) if !rule.value.name().covers(name.as_str()) => {
                format!(", which is a hash of {name}: under that name it matches nothing here")
            }
            Some((_, hashes, _)) if hashes.plugin.as_str() == hash || what == "denies" => return None,
            Some((name, hashes, kind)) => format!(
                ", which is the hash of {kind}, of {name}: that approves nothing; its own is sha256:{}",
                hashes.plugin
            ),
        };
        Some((format!("[plugins] {what} {}", rule.value), rule.source, after))
    };
    let renamed = renamed(environment, &policy.plugins);
    misspelled.into_iter().chain(listed.filter_map(note)).chain(renamed).collect()
}

/// Finds plugins that may run although they have the component of one that is denied by its name: copies under another
/// name.
fn renamed(environment: &Environment, plugins: &PluginsPolicy) -> Vec<(String, Source, String)> {
    let by_name =
        |rule: &&Sourced<PluginPattern>| rule.value.hash().is_none() && rule.value.signer().is_none();
    let mut rules = plugins.rules.deny.iter().filter(by_name).peekable();
    // Plugins without an approval must be inspected, which takes time.
    let known = if rules.peek().is_some() { known(environment) } else { Vec::new() };
    let runs = |(name, hashes): &&(PluginName, Hashes)| {
        let candidate = Candidate::new(name.as_str(), hashes.plugin.as_str(), Signed::Not);
        plugins.check(&Candidate { also: hashes.others(), ..candidate }).is_ok()
    };
    let copies: Vec<_> = known.iter().filter(runs).collect();
    let note = |rule: &Sourced<PluginPattern>| {
        let denied = known.iter().filter(|(name, _)| rule.value.name().covers(name.as_str()));
        let pairs = denied.flat_map(|(name, hashes)| copies.iter().map(move |copy| (name, hashes, copy)));
        let same = pairs.filter(|(_, hashes, (_, copy))| hashes.component == copy.component);
        let told = same.map(|(name, _, (copy, hashes))| {
            let after = format!(
                ", and {copy}, which is installed here and not denied, has the component of {name}: deny it by its hash, \
                 sha256:{}",
                hashes.component.as_str()
            );
            (format!("[plugins] denies {}", rule.value), rule.source, after)
        });
        told.collect::<Vec<_>>()
    };
    rules.flat_map(note).collect()
}

/// Finds names that are almost those of installed plugins. Others may be those of plugins elsewhere.
fn misspelled<'a>(
    environment: &Environment,
    listed: impl Iterator<Item = (&'static str, &'a Sourced<PluginPattern>)>,
) -> Vec<(String, Source, String)> {
    let installed = PluginFolder::new(&environment.own_home).scan().into_iter().flatten();
    let installed: Vec<_> = installed.map(|plugin| plugin.name.to_string()).collect();
    let note = |(what, rule): (&str, &Sourced<PluginPattern>)| {
        let pattern = rule.value.name();
        let is_known = installed.iter().any(|name| pattern.covers(name));
        let name = pattern.to_string();
        let near = nearest(&name, installed.iter().map(String::as_str)).filter(|_| !is_known)?;
        let after = format!(", and no plugin that is installed here has that name; did you mean {near}?");
        Some((format!("[plugins] {what} {}", rule.value), rule.source, after))
    };
    listed.filter_map(note).collect()
}

/// Lists the installed plugins with their hashes. Plugins without an approval must be inspected.
fn known(environment: &Environment) -> Vec<(PluginName, Hashes)> {
    let decisions = Decisions::read(&environment.own_home).unwrap_or_default();
    let installed = PluginFolder::new(&environment.own_home).scan().into_iter().flatten();
    let hashes = |installed: Installed| {
        let name = installed.name.clone();
        if let Status::Approved(approval) = Status::of(&installed, decisions.get(&name)) {
            return Some((name, approval.hashes(environment.home.as_deref())));
        }
        Some((name, Look::at(&environment.site(), installed, None).ok()?.hashes()))
    };
    installed.filter_map(hashes).collect()
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

/// Returns the approval of a plugin, if it matches the installed files.
fn approved(environment: &Environment, name: &str) -> Result<Option<(PluginName, Box<Approval>)>> {
    let Ok(name) = PluginName::try_from(name.to_owned()) else { return Ok(None) };
    let Ok(installed) = PluginFolder::new(&environment.own_home).find(&name) else { return Ok(None) };
    let decisions = Decisions::read(&environment.own_home)?;
    Ok(match Status::of(&installed, decisions.get(&name)) {
        Status::Approved(approval) => Some((name, Box::new(approval.clone()))),
        Status::Waiting | Status::Denied | Status::Changed(_) => None,
    })
}
