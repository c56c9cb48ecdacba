//! `[http.auth]`: authentication of clients.

use std::collections::{BTreeMap, BTreeSet};

use crate::rule::Sourced;

/// Authentication method of clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// The token that the program generates at its first start.
    OwnToken,
    /// One of these named tokens.
    Tokens(BTreeMap<String, Sourced<Token>>),
    /// A JWT of an issuer.
    Jwt(Box<Issuers>),
    /// None: anyone who reaches the port may call.
    Nothing,
}

/// A token, as far as the policy knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// SHA-256 of the token.
    pub sha256: [u8; 32],
    /// Scopes of the token.
    pub scopes: BTreeSet<String>,
    /// Groups of the token's owner.
    pub groups: BTreeSet<String>,
}

/// Trusted JWT issuers, and additional tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuers {
    /// Issuers: either a single one without a name, or several with distinct names and addresses.
    pub all: Vec<Sourced<Jwt>>,
    /// Tokens of this server, in addition to named issuers.
    pub tokens: BTreeMap<String, Sourced<Token>>,
}

/// Settings of one issuer: the JWTs that it may issue, and how they are verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwt {
    /// Name of the issuer in the policy; `None` if it is the only one and there are no tokens.
    pub name: Option<String>,
    /// Required value of `iss`, compared byte for byte.
    pub issuer: String,
    /// Accepted audiences, one of which has to be in `aud`.
    pub audiences: Vec<String>,
    /// Location of the issuer's keys.
    pub keys: KeysFrom,
    /// File with the certificate authorities for the address of the keys; `None` uses the system's.
    pub ca: Option<String>,
    /// Accepted signature algorithms.
    pub algorithms: Vec<Algorithm>,
    /// Accepted difference between clocks, in seconds.
    pub clock_skew: u64,
    /// Scopes that every request needs.
    pub scopes: BTreeSet<String>,
    /// Claim with the subject's groups; `None` ignores groups.
    pub groups_claim: Option<String>,
    /// Claim with the subject's display name, for the audit log.
    pub name_claim: Option<String>,
}

impl Auth {
    /// Returns the tokens whose hashes the policy contains.
    pub fn tokens(&self) -> Option<&BTreeMap<String, Sourced<Token>>> {
        match self {
            Self::Tokens(tokens) => Some(tokens),
            Self::Jwt(issuers) => Some(&issuers.tokens),
            Self::OwnToken | Self::Nothing => None,
        }
    }

    /// Returns the JWT issuers.
    pub fn issuers(&self) -> &[Sourced<Jwt>] {
        match self {
            Self::Jwt(issuers) => &issuers.all,
            Self::OwnToken | Self::Tokens(_) | Self::Nothing => &[],
        }
    }
}

impl Jwt {
    /// Returns the name of a subject, a group or a scope of this issuer in rules. The name is prefixed with
    /// the issuer's name, if it has one, so that no other issuer and no token can claim it. Names of issuers
    /// and tokens do not contain colons.
    pub fn qualified(&self, word: &str) -> String {
        match &self.name {
            Some(name) => format!("{name}:{word}"),
            None => word.to_owned(),
        }
    }
}

/// Location of an issuer's JSON Web Key Set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeysFrom {
    /// A file.
    File(String),
    /// An address.
    Url(String),
}

/// Signature algorithm of a JWT. "none" and algorithms with a shared secret are not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RSA with PKCS #1 padding and SHA-256.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 3] = [Self::Rs256, Self::Es256, Self::EdDsa];

    /// Returns the name in a JWT and in a policy.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// Returns the algorithm with exactly this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}
