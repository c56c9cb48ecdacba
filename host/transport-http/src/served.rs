//! The served workspaces, each with its own path.

use std::collections::BTreeMap;
use std::sync::Arc;

use scorpiox_exchange::seal::{Seal, Secret};
use scorpiox_policy::access::{DEFAULT_WORKSPACE, Principal, ServedWorkspace};
use scorpiox_policy::rule::Source;
use scorpiox_server::Workspace;
use serde_json::json;

use crate::endpoint::PATH;
use crate::good::Good;

/// A served workspace.
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) workspace: Arc<Workspace>,
    /// Rule for access; `None` if every principal has access.
    rule: Option<ServedWorkspace>,
}

/// The authenticated sender of a request, and the workspace it is for.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) principal: Arc<Principal>,
    /// Time for which the authentication is good.
    pub(crate) good: Good,
    pub(crate) served: Arc<Served>,
}

impl Served {
    /// Returns the path of the workspace's endpoint.
    pub(crate) fn path(&self) -> String {
        if self.name == DEFAULT_WORKSPACE { PATH.to_owned() } else { format!("/w/{}{PATH}", self.name) }
    }
}

impl Caller {
    /// Returns the identity to which sessions and request states are bound, so that only this caller finds
    /// them. A token with other scopes or groups starts another session, because a session caches the result
    /// of access checks.
    pub(crate) fn binding(&self) -> [String; 2] {
        let Principal { scopes, groups, .. } = &*self.principal;
        // JSON is unambiguous, even for group names with spaces.
        [self.served.name.clone(), json!([self.principal.key(), scopes, groups]).to_string()]
    }

    /// Returns `true` if both callers have the same binding.
    pub(crate) fn is_bound_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.served, &other.served)
            && (Arc::ptr_eq(&self.principal, &other.principal) || self.principal == other.principal)
    }

    /// Returns the seal for states that this caller's client stores.
    pub(crate) fn states(&self, secret: &Secret) -> Arc<Seal> {
        let (workspace, principal) = (&self.served.name, self.principal.key());
        Arc::new(Seal::of(secret, &format!("states {workspace} {principal}")))
    }
}

/// All served workspaces, by name.
pub(crate) struct AllServed {
    by_name: BTreeMap<String, Arc<Served>>,
    /// Workspace that the server was started for.
    first: Arc<Workspace>,
}

/// Reason why a principal finds no workspace at a path.
pub(crate) struct NoWorkspace {
    /// Explanation for the log. The caller does not see it, because it reveals which workspaces exist.
    pub(crate) why: String,
    /// Rule that decided it.
    pub(crate) rule: Option<Source>,
}

impl AllServed {
    /// Creates the set from workspaces and the policy's rules for their names.
    pub(crate) fn new(
        workspaces: impl IntoIterator<Item = (String, Arc<Workspace>)>,
        first: Arc<Workspace>,
        rules: &BTreeMap<String, ServedWorkspace>,
    ) -> Self {
        let served = |(name, workspace): (String, Arc<Workspace>)| {
            let rule = rules.get(&name).cloned();
            (name.clone(), Arc::new(Served { name, workspace, rule }))
        };
        Self { by_name: workspaces.into_iter().map(served).collect(), first }
    }

    /// Returns all workspaces with their names.
    pub(crate) fn all(&self) -> Vec<(String, Arc<Workspace>)> {
        self.by_name.values().map(|served| (served.name.clone(), Arc::clone(&served.workspace))).collect()
    }

    /// Returns all workspaces.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.by_name.values()
    }

    /// Closes all workspaces.
    pub(crate) fn close(&self) {
        self.by_name.values().for_each(|served| served.workspace.close());
    }

    /// Returns the workspace at a path, if the principal has access. Otherwise it appears not to exist.
    pub(crate) fn at(&self, path: &str, principal: &Principal) -> Result<Arc<Served>, NoWorkspace> {
        let Some(served) = self.named_in(path) else {
            return Err(NoWorkspace { why: "there is no workspace of that name".to_owned(), rule: None });
        };
        match served.rule.as_ref().filter(|rule| !rule.who.admits(principal)) {
            None => Ok(Arc::clone(served)),
            Some(rule) => Err(NoWorkspace {
                why: format!("{} may not work in the workspace {}", principal.name, served.name),
                rule: Some(rule.source),
            }),
        }
    }

    fn named_in(&self, path: &str) -> Option<&Arc<Served>> {
        self.by_name.get(name_in(path)?)
    }

    /// Returns the workspace for the audit of a path, without checking access. Other paths belong to the
    /// workspace that the server was started for.
    pub(crate) fn of_path(&self, path: &str) -> Arc<Workspace> {
        Arc::clone(self.named_in(path).map_or(&self.first, |served| &served.workspace))
    }
}

/// Returns the workspace name in the path of an endpoint, or `None` for any other path.
pub(crate) fn name_in(path: &str) -> Option<&str> {
    if path == PATH {
        return Some(DEFAULT_WORKSPACE);
    }
    let name = path.strip_prefix("/w/")?.strip_suffix(PATH)?;
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_for_one_workspace() {
        assert_eq!((name_in("/mcp"), name_in("/w/web/mcp")), (Some("default"), Some("web")));
        for other in ["/", "/mcp/", "/w/mcp", "/w//mcp", "/w/a/b/mcp", "/w/a/mcp/", "/W/a/mcp", "/x/mcp"] {
            assert_eq!(name_in(other), None, "{other}");
        }
    }
}
