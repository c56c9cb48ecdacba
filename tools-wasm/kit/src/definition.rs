//! Definition of a tool as the client receives it.

/// Name, texts and schemas of a tool.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Name that clients call.
    pub name: &'static str,
    /// Display name.
    pub title: &'static str,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: &'static str,
    /// JSON Schema of the structured result.
    pub output_schema: Option<&'static str>,
    /// Behavior hints for the client.
    pub hints: Hints,
}

/// Hints of the protocol's tool annotations.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // these are the protocol's four hints
pub struct Hints {
    /// `true` if the tool changes nothing.
    pub read_only: bool,
    /// `true` if the tool may destroy existing data.
    pub destructive: bool,
    /// `true` if repeating a call has no further effect.
    pub idempotent: bool,
    /// `true` if the tool reaches beyond this machine.
    pub open_world: bool,
}
