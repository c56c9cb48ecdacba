//! Error codes of JSON-RPC 2.0 (section 5.1).

/// The line is not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// The line is JSON but not a request, or the request is not allowed in this state.
pub const INVALID_REQUEST: i32 = -32600;
/// The method does not exist in the current revision.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// The parameters do not fit the method.
pub const INVALID_PARAMS: i32 = -32602;
/// A defect of the server.
pub const INTERNAL_ERROR: i32 = -32603;
