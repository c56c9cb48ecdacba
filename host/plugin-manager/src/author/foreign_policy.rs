//! Translates the policy file of Wassette, `policy.yaml`, into requests of `plugin.toml`.
//!
//! Invariant: a request never allows more than the policy. A part that has no equivalent is not granted, and is
//! named to the user.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use scorpiox_plugin::{Limits, WORKSPACE};
use scorpiox_policy::{HostRule, Source};

use super::yaml::{MAX_BYTES, Node, parse};
use crate::install::bounded;

/// Largest `limits.memory_mib` of a plugin.
const MAX_MEMORY_MIB: u64 = 256;
/// Beginning of an address of files.
const FILES: &str = "fs://";

/// Requests of a policy.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Translated {
    /// Keys of each requested capability in TOML, without the reason.
    pub(super) asks: BTreeMap<&'static str, String>,
    /// Table `limits` in TOML; empty if it has no keys.
    pub(super) limits: String,
    /// Parts of the policy that were not translated, with the reasons.
    pub(super) left_out: Vec<String>,
}

/// Reads and translates a policy file.
pub(super) fn read(path: &Path) -> Result<Translated> {
    let said = || path.display().to_string();
    if !path.exists() {
        bail!(
            "--policy {} does not exist; name the policy.yaml of the component, or leave --policy out",
            said()
        );
    }
    let text = String::from_utf8(bounded(path, MAX_BYTES)?).with_context(said)?;
    translate(&text).with_context(said)
}

fn translate(text: &str) -> Result<Translated> {
    let mut found = Translated::default();
    let policy = parse(text)?;
    let parts = members(&policy, "it")?;
    ensure!(!parts.is_empty(), "it is empty; name a policy.yaml with `permissions`, or leave --policy out");
    for (key, value) in parts {
        match key.as_str() {
            "version" | "description" => {}
            "permissions" => found.permissions(value)?,
            other => found.unknown(other),
        }
    }
    Ok(found)
}

/// Returns the members of a mapping. A missing value has none.
fn members<'n>(node: &'n Node, what: &str) -> Result<&'n [(String, Node)]> {
    match node {
        Node::Map(members) => Ok(members),
        Node::Scalar(text) if is_null(text) => Ok(&[]),
        _ => bail!("{what} is not made of \"key: value\" lines"),
    }
}

/// Returns the items of a list. A missing value has none.
fn items<'n>(node: &'n Node, what: &str) -> Result<&'n [Node]> {
    match node {
        Node::List(items) => Ok(items),
        Node::Scalar(text) if is_null(text) => Ok(&[]),
        _ => bail!("{what} is not a list"),
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null")
}

fn scalar(node: &Node) -> Option<&str> {
    if let Node::Scalar(text) = node { Some(text) } else { None }
}

fn array<T: Into<toml::Value>>(values: impl IntoIterator<Item = T>) -> toml::Value {
    toml::Value::Array(values.into_iter().map(Into::into).collect())
}

impl Translated {
    /// Drops the capabilities that the component cannot use, and names them.
    pub(super) fn drop_unused(&mut self, is_used: impl Fn(&str) -> bool) {
        let left_out = &mut self.left_out;
        self.asks.retain(|ask, _| {
            let keeps = is_used(ask);
            if !keeps {
                left_out.push(format!("{ask}: the component imports nothing that uses it"));
            }
            keeps
        });
    }

    fn unknown(&mut self, key: &str) {
        self.left_out.push(format!("{key}: plugin.toml has nothing like it"));
    }

    fn permissions(&mut self, permissions: &Node) -> Result<()> {
        for (key, value) in members(permissions, "permissions")? {
            let at = format!("permissions.{key}");
            match key.as_str() {
                "network" => {
                    let hosts = self.allowed(value, &at, &["host"], host)?;
                    if !hosts.is_empty() {
                        self.asks.insert("web", format!("hosts = {}\n", array(hosts)));
                    }
                }
                "environment" => {
                    let names = self.allowed(value, &at, &["key"], variable)?;
                    if !names.is_empty() {
                        self.asks.insert("env", format!("names = {}\n", array(names)));
                    }
                }
                "storage" => {
                    let folders = self.allowed(value, &at, &["uri", "access"], folder)?;
                    let of = |write| {
                        folders.iter().filter(move |(_, own)| *own == write).map(|(path, _)| path.as_str())
                    };
                    let mut text = String::new();
                    for (name, list) in [("read", array(of(false))), ("write", array(of(true)))] {
                        if list.as_array().is_some_and(|list| !list.is_empty()) {
                            let _ = writeln!(text, "{name} = {list}");
                        }
                    }
                    if !text.is_empty() {
                        self.asks.insert("files", text);
                    }
                }
                "resources" => self.resources(value, &at)?,
                _ => self.unknown(&at),
            }
        }
        Ok(())
    }

    /// Translates the items of `allow`, whose keys must be `known`. With a list of exceptions, nothing is
    /// translated: a plugin has none, and the grant would be wider.
    fn allowed<T>(
        &mut self,
        section: &Node,
        at: &str,
        known: &[&str],
        translate: fn(&BTreeMap<&str, &Node>) -> Result<T, String>,
    ) -> Result<Vec<T>> {
        let mut allowed = Vec::new();
        let section = members(section, at)?;
        let denies = |(key, value): &&(String, Node)| key == "deny" && *value != Node::List(Vec::new());
        if section.iter().any(|member| denies(&member)) {
            self.left_out.push(format!(
                "{at}: plugin.toml has no exceptions for `deny`, so nothing of it is granted; write the capability by hand"
            ));
            return Ok(allowed);
        }
        for (key, value) in section {
            let at = format!("{at}.{key}");
            match key.as_str() {
                "allow" => {
                    for (index, item) in items(value, &at)?.iter().enumerate() {
                        let at = format!("{at}[{index}]");
                        let item: BTreeMap<_, _> =
                            members(item, &at)?.iter().map(|(key, value)| (key.as_str(), value)).collect();
                        let other = item.keys().find(|key| !known.contains(key));
                        let outcome = match other {
                            Some(other) => Err(format!("plugin.toml has nothing like its key {other}")),
                            None => translate(&item),
                        };
                        match outcome {
                            Ok(one) => allowed.push(one),
                            Err(why) => self.left_out.push(format!("{at}: {why}")),
                        }
                    }
                }
                "deny" => {}
                _ => self.unknown(&at),
            }
        }
        Ok(allowed)
    }

    fn resources(&mut self, resources: &Node, at: &str) -> Result<()> {
        for (key, value) in members(resources, at)? {
            let at = format!("{at}.{key}");
            if key != "limits" {
                self.unknown(&at);
                continue;
            }
            for (key, value) in members(value, &at)? {
                let at = format!("{at}.{key}");
                match (key.as_str(), scalar(value).and_then(mebibytes)) {
                    ("memory", Some(asked)) => self.memory(&at, asked),
                    ("memory", None) => {
                        self.left_out.push(format!("{at}: it is no size, such as \"64Mi\""));
                    }
                    ("cpu", _) => self.left_out.push(format!(
                        "{at}: it is a share of processors, and limits.cpu_seconds is time of a call"
                    )),
                    _ => self.unknown(&at),
                }
            }
        }
        Ok(())
    }

    fn memory(&mut self, at: &str, asked: u64) {
        let granted = asked.clamp(1, MAX_MEMORY_MIB);
        if asked == 0 {
            self.left_out.push(format!("{at}: it is less than 1 MiB, which is the least of a plugin"));
        }
        if granted < asked {
            self.left_out.push(format!("{at}: it is {asked} MiB, and a plugin has at most {MAX_MEMORY_MIB}"));
        }
        if granted != u64::from(Limits::default().memory_mib) {
            self.limits = format!("[limits]\nmemory_mib = {granted}\n");
        }
    }
}

fn text<'n>(item: &BTreeMap<&str, &'n Node>, key: &str) -> Result<&'n str, String> {
    item.get(key).and_then(|node| scalar(node)).ok_or_else(|| format!("it has no {key}"))
}

fn host(item: &BTreeMap<&str, &Node>) -> Result<String, String> {
    let host = text(item, "host")?;
    HostRule::parse(host, Source::Builtin).map_err(|error| error.to_string())?;
    Ok(host.to_owned())
}

fn variable(item: &BTreeMap<&str, &Node>) -> Result<String, String> {
    let key = text(item, "key")?;
    let fits = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if fits { Ok(key.to_owned()) } else { Err(format!("{key:?} is not the name of a variable")) }
}

/// Returns a folder of `plugin.toml`, and `true` if it may be written.
fn folder(item: &BTreeMap<&str, &Node>) -> Result<(String, bool), String> {
    let uri = text(item, "uri")?;
    let access = item.get("access").map(|node| items(node, "access").map_err(|error| error.to_string()));
    let access = access.transpose()?.unwrap_or_default();
    let access: Vec<_> = access.iter().filter_map(scalar).collect();
    let write = match access.as_slice() {
        ["read"] => false,
        ["read", "write"] | ["write", "read"] => true,
        ["write"] => return Err(format!("{uri} is only to be written, and `write` includes reading")),
        other => return Err(format!("the access of {uri} is {other:?}; [read] and [read, write] are known")),
    };
    let path = uri.strip_prefix(FILES).ok_or_else(|| format!("{uri} is no address of files ({FILES}…)"))?;
    let path = path.strip_suffix("/**").unwrap_or(path);
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    if path.contains(['*', '?', '[', '{']) {
        return Err(format!("{uri} is a pattern, and a plugin has whole folders: FOLDER/**"));
    }
    let path = if path == "." || path == WORKSPACE { WORKSPACE } else { path };
    if path == WORKSPACE
        || path.len() > 1 && path.starts_with('/') && !path.split('/').any(|part| part == "..")
    {
        return Ok((path.to_owned(), write));
    }
    Err(format!("{uri} is neither {WORKSPACE} nor an absolute path of a folder"))
}

/// Parses a size such as `64Mi`, rounded down to MiB. A number without a unit has MiB.
fn mebibytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = number.parse().ok()?;
    match unit.trim() {
        "" | "Mi" | "MiB" => Some(number),
        "M" | "MB" => number.checked_mul(1_000_000).map(|bytes| bytes >> 20),
        "Ki" | "KiB" => Some(number >> 10),
        "Gi" | "GiB" => number.checked_mul(1024),
        "G" | "GB" => number.checked_mul(1_000_000_000).map(|bytes| bytes >> 20),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
version: "1.0"
description: "A weather tool"
permissions:
  storage:
    allow:
      - uri: "fs://workspace/**"
        access: ["read", "write"]
      - uri: "fs:///srv/maps"
        access: ["read"]
  network:
    allow:
      - host: "api.example.com"
      - host: "*.example.org"
  environment:
    allow:
      - key: "WEATHER_KEY"
  resources:
    limits:
      memory: "128Mi"
"#;

    fn left_out(text: &str) -> String {
        let Translated { asks, limits, left_out } = translate(text).expect("a policy");
        assert!(asks.is_empty() && limits.is_empty(), "{asks:?} {limits}");
        left_out.join("\n")
    }

    #[test]
    fn each_permission_has_its_capability() {
        let Translated { asks, limits, left_out } = translate(WHOLE).expect("a policy");
        assert_eq!(left_out, Vec::<String>::new());
        assert_eq!(limits, "[limits]\nmemory_mib = 128\n");
        let expected = [
            ("env", "names = [\"WEATHER_KEY\"]\n"),
            ("files", "read = [\"/srv/maps\"]\nwrite = [\"workspace\"]\n"),
            ("web", "hosts = [\"api.example.com\", \"*.example.org\"]\n"),
        ];
        assert_eq!(asks, expected.map(|(ask, text)| (ask, text.to_owned())).into());
    }

    #[test]
    fn what_would_be_wider_is_not_granted_and_is_named() {
        let storage = |item: &str| left_out(&format!("permissions: {{storage: {{allow: [{item}]}}}}"));
        for (item, expected) in [
            ("{uri: 'fs:///srv/*', access: [read]}", "fs:///srv/* is a pattern"),
            ("{uri: 'fs:///srv/*.txt', access: [read]}", "is a pattern"),
            ("{uri: 'fs:///srv/**', access: [write]}", "is only to be written"),
            ("{uri: 'fs:///srv/**'}", "the access of fs:///srv/** is []"),
            ("{uri: 'fs:///**', access: [read]}", "is neither workspace nor an absolute path"),
            ("{uri: 'fs://data/**', access: [read]}", "is neither workspace nor an absolute path"),
            ("{uri: 'fs:///srv/../etc', access: [read]}", "is neither workspace nor an absolute path"),
            ("{uri: 'http://a', access: [read]}", "is no address of files"),
            ("{uri: 'fs:///srv', access: [read], mode: x}", "plugin.toml has nothing like its key mode"),
        ] {
            let said = storage(item);
            assert!(
                said.starts_with("permissions.storage.allow[0]: ") && said.contains(expected),
                "{item}: {said}"
            );
        }
        for (permissions, expected) in [
            ("{network: {allow: [{host: '*'}]}}", "stands for every host"),
            ("{network: {allow: [{host: 'ftp://a.example.com'}]}}", "ftp:// is no way to the web"),
            (
                "{network: {allow: [{cidr: 10.0.0.0/8}]}}",
                "permissions.network.allow[0]: plugin.toml has nothing like its key cidr",
            ),
            (
                "{network: {allow: [{host: a.b}], deny: [{host: c.a.b}]}}",
                "permissions.network: plugin.toml has no exc",
            ),
            ("{environment: {allow: [{key: 'A*'}]}}", "\"A*\" is not the name of a variable"),
            (
                "{resources: {limits: {cpu: 500m}}}",
                "permissions.resources.limits.cpu: it is a share of processors",
            ),
            ("{resources: {limits: {memory: lots}}}", "it is no size"),
            (
                "{resources: {limits: {disk: 1}}}",
                "permissions.resources.limits.disk: plugin.toml has nothing like it",
            ),
            ("{ipc: {allow: []}}", "permissions.ipc: plugin.toml has nothing like it"),
        ] {
            let said = left_out(&format!("permissions: {permissions}"));
            assert!(said.contains(expected), "{permissions}: {said}");
        }
        for empty in ["", "# nothing\n", "{}"] {
            let error = translate(empty).expect_err("an error").to_string();
            assert!(error.starts_with("it is empty"), "{empty:?}: {error}");
        }
        assert_eq!(left_out("owner: me"), "owner: plugin.toml has nothing like it");
        let capped = translate("permissions: {resources: {limits: {memory: 1Gi}}}").expect("a policy");
        assert_eq!(capped.limits, "[limits]\nmemory_mib = 256\n");
        assert!(capped.left_out[0].contains("it is 1024 MiB, and a plugin has at most 256"), "{capped:?}");
        assert!(translate("permissions: [a]").is_err());
    }
}
