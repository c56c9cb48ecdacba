//! The workspaces that are served, each at a path of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use scorpiox_access::{DEFAULT_WORKSPACE, Principal, ServedWorkspace};
use scorpiox_rules::Source;
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
pub(crate) struct AllServed {
    by_name: BTreeMap<String, Arc<Served>>,
    /// The one that the server was started for.
    first: Arc<Workspace>,
}

/// The reason for which a principal finds no workspace at a path.
pub(crate) struct NoWorkspace {
    /// The part that it is not told: that would say which there are.
    pub(crate) why: String,
    /// The rule that decided it.
    pub(crate) rule: Option<Source>,
}

impl AllServed {
    /// These, which the policy speaks of by their names.
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

    /// Each with its name.
    pub(crate) fn all(&self) -> Vec<(String, Arc<Workspace>)> {
        self.by_name.values().map(|served| (served.name.clone(), Arc::clone(&served.workspace))).collect()
    }

    /// Ends what runs in each.
    pub(crate) fn close(&self) {
        self.by_name.values().for_each(|served| served.workspace.close());
    }

    /// The one at a path, if a principal may work in it: for others it is not there.
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

    /// The workspace that a path is for, whoever asks; of other paths the one that the server was started for.
    pub(crate) fn of_path(&self, path: &str) -> Arc<Workspace> {
        Arc::clone(self.named_in(path).map_or(&self.first, |served| &served.workspace))
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
