//! `[http.auth]`: how clients say who they are.

use std::collections::{BTreeMap, BTreeSet};

use scorpiox_rules::Sourced;

/// How clients say who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// By the token that the program makes at its first start.
    OwnToken,
    /// By one of these tokens, each of which has a name.
    Tokens(BTreeMap<String, Sourced<Token>>),
    /// By a JWT of an issuer.
    Jwt(Box<Issuers>),
    /// Not at all: whoever reaches the port may call.
    Nothing,
}

/// A token, as far as the policy has to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// SHA-256 of it.
    pub sha256: [u8; 32],
    /// What it is good for.
    pub scopes: BTreeSet<String>,
    /// The groups that its owner is in.
    pub groups: BTreeSet<String>,
}

/// The issuers of good JWT, and the tokens beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuers {
    /// The issuers: one without a name, or some that each have another name and another address.
    pub all: Vec<Sourced<Jwt>>,
    /// Tokens of this server's own, beside issuers that have names.
    pub tokens: BTreeMap<String, Sourced<Token>>,
}

/// Which JWT are good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jwt {
    /// Its name in the policy; none where it is the only one, and there are no tokens beside it.
    pub name: Option<String>,
    /// Who makes them: their `iss`, to the letter.
    pub issuer: String,
    /// For whom they have to be: one of these in `aud`.
    pub audiences: Vec<String>,
    /// Where the keys of the issuer are.
    pub keys: KeysFrom,
    /// The file with the authorities that vouch for the address of the keys, instead of those whom the system trusts.
    pub ca: Option<String>,
    /// What they may be signed with.
    pub algorithms: Vec<Algorithm>,
    /// How far clocks may differ, in seconds.
    pub clock_skew: u64,
    /// Scopes that every request needs.
    pub scopes: BTreeSet<String>,
    /// The claim with the groups of the subject, if they count.
    pub groups_claim: Option<String>,
    /// The claim with the name that people know the subject by, for the audit.
    pub name_claim: Option<String>,
}

impl Auth {
    /// Tokens that the policy has the hashes of.
    pub fn tokens(&self) -> Option<&BTreeMap<String, Sourced<Token>>> {
        match self {
            Self::Tokens(tokens) => Some(tokens),
            Self::Jwt(issuers) => Some(&issuers.tokens),
            Self::OwnToken | Self::Nothing => None,
        }
    }

    /// The issuers of JWT.
    pub fn issuers(&self) -> &[Sourced<Jwt>] {
        match self {
            Self::Jwt(issuers) => &issuers.all,
            Self::OwnToken | Self::Tokens(_) | Self::Nothing => &[],
        }
    }
}

impl Jwt {
    /// Returns the name by which rules call a subject, a group or a scope of this issuer: after its own name, if it has one, so that no other issuer
    /// and no token can have the same. No name of an issuer or a token has a colon.
    pub fn qualified(&self, word: &str) -> String {
        match &self.name {
            Some(name) => format!("{name}:{word}"),
            None => word.to_owned(),
        }
    }
}

/// Where the keys of an issuer are: a JSON Web Key Set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeysFrom {
    /// In a file.
    File(String),
    /// At an address.
    Url(String),
}

/// How a JWT is signed. There is none for "not at all", and none with a shared secret.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rs256, Self::Es256, Self::EdDsa];

    /// As a JWT and a policy call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    /// The one of a name, to the letter.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}
