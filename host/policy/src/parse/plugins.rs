//! `[plugins]`.

use std::sync::Arc;

use scorpiox_rules::{Invalid, NamePattern, Sourced, shorten, suggest};

use super::document::{Entry, Section};
use super::{list, tools};
use crate::plugins::{Approve, PluginPattern, PluginsPolicy, Signer};
use crate::problem::Problem;

/// Longest name of a signer, in bytes.
const MAX_SIGNER_BYTES: usize = 32;

/// Lays `[plugins]` over the defaults.
pub(super) fn read(section: &Section<'_>, plugins: &mut PluginsPolicy) -> Result<(), Problem> {
    section.only(&["allow", "deny", "approve", "signers"])?;
    if let Some(entry) = section.get("signers") {
        signers(&entry.section(&section.child("signers"))?, plugins)?;
    }
    let signers = &plugins.signers;
    let signer = |name: &str| match signers.get(name) {
        Some(signer) => Ok(Arc::clone(&signer.value)),
        None => Err(Invalid::new(format!("there is no signer \"{}\"", shorten(name)), {
            let known: Vec<_> = signers.keys().map(String::as_str).collect();
            if known.is_empty() {
                format!("write [plugins.signers.{}] with its `key`", shorten(name))
            } else {
                suggest(name, "signers", &known)
            }
        })),
    };
    let fix = "write a list of plugins, such as [\"weather\", \"notes@sha256:…\", \"signer:acme\"]";
    tools::rules(section, &mut plugins.rules, fix, |text| PluginPattern::parse(text, signer))?;
    if let Some(entry) = section.get("deny") {
        // Whoever is denied would leave the signature out.
        let by_signer = |item: &Entry<'_>| item.as_text().is_some_and(|text| text.contains("signer:"));
        if let Some(item) = entry.list(fix)?.into_iter().find(by_signer) {
            let what = format!("{} denies a signer, and a signature can be left out", item.label());
            return Err(item.problem(what, "deny names or hashes, or take the signer out of `allow`"));
        }
    }
    if let Some(entry) = section.get("approve") {
        let approve = match entry.text("write \"person\" or \"policy\"")? {
            "person" => Approve::Person,
            "policy" => Approve::Policy,
            word => {
                let what = format!("unknown word \"{}\" for {}", shorten(word), entry.label());
                return Err(entry.problem(what, suggest(word, "words", Approve::WORDS)));
            }
        };
        plugins.approve = Sourced::new(approve, entry.source());
    }
    Ok(())
}

/// Reads `[plugins.signers]`. Whom all users of the machine have as a signer is nobody else for a person.
fn signers(section: &Section<'_>, plugins: &mut PluginsPolicy) -> Result<(), Problem> {
    for (name, entry) in section.entries() {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > MAX_SIGNER_BYTES || !name.chars().all(plain) {
            let what = format!("signer \"{}\" is not a valid signer name", shorten(name));
            return Err(entry.problem(what, "write 1 to 32 small letters, digits and hyphens"));
        }
        let signer = signer(name, &entry.section(&section.child(name))?, &entry)?;
        match plugins.signers.get(name) {
            Some(known) if known.value.says_the_same(&signer) => {}
            Some(known) => {
                let what = format!("signer \"{name}\" is another one in {}", known.source);
                return Err(entry.problem(what, "give yours another name"));
            }
            None => {
                let signer = Sourced::new(Arc::new(signer), entry.key_source());
                plugins.signers.insert(name.to_owned(), signer);
            }
        }
    }
    Ok(())
}

fn signer(name: &str, section: &Section<'_>, entry: &Entry<'_>) -> Result<Signer, Problem> {
    section.only(&["key", "names"])?;
    let fix = "write `key = \"RW…\"`, the second line of the `.pub` file that minisign made";
    let Some(key) = section.get("key") else {
        return Err(entry.problem(format!("{} has no `key`", section.name()), fix));
    };
    let names = match section.get("names") {
        None => vec![NamePattern::any()],
        Some(names) => {
            let fix = "write a list of names of plugins, such as [\"acme-*\"]";
            list(&names, fix, |_, text| NamePattern::parse(text, "plugin"))?
        }
    };
    Signer::parse(name, key.text(fix)?, names).map_err(|invalid| key.invalid(&invalid))
}
