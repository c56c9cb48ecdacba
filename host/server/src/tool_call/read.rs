//! First step: parses the parameters and finds the tool.

use std::borrow::Cow;
use std::sync::Arc;

use scorpiox_mcp::params::Text;
use scorpiox_tools::Tool;

use super::Refusal;
use crate::request::CALL;
use crate::scope::{self, Scope};

/// Parsed call.
pub(super) struct ToolCall<'a> {
    /// Name of the tool, as the client sent it.
    pub(super) name: Cow<'a, str>,
    /// JSON object; `None` if the client sent none.
    pub(super) arguments: Option<Cow<'a, str>>,
    /// Tool of that name, if it is switched on.
    pub(super) tool: Option<Arc<Tool>>,
}

impl<'a> ToolCall<'a> {
    /// Reads the call. Fails if its parameters cannot be parsed.
    pub(super) fn read(scope: &'a Scope<'a>) -> Result<Self, Refusal<'a>> {
        let params = &scope.request.params;
        let name = params.required::<Text<'_>>("name", "the name of a tool");
        let name = name.map_err(|error| Refusal::invalid(CALL, None, error))?.0;
        let arguments = params.raw_object("arguments");
        let arguments = arguments.map_err(|error| Refusal::invalid(&name, None, error))?;
        let tool = scope::tool(scope.workspace(), scope.request, &name);
        Ok(Self { name, arguments, tool })
    }

    /// Returns the arguments; an empty object if the client sent none.
    pub(super) fn arguments(&self) -> &str {
        self.arguments.as_deref().unwrap_or("{}")
    }
}
