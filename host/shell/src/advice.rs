//! Sentences for a result about what the policy kept from a command: programs only print that the system refused it.

use std::path::Path;

use scorpiox_audit::Uses;
use scorpiox_command_output::Complaints;
use scorpiox_egress_proxy::{MAX_CONNECTIONS, Session};
#[cfg(unix)]
use scorpiox_git::tracked_files;
use scorpiox_git::{Hidden, hidden};
use scorpiox_policy::{DEFAULT_PROFILE, READONLY};
use scorpiox_sandbox::{Network, Tier};
use scorpiox_workspace_config::Apart;

use crate::Started;
use crate::met::Met;
use crate::work_trees;

/// Explains why the workspace of a policy with several has no repository outside of it, as the end of a sentence.
const SHARED: &str = ", since workspaces of a policy with several get none by themselves";

impl Started {
    /// Returns advice for the user if the output of a command that succeeded complains that no host can be reached, or no
    /// repository.
    pub(super) fn advice_after_success(&self, complaints: &Complaints, has_refusals: bool) -> Vec<String> {
        let offline = complaints.says_offline().then(|| self.why_offline(has_refusals));
        // A pipe or `||` hides the failure of git.
        let git = complaints.lacks_repository().then(|| self.repository_elsewhere());
        offline.flatten().into_iter().chain(git.flatten()).collect()
    }

    /// Returns advice for the user if the output complains about something that the command cannot see.
    /// `has_refusals` is `true` if the proxy refused a host.
    pub(super) fn advice(&self, complaints: &Complaints, has_refusals: bool) -> Vec<String> {
        let git = complaints.lacks_repository().then(|| self.repository_elsewhere());
        let offline = complaints.is_offline().then(|| self.why_offline(has_refusals));
        offline.flatten().into_iter().chain(git.flatten()).collect()
    }

    /// Explains why a command reaches no host, unless the proxy does.
    fn why_offline(&self, has_refusals: bool) -> Option<String> {
        let Self { profile, network_rule, tier, .. } = self;
        let network = self.cell.plan.spec.network;
        let is_told = has_refusals || !self.unreached().is_empty();
        if *tier == Tier::None || network == Network::Host || is_told {
            return None;
        }
        let under = self.under();
        let remedy = format!("the person can allow a host: `scorpiox-code policy allow host NAME{under}`");
        if network == Network::Proxy {
            let listed = if self.lists_hosts { "only the hosts of its list" } else { "no host" };
            return Some(format!(
                "network: profile {profile} allows {listed} ({network_rule}), and only to programs that use the \
                 proxy in `https_proxy` or `ALL_PROXY`; {remedy}"
            ));
        }
        let off = format!("network: off in profile {profile} ({network_rule}), so no host can be reached");
        Some(match (profile.as_str(), tier) {
            (READONLY, _) => format!("{off}; that profile, under which plans are made, never has one"),
            (_, Tier::T2) => format!(
                "{off}; the person can open it with `network = \"open\"` in [shell.profile.{profile}] of policy.toml"
            ),
            _ => format!("{off}; {remedy}"),
        })
    }

    /// Names the location of the workspace's repository if commands do not see all of it.
    fn repository_elsewhere(&self) -> Option<String> {
        let place = match hidden(self.cell.plan.spec.workspace.as_path())? {
            // The repository of a work tree around the workspace can itself be elsewhere.
            Hidden::Around(tree) if self.sees(&tree.join(".git")) => hidden(&tree)?,
            place => place,
        };
        let is_seen = match &place {
            Hidden::Around(_) => false,
            Hidden::Elsewhere(path) | Hidden::Borrowed(path) => self.sees(path),
        };
        let apart = self.apart();
        let (list, why) = match &place {
            Hidden::Around(_) if apart == Some(Apart::Shared) => ("write", SHARED),
            Hidden::Around(_) => ("read", " completely, and git would take its other files for deleted"),
            Hidden::Elsewhere(_) => ("write", why_apart(apart)),
            Hidden::Borrowed(_) => ("read", ", and nothing shows that this is a fresh clone of it"),
        };
        let how = match &place {
            Hidden::Around(tree) if self.is_around_home(tree) => "start the server there".to_owned(),
            place if place.is_named_like_git() => self.how_to_open(place.path(), list),
            _ => format!("open the right one in `{list}` of [shell.profile.{}] of policy.toml", self.profile),
        };
        (!is_seen).then(|| format!("git: {place}{why}; the person can {how}"))
    }

    /// Returns `true` if commands see a path.
    fn sees(&self, path: &Path) -> bool {
        self.cell.plan.areas.iter().any(|area| path.starts_with(&area.path))
    }

    /// Returns `true` if commands see a path and nothing on its way is denied.
    pub(super) fn sees_all_of(&self, path: &Path) -> bool {
        self.sees(path) && path.ancestors().all(|folder| self.cell.denied().matches(folder).is_none())
    }

    /// Returns the step that adds a path to a list of the profile, after "the person can".
    fn how_to_open(&self, path: &Path, list: &str) -> String {
        let (path, profile) = (path.display().to_string(), &self.profile);
        let Some(path) = scorpiox_text::argument(&path) else {
            return format!("open it with {path:?} in `{list}` of [shell.profile.{profile}] of policy.toml");
        };
        format!("open it: `scorpiox-code policy allow {list} {path}{}`", self.under())
    }

    /// Returns the option of `policy allow` that names the profile, unless it is the default.
    pub(super) fn under(&self) -> String {
        let profile = &self.profile;
        if profile == DEFAULT_PROFILE { String::new() } else { format!(" --profile {profile}") }
    }

    /// Returns `true` if a work tree is, or contains, the home folder, which is never opened for a folder in it.
    fn is_around_home(&self, tree: &Path) -> bool {
        let site = self.operator.site();
        tree.parent().is_none() || site.home.as_ref().is_some_and(|home| home.starts_with(tree))
    }

    /// Returns the reason why an external repository is not opened along with the workspace, if one is known.
    fn apart(&self) -> Option<Apart> {
        let policy = self.operator.policy().ok()?;
        self.operator.site().repository(policy)?.err()
    }

    /// Returns sentences about denied and protected files that the output complains about.
    pub(super) fn about_files(&self, met: &Met) -> Vec<String> {
        // Without a sandbox, the policy closes nothing to commands.
        if self.tier == Tier::None {
            return Vec::new();
        }
        let workspace = self.cell.plan.spec.workspace.as_path();
        let mut sentences = met.sentences(workspace, self.cell.denied());
        sentences.extend(self.about_read_only(met, workspace));
        sentences.extend(self.about_work_trees(met));
        sentences
    }

    /// Names denied files if a program was refused one that it does not name, and no other sentence tells of a refusal.
    pub(super) fn about_unnamed(&self, met: &Met) -> Option<String> {
        if self.tier == Tier::None || !met.has_unnamed() {
            return None;
        }
        let found = self.cell.found();
        let first = found.denied.first()?;
        let rule = self.cell.denied().matches(first)?;
        let shown = scorpiox_text::line::escaped(&first.display().to_string()).into_owned();
        let count = found.denied.len();
        let such = if count == 1 { String::new() } else { format!("{count} paths, such as ") };
        Some(format!(
            "refused: a program does not name the file that it could not open; `deny` closes {such}{shown} ({:?}, {})",
            rule.glob(),
            rule.source
        ))
    }

    /// Explains why git could not delete what it keeps about work trees.
    fn about_work_trees(&self, met: &Met) -> Vec<String> {
        let folders = met.undeleted_work_trees();
        if folders.is_empty() {
            return Vec::new();
        }
        let known = self.cell.trees();
        let mut notes: Vec<_> = folders.into_iter().map(|folder| work_trees::note(folder, &known)).collect();
        notes.dedup();
        notes
    }

    /// Names tracked files that the profile denies, if git complains about changed files: it cannot read them, and takes
    /// them for changed.
    #[cfg(unix)]
    pub(super) fn about_tracked(&self, complaints: &Complaints) -> Option<String> {
        if self.tier == Tier::None || !complaints.has_changed_files() {
            return None;
        }
        let (tree, denied) = (self.cell.plan.spec.workspace.as_path(), self.cell.denied());
        let is_wanted = |path: &Path| {
            let path = tree.join(path);
            denied.matches(&path).is_some() && path.symlink_metadata().is_ok()
        };
        let files = tracked_files(tree, |index| self.sees(index), is_wanted);
        let first = tree.join(files.first()?);
        let rule = denied.matches(&first)?;
        let names: Vec<_> = files.iter().map(|path| path.to_string_lossy()).collect();
        let names = scorpiox_text::line::escaped(&names.join(", ")).into_owned();
        Some(format!(
            "git: {names}: tracked, and closed to commands by {:?} in `deny` ({}): git can take such files for changed, and \
             refuse to check out, merge, stash, rebase and commit them; the person can {}",
            rule.glob(),
            rule.source,
            self.how_to_open(&first, "read")
        ))
    }

    /// Returns `None`: this system does not tell whose an index is.
    #[cfg(not(unix))]
    pub(super) fn about_tracked(&self, _: &Complaints) -> Option<String> {
        None
    }

    /// Explains why a path cannot be written, if the profile is the reason. The path is not cited, because the output chose
    /// it.
    fn about_read_only(&self, met: &Met, workspace: &Path) -> Option<String> {
        let path = met.read_only(workspace, self.cell.denied())?;
        let writes =
            |path: &Path| self.cell.plan.areas.iter().any(|area| area.write && path.starts_with(&area.path));
        let profile = &self.profile;
        if !writes(workspace) {
            let why = if profile == READONLY { ", because plans are made under it" } else { "" };
            return Some(format!("read-only: profile {profile} does not write to the workspace{why}"));
        }
        (!path.starts_with(workspace) && !writes(&path)).then(|| {
            if let Some(absent) = self.about_absent(&path) {
                return absent;
            }
            format!(
                "read-only: commands of profile {profile} write only to the workspace, /tmp, $HOME and the folders in \
                 `write`; the person can add one: `scorpiox-code policy allow write FOLDER{}`",
                self.under()
            )
        })
    }

    /// Records the denied files that the command tried to open.
    pub(super) fn note_met(&self, met: &Met, uses: &Uses) {
        if self.tier != Tier::None {
            met.note(uses, self.cell.plan.spec.workspace.as_path(), self.cell.denied());
        }
    }

    /// Tells of connections that were closed: because too many were open, or because a service did not answer.
    pub(super) fn crowded(&self) -> Vec<String> {
        let unreachable = self.session.as_ref().map(Session::unreachable).unwrap_or_default();
        let count = self.lost_hosts().crowded;
        let crowded = (count > 0).then(|| {
            format!(
                "network: refused for want of a place (503): {count} connections; a command can have {MAX_CONNECTIONS} \
                 open, and fewer while others have many"
            )
        });
        let local = unreachable.into_iter().map(|why| format!("local: {why}"));
        let hosts = self.unreached().into_iter().map(|why| format!("network: {why}"));
        crowded.into_iter().chain(local).chain(hosts).collect()
    }

    /// Returns the allowed hosts that the proxy could not reach, each with the reason.
    fn unreached(&self) -> Vec<String> {
        self.session.as_ref().map(Session::unreached).unwrap_or_default()
    }
}

/// Explains why an external repository does not belong to a workspace, as the end of a sentence.
const fn why_apart(apart: Option<Apart>) -> &'static str {
    match apart {
        Some(Apart::Shared) => SHARED,
        Some(Apart::Later) => ", since the folder did not lead there before the first command ran in it",
        None => ", and nothing says that it is this folder's",
    }
}
