//! What a client is told about a tool.

/// A tool's name, texts and schemas.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The name that is called.
    pub name: &'static str,
    /// A name for people.
    pub title: &'static str,
    /// What it does.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: &'static str,
    /// JSON Schema of the structured result.
    pub output_schema: Option<&'static str>,
    /// What a client may assume.
    pub hints: Hints,
}

/// Hints of the protocol's tool annotations.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // they are the protocol's four hints
pub struct Hints {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy something that exists.
    pub destructive: bool,
    /// Calling it twice is the same as once.
    pub idempotent: bool,
    /// Reaches beyond this machine.
    pub open_world: bool,
}
