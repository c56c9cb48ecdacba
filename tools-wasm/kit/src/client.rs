//! Who a result is written for.

/// The client, as far as results depend on it.
pub trait Client {
    /// Most characters that the text of a result may have.
    fn room(&self) -> usize;

    /// What it calls a tool of this server, for texts that name one.
    fn tool_name(&self, tool: &str) -> String;
}
