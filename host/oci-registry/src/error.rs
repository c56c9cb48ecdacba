//! Reasons why a fetch or push failed.

use scorpiox_text::line;
use scorpiox_web::{Arrived, WebError};
use serde::Deserialize;

use crate::digest::Digest;

/// Maximum length of a server's message that is passed on.
const MAX_SAID_CHARS: usize = 300;

/// An error, each with a sentence for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// The request could not be sent, or its response did not arrive.
    #[error("{what}: {why}")]
    Web {
        /// Requested content.
        what: String,
        /// Cause of the failure.
        why: WebError,
    },
    /// The content exceeds its limit or its declared size.
    #[error("{what} sent more than the {limit} bytes that {of}")]
    TooLarge {
        /// Requested content.
        what: String,
        /// Maximum number of bytes.
        limit: u64,
        /// Reason for the limit.
        of: &'static str,
    },
    /// The server returned an error status.
    #[error("{what}: the server answered {status}{said}")]
    Status {
        /// Requested content.
        what: String,
        /// Status of the response.
        status: u16,
        /// Message of the server, after a colon.
        said: String,
    },
    /// The content does not exist.
    #[error("{0} does not exist{1}")]
    Missing(String, String),
    /// The content requires authentication.
    #[error("{what}: the registry refuses access{said}; {fix}")]
    Unauthorized {
        /// Requested content.
        what: String,
        /// Message of the server, after a colon.
        said: String,
        /// Suggested remedy.
        fix: String,
    },
    /// The registry requires an authentication that is not permitted.
    #[error("{host} asks for a login that is refused: {why}")]
    Login {
        /// Host of the registry.
        host: String,
        /// Reason for the refusal.
        why: String,
    },
    /// The content does not match its digest.
    #[error("{what} has the digest {found} and not {expected}; it was changed on the way, or by the server")]
    Digest {
        /// Requested content.
        what: String,
        /// Digest of the received content.
        found: Digest,
        /// Expected digest.
        expected: Digest,
    },
    /// The manifest does not describe a plugin.
    #[error("{what} is no plugin: {why}")]
    Unfit {
        /// Requested content.
        what: String,
        /// Reason why it is not a plugin.
        why: String,
    },
    /// The configured credentials are unusable.
    #[error("the credentials for {host} cannot be used: {why}")]
    Credentials {
        /// Host of the registry.
        host: String,
        /// Reason why they are unusable.
        why: String,
    },
}

impl RegistryError {
    pub(crate) fn web(what: &str, error: WebError, of: &'static str) -> Self {
        match error {
            WebError::TooLarge(limit) => Self::TooLarge { what: what.to_owned(), limit, of },
            why => Self::Web { what: what.to_owned(), why },
        }
    }

    /// Creates the error for an unsuccessful response.
    pub(crate) fn status(what: &str, arrived: &Arrived) -> Self {
        let said = said(&arrived.body);
        match arrived.status {
            404 => Self::Missing(what.to_owned(), said),
            status => Self::Status { what: what.to_owned(), status, said },
        }
    }

    pub(crate) fn unfit(what: &str, why: impl Into<String>) -> Self {
        Self::Unfit { what: what.to_owned(), why: why.into() }
    }
}

/// Body of a registry's error response.
#[derive(Deserialize)]
struct Errors {
    errors: Vec<Error>,
}

#[derive(Deserialize)]
struct Error {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

/// Returns the message of a registry, after a colon. Returns an empty text for other bodies, such as HTML
/// pages.
pub(crate) fn said(body: &[u8]) -> String {
    let Ok(Errors { errors }) = serde_json::from_slice(body) else { return String::new() };
    let Some(first) = errors.into_iter().next() else { return String::new() };
    let text = if first.message.is_empty() { first.code } else { first.message };
    if text.is_empty() { text } else { format!(": {}", line::clean(&text, MAX_SAID_CHARS)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_s_words_are_passed_on_and_pages_are_not() {
        assert_eq!(
            said(br#"{"errors":[{"code":"DENIED","message":"no\u001b[1m access"}]}"#).chars().next(),
            Some(':')
        );
        assert!(
            !said(br#"{"errors":[{"code":"DENIED","message":"no\u001b[1m access"}]}"#).contains('\u{1b}')
        );
        assert_eq!(said(br#"{"errors":[{"code":"DENIED"}]}"#), ": DENIED");
        for nothing in ["", "<html>", "{}", r#"{"errors":[]}"#, r#"{"errors":[{}]}"#] {
            assert_eq!(said(nothing.as_bytes()), "");
        }
    }
}
