//! Errors that answer a request.

use scorpiox_rpc::{Id, code, reply};
use serde_json::{Value, json};

/// The headers of a request do not fit its body (2026-07-28).
pub const HEADER_MISMATCH: i32 = -32020;

/// The request needs a capability that its client did not declare (2026-07-28).
pub const MISSING_CAPABILITY: i32 = -32021;

/// The client speaks a revision that the server does not (2026-07-28).
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// Too many requests are waiting. Outside of the range that JSON-RPC reserves.
pub const BUSY: i32 = -31_001;

/// A protocol error: a code, a sentence, and data for the client.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    /// Any error.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The method does not exist in this revision.
    pub fn method_not_found(method: &str) -> Self {
        let shown: String = method.chars().take(100).collect();
        Self::new(
            code::METHOD_NOT_FOUND,
            format!("method {shown:?} is not known in this revision of the protocol"),
        )
    }

    /// The parameters do not fit the method.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// The request may not come now.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// The server failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    /// The request claims a revision that is not served this way.
    pub fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let data = json!({ "supported": supported, "requested": requested });
        let message =
            format!("protocol version {requested:?} is not supported; use one of {}", supported.join(", "));
        Self { data: Some(data), ..Self::new(UNSUPPORTED_VERSION, message) }
    }

    /// The request needs what its client did not declare, by the protocol's names for it.
    pub fn missing_capability<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<_> = names.collect();
        let needed: serde_json::Map<_, _> =
            names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let message = format!("this needs what the client did not declare: {}", names.join(", "));
        let data = json!({ "requiredCapabilities": needed });
        Self { data: Some(data), ..Self::new(MISSING_CAPABILITY, message) }
    }

    /// The same error, with data for the client.
    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// The line that answers a request whose id is not known.
    pub fn reply_to_unknown(&self) -> Vec<u8> {
        reply::error(None, self.code, &self.message, self.data.as_ref())
    }

    /// The sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Its code.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// The line that answers the request `id`.
    pub fn reply(&self, id: &Id<'_>) -> Vec<u8> {
        reply::error(Some(id), self.code, &self.message, self.data.as_ref())
    }
}
