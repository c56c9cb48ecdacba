//! Protocol revisions without a handshake: each request is self-contained, with the same values in headers
//! and body.

use hyper::{HeaderMap, StatusCode};
use scorpiox_mcp::error::{BUSY, HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use scorpiox_mcp::jsonrpc::code::{INVALID_PARAMS, METHOD_NOT_FOUND};
use scorpiox_mcp::{RequestMeta, Revision, RpcError};

use crate::request::claims::{Claims, Kind};
use crate::request::encoded;

/// Header with the protocol revision.
pub const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// Returns `true` if a message belongs to a revision without a handshake.
pub fn is_meant(headers: &HeaderMap, claims: &Claims) -> bool {
    claims.is_modern() || names_modern(headers)
}

/// Returns `true` if the headers name such a revision.
pub fn names_modern(headers: &HeaderMap) -> bool {
    let named = headers.get(VERSION).and_then(|value| value.to_str().ok()).and_then(Revision::named);
    named.is_some_and(|revision| !revision.features().handshake)
}

/// Checks that the headers match the body, and that the body is valid for the revision.
pub fn check(headers: &HeaderMap, claims: &Claims) -> Result<(), RpcError> {
    match &claims.kind {
        Kind::Request(_) => {}
        Kind::Notification => return Ok(()),
        Kind::Response | Kind::Stray => {
            return Err(RpcError::invalid_request("this revision has no requests of the server"));
        }
    }
    let Some(version) = &claims.version else {
        return Err(RpcError::invalid_params(format!(
            "params._meta must carry {}",
            RequestMeta::REQUIRED[0]
        )));
    };
    fits(headers, VERSION, "MCP-Protocol-Version", version)?;
    let modern = Revision::all().filter(|revision| !revision.features().handshake);
    let served: Vec<_> = modern.map(Revision::name).collect();
    if !served.contains(&version.as_str()) {
        return Err(RpcError::unsupported_version(version, &served));
    }
    if !claims.has_capabilities {
        return Err(RpcError::invalid_params(format!(
            "params._meta must carry {}",
            RequestMeta::REQUIRED[1]
        )));
    }
    fits(headers, METHOD, "Mcp-Method", &claims.method)?;
    if let Some(subject) = &claims.subject {
        fits(headers, NAME, "Mcp-Name", subject)?;
    }
    // The method belongs to revisions with a handshake, whatever else the request contains.
    if claims.method == "initialize" {
        return Err(RpcError::method_not_found(&claims.method));
    }
    Ok(())
}

fn fits(headers: &HeaderMap, name: &str, shown: &str, wanted: &str) -> Result<(), RpcError> {
    let wrong = |what: &str| RpcError::new(HEADER_MISMATCH, format!("the header {shown} {what}"));
    match encoded::value(headers, name) {
        Ok(Some(value)) if value == wanted => Ok(()),
        Ok(Some(_)) => Err(wrong("says something else than the body")),
        Ok(None) => Err(wrong("is missing")),
        Err(encoded::Unusable) => Err(wrong("cannot be read, or comes twice")),
    }
}

/// Returns the HTTP status for an error code.
pub fn status(code: Option<i32>) -> StatusCode {
    match code {
        Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION | INVALID_PARAMS) => {
            StatusCode::BAD_REQUEST
        }
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(BUSY) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    }
}
