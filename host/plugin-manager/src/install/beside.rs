//! Compares a plugin with the approved version that it replaces.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use scorpiox_plugin::{
    Approval, Decision, Decisions, Difference, Kind, Manifest, PluginFolder, PluginName, Record, Secrets,
    Status,
};
use scorpiox_policy::{PluginsPolicy, Signer, Source};
use scorpiox_terminal::{columns, wrapped};
use scorpiox_tools::offers::Offers;
use scorpiox_tools::plugins::candidate;
use scorpiox_workspace_config::Site;
use semver::Version;
use serde_json::Value;

use crate::install::look::Look;

/// Maximum number of displayed differences that request nothing.
const MAX_LINES: usize = 60;

/// A replacement for an approved plugin, with the differences.
pub struct Beside {
    name: PluginName,
    decided_at: u64,
    approval: Approval,
    has_secrets: bool,
    difference: Difference,
    /// `true` if the approved version still exists. Otherwise its secrets and settings are unknown.
    is_whole: bool,
    /// `true` if the component is another one.
    has_other_code: bool,
    /// Versions of the approved plugin and the new one, as given in their manifests.
    versions: (String, String),
}

/// Returns `true` if `version` is older than `than`. Returns `false` if either is not a semantic version.
pub fn is_older(version: &str, than: &str) -> bool {
    order(version, than) == Some(Ordering::Less)
}

fn order(version: &str, other: &str) -> Option<Ordering> {
    Some(Version::parse(version).ok()?.cmp_precedence(&Version::parse(other).ok()?))
}

impl Beside {
    /// Compares a plugin with the approved plugin of the same name. Returns `None` if there is none or it is
    /// identical.
    pub fn of(site: &Site, look: &Look) -> Result<Option<Self>> {
        let decisions = Decisions::read(&site.own_home)?;
        let name = &look.installed.name;
        let Some(record) = decisions.get(name) else { return Ok(None) };
        let Record { decided_at, decision: Decision::Approved(approval) } = record else { return Ok(None) };
        let is_same_plugin =
            approval.component == look.component && approval.manifest == look.installed.manifest_fingerprint;
        if is_same_plugin && approval.plain_names == look.plain_names {
            return Ok(None);
        }
        let installed = PluginFolder::new(&site.own_home).find(name).ok();
        let installed =
            installed.filter(|installed| matches!(Status::of(installed, Some(record)), Status::Approved(_)));
        let tools: Vec<Value> = serde_json::from_str(approval.tools.get())?;
        let manifest = &look.installed.manifest;
        let known = installed.as_ref().map_or_else(|| as_known(approval, manifest), |it| it.manifest.clone());
        let mut difference = Difference::between((&known, &tools), (manifest, &look.described.tools));
        let offers = approval.offers.as_ref().map(|offers| serde_json::from_str::<Offers>(offers.get()));
        let offers = offers.transpose()?.unwrap_or_default();
        difference.add_offers(&offers.by_name(), &look.described.offers.by_name());
        difference.plain_names(approval.plain_names, look.plain_names);
        difference.targets(&approval.folders, &look.folders, look.home.as_deref());
        let is_whole = installed.is_some();
        let version = approval.origin.as_ref().map(|origin| origin.version.clone());
        let version = version.or_else(|| installed.map(|installed| installed.manifest.version));
        Ok(Some(Self {
            name: name.clone(),
            decided_at: *decided_at,
            approval: (**approval).clone(),
            has_secrets: Secrets::read(&site.own_home, name)?.names().next().is_some(),
            difference,
            is_whole,
            has_other_code: approval.component != look.component,
            versions: (version.unwrap_or_default(), manifest.version.clone()),
        }))
    }

    /// Returns `true` if the new version is older than the approved one.
    pub fn is_older(&self) -> bool {
        is_older(&self.versions.1, &self.versions.0)
    }

    /// Returns the approved version and the new version.
    pub fn versions(&self) -> (&str, &str) {
        (&self.versions.0, &self.versions.1)
    }

    /// Returns the signer whose signature suffices to approve the update. The update must be newer, request
    /// no more than the approved version, and resolve its directories to the same paths. The policy must
    /// trust the signer of both versions for updates.
    pub fn signer<'p>(&self, plugins: &'p PluginsPolicy, look: &Look) -> Option<(&'p Signer, Source)> {
        let asks_no_more = self.is_whole && !self.difference.asks_more();
        let is_newer = order(&self.versions.1, &self.versions.0) == Some(Ordering::Greater);
        let leads_as_before =
            look.folders.iter().all(|(folder, place)| self.approval.folders.get(folder) == Some(place));
        if !(asks_no_more && is_newer && leads_as_before) {
            return None;
        }
        let (new, approved) = (look.hashes(), self.approval.hashes(look.home.as_deref()));
        let approved = candidate(&self.name, &approved, &self.approval);
        let signer = plugins.takes_update(&look.candidate(&new), &approved)?;
        Some((&signer.value, signer.source))
    }

    /// Returns the description for the user who decides.
    pub fn text(&self) -> String {
        let mut text = self.place();
        let (before, now) = &self.versions;
        let (rights, mut others): (Vec<_>, Vec<_>) =
            self.difference.lines().iter().partition(|line| line.kind == Kind::More);
        let has_other_code = self.has_other_code;
        if rights.is_empty() && others.is_empty() && before == now && self.is_whole && !has_other_code {
            return text;
        }
        let named =
            |version: &String| if version.is_empty() { "without one".to_owned() } else { version.clone() };
        let _ = writeln!(text, "\nChanges (+ added, - removed, ~ changed)");
        if before != now {
            row(&mut text, '~', &format!("version: {} before, {} now", named(before), named(now)));
        }
        if !self.is_whole {
            row(
                &mut text,
                '~',
                "the approved files were changed or removed, so changes of secrets and settings cannot be listed",
            );
        }
        if has_other_code {
            row(&mut text, '~', "component: other code");
        }
        others.sort_by_key(|line| line.kind == Kind::Less);
        let more = others.len().saturating_sub(MAX_LINES);
        if more > 0 {
            let _ = writeln!(text, "  … and {more} more that ask for nothing, which are left out here");
        }
        // Requests for more stand last, directly above the question, and are never cut.
        for line in others.into_iter().skip(more).chain(rights) {
            let sign = match line.kind {
                Kind::More => '+',
                Kind::Less => '-',
                Kind::Words => '~',
            };
            row(&mut text, sign, &line.text);
        }
        if self.is_whole && !self.difference.asks_more() {
            text.push_str("  It asks for no more.\n");
        }
        text
    }

    /// States which plugin is replaced and what the new one takes over. The two may have different authors.
    fn place(&self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let when = match now.saturating_sub(self.decided_at) / (24 * 60 * 60) {
            0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            days => format!("{days} days ago"),
        };
        let keeps = if self.has_secrets { "its stored data and its secrets" } else { "its stored data" };
        let name = &self.name;
        let said = format!("It replaces {name}, which was approved {when}, and keeps {keeps}.");
        format!("\n{}\n", wrapped(&said, columns() - 2).join("\n  "))
    }
}

/// Reconstructs the manifest of a removed approved version. Parts that the approval does not record are
/// copied from the new one.
fn as_known(approval: &Approval, new: &Manifest) -> Manifest {
    let (capabilities, limits) = (approval.capabilities.clone(), approval.limits.clone());
    Manifest { capabilities, limits, ..new.clone() }
}

/// Appends a row with its sign, and wraps long text below it.
fn row(text: &mut String, sign: char, what: &str) {
    let _ = writeln!(text, "  {sign} {}", wrapped(what, columns().saturating_sub(4)).join("\n    "));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(
            is_older("1.9.0", "1.10.0") && is_older("2.0.0-rc.1", "2.0.0") && !is_older("2.0.0", "2.0.0")
        );
        // Build metadata after the plus sign does not make a version newer.
        assert!(!is_older("1.0.0+a", "1.0.0+b"));
        for (version, than) in [("", "1.0.0"), ("1.0.0", ""), ("1.0", "2.0"), ("a", "b")] {
            assert!(!is_older(version, than), "{version} {than}");
        }
    }
}
