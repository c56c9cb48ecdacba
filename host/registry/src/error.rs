//! Why nothing was fetched, or pushed.

use scorpiox_text::line;
use scorpiox_web::{Arrived, WebError};
use serde::Deserialize;

use crate::digest::Digest;

/// Longest sentence of a server's that is passed on.
const MAX_SAID_CHARS: usize = 300;

/// Each text is a sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// It could not be asked, or the answer did not arrive.
    #[error("{what}: {why}")]
    Web {
        /// What was wanted.
        what: String,
        /// Why it is not there.
        why: WebError,
    },
    /// It was larger than it may be, or than it was said to be.
    #[error("{what} sent more than the {limit} bytes that {of}")]
    TooLarge {
        /// What was wanted.
        what: String,
        /// Most bytes.
        limit: u64,
        /// Why that is the limit.
        of: &'static str,
    },
    /// The server said no.
    #[error("{what}: the server answered {status}{said}")]
    Status {
        /// What was wanted.
        what: String,
        /// The answer.
        status: u16,
        /// The server's own words, after a colon.
        said: String,
    },
    /// There is no such thing.
    #[error("{0} does not exist{1}")]
    Missing(String, String),
    /// Only who is known may have it.
    #[error("{what}: the registry refuses access{said}; {fix}")]
    Unauthorized {
        /// What was wanted.
        what: String,
        /// The server's own words, after a colon.
        said: String,
        /// What to do.
        fix: String,
    },
    /// The registry asks for something that is not done.
    #[error("{host} asks for a login that is refused: {why}")]
    Login {
        /// The registry.
        host: String,
        /// What is wrong with it.
        why: String,
    },
    /// Its content is not what the digest says.
    #[error("{what} has the digest {found} and not {expected}; it was changed on the way, or by the server")]
    Digest {
        /// What was wanted.
        what: String,
        /// Of what arrived.
        found: Digest,
        /// What it had to be.
        expected: Digest,
    },
    /// A manifest that no plugin has.
    #[error("{what} is no plugin: {why}")]
    Unfit {
        /// What was wanted.
        what: String,
        /// Why.
        why: String,
    },
    /// Credentials that are there cannot be used.
    #[error("the credentials for {host} cannot be used: {why}")]
    Credentials {
        /// The registry.
        host: String,
        /// Why.
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

    /// Of an answer that is no success.
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

/// What registries say of an error.
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

/// The words of a registry, after a colon; nothing of a page.
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
