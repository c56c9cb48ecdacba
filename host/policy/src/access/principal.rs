//! Identity of a client.

use std::collections::BTreeSet;

/// Authenticated identity of a client, as established by the transport.
#[derive(Debug, Clone, Default)]
pub struct Principal {
    /// Name of the token, or subject of the JWT with the issuer's name as a prefix if it has one.
    pub name: String,
    /// Issuer of the JWT; `None` for a token of this server.
    pub issuer: Option<String>,
    /// Display name given by the issuer; no decision depends on it.
    pub shown: Option<String>,
    /// Groups of the principal, as stated by the issuer.
    pub groups: BTreeSet<String>,
    /// Scopes of the principal's token.
    pub scopes: BTreeSet<String>,
}

/// Equality ignores the display name.
impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        let Self { name, issuer, groups, scopes, shown: _ } = self;
        (name, issuer, groups, scopes) == (&other.name, &other.issuer, &other.groups, &other.scopes)
    }
}

impl Eq for Principal {}

/// Issuer of the names of approvers, such as `approver:ann`. No caller has such a name.
pub(super) const APPROVER: &str = "approver";

impl Principal {
    /// Creates the principal that stands for an approver of this name.
    pub fn of_approver(name: &str) -> Self {
        Self::named(&format!("{APPROVER}:{name}"))
    }

    /// Returns `true` for a name that could be taken for an approver's.
    pub fn is_named_like_approver(&self) -> bool {
        self.name.split_once(':').is_some_and(|(issuer, _)| issuer.eq_ignore_ascii_case(APPROVER))
    }

    /// Creates a principal with a name assigned by this server.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Returns a unique key, which does not depend on the scopes of the current token.
    pub fn key(&self) -> String {
        match &self.issuer {
            // Names of issuers do not contain line breaks.
            Some(issuer) => format!("{issuer}\n{}", self.name),
            None => self.name.clone(),
        }
    }
}
