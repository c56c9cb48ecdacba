//! Built-in profiles.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::rule::{DenyRule, PathRule, Place, Source, Sourced, Tier};

use crate::profile::{DEFAULT_PROFILE, EnvRules, Limits, Network, Origins, Profile, READONLY, UnknownHosts};
use crate::shell::ShellPolicy;

const GIB: u64 = 1 << 30;

/// Data of a built-in profile.
struct Builtin {
    name: &'static str,
    read: &'static [Place],
    write: &'static [Place],
    network: Mode,
}

enum Mode {
    Off,
    /// Only hosts that the operator lists: any host that accepts packages could be used to exfiltrate data.
    /// Unlike without a network, a refused host is known by its name.
    Listed,
    Open,
}

const PROFILES: [Builtin; 4] = [
    Builtin { name: DEFAULT_PROFILE, read: PROGRAMS, write: PROJECT, network: Mode::Listed },
    Builtin { name: READONLY, read: PROGRAMS_AND_PROJECT, write: &[Place::Tmp], network: Mode::Off },
    Builtin { name: "build", read: PROGRAMS, write: PROJECT, network: Mode::Listed },
    Builtin { name: "open", read: PROGRAMS, write: PROJECT, network: Mode::Open },
];

const PROGRAMS: &[Place] = &[Place::System, Place::Toolchains, Place::Skills];
const PROGRAMS_AND_PROJECT: &[Place] = &[Place::System, Place::Toolchains, Place::Skills, Place::Workspace];
const PROJECT: &[Place] = &[Place::Workspace, Place::Tmp];

/// Files that usually contain secrets. Projects publish those that are left out, with placeholders for values.
const DENIED: &[&str] = &["**/.env!(*.example|*.sample|*.template|*.dist|*.defaults)"];
const PASSED: &[&str] = &["LANG", "LC_ALL", "TZ"];
const SET: &[(&str, &str)] = &[("CI", "1")];
const LIMITS: Limits =
    Limits { processes: 512, memory: 4 * GIB, open_files: 4096, file_size: 16 * GIB, tmp: GIB };

pub(crate) fn shell() -> ShellPolicy {
    ShellPolicy {
        min_tier: Sourced::builtin(Tier::T2),
        allow_unsandboxed: Sourced::builtin(false),
        default_timeout: Sourced::builtin(Duration::from_secs(30)),
        max_timeout: Sourced::builtin(Duration::from_mins(10)),
        max_background_tasks: Sourced::builtin(16),
        profiles: profiles(),
    }
}

fn profiles() -> BTreeMap<String, Profile> {
    PROFILES.iter().map(|data| (data.name.to_owned(), profile(data))).collect()
}

fn profile(data: &Builtin) -> Profile {
    let places = |list: &[Place]| {
        list.iter().map(|place| PathRule { place: place.clone(), source: Source::Builtin }).collect()
    };
    let set = SET.iter().map(|(name, value)| ((*name).to_owned(), Sourced::builtin((*value).to_owned())));
    Profile {
        name: data.name.to_owned(),
        read: places(data.read),
        write: places(data.write),
        deny: denied(),
        network: Sourced::builtin(network(&data.network)),
        unknown_hosts: Sourced::builtin(UnknownHosts::Deny),
        local: Vec::new(),
        publish: Vec::new(),
        env: EnvRules {
            pass: PASSED.iter().map(|name| Sourced::builtin((*name).to_owned())).collect(),
            set: set.collect(),
        },
        limits: LIMITS,
        origins: Origins::BUILTIN,
        outer: None,
    }
}

/// Returns the deny rules for files that usually contain secrets.
pub(crate) fn denied() -> Vec<DenyRule> {
    // An invalid glob would be dropped silently; a test checks that all of `DENIED` is valid.
    DENIED.iter().filter_map(|glob| DenyRule::parse(glob, Source::Builtin).ok()).collect()
}

fn network(mode: &Mode) -> Network {
    match mode {
        Mode::Off => Network::Off,
        Mode::Open => Network::Open,
        Mode::Listed => Network::Allowlist { hosts: Vec::new(), allow_private: Vec::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_glob_of_the_built_in_profiles_is_valid_and_none_names_a_host() {
        let profiles = profiles();
        assert_eq!(profiles.keys().collect::<Vec<_>>(), ["build", "open", "readonly", "workspace"]);
        assert!(profiles.values().all(|profile| profile.deny.len() == DENIED.len()));
        for name in ["workspace", "build"] {
            let empty = Network::Allowlist { hosts: Vec::new(), allow_private: Vec::new() };
            assert_eq!(profiles[name].network.value, empty, "{name}");
        }
        assert_eq!(profiles["readonly"].network.value, Network::Off);
    }
}
