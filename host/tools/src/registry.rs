//! The built-in tools of a server.

use std::sync::Arc;

use super::{Definition, Kind, Tool};

/// The tools in listing order.
pub struct Registry {
    tools: Vec<Arc<Tool>>,
}

impl Registry {
    /// Creates a registry of these tools. Their names must differ.
    pub fn new(tools: Vec<Tool>) -> Self {
        debug_assert!(
            (1..tools.len()).all(|i| tools[..i].iter().all(|t| t.name != tools[i].name)),
            "tool names must be unique"
        );
        Self { tools: tools.into_iter().map(Arc::new).collect() }
    }

    /// Returns the tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Returns all tools.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter()
    }

    /// Returns all names.
    pub fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_ref()).collect()
    }
}

impl Tool {
    /// Returns `true` if the tool is only listed in some situations.
    pub fn is_conditional(&self) -> bool {
        matches!(self.kind, Kind::Wasm { conditional: true, .. })
    }

    /// Returns the definition known at build time. For a tool that depends on its environment, this assumes
    /// an empty one.
    pub fn fixed_definition(&self) -> Option<Definition> {
        match &self.kind {
            Kind::Native(tool) => Some(tool.definition()),
            Kind::Plugin { definition, .. } => Some(definition.clone()),
            Kind::Wasm { definitions, .. } => {
                let all: Vec<Definition> = serde_json::from_str(definitions).ok()?;
                all.into_iter().find(|definition| definition.name == self.name)
            }
        }
    }
}
