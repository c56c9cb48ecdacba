//! The workspaces that are served, each at a path of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use scorpiox_access::{DEFAULT_WORKSPACE, Principal, ServedWorkspace};
use scorpiox_seal::{Seal, Secret};
use scorpiox_server::Workspace;
use serde_json::json;

use crate::endpoint::PATH;

/// A workspace that is served.
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) workspace: Arc<Workspace>,
    /// Who may work in it; none where everybody may.
    rule: Option<ServedWorkspace>,
}

/// Who sends a request, and where to.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) principal: Arc<Principal>,
    /// Until when it may, in seconds; always, if there is none.
    pub(crate) until: Option<u64>,
    pub(crate) served: Arc<Served>,
}

impl Served {
    /// The path of its endpoint.
    pub(crate) fn path(&self) -> String {
        if self.name == DEFAULT_WORKSPACE { PATH.to_owned() } else { format!("/w/{}{PATH}", self.name) }
    }
}

impl Caller {
    /// What a session or a state of a request is bound to: nobody else finds it, and nobody elsewhere.
    /// A token that is good for other things begins another session: what was checked of it is remembered there.
    pub(crate) fn binding(&self) -> [String; 2] {
        let Principal { scopes, groups, .. } = &*self.principal;
        // As JSON, in which no two lists look alike: names of groups may have blanks.
        [self.served.name.clone(), json!([self.principal.key(), scopes, groups]).to_string()]
    }

    /// Whether what is bound to the one is the other's.
    pub(crate) fn is_bound_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.served, &other.served)
            && (Arc::ptr_eq(&self.principal, &other.principal) || self.principal == other.principal)
    }

    /// The seal of what this one carries along.
    pub(crate) fn states(&self, secret: &Secret) -> Arc<Seal> {
        let (workspace, principal) = (&self.served.name, self.principal.key());
        Arc::new(Seal::of(secret, &format!("states {workspace} {principal}")))
    }
}

/// All of them, by name.
pub(crate) struct AllServed(BTreeMap<String, Arc<Served>>);

impl AllServed {
    /// These, which the policy speaks of by their names.
    pub(crate) fn new(
        workspaces: impl IntoIterator<Item = (String, Arc<Workspace>)>,
        rules: &BTreeMap<String, ServedWorkspace>,
    ) -> Self {
        let served = |(name, workspace): (String, Arc<Workspace>)| {
            let rule = rules.get(&name).cloned();
            (name.clone(), Arc::new(Served { name, workspace, rule }))
        };
        Self(workspaces.into_iter().map(served).collect())
    }

    /// Each with its name.
    pub(crate) fn all(&self) -> Vec<(String, Arc<Workspace>)> {
        self.0.values().map(|served| (served.name.clone(), Arc::clone(&served.workspace))).collect()
    }

    /// Ends what runs in each.
    pub(crate) fn close(&self) {
        self.0.values().for_each(|served| served.workspace.close());
    }

    /// The one at a path, if a principal may work in it: for others it is not there.
    pub(crate) fn at(&self, path: &str, principal: &Principal) -> Option<Arc<Served>> {
        let served = self.0.get(name_in(path)?)?;
        served.rule.as_ref().is_none_or(|rule| rule.who.admits(principal)).then(|| Arc::clone(served))
    }
}

/// The name of the workspace that a path of an endpoint is for; none of a path that no endpoint has.
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
