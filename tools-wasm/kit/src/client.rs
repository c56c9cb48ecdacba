//! Properties of the client that receives a result.

/// Client properties that results depend on.
pub trait Client {
    /// Returns the maximum length of a result's text, in characters.
    fn room(&self) -> usize;

    /// Returns the client's name for a tool of this server, for texts that mention the tool.
    fn tool_name(&self, tool: &str) -> String;
}
