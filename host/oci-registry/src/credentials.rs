//! Credentials for a registry.
//!
//! Invariant: a password appears in no error, log or `Debug` output. It leaves this crate only in a header
//! that is marked as sensitive.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;
use scorpiox_web::is_same_origin;
use url::Url;

/// A user and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: String,
    password: String,
    /// Source of the credentials, for display.
    place: String,
    /// Host that may receive the credentials in addition to the registry.
    token_host: Option<String>,
}

impl Credentials {
    /// Creates credentials. The user name must not contain a colon, because a colon terminates it in the
    /// header.
    pub fn new(user: String, password: String) -> Result<Self, &'static str> {
        if user.contains(':') || user.chars().chain(password.chars()).any(char::is_control) {
            return Err("a user name has no colon, and neither it nor a password a control character");
        }
        Ok(Self { user, password, place: String::new(), token_host: None })
    }

    /// Sets the source of the credentials.
    #[must_use]
    pub fn found_in(self, place: String) -> Self {
        Self { place, ..self }
    }

    /// Allows a token server to receive the credentials. The host includes its port if it is not 443.
    #[must_use]
    pub fn with_token_host(self, token_host: Option<String>) -> Self {
        Self { token_host, ..self }
    }

    /// Describes the user and the source of the credentials, for display.
    pub(crate) fn described(&self) -> String {
        if self.place.is_empty() { self.user.clone() } else { format!("{}, {}", self.user, self.place) }
    }

    /// Returns `true` if the credentials may be sent to a token server: the registry's own host, or the
    /// configured token host.
    pub(crate) fn are_for(&self, registry: &Url, address: &Url) -> bool {
        // Without TLS, only the port identifies the server.
        let is_own = if address.scheme() == "https" && registry.scheme() == "https" {
            address.host() == registry.host()
        } else {
            is_same_origin(address, registry)
        };
        is_own || self.token_host.as_deref().is_some_and(|named| is_at(address, named))
    }

    /// Returns the value of the `Authorization` header.
    pub(crate) fn basic(&self) -> Option<HeaderValue> {
        let text = BASE64_STANDARD.encode(format!("{}:{}", self.user, self.password));
        let mut value = HeaderValue::from_str(&format!("Basic {text}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Returns `true` if a URL is on a host in the users' notation, with a port if it is not the default.
fn is_at(address: &Url, host: &str) -> bool {
    let named = Url::parse(&format!("{}://{host}/", address.scheme()));
    named.is_ok_and(|named| is_same_origin(&named, address))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Source of credentials, queried when a registry requires authentication.
pub trait Keyring {
    /// Returns the credentials for a registry by its host as typed. Fails if the configured credentials are
    /// unusable.
    fn credentials(&self, host: &str) -> Result<Option<Credentials>, String>;
}

/// A keyring without credentials.
#[derive(Debug, Clone, Copy)]
pub struct NoCredentials;

impl Keyring for NoCredentials {
    fn credentials(&self, _host: &str) -> Result<Option<Credentials>, String> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let own = Credentials::new("me".to_owned(), "secret".to_owned()).unwrap();
        assert_eq!(format!("{own:?}"), "Credentials { user: \"me\", .. }");
        let header = own.basic().unwrap();
        assert_eq!(header, "Basic bWU6c2VjcmV0");
        assert!(!format!("{header:?}").contains("bWU6"));
        assert!(Credentials::new("a:b".to_owned(), "c".to_owned()).is_err());
        assert!(Credentials::new("a".to_owned(), "c\n".to_owned()).is_err());
    }
}
