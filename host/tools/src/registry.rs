//! The built-in tools of a server.

use std::sync::Arc;

use super::{Definition, Kind, Tool};

/// The tools in the order they are listed.
pub struct Registry {
    tools: Vec<Arc<Tool>>,
}

impl Registry {
    /// A registry of these tools; their names must differ.
    pub fn new(tools: Vec<Tool>) -> Self {
        debug_assert!(
            (1..tools.len()).all(|i| tools[..i].iter().all(|t| t.name != tools[i].name)),
            "tool names must be unique"
        );
        Self { tools: tools.into_iter().map(Arc::new).collect() }
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// All tools.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter()
    }

    /// All names.
    pub fn names(&self) -> Vec<&str> {
        self.tools.iter().map(|tool| tool.name.as_ref()).collect()
    }
}

impl Tool {
    /// Whether it is listed in only some situations.
    pub fn is_conditional(&self) -> bool {
        matches!(self.kind, Kind::Wasm { conditional: true, .. })
    }

    /// What clients are told, as it was known when this program was built: for a tool that
    /// depends on what it finds, as if it found nothing.
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
