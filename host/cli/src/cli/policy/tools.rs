//! Properties of tools on which verdicts depend. They are found once, because many calls may be judged together.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use scorpiox_policy::{Policy, ReadBefore, Unobserved};
use scorpiox_server::Workspace;
use scorpiox_tools::Kind;
use scorpiox_tools::plugins::Plugins;
use scorpiox_workspace_config::Operator;

use super::reads;
use crate::cli::environment::Environment;

/// Known properties of the tools of this workspace.
#[derive(Default)]
pub(super) struct Tools {
    plugins: OnceCell<Plugins>,
    workspace: OnceCell<Arc<Workspace>>,
    authors_names: RefCell<HashMap<String, Option<String>>>,
    ways: RefCell<HashMap<String, Vec<Unobserved>>>,
}

impl Tools {
    /// Returns the name that its author gave a tool of a plugin, if it was renamed.
    pub(super) fn authors_name(&self, environment: &Environment, tool: &str) -> Option<String> {
        if let Some(known) = self.authors_names.borrow().get(tool) {
            return known.clone();
        }
        let plugins = || Plugins::new(Arc::new(Operator::new(environment.site())));
        let name = self.plugins.get_or_init(plugins).authors_name(tool);
        self.authors_names.borrow_mut().insert(tool.to_owned(), name.clone());
        name
    }

    /// Returns the hash of the plugin that a tool belongs to; empty for a built-in tool.
    pub(super) fn component(&self, environment: &Environment, tool: &str) -> String {
        if !tool.contains('.') {
            return String::new();
        }
        let workspace = self.workspace.get_or_init(|| environment.open());
        let plugin = workspace.tool(tool).and_then(|found| match &found.kind {
            Kind::Plugin { component, .. } => component.plugin.as_ref().map(|plugin| plugin.hash.to_string()),
            Kind::Native(_) | Kind::Wasm { .. } => None,
        });
        plugin.unwrap_or_default()
    }

    /// Adds the files that a call of a tool counts as reading.
    pub(super) fn add_reads(
        &self,
        environment: &Environment,
        policy: &Policy,
        tool: &str,
        known: &mut ReadBefore,
    ) {
        if policy.globs_read_before().is_empty() {
            return;
        }
        for way in self.ways(environment, tool) {
            reads::add(policy, tool, way, known);
        }
    }

    /// Returns the ways in which a tool reads files without being observed.
    fn ways(&self, environment: &Environment, tool: &str) -> Vec<Unobserved> {
        if let Some(known) = self.ways.borrow().get(tool) {
            return known.clone();
        }
        let workspace = self.workspace.get_or_init(|| environment.open());
        let ways = workspace.tool(tool).map_or_else(Vec::new, |found| workspace.unobserved_reads(&found));
        self.ways.borrow_mut().insert(tool.to_owned(), ways.clone());
        ways
    }
}
