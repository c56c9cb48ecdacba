//! Parses `[shell.profile.NAME]`.

use std::collections::BTreeMap;

use crate::document::{Entry, Problem, Section, list, number, size};
use crate::rule::{
    DenyRule, HostRule, Invalid, LocalRule, MAX_LOCAL, NetworkRule, PROXY_PORT, PathRule, Place, Source,
    Sourced, shorten, suggest,
};

use super::variable;
use crate::profile::{DEFAULT_PROFILE, EnvRules, Limits, Network, Origins, Profile, READONLY, UnknownHosts};

const KEYS: &[&str] =
    &["read", "write", "deny", "network", "unknown_hosts", "local", "publish", "env", "limits"];
const LIMITS: &[&str] = &["processes", "memory", "open_files", "file_size", "tmp"];
const MODES: &[&str] = &["off", "allowlist", "open"];
const MAX_NAME_BYTES: usize = 64;
/// Maximum number of profiles; each one stores compiled globs.
const MAX_PROFILES: usize = 64;
/// Maximum number of variables in `env.set`, the same as for list entries.
const MAX_VARIABLES: usize = 256;
/// Maximum number of published ports.
const MAX_PUBLISHED: usize = 16;
const MIB: u64 = 1 << 20;

/// Applies the tables to the built-in profiles. A new profile starts from the default profile as configured
/// in the same file.
pub(super) fn read_all(
    section: &Section<'_>,
    profiles: &mut BTreeMap<String, Profile>,
) -> Result<(), Problem> {
    let mut entries: Vec<_> = section.entries().collect();
    if let Some((_, entry)) = entries.get(MAX_PROFILES) {
        let what = format!("[shell.profile] has {} profiles", entries.len());
        return Err(entry.problem(what, format!("write at most {MAX_PROFILES}")));
    }
    entries.sort_by_key(|(name, _)| *name != DEFAULT_PROFILE);
    for (name, entry) in entries {
        check_name(name, &entry)?;
        let Some(base) = profiles.get(name).or_else(|| profiles.get(DEFAULT_PROFILE)) else {
            continue;
        };
        let mut profile = Profile { name: name.to_owned(), ..base.clone() };
        profile.origins.profile = entry.key_source();
        read(&entry.section(&section.child(name))?, &mut profile)?;
        profiles.insert(name.to_owned(), profile);
    }
    Ok(())
}

fn check_name(name: &str, entry: &Entry<'_>) -> Result<(), Problem> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(plain) {
        return Ok(());
    }
    let what = format!("\"{}\" is not a valid profile name in [shell.profile]", shorten(name));
    Err(entry.problem(what, "write 1 to 64 of a-z, 0-9 and -"))
}

fn read(section: &Section<'_>, profile: &mut Profile) -> Result<(), Problem> {
    section.only(KEYS)?;
    if let Some(entry) = section.get("read") {
        profile.origins.read = entry.source();
        profile.read = paths(&entry, Place::parse)?;
    }
    if let Some(entry) = section.get("write") {
        profile.origins.write = entry.source();
        profile.write = paths(&entry, |text| writable(text, &profile.name))?;
    }
    if let Some(entry) = section.get("deny") {
        profile.origins.deny = entry.source();
        let rule = |item: &Entry<'_>, text: &str| DenyRule::parse(text, item.source());
        profile.deny = list(&entry, "write a list of globs, such as [\"**/.env*\"]", rule)?;
    }
    if let Some(entry) = section.get("network") {
        let table = entry.section(&section.child("network"))?;
        profile.network = network(&entry, &table, &profile.name)?;
    }
    if let Some(entry) = section.get("unknown_hosts") {
        profile.unknown_hosts = unknown_hosts(&entry, &profile.network)?;
    }
    if let Some(entry) = section.get("local") {
        profile.origins.local = entry.source();
        profile.local = local(&entry, &profile.name)?;
    }
    if let Some(entry) = section.get("publish") {
        profile.origins.publish = entry.source();
        profile.publish = publish(&entry, &profile.name)?;
    }
    if let Some(entry) = section.get("env") {
        env(&entry.section(&section.child("env"))?, &mut profile.env, &mut profile.origins)?;
    }
    if let Some(entry) = section.get("limits") {
        limits(&entry.section(&section.child("limits"))?, &mut profile.limits, &mut profile.origins)?;
    }
    Ok(())
}

pub(super) fn paths(
    entry: &Entry<'_>,
    parse: impl Fn(&str) -> Result<Place, Invalid>,
) -> Result<Vec<PathRule>, Problem> {
    let rule = |item: &Entry<'_>, text: &str| Ok(PathRule { place: parse(text)?, source: item.source() });
    list(entry, "write a list of paths, such as [\"@workspace\", \"/opt/data\"]", rule)
}

/// Parses a writable place. `readonly` may write only `@tmp`: planning under this profile must not change
/// anything.
fn writable(text: &str, profile: &str) -> Result<Place, Invalid> {
    let place = Place::parse_writable(text)?;
    if profile != READONLY || place == Place::Tmp {
        return Ok(place);
    }
    let what = format!("profile `readonly` cannot write {}", shorten(&place.to_string()));
    Err(Invalid::new(
        what,
        "write `write = [\"@tmp\"]`, or use another profile: plans are made under this one",
    ))
}

fn network(entry: &Entry<'_>, table: &Section<'_>, profile: &str) -> Result<Sourced<Network>, Problem> {
    const FIX: &str = "write \"off\", \"allowlist\" or \"open\"";
    table.only(&["mode", "hosts", "allow_private"])?;
    let Some(mode) = table.get("mode") else {
        return Err(entry.problem(format!("{} has no `mode`", table.name()), format!("{FIX} as its `mode`")));
    };
    let word = mode.text(FIX)?;
    if profile == READONLY && word != "off" && MODES.contains(&word) {
        let what = format!("profile `readonly` cannot have the network mode \"{word}\"");
        return Err(
            mode.problem(what, "write \"off\", or use another profile: plans are made under this one")
        );
    }
    let (hosts, private) = (table.get("hosts"), table.get("allow_private"));
    let network = match (word, hosts.as_ref().or(private.as_ref())) {
        ("allowlist", _) => Network::Allowlist {
            hosts: hosts.map_or(Ok(vec![]), |entry| host_list(&entry))?,
            allow_private: private.map_or(Ok(vec![]), |entry| networks(&entry))?,
        },
        ("off" | "open", Some(listed)) => {
            let what = format!("{} has no meaning when `mode` is \"{word}\"", listed.label());
            return Err(listed.problem(what, "remove it, or write `mode = \"allowlist\"`"));
        }
        ("off", None) => Network::Off,
        ("open", None) => Network::Open,
        _ => {
            let what = format!("unknown network mode \"{}\" in {}", shorten(word), table.name());
            return Err(mode.problem(what, suggest(word, "modes", MODES)));
        }
    };
    Ok(Sourced::new(network, mode.source()))
}

fn unknown_hosts(entry: &Entry<'_>, network: &Sourced<Network>) -> Result<Sourced<UnknownHosts>, Problem> {
    const FIX: &str = "write \"deny\", \"ask\" or \"ask-weak\"";
    let unknown = match entry.text(FIX)? {
        "deny" => UnknownHosts::Deny,
        // The client's own programs may be able to answer for the person.
        "ask" if matches!(entry.source(), Source::Managed(_)) => UnknownHosts::AskApprover,
        "ask" => UnknownHosts::Ask,
        "ask-weak" => UnknownHosts::AskWeak,
        other => return Err(entry.problem(format!("{} is \"{}\"", entry.label(), shorten(other)), FIX)),
    };
    if unknown.asks() && !matches!(network.value, Network::Allowlist { .. }) {
        let (mode, by) = (&network.value, network.source.beside(entry.source()));
        let what = format!("{} has no effect under the network mode \"{mode}\"{by}", entry.label());
        let fix = match network.source {
            Source::Managed(_) => "remove it: only the administrator can change that",
            _ => "remove it, or write `mode = \"allowlist\"`",
        };
        return Err(entry.problem(what, fix));
    }
    Ok(Sourced::new(unknown, entry.source()))
}

/// Parses the published ports. Those below 1024 belong to services of the machine.
fn publish(entry: &Entry<'_>, profile: &str) -> Result<Vec<Sourced<u16>>, Problem> {
    let mut ports: Vec<Sourced<u16>> = Vec::new();
    for item in entry.list("write a list of ports, such as [8080]")? {
        let port = number(&item, &(1024..=u16::MAX))?;
        if port == PROXY_PORT {
            let what = format!("{} has {port}, which is the port of the proxy for commands", entry.label());
            return Err(item.problem(what, "write another port"));
        }
        if ports.iter().any(|known| known.value == port) {
            return Err(item.problem(format!("{} has {port} twice", entry.label()), "write it once"));
        }
        ports.push(Sourced::new(port, item.source()));
    }
    if profile == READONLY && !ports.is_empty() {
        let what = "profile `readonly` cannot publish ports";
        return Err(
            entry.problem(what, "leave `publish` out, or use another profile: plans are made under this one")
        );
    }
    if ports.len() > MAX_PUBLISHED {
        let what = format!("{} has {} entries", entry.label(), ports.len());
        return Err(entry.problem(what, format!("write at most {MAX_PUBLISHED}")));
    }
    Ok(ports)
}

/// Parses the services of the machine. Plans are made under `readonly`, and a service can be changed through its socket.
fn local(entry: &Entry<'_>, profile: &str) -> Result<Vec<LocalRule>, Problem> {
    let rule = |item: &Entry<'_>, text: &str| LocalRule::parse(text, item.source());
    let rules = list(entry, "write a list of services, such as [\"127.0.0.1:5432\"]", rule)?;
    if profile == READONLY && !rules.is_empty() {
        let what = "profile `readonly` cannot have services of the machine";
        return Err(
            entry.problem(what, "leave `local` out, or use another profile: plans are made under this one")
        );
    }
    if rules.len() > MAX_LOCAL {
        let what = format!("{} has {} entries", entry.label(), rules.len());
        return Err(entry.problem(what, format!("write at most {MAX_LOCAL}")));
    }
    let is_repeated =
        |(at, rule): &(usize, &LocalRule)| rules[..*at].iter().any(|other| other.service == rule.service);
    if let Some((_, rule)) = rules.iter().enumerate().find(is_repeated) {
        return Err(
            entry.problem(format!("{} has \"{}\" twice", entry.label(), rule.service), "write it once")
        );
    }
    Ok(rules)
}

fn host_list(entry: &Entry<'_>) -> Result<Vec<HostRule>, Problem> {
    let rule = |item: &Entry<'_>, text: &str| HostRule::parse(text, item.source());
    list(entry, "write a list of hosts, such as [\"example.com\", \"*.example.org\"]", rule)
}

/// Parses a list of networks outside the public internet.
pub(super) fn networks(entry: &Entry<'_>) -> Result<Vec<NetworkRule>, Problem> {
    let rule = |item: &Entry<'_>, text: &str| NetworkRule::parse(text, item.source());
    list(entry, "write a list of networks, such as [\"10.1.0.0/16\"]", rule)
}

fn env(section: &Section<'_>, env: &mut EnvRules, origins: &mut Origins) -> Result<(), Problem> {
    section.only(&["pass", "set"])?;
    if let Some(entry) = section.get("pass") {
        origins.pass = entry.source();
        let name = |item: &Entry<'_>, text: &str| {
            variable::check(text).map(|()| Sourced::new(text.to_owned(), item.source()))
        };
        env.pass = list(&entry, "write a list of names, such as [\"LANG\", \"TZ\"]", name)?;
    }
    if let Some(entry) = section.get("set") {
        origins.set = entry.key_source();
        env.set = BTreeMap::new();
        for (name, entry) in entry.section(&section.child("set"))?.entries() {
            env.set.insert(name.to_owned(), variable(name, &entry)?);
        }
        if env.set.len() > MAX_VARIABLES {
            let what = format!("{} has {} entries", entry.label(), env.set.len());
            return Err(entry.problem(what, format!("write at most {MAX_VARIABLES}")));
        }
    }
    Ok(())
}

fn variable(name: &str, entry: &Entry<'_>) -> Result<Sourced<String>, Problem> {
    variable::check(name).map_err(|invalid| entry.invalid(&invalid))?;
    let text = entry.text("write a string, such as \"1\"")?;
    if text.contains('\0') {
        return Err(entry.problem(format!("{} has a NUL character", entry.label()), "write it without"));
    }
    Ok(Sourced::new(text.to_owned(), entry.source()))
}

fn limits(section: &Section<'_>, limits: &mut Limits, origins: &mut Origins) -> Result<(), Problem> {
    section.only(LIMITS)?;
    let set_number = |key: &str, range, old: &mut u64, origin: &mut Source| -> Result<(), Problem> {
        let Some(entry) = section.get(key) else { return Ok(()) };
        *old = number(&entry, &range)?;
        *origin = entry.source();
        Ok(())
    };
    let set_size = |key: &str, least, old: &mut u64, origin: &mut Source| -> Result<(), Problem> {
        let Some(entry) = section.get(key) else { return Ok(()) };
        *old = size(&entry, least)?;
        *origin = entry.source();
        Ok(())
    };
    if let Some(entry) = section.get("processes") {
        limits.processes = number(&entry, &(8..=32_768))?;
        origins.processes = entry.source();
    }
    set_size("memory", 16 * MIB, &mut limits.memory, &mut origins.memory)?;
    set_number("open_files", 16..=1_048_576, &mut limits.open_files, &mut origins.open_files)?;
    set_size("file_size", MIB, &mut limits.file_size, &mut origins.file_size)?;
    set_size("tmp", MIB, &mut limits.tmp, &mut origins.tmp)
}
