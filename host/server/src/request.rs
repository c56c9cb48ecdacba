//! A request that was read.

use scorpiox_mcp::{ClientTraits, Params, RequestMeta, Revision};
use scorpiox_rpc::Id;

/// The method that calls a tool.
pub(crate) const CALL: &str = "tools/call";

/// A request that was read and belongs to a revision.
pub struct Request<'a> {
    pub id: Id<'a>,
    pub revision: Revision,
    pub params: Params<'a>,
    pub meta: RequestMeta<'a>,
    /// What is known of the client by its name.
    pub traits: &'static ClientTraits,
    /// It calls a tool, which is recorded also when it does not come to that.
    pub is_call: bool,
    /// What else is recorded: its method.
    pub recorded_as: Option<&'static str>,
}
