//! A parsed request.

use scorpiox_mcp::jsonrpc::Id;
use scorpiox_mcp::{ClientTraits, Params, RequestMeta, Revision};

/// Method that calls a tool.
pub(crate) const CALL: &str = "tools/call";

/// A parsed request, with its revision.
pub struct Request<'a> {
    pub id: Id<'a>,
    pub revision: Revision,
    pub params: Params<'a>,
    pub meta: RequestMeta<'a>,
    /// Known properties of the client, by its name.
    pub traits: &'static ClientTraits,
    /// `true` if the request calls a tool. Such a request is recorded even if the tool does not run.
    pub is_call: bool,
    /// Method under which any other recorded request appears.
    pub recorded_as: Option<&'static str>,
}
