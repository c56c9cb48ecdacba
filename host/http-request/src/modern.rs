//! The era without a handshake: each request says everything of itself, in its headers and again in its body.

use hyper::{HeaderMap, StatusCode};
use scorpiox_mcp::error::{BUSY, HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use scorpiox_mcp::{RequestMeta, Revision, RpcError};
use scorpiox_rpc::code::{INVALID_PARAMS, METHOD_NOT_FOUND};

use crate::claims::{Claims, Kind};
use crate::encoded;

/// The header with the revision.
pub const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// Whether a message belongs to this era.
pub fn is_meant(headers: &HeaderMap, claims: &Claims) -> bool {
    claims.is_modern() || names_modern(headers)
}

/// Whether the headers alone say so.
pub fn names_modern(headers: &HeaderMap) -> bool {
    let named = headers.get(VERSION).and_then(|value| value.to_str().ok()).and_then(Revision::named);
    named.is_some_and(|revision| !revision.features().handshake)
}

/// Whether the headers fit the body, and the body the revision.
pub fn check(headers: &HeaderMap, claims: &Claims) -> Result<(), RpcError> {
    match &claims.kind {
        Kind::Request(_) => {}
        Kind::Notification => return Ok(()),
        Kind::Response => {
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
    // It belongs to the other era, whatever else it carries.
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

/// The status of an answer with an error of this code.
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
