//! Finds out what a change of the policy opens beyond what its user named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use scorpiox_policy::{DenyRule, Place, Policy};

/// Returns the globs with which `deny` of a profile closed several files before a change, and no longer does.
pub(super) fn globs(before: &Policy, after: &Policy) -> BTreeSet<String> {
    let profiles = before.shell.profiles.iter();
    let pairs = profiles.filter_map(|(name, profile)| Some((profile, after.shell.profiles.get(name)?)));
    let gone = pairs.flat_map(|(before, after)| {
        let stays = |glob: &str| after.deny.iter().any(|rule| rule.glob() == glob);
        before.deny.iter().map(DenyRule::glob).filter(move |glob| !stays(glob))
    });
    // A glob with a folder and without wildcards names a single path.
    let is_one =
        |glob: &&str| glob.trim_end_matches('/').contains('/') && !glob.contains(['*', '?', '[', '{', '!']);
    gone.filter(|glob| !is_one(glob)).map(str::to_owned).collect()
}

/// Returns the folders that a change opens to commands, and that do not exist.
pub(super) fn absent_folders(home: Option<&Path>, before: &Policy, after: &Policy) -> BTreeSet<PathBuf> {
    let named = |policy: &Policy| -> BTreeSet<PathBuf> {
        let profiles = policy.shell.profiles.values();
        let rules = profiles.flat_map(|profile| profile.read.iter().chain(&profile.write));
        let paths =
            rules.filter_map(|rule| if let Place::Path(path) = &rule.place { Some(path) } else { None });
        paths.map(|path| from_home(home, path)).collect()
    };
    named(after).difference(&named(before)).filter(|path| !path.exists()).cloned().collect()
}

fn from_home(home: Option<&Path>, path: &Path) -> PathBuf {
    match (home, path.strip_prefix("~")) {
        (Some(home), Ok(inside)) => home.join(inside),
        _ => path.to_owned(),
    }
}
