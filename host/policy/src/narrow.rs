//! Intersects two profiles: a grant removes access and never adds any.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::rule::{
    DenyRule, HostRule, LocalRule, PathRule, Place, Places, Source, Sourced, has_protected_name,
};

use crate::profile::{EnvRules, Limits, Network, Origins, Profile};

impl Profile {
    /// Returns the access that both profiles allow on a machine with these places.
    #[must_use]
    pub fn narrowed(&self, by: &Profile, places: &Places) -> Profile {
        let mut write = meet_all(&self.write, &by.write, places);
        // Relative to a folder inside a protected one, no name is protected, so such folders are dropped. So
        // are folders that one profile makes readable inside a folder that the other one writes.
        write.retain(|rule| {
            [self, by].iter().all(|profile| {
                !is_protected(&rule.place, profile, places) && may_write(&rule.place, profile, places)
            })
        });
        // Writable places are readable, so they take part in the intersection of `read`.
        let readable =
            |profile: &Profile| -> Vec<_> { profile.read.iter().chain(&profile.write).cloned().collect() };
        let mut read = meet_all(&readable(self), &readable(by), places);
        read.retain(|rule| write.iter().all(|other| other.place != rule.place));
        let (limits, origins) = limits(self, by);
        Profile {
            name: if self.name == by.name { self.name.clone() } else { format!("{}+{}", self.name, by.name) },
            read,
            write,
            deny: union(self, by),
            network: network(&self.network, &by.network),
            unknown_hosts: least(&self.unknown_hosts, &by.unknown_hosts),
            local: local(&self.local, &by.local),
            publish: publish(&self.publish, &by.publish),
            env: env(&self.env, &by.env),
            limits,
            origins,
            outer: self.outer.clone().or_else(|| by.outer.clone()),
        }
    }
}

/// Returns `true` if a place lies inside a folder that the profile may write, but under a protected name.
fn is_protected(place: &Place, profile: &Profile, places: &Places) -> bool {
    let folders = |place: &Place| if *place == Place::Tmp { Vec::new() } else { places.folders(place) };
    let written: Vec<PathBuf> = profile.write.iter().flat_map(|rule| folders(&rule.place)).collect();
    folders(place).iter().any(|path| {
        let mut inside = written.iter().filter_map(|folder| path.strip_prefix(folder).ok());
        inside.any(has_protected_name)
    })
}

/// Returns `true` if the profile makes no folder of the place read-only.
fn may_write(place: &Place, profile: &Profile, places: &Places) -> bool {
    *place == Place::Tmp || places.folders(place).iter().all(|folder| profile.writes_in(folder, places))
}

/// Returns the places that both lists cover.
pub(crate) fn meet_all(own: &[PathRule], by: &[PathRule], places: &Places) -> Vec<PathRule> {
    if own == by {
        return own.to_vec();
    }
    let mut met: Vec<PathRule> = Vec::new();
    for a in own {
        for b in by {
            let found = meet(a, b, places);
            for rule in found {
                if met.iter().all(|other| other.place != rule.place) {
                    met.push(rule);
                }
            }
        }
    }
    met
}

/// Returns the inner one of two nested places.
fn meet(a: &PathRule, b: &PathRule, places: &Places) -> Vec<PathRule> {
    // On Windows, other drives are not below the root.
    let root = places.root();
    let is_below = |other: &Place| {
        !cfg!(windows) || places.folders(other).iter().all(|folder| folder.starts_with(&root))
    };
    let covers = |one: &Place, other: &Place| *one == Place::Path(PathBuf::from("/")) && is_below(other);
    if a.place == b.place || covers(&b.place, &a.place) {
        return vec![a.clone()];
    }
    if covers(&a.place, &b.place) {
        return vec![b.clone()];
    }
    if let (Place::Path(one), Place::Path(other)) = (&a.place, &b.place) {
        let deeper = deeper(one, other, a, b);
        if deeper.is_some() {
            return deeper.into_iter().cloned().collect();
        }
    }
    // A command's private @tmp is not a folder of the machine, wherever it is mounted.
    if [a, b].iter().any(|rule| rule.place == Place::Tmp) {
        return Vec::new();
    }
    meet_folders(a, b, places)
}

fn deeper<T>(one: &Path, other: &Path, a: T, b: T) -> Option<T> {
    if one.starts_with(other) { Some(a) } else { other.starts_with(one).then_some(b) }
}

fn meet_folders(a: &PathRule, b: &PathRule, places: &Places) -> Vec<PathRule> {
    let others = places.folders(&b.place);
    let pairs =
        places.folders(&a.place).into_iter().flat_map(|one| others.iter().map(move |two| (one.clone(), two)));
    let met = pairs.filter_map(|(one, two)| {
        let (folder, source) = deeper(&one, two, (&one, a.source), (two, b.source))?;
        Some(PathRule { place: Place::Path(folder.clone()), source })
    });
    met.collect()
}

/// Returns the union of both `deny` lists. Each glob stays tied to the folders of its original profile, so
/// that narrowing to an inner folder does not weaken it.
fn union(own: &Profile, by: &Profile) -> Vec<DenyRule> {
    if own.deny == by.deny && own.deny_places() == by.deny_places() {
        return own.deny.clone();
    }
    let tied = |profile: &Profile| -> Vec<_> {
        let places = profile.deny_places();
        profile.deny.iter().map(|rule| rule.tied_to(&places)).collect()
    };
    let mut all = tied(own);
    for rule in tied(by) {
        if !all.iter().any(|other| rule.says_no_more_than(other)) {
            all.push(rule);
        }
    }
    all
}

/// Returns the smaller value, with its source.
pub(crate) fn least<T: Ord + Clone>(own: &Sourced<T>, by: &Sourced<T>) -> Sourced<T> {
    if by.value < own.value { by.clone() } else { own.clone() }
}

fn network(own: &Sourced<Network>, by: &Sourced<Network>) -> Sourced<Network> {
    match (&own.value, &by.value) {
        (Network::Off, _) | (_, Network::Open) => own.clone(),
        (_, Network::Off) | (Network::Open, _) => by.clone(),
        (
            Network::Allowlist { hosts: a, allow_private: near },
            Network::Allowlist { hosts: b, allow_private: other_near },
        ) => {
            let mut hosts: Vec<HostRule> = Vec::new();
            for rule in a.iter().flat_map(|one| b.iter().filter_map(|other| one.meet(other))) {
                if hosts.iter().all(|other| (&other.pattern, other.port) != (&rule.pattern, rule.port)) {
                    hosts.push(rule);
                }
            }
            let networks = near.iter().flat_map(|one| other_near.iter().filter_map(|other| one.meet(other)));
            let allow_private = networks.collect();
            Sourced::new(Network::Allowlist { hosts, allow_private }, by.source)
        }
    }
}

/// Returns the ports that both profiles publish.
fn publish(own: &[Sourced<u16>], by: &[Sourced<u16>]) -> Vec<Sourced<u16>> {
    let is_in_both = |port: &&Sourced<u16>| by.iter().any(|other| other.value == port.value);
    own.iter().filter(is_in_both).cloned().collect()
}

/// Returns the services that both profiles open.
fn local(own: &[LocalRule], by: &[LocalRule]) -> Vec<LocalRule> {
    let is_in_both = |rule: &&LocalRule| by.iter().any(|other| other.service == rule.service);
    own.iter().filter(is_in_both).cloned().collect()
}

/// Returns the variables that both profiles allow. A profile allows pairs of a name and a value: `pass`
/// allows any value, `set` a single one. Both allow a pair if both pass it, if one sets and the other passes
/// it, or if both set the same value.
fn env(own: &EnvRules, by: &EnvRules) -> EnvRules {
    let passes = |env: &EnvRules, name: &str| {
        !env.set.contains_key(name) && env.pass.iter().any(|passed| passed.value == name)
    };
    let pass = own.pass.iter().filter(|name| passes(own, &name.value) && passes(by, &name.value));
    let set_by = by.set.iter().filter(|(name, value)| {
        passes(own, name) || own.set.get(*name).is_some_and(|own| own.value == value.value)
    });
    let set_own = own.set.iter().filter(|(name, _)| passes(by, name));
    let set: BTreeMap<_, _> =
        set_by.chain(set_own).map(|(name, value)| (name.clone(), value.clone())).collect();
    EnvRules { pass: pass.cloned().collect(), set }
}

fn limits(own: &Profile, by: &Profile) -> (Limits, Origins) {
    fn least<T: Ord + Copy>(own: (T, Source), by: (T, Source)) -> (T, Source) {
        if by.0 < own.0 { by } else { own }
    }
    let (a, b, from, other) = (&own.limits, &by.limits, &own.origins, &by.origins);
    let processes = least((a.processes, from.processes), (b.processes, other.processes));
    let memory = least((a.memory, from.memory), (b.memory, other.memory));
    let open_files = least((a.open_files, from.open_files), (b.open_files, other.open_files));
    let file_size = least((a.file_size, from.file_size), (b.file_size, other.file_size));
    let tmp = least((a.tmp, from.tmp), (b.tmp, other.tmp));
    let limits = Limits {
        processes: processes.0,
        memory: memory.0,
        open_files: open_files.0,
        file_size: file_size.0,
        tmp: tmp.0,
    };
    let origins = Origins {
        file: own.origins.file,
        processes: processes.1,
        memory: memory.1,
        open_files: open_files.1,
        file_size: file_size.1,
        tmp: tmp.1,
        // The sources of the lists come from the narrowing profile.
        ..*other
    };
    (limits, origins)
}

#[cfg(test)]
mod tests;
