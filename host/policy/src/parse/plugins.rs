//! Parses `[plugins]`.

use std::path::Path;
use std::sync::Arc;

use crate::document::{Entry, Problem, Section, list};
use crate::rule::{Invalid, NamePattern, Sourced, shorten, suggest};

use super::{registries, secrets, tools};
use crate::plugins::{Approve, PluginPattern, PluginsPolicy, Required, Signer, Updates};

/// Maximum length of a signer's name, in bytes.
const MAX_SIGNER_BYTES: usize = 32;
/// Maximum length of an index address, in bytes; sufficient for paths on most systems.
const MAX_INDEX_ADDRESS_BYTES: usize = 1024;

/// Applies `[plugins]` to the defaults.
pub(super) fn read(section: &Section<'_>, plugins: &mut PluginsPolicy) -> Result<(), Problem> {
    section.only(&[
        "allow",
        "deny",
        "approve",
        "signers",
        "require_signature",
        "index",
        "registries",
        "secrets",
    ])?;
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
        // A denied signer would simply omit the signature.
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
    if let Some(entry) = section.get("require_signature") {
        require(&entry, plugins)?;
    }
    if let Some(entry) = section.get("index") {
        plugins.index = Some(Sourced::new(index(&entry)?, entry.source()));
    }
    if let Some(entry) = section.get("registries") {
        registries::read(&entry.section(&section.child("registries"))?, &mut plugins.registries)?;
    }
    if let Some(entry) = section.get("secrets") {
        secrets::read(&entry.section(&section.child("secrets"))?, &mut plugins.secrets)?;
    }
    Ok(())
}

/// Parses `require_signature`. The user cannot lift a managed requirement.
fn require(entry: &Entry<'_>, plugins: &mut PluginsPolicy) -> Result<(), Problem> {
    if !entry.boolean("write `require_signature = true`, or take it out")? {
        return Ok(());
    }
    let signers: Vec<_> = plugins.signers.values().map(|signer| Arc::clone(&signer.value)).collect();
    if signers.is_empty() {
        let fix = "write [plugins.signers.NAME] with the `key` of each who may sign";
        return Err(entry.problem(format!("{} is true, and there are no signers", entry.label()), fix));
    }
    if !plugins.required.iter().any(|required| required.signers == signers) {
        plugins.required.push(Required { source: entry.source(), signers });
    }
    Ok(())
}

/// Parses `index`: an address, or a path that does not depend on the working directory.
fn index(entry: &Entry<'_>) -> Result<String, Problem> {
    let fix = "write an https:// address, or a path that begins with / or ~/";
    let text = entry.text(fix)?;
    let is_path = Path::new(text).is_absolute() || text.starts_with('/') || text.starts_with("~/");
    let is_address = text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty());
    if text.len() > MAX_INDEX_ADDRESS_BYTES || text.contains(char::is_control) || !(is_path || is_address) {
        return Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(text)), fix));
    }
    Ok(text.to_owned())
}

/// Parses `[plugins.signers]`. The user cannot redefine a managed signer.
fn signers(section: &Section<'_>, plugins: &mut PluginsPolicy) -> Result<(), Problem> {
    for (name, entry) in section.entries() {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > MAX_SIGNER_BYTES || !name.chars().all(plain) {
            let what = format!("signer \"{}\" is not a valid signer name", shorten(name));
            return Err(entry.problem(what, "write 1 to 32 small letters, digits and hyphens"));
        }
        let signer = signer(name, &entry.section(&section.child(name))?, &entry)?;
        match plugins.signers.get(name) {
            Some(known) if known.value.says_the_same(&signer) && known.value.updates <= signer.updates => {}
            // The set of plugins it may sign stays the same, but its signature may decide less.
            Some(known) if known.value.says_the_same(&signer) => {
                let signer = Sourced::new(Arc::new(signer), entry.key_source());
                plugins.signers.insert(name.to_owned(), signer);
            }
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
    section.only(&["key", "names", "approve"])?;
    let fix =
        "write `key = \"RW…\"`, the second line of the `.pub` file that `scorpiox-code plugin keygen` makes";
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
    let updates = section.get("approve").map_or(Ok(Updates::Person), |entry| updates(&entry))?;
    Signer::parse(name, key.text(fix)?, names, updates).map_err(|invalid| key.invalid(&invalid))
}

fn updates(entry: &Entry<'_>) -> Result<Updates, Problem> {
    match entry.text("write \"person\" or \"signed\"")? {
        "person" => Ok(Updates::Person),
        "signed" => Ok(Updates::Signed),
        word => {
            let what = format!("unknown word \"{}\" for {}", shorten(word), entry.label());
            Err(entry.problem(what, suggest(word, "words", Updates::WORDS)))
        }
    }
}
