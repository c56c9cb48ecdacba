//! Who a client is.

use std::collections::BTreeSet;

/// Who a client is, as the transport found it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Principal {
    /// The name of a token, or the subject of a JWT.
    pub name: String,
    /// Who vouches for the name; none for tokens of this server's own.
    pub issuer: Option<String>,
    /// The groups that the issuer says it is in.
    pub groups: BTreeSet<String>,
    /// What its token is good for.
    pub scopes: BTreeSet<String>,
}

impl Principal {
    /// One of a name that this server itself gave.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// What tells it from all others, whatever its token is good for today.
    pub fn key(&self) -> String {
        match &self.issuer {
            // No name of an issuer has a line break.
            Some(issuer) => format!("{issuer}\n{}", self.name),
            None => self.name.clone(),
        }
    }
}
