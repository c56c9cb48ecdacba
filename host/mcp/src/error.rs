//! Errors that answer a request.

use crate::jsonrpc::{Id, code, reply};
use serde_json::{Value, json};

/// The headers of a request do not match its body (2026-07-28).
pub const HEADER_MISMATCH: i32 = -32020;

/// The request needs a capability that the client did not declare (2026-07-28).
pub const MISSING_CAPABILITY: i32 = -32021;

/// The server does not support the client's revision (2026-07-28).
pub const UNSUPPORTED_VERSION: i32 = -32022;

/// Too many requests are pending. Outside of the range that JSON-RPC reserves.
pub const BUSY: i32 = -31_001;

/// A protocol error: a code, a message, and data for the client.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    code: i32,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    /// Creates an error.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Creates an error for a method that does not exist in this revision.
    pub fn method_not_found(method: &str) -> Self {
        let shown: String = method.chars().take(100).collect();
        Self::new(
            code::METHOD_NOT_FOUND,
            format!("method {shown:?} is not known in this revision of the protocol"),
        )
    }

    /// Creates an error for parameters that do not fit the method.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Creates an error for a request that is not allowed in this state.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// Creates an error for a failure of the server.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    /// Creates an error for an unsupported revision.
    pub fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let data = json!({ "supported": supported, "requested": requested });
        let message =
            format!("protocol version {requested:?} is not supported; use one of {}", supported.join(", "));
        Self { data: Some(data), ..Self::new(UNSUPPORTED_VERSION, message) }
    }

    /// Creates an error for capabilities that the client did not declare, by their protocol names.
    pub fn missing_capability<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<_> = names.collect();
        let needed: serde_json::Map<_, _> =
            names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let message = format!("this needs what the client did not declare: {}", names.join(", "));
        let data = json!({ "requiredCapabilities": needed });
        Self { data: Some(data), ..Self::new(MISSING_CAPABILITY, message) }
    }

    /// Adds data for the client.
    #[must_use]
    pub fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// Returns the line that answers a request with an unknown ID.
    pub fn reply_to_unknown(&self) -> Vec<u8> {
        reply::error(None, self.code, &self.message, self.data.as_ref())
    }

    /// Returns the message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the code.
    pub fn code(&self) -> i32 {
        self.code
    }

    /// Returns the line that answers the request `id`.
    pub fn reply(&self, id: &Id<'_>) -> Vec<u8> {
        reply::error(Some(id), self.code, &self.message, self.data.as_ref())
    }
}
