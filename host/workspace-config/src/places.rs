//! Resolves the places of a policy on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use scorpiox_fs::{Resolver, Trail, Writable, resolve};
use scorpiox_policy::{DenyRule, DenySet, PathRule, Places, Policy};

use crate::{OperatorError, Site, SkillsUnread};

/// Resolves all places of a policy to their current paths; its denials also apply in the folders `granted`.
pub(crate) fn places(site: &Site, policy: &Policy, granted: &[PathBuf]) -> Result<Places, SkillsUnread> {
    let (places, writable) = (site.places(policy), site.writable(policy));
    let profiles = policy.shell.profiles.values();
    let shell = profiles.flat_map(|profile| profile.read.iter().chain(&profile.write));
    let shell = shell.chain(&policy.files.read).chain(policy.workspaces.rules());
    let calls = policy.conditions().flat_map(|conditions| &conditions.workspaces);
    let named = shell.map(|rule| &rule.place).chain(calls).flat_map(|place| places.folders(place));
    // Profiles share many places, so each is resolved once.
    let named: BTreeSet<_> = named.chain(denied(policy).filter_map(|rule| rule.head(&places))).collect();
    // A path that a command could have redirected is not resolved.
    let mut resolver = Resolver::new(&writable);
    let real = named.into_iter().filter_map(|path| resolver.resolve(&path).ok().map(|real| (path, real)));
    let real = real.filter(|(path, real)| path != real).collect();
    let mut places = Places { real, skills: skills(site, &writable)?, ..places };
    places.leads = leads(policy, &places, granted);
    Ok(places)
}

/// Returns the places for the check of the workspace itself: links in folders of `[workspaces]` are resolved, except
/// where a command could have redirected them.
pub(crate) fn workspace_places(site: &Site, policy: &Policy) -> Places {
    let places = site.usual_places();
    let named: BTreeSet<_> = policy.workspaces.rules().flat_map(|rule| places.folders(&rule.place)).collect();
    if named.is_empty() {
        return places;
    }
    let writable = site.writable(policy);
    let mut resolver = Resolver::new(&writable);
    let real = named.into_iter().filter_map(|path| resolver.resolve(&path).ok().map(|real| (path, real)));
    let real = real.filter(|(path, real)| path != real).collect();
    Places { real, ..places }
}

/// Returns the folders of `[workspaces]` that are reached by links: the rule, its path, and the folder that counts,
/// or `None` if commands can change where it leads.
pub(crate) fn linked_workspaces(site: &Site, policy: &Policy) -> Vec<LinkedWorkspace> {
    let (usual, places) = (site.usual_places(), workspace_places(site, policy));
    let linked = |rule: &PathRule| {
        let (path, counts) = (usual.folders(&rule.place).pop()?, places.folders(&rule.place).pop()?);
        let real = dunce::canonicalize(&path).ok()?;
        (real != path)
            .then(|| LinkedWorkspace { rule: rule.clone(), leads_to: (counts == real).then(|| real.clone()) })
    };
    policy.workspaces.rules().filter_map(linked).collect()
}

/// A folder of `[workspaces]` that is reached by a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedWorkspace {
    /// The entry of `allow`.
    pub rule: PathRule,
    /// Folder that counts; `None` if commands can change the link, so that it is not followed.
    pub leads_to: Option<PathBuf>,
}

/// Returns all globs of `deny`, from the profiles and from `[files]`.
fn denied(policy: &Policy) -> impl Iterator<Item = &DenyRule> {
    policy.shell.profiles.values().flat_map(|profile| &profile.deny).chain(&policy.files.deny)
}

/// Resolves the paths that deny globs name.
fn leads(policy: &Policy, places: &Places, granted: &[PathBuf]) -> BTreeMap<PathBuf, PathBuf> {
    let rules: Vec<_> = denied(policy).filter(|rule| rule.has_head()).cloned().collect();
    let read = policy.files.read.iter().flat_map(|rule| places.folders(&rule.place));
    let folders: Vec<_> = read.chain([places.workspace.clone()]).chain(granted.iter().cloned()).collect();
    let heads: BTreeSet<_> = DenySet::new(&rules, &folders, places).heads(places).into_iter().collect();
    let led = heads.into_iter().filter_map(|head| Trail::follow(&head).ok().map(|trail| (head, trail.end)));
    led.filter(|(head, end)| head != end).collect()
}

/// Returns the folders of skills outside the workspace, which commands may read. Excludes a folder that
/// contains more than a skill, such as the home folder or this program's own.
fn skills(site: &Site, writable: &Writable) -> Result<Vec<PathBuf>, SkillsUnread> {
    let sources = site.skills.sources_outside()?.into_iter();
    let folders =
        sources.filter_map(|source| resolve(&source.path, writable).ok()).filter(|path| path.is_dir());
    let holds_more = |folder: &PathBuf| {
        let inside = [Some(&site.workspace), site.home.as_ref(), Some(&site.own_home)];
        inside.into_iter().flatten().any(|path| path.starts_with(folder))
    };
    let mut folders: Vec<_> =
        folders.filter(|folder| !folder.starts_with(&site.workspace) && !holds_more(folder)).collect();
    folders.sort();
    folders.dedup();
    Ok(folders)
}

/// Checks that the workspace's commands can neither write nor redirect the policy file.
pub(crate) fn check_policy_place(site: &Site, policy: &Path) -> Result<(), OperatorError> {
    let trail = Trail::follow(policy)
        .map_err(|lost| OperatorError::Lost { path: policy.to_owned(), error: lost.into() })?;
    let is_open = |path: &&PathBuf| path.starts_with(&site.workspace) && !path.starts_with(&site.own_home);
    match trail.links.iter().chain([&trail.end]).find(is_open) {
        None => Ok(()),
        Some(path) => Err(OperatorError::Misplaced(format!(
            "{} leads to {}, in the workspace, where commands can write; put the file itself into {}",
            policy.display(),
            path.display(),
            site.own_home.display()
        ))),
    }
}

/// Returns the existing paths, resolved and without duplicates.
pub fn existing(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<_> = paths.iter().filter_map(|path| dunce::canonicalize(path).ok()).collect();
    found.sort();
    found.dedup();
    found
}
