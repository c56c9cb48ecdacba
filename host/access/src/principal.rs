//! Who a client is.

use std::collections::BTreeSet;

/// Who a client is, as the transport found it.
#[derive(Debug, Clone, Default)]
pub struct Principal {
    /// The name of a token, or the subject of a JWT, after the name of its issuer where that has one.
    pub name: String,
    /// Who vouches for the name; none for tokens of this server's own.
    pub issuer: Option<String>,
    /// The name that people know it by, as the issuer says; nothing is decided by it.
    pub shown: Option<String>,
    /// The groups that the issuer says it is in.
    pub groups: BTreeSet<String>,
    /// What its token is good for.
    pub scopes: BTreeSet<String>,
}

/// Two are the same whatever people call them.
impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        let Self { name, issuer, groups, scopes, shown: _ } = self;
        (name, issuer, groups, scopes) == (&other.name, &other.issuer, &other.groups, &other.scopes)
    }
}

impl Eq for Principal {}

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
