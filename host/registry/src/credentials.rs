//! Who somebody is to a registry.
//!
//! Invariant: a password is in no error, no log and no `Debug`. It leaves this crate in one header, which is marked as
//! not to be shown.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;

/// A user and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: String,
    password: String,
}

impl Credentials {
    /// Of this user. A colon is what ends the name.
    pub fn new(user: String, password: String) -> Result<Self, &'static str> {
        if user.contains(':') || user.chars().chain(password.chars()).any(char::is_control) {
            return Err("a user name has no colon, and neither it nor a password a control character");
        }
        Ok(Self { user, password })
    }

    /// As `Authorization` has them.
    pub(crate) fn basic(&self) -> Option<HeaderValue> {
        let text = BASE64_STANDARD.encode(format!("{}:{}", self.user, self.password));
        let mut value = HeaderValue::from_str(&format!("Basic {text}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
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
