//! Authenticates callers by the token that a request presents.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::good::Good;
use crate::issuer::Issuer;
use crate::jwt::{Claims, Expected, JwtError, Keys, SigningKey, named_issuer, verified};
use hyper::HeaderMap;
use hyper::header;
use parking_lot::Mutex;
use scorpiox_policy::Sourced;
use scorpiox_policy::access::{Auth, HttpPolicy, Jwt, Principal, Token};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::ended::now;
use crate::files::Files;
use crate::request::admission::only;

/// Name of the principal for the token that the program created.
const OWNER: &str = "owner";
/// Name of the principal if authentication is disabled.
const ANYBODY: &str = "anybody";
/// Maximum number of cached tokens whose signatures are not verified again.
const MAX_KNOWN: usize = 4096;

type Digest256 = [u8; 32];

/// Reason why a caller is not authenticated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unknown {
    /// The request has no token.
    #[error("it shows no token")]
    Missing,
    /// The token is invalid.
    #[error("{0}")]
    NotGood(String),
    /// The token is valid but lacks a scope.
    #[error("its token lacks one of the scopes {0:?}")]
    Insufficient(BTreeSet<String>),
    /// The token cannot be verified at the moment. The cause is logged and not shown to strangers.
    #[error("the keys of its token's issuer cannot be read")]
    Unavailable,
}

/// Principals that may call.
pub(crate) enum Callers {
    /// Any client that reaches the port.
    Everybody(Arc<Principal>),
    /// Clients with one of these tokens.
    Tokens(Vec<(Digest256, Arc<Principal>)>),
    /// Clients with a JWT of a trusted issuer.
    Issued(Box<Issued>),
}

pub(crate) struct Issued {
    issuers: Vec<Trusted>,
    /// Static tokens, in addition to the issuers.
    tokens: Vec<(Digest256, Arc<Principal>)>,
    /// Verified tokens, each with the index of its issuer.
    known: Mutex<HashMap<Digest256, (usize, Known)>>,
}

/// An issuer with its keys, which verify only its own tokens.
struct Trusted {
    jwt: Jwt,
    keys: Arc<Issuer>,
}

/// An authenticated caller.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) principal: Arc<Principal>,
    pub(crate) good: Good,
}

impl Known {
    fn always(principal: &Arc<Principal>) -> Self {
        Self { principal: Arc::clone(principal), good: Good::default() }
    }
}

/// Credentials of a request before verification.
pub(crate) enum Shown<'a> {
    /// A caller that is already authenticated.
    Known(Known),
    /// A token to verify.
    Token(&'a str),
    Nothing,
}

impl Callers {
    /// Creates the callers of a policy. `issuer` creates the key source of an issuer.
    pub(crate) fn of(
        policy: &HttpPolicy,
        files: &Files,
        issuer: impl Fn(&Jwt) -> io::Result<Arc<Issuer>>,
    ) -> io::Result<Self> {
        Ok(match &policy.auth.value {
            Auth::OwnToken => {
                Self::Tokens(vec![(digest(&files.token()?), Arc::new(Principal::named(OWNER)))])
            }
            Auth::Tokens(tokens) => Self::Tokens(named(tokens)),
            Auth::Jwt(issuers) => {
                let trusted =
                    |jwt: &Sourced<Jwt>| Ok(Trusted { keys: issuer(&jwt.value)?, jwt: jwt.value.clone() });
                Self::Issued(Box::new(Issued {
                    issuers: issuers.all.iter().map(trusted).collect::<io::Result<_>>()?,
                    tokens: named(&issuers.tokens),
                    known: Mutex::default(),
                }))
            }
            Auth::Nothing => Self::Everybody(Arc::new(Principal::named(ANYBODY))),
        })
    }

    /// Returns `true` if there can be several principals, which must not starve each other.
    pub(crate) fn are_many(&self) -> bool {
        match self {
            Self::Everybody(_) => false,
            Self::Tokens(tokens) => tokens.len() > 1,
            Self::Issued(_) => true,
        }
    }

    /// Returns the credentials of a request. Cheap for any input.
    pub(crate) fn shown<'a>(&self, headers: &'a HeaderMap) -> Shown<'a> {
        if let Self::Everybody(anybody) = self {
            return Shown::Known(Known::always(anybody));
        }
        let token = only(headers, &header::AUTHORIZATION).and_then(bearer);
        let Some(token) = token else {
            return if headers.contains_key(header::AUTHORIZATION) {
                Shown::Token("")
            } else {
                Shown::Nothing
            };
        };
        self.known_by(token).map_or(Shown::Token(token), Shown::Known)
    }

    /// Returns the caller of a token that needs no further verification.
    pub(crate) fn known_by(&self, token: &str) -> Option<Known> {
        let digest = digest(token);
        match self {
            Self::Everybody(_) => None,
            Self::Tokens(tokens) => among(tokens, &digest),
            Self::Issued(issued) => among(&issued.tokens, &digest).or_else(|| issued.known(&digest)),
        }
    }

    /// Verifies a token that is not cached.
    pub(crate) async fn identify(&self, token: &str) -> Result<Known, Unknown> {
        match self {
            Self::Issued(issued) => issued.identify(token).await,
            _ if token.is_empty() => {
                Err(Unknown::NotGood("a token is shown as Authorization: Bearer TOKEN".to_owned()))
            }
            _ => Err(Unknown::NotGood("the token is none of this server's".to_owned())),
        }
    }
}

impl Issued {
    fn known(&self, digest: &Digest256) -> Option<Known> {
        let (number, known) = self.remembered(digest)?;
        // The keys of the issuer may have changed.
        let is_good =
            known.good.until.is_none_or(|until| now() < until) && self.issuers[number].keys.is_current();
        is_good.then_some(known)
    }

    fn remembered(&self, digest: &Digest256) -> Option<(usize, Known)> {
        let mut known = self.known.lock();
        for (number, issuer) in self.issuers.iter().enumerate() {
            // Keys that an issuer revoked invalidate its cached tokens.
            if issuer.keys.has_news() {
                known.retain(|_, (of, _)| *of != number);
            }
        }
        known.get(digest).cloned()
    }

    async fn identify(&self, token: &str) -> Result<Known, Unknown> {
        let not_good = |error: JwtError| Unknown::NotGood(error.to_string());
        // Only the `iss` claim selects the keys, and the signature by those keys must cover the claim.
        let named = named_issuer(token).map_err(not_good)?;
        let found = self.issuers.iter().position(|issuer| issuer.jwt.issuer == named);
        let number = found.ok_or_else(|| not_good(JwtError::of_another(&named)))?;
        let issuer = &self.issuers[number];
        let mut keys = issuer.keys().await?;
        let mut claims = issuer.verified(token, &keys);
        if matches!(claims, Err(JwtError::UnknownKey)) && issuer.keys.look_again().await {
            keys = issuer.keys().await?;
            claims = issuer.verified(token, &keys);
        }
        let (claims, key) = claims.map_err(not_good)?;
        if !issuer.jwt.scopes.is_subset(&claims.scopes) {
            return Err(Unknown::Insufficient(issuer.jwt.scopes.clone()));
        }
        let until = claims.expires.saturating_add(issuer.jwt.clock_skew);
        let good = Good::of(until, &issuer.keys, key);
        let principal = issuer.principal(claims);
        // The audit would show a caller as an approver.
        if principal.is_named_like_approver() {
            return Err(not_good(JwtError::Approver));
        }
        let caller = Known { principal: Arc::new(principal), good };
        self.remember(digest(token), number, &keys, &caller);
        Ok(caller)
    }

    /// Caches a token that was verified with these keys of an issuer.
    fn remember(&self, token: Digest256, number: usize, keys: &Arc<Keys>, caller: &Known) {
        let mut known = self.known.lock();
        // When the keys change, all tokens verified with the old ones are dropped. Skips a token that would
        // come too late.
        if !self.issuers[number].keys.has(keys) {
            return;
        }
        if known.len() >= MAX_KNOWN {
            let now = now();
            known.retain(|_, (_, known)| known.good.until.is_none_or(|until| now < until));
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
        }
        known.insert(token, (number, caller.clone()));
    }
}

impl Trusted {
    async fn keys(&self) -> Result<Arc<Keys>, Unknown> {
        self.keys.keys().await.map_err(|_| Unknown::Unavailable)
    }

    /// Returns the principal of a token of this issuer.
    fn principal(&self, claims: Claims) -> Principal {
        let all = |words: BTreeSet<String>| words.iter().map(|word| self.jwt.qualified(word)).collect();
        Principal {
            name: self.jwt.qualified(&claims.subject),
            issuer: Some(self.jwt.issuer.clone()),
            shown: claims.shown,
            groups: all(claims.groups),
            scopes: all(claims.scopes),
        }
    }

    fn verified(&self, token: &str, keys: &Keys) -> Result<(Claims, SigningKey), JwtError> {
        let expected = Expected {
            issuer: &self.jwt.issuer,
            audiences: &self.jwt.audiences,
            now: now(),
            clock_skew: self.jwt.clock_skew,
            groups_claim: self.jwt.groups_claim.as_deref(),
            name_claim: self.jwt.name_claim.as_deref(),
        };
        verified(token, keys, &self.jwt.algorithms, &expected)
    }
}

/// Returns the digests of a policy's tokens with their principals.
fn named(tokens: &BTreeMap<String, Sourced<Token>>) -> Vec<(Digest256, Arc<Principal>)> {
    let one = |(name, token): (&String, &Sourced<Token>)| {
        let (scopes, groups) = (token.value.scopes.clone(), token.value.groups.clone());
        let principal = Principal { scopes, groups, ..Principal::named(name) };
        (token.value.sha256, Arc::new(principal))
    };
    tokens.iter().map(one).collect()
}

/// Returns the caller of a static token. Compares all digests, so that the time reveals nothing.
fn among(tokens: &[(Digest256, Arc<Principal>)], digest: &Digest256) -> Option<Known> {
    tokens.iter().fold(None, |found, (known, principal)| {
        if bool::from(known.ct_eq(digest)) { Some(Known::always(principal)) } else { found }
    })
}

/// Returns the token of an `Authorization` header.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Returns the digest that identifies a token.
fn digest(token: &str) -> Digest256 {
    Sha256::digest(token).into()
}

/// Returns the digest of a token in the syntax of the policy file.
pub fn sha256(token: &str) -> String {
    digest(token).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Time that a peer with too many invalid tokens must wait.
pub(crate) const PAUSE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn only_the_token_itself_is_known() {
        let callers = Callers::Tokens(vec![
            (digest("scorpiox_abc"), Arc::new(Principal::named("ann"))),
            (digest("scorpiox_def"), Arc::new(Principal::named("bob"))),
        ]);
        let shown = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).expect("a header"));
            }
            match callers.shown(&headers) {
                Shown::Known(known) => Some(known.principal.name.clone()),
                _ => None,
            }
        };
        assert_eq!(shown(&["Bearer scorpiox_abc"]).as_deref(), Some("ann"));
        assert_eq!(shown(&["bearer  scorpiox_def"]).as_deref(), Some("bob"));
        for other in [
            "scorpiox_abc",
            "Basic scorpiox_abc",
            "Bearer scorpiox_ab",
            "Bearer ",
            "",
            "Bearer scorpiox_abcd",
        ] {
            assert_eq!(shown(&[other]), None, "{other}");
        }
        assert_eq!(shown(&["Bearer scorpiox_abc", "Bearer scorpiox_abc"]), None, "which of both?");
    }
}
