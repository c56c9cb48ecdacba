//! A plugin beside the version of it that was approved.

use std::cmp::Ordering;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use scorpiox_offers::Offers;
use scorpiox_operator::Site;
use scorpiox_plugin::{
    Approval, Decision, Decisions, Difference, Kind, PluginFolder, PluginName, Record, Secrets, Status,
};
use scorpiox_policy::{PluginsPolicy, Signer, Source};
use scorpiox_terminal::{columns, wrapped};
use scorpiox_tools::plugins::candidate;
use semver::Version;
use serde_json::Value;

use crate::look::Look;

/// Lines of what differs that are shown.
const MAX_LINES: usize = 60;

/// What takes the place of an approved version.
pub struct Beside {
    name: PluginName,
    decided_at: u64,
    approval: Approval,
    has_secrets: bool,
    /// The names of rights that the approved one did not have.
    new_rights: Vec<&'static str>,
    /// Nothing, where what was approved is there no more.
    difference: Option<Difference>,
    /// The approved version and the new one, as their authors count.
    versions: (String, String),
}

/// Whether a version is older than another; nobody knows where one of them has no three numbers.
pub fn is_older(version: &str, than: &str) -> bool {
    order(version, than) == Some(Ordering::Less)
}

fn order(version: &str, other: &str) -> Option<Ordering> {
    Some(Version::parse(version).ok()?.cmp_precedence(&Version::parse(other).ok()?))
}

impl Beside {
    /// What a plugin takes the place of, if that is something else than it.
    pub fn of(site: &Site, look: &Look) -> Result<Option<Self>> {
        let decisions = Decisions::read(&site.own_home)?;
        let name = &look.installed.name;
        let Some(record) = decisions.get(name) else { return Ok(None) };
        let Record { decided_at, decision: Decision::Approved(approval) } = record else { return Ok(None) };
        if approval.component == look.component && approval.manifest == look.installed.manifest_fingerprint {
            return Ok(None);
        }
        let installed = PluginFolder::new(&site.own_home).find(name).ok();
        let installed =
            installed.filter(|installed| matches!(Status::of(installed, Some(record)), Status::Approved(_)));
        let tools: Vec<Value> = serde_json::from_str(approval.tools.get())?;
        let new = (&look.installed.manifest, look.described.tools.as_slice());
        let mut difference =
            installed.as_ref().map(|installed| Difference::between((&installed.manifest, &tools), new));
        let offers = approval.offers.as_ref().map(|offers| serde_json::from_str::<Offers>(offers.get()));
        let offers = offers.transpose()?.unwrap_or_default();
        if let Some(difference) = &mut difference {
            difference.add_offers(&offers.by_name(), &look.described.offers.by_name());
        }
        let known = approval.origin.as_ref().map(|origin| origin.version.clone());
        let known = known.or_else(|| installed.map(|installed| installed.manifest.version));
        let had: Vec<_> = approval.capabilities.lines().iter().map(|ask| ask.name).collect();
        let asks = look.installed.manifest.capabilities.lines();
        Ok(Some(Self {
            new_rights: asks.iter().map(|ask| ask.name).filter(|name| !had.contains(name)).collect(),
            name: name.clone(),
            decided_at: *decided_at,
            approval: (**approval).clone(),
            has_secrets: Secrets::read(&site.own_home, name)?.names().next().is_some(),
            difference,
            versions: (known.unwrap_or_default(), look.installed.manifest.version.clone()),
        }))
    }

    /// Whether the new one is older than the approved one.
    pub fn is_older(&self) -> bool {
        is_older(&self.versions.1, &self.versions.0)
    }

    /// The approved version and the new one.
    pub fn versions(&self) -> (&str, &str) {
        (&self.versions.0, &self.versions.1)
    }

    /// The signer whose signature is enough for the new version: it is newer, it asks for no more than the approved
    /// one, its folders lead where those led, and the policy trusts the signer of both with that.
    pub fn signer<'p>(&self, plugins: &'p PluginsPolicy, look: &Look) -> Option<(&'p Signer, Source)> {
        let asks_no_more = self.difference.as_ref().is_some_and(|difference| !difference.asks_more());
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

    /// All of it, for the person who decides.
    pub fn text(&self) -> String {
        let mut text = self.place();
        let Some(difference) = &self.difference else { return text };
        let (before, now) = &self.versions;
        if difference.lines().is_empty() && before == now {
            return text;
        }
        let named =
            |version: &String| if version.is_empty() { "without one".to_owned() } else { version.clone() };
        let _ = writeln!(text, "\nBeside what was approved (+ more, - less, ~ other words)");
        if before != now {
            row(&mut text, '~', &format!("version: {} before, {} now", named(before), named(now)));
        }
        let mut lines: Vec<_> = difference.lines().iter().collect();
        // What a person decides about stands last, right above the question.
        lines.sort_by_key(|line| (line.kind == Kind::More, line.kind == Kind::Less));
        let more = lines.len().saturating_sub(MAX_LINES);
        if more > 0 {
            let _ = writeln!(text, "  … and {more} more, which are left out here");
        }
        for line in lines.into_iter().skip(more) {
            let sign = match line.kind {
                Kind::More => '+',
                Kind::Less => '-',
                Kind::Words => '~',
            };
            row(&mut text, sign, &line.text);
        }
        if !difference.asks_more() {
            text.push_str("  It asks for no more.\n");
        }
        text
    }

    /// Nothing of the two need be the same author's.
    fn place(&self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let when = match now.saturating_sub(self.decided_at) / (24 * 60 * 60) {
            0 => "today".to_owned(),
            1 => "yesterday".to_owned(),
            days => format!("{days} days ago"),
        };
        let takes = if self.has_secrets { "the stored data and the secrets" } else { "the stored data" };
        let name = &self.name;
        let new = if self.new_rights.is_empty() {
            "no other rights".to_owned()
        } else {
            self.new_rights.join(", ")
        };
        let said =
            format!("It takes the place, and {takes}, of the {name} that was approved {when}; new: {new}");
        format!("\n{}\n", wrapped(&said, columns() - 2).join("\n  "))
    }
}

/// A row with its sign; what does not fit on it follows below.
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
        // What is behind a plus is no newer version.
        assert!(!is_older("1.0.0+a", "1.0.0+b"));
        for (version, than) in [("", "1.0.0"), ("1.0.0", ""), ("1.0", "2.0"), ("a", "b")] {
            assert!(!is_older(version, than), "{version} {than}");
        }
    }
}
