//! Who somebody is to a registry.
//!
//! Invariant: a password is in no error, no log and no `Debug`. It leaves this crate in one header, which is marked as
//! not to be shown.

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
    /// For people: where they are from.
    place: String,
    /// A host that gets them beside the registry.
    token_host: Option<String>,
}

impl Credentials {
    /// Of this user. A colon is what ends the name.
    pub fn new(user: String, password: String) -> Result<Self, &'static str> {
        if user.contains(':') || user.chars().chain(password.chars()).any(char::is_control) {
            return Err("a user name has no colon, and neither it nor a password a control character");
        }
        Ok(Self { user, password, place: String::new(), token_host: None })
    }

    /// Says where they are from.
    #[must_use]
    pub fn found_in(self, place: String) -> Self {
        Self { place, ..self }
    }

    /// Lets a host have them that gives tokens for the registry, with its port if that is not 443.
    #[must_use]
    pub fn with_token_host(self, token_host: Option<String>) -> Self {
        Self { token_host, ..self }
    }

    /// Whose they are, and where they are from, for people.
    pub(crate) fn described(&self) -> String {
        if self.place.is_empty() { self.user.clone() } else { format!("{}, {}", self.user, self.place) }
    }

    /// Whether they go to an address of a token server: to the registry's own host, or the one that was named.
    pub(crate) fn are_for(&self, registry: &Url, address: &Url) -> bool {
        // Without TLS a port says who listens, and nothing else does.
        let is_own = if address.scheme() == "https" && registry.scheme() == "https" {
            address.host() == registry.host()
        } else {
            is_same_origin(address, registry)
        };
        is_own || self.token_host.as_deref().is_some_and(|named| is_at(address, named))
    }

    /// As `Authorization` has them.
    pub(crate) fn basic(&self) -> Option<HeaderValue> {
        let text = BASE64_STANDARD.encode(format!("{}:{}", self.user, self.password));
        let mut value = HeaderValue::from_str(&format!("Basic {text}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Whether an address is of a host as people write one, with a port if it is not the usual one.
fn is_at(address: &Url, host: &str) -> bool {
    let named = Url::parse(&format!("{}://{host}/", address.scheme()));
    named.is_ok_and(|named| is_same_origin(&named, address))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Where credentials are looked up, when a registry asks for them.
pub trait Keyring {
    /// Those for a registry, by the host as it was typed; or why what is there cannot be used.
    fn credentials(&self, host: &str) -> Result<Option<Credentials>, String>;
}

/// There are none.
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
