//! Who calls: what a request shows, and whom that is known to be.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header;
use parking_lot::Mutex;
use scorpiox_access::{Auth, HttpPolicy, Jwt, Principal, Token};
use scorpiox_issuer::Issuer;
use scorpiox_jwt::{Claims, Expected, JwtError, Keys, named_issuer, verify};
use scorpiox_policy::Sourced;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::ended::now;
use crate::files::Files;
use scorpiox_http_request::admission::only;

/// Who shows the token that the program made.
const OWNER: &str = "owner";
/// Who calls where nobody has to show anything.
const ANYBODY: &str = "anybody";
/// Most tokens that are known again without their signatures.
const MAX_KNOWN: usize = 4096;

type Digest256 = [u8; 32];

/// Why it is not known who calls.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unknown {
    /// Nothing was shown.
    #[error("it shows no token")]
    Missing,
    /// What was shown is not good.
    #[error("{0}")]
    NotGood(String),
    /// It is good, and not for this.
    #[error("its token lacks one of the scopes {0:?}")]
    Insufficient(BTreeSet<String>),
    /// It cannot be told at the moment. Why is nothing for strangers: it is logged.
    #[error("the keys of its token's issuer cannot be read")]
    Unavailable,
}

/// Who may call.
pub(crate) enum Callers {
    /// Whoever reaches the port.
    Everybody(Arc<Principal>),
    /// Whoever shows one of these tokens.
    Tokens(Vec<(Digest256, Arc<Principal>)>),
    /// Whoever shows a JWT of an issuer.
    Issued(Box<Issued>),
}

pub(crate) struct Issued {
    issuers: Vec<Trusted>,
    /// Tokens of this server's own, beside the issuers.
    tokens: Vec<(Digest256, Arc<Principal>)>,
    /// Each with the issuer that vouches for it, by its place among the issuers.
    known: Mutex<HashMap<Digest256, (usize, Known)>>,
}

/// An issuer, and its keys: nothing but its own tokens is ever checked with these.
struct Trusted {
    jwt: Jwt,
    keys: Arc<Issuer>,
}

/// Who is known to call.
#[derive(Clone)]
pub(crate) struct Known {
    pub(crate) principal: Arc<Principal>,
    /// Until when, in seconds; always, if there is none.
    pub(crate) until: Option<u64>,
}

impl Known {
    fn always(principal: &Arc<Principal>) -> Self {
        Self { principal: Arc::clone(principal), until: None }
    }
}

/// What a request shows, before it is looked at closely.
pub(crate) enum Shown<'a> {
    /// It is known already whom that is.
    Known(Known),
    /// A token that has to be looked at.
    Token(&'a str),
    Nothing,
}

impl Callers {
    /// Those of the policy; `issuer` fetches the keys of one.
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

    /// Whether there can be several, of whom none is to keep the others out.
    pub(crate) fn are_many(&self) -> bool {
        match self {
            Self::Everybody(_) => false,
            Self::Tokens(tokens) => tokens.len() > 1,
            Self::Issued(_) => true,
        }
    }

    /// What a request shows. Costs little, whatever that is.
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

    /// Whose a token is, where that is known already.
    pub(crate) fn known_by(&self, token: &str) -> Option<Known> {
        let digest = digest(token);
        match self {
            Self::Everybody(_) => None,
            Self::Tokens(tokens) => among(tokens, &digest),
            Self::Issued(issued) => among(&issued.tokens, &digest).or_else(|| issued.known(&digest)),
        }
    }

    /// Whom a token is of that is not known yet.
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
        // The keys of its issuer may be others by now.
        let is_good = known.until.is_none_or(|until| now() < until) && self.issuers[number].keys.is_current();
        is_good.then_some(known)
    }

    fn remembered(&self, digest: &Digest256) -> Option<(usize, Known)> {
        let mut known = self.known.lock();
        for (number, issuer) in self.issuers.iter().enumerate() {
            // What an issuer took back is known no more.
            if issuer.keys.has_news() {
                known.retain(|_, (of, _)| *of != number);
            }
        }
        known.get(digest).cloned()
    }

    async fn identify(&self, token: &str) -> Result<Known, Unknown> {
        let not_good = |error: JwtError| Unknown::NotGood(error.to_string());
        // Its `iss` decides with whose keys it is checked, and nothing else does: these have to have signed that.
        let named = named_issuer(token).map_err(not_good)?;
        let found = self.issuers.iter().position(|issuer| issuer.jwt.issuer == named);
        let number = found.ok_or_else(|| not_good(JwtError::of_another(&named)))?;
        let issuer = &self.issuers[number];
        let mut keys = issuer.keys().await?;
        let mut claims = issuer.verified(token, &keys);
        if claims == Err(JwtError::UnknownKey) && issuer.keys.look_again().await {
            keys = issuer.keys().await?;
            claims = issuer.verified(token, &keys);
        }
        let claims = claims.map_err(not_good)?;
        if !issuer.jwt.scopes.is_subset(&claims.scopes) {
            return Err(Unknown::Insufficient(issuer.jwt.scopes.clone()));
        }
        let until = claims.expires.saturating_add(issuer.jwt.clock_skew);
        let caller = Known { principal: Arc::new(issuer.principal(claims)), until: Some(until) };
        self.remember(digest(token), number, &keys, &caller);
        Ok(caller)
    }

    /// Remembers a token of an issuer that was checked with these keys.
    fn remember(&self, token: Digest256, number: usize, keys: &Arc<Keys>, caller: &Known) {
        let mut known = self.known.lock();
        // Whoever takes other keys has all be forgotten that were known by these.
        if !self.issuers[number].keys.has(keys) {
            return;
        }
        if known.len() >= MAX_KNOWN {
            let now = now();
            known.retain(|_, (_, known)| known.until.is_none_or(|until| now < until));
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

    fn verified(&self, token: &str, keys: &Keys) -> Result<Claims, JwtError> {
        let expected = Expected {
            issuer: &self.jwt.issuer,
            audiences: &self.jwt.audiences,
            now: now(),
            clock_skew: self.jwt.clock_skew,
            groups_claim: self.jwt.groups_claim.as_deref(),
            name_claim: self.jwt.name_claim.as_deref(),
        };
        verify(token, keys, &self.jwt.algorithms, &expected)
    }
}

/// The tokens of a policy, and whose each is.
fn named(tokens: &BTreeMap<String, Sourced<Token>>) -> Vec<(Digest256, Arc<Principal>)> {
    let one = |(name, token): (&String, &Sourced<Token>)| {
        let (scopes, groups) = (token.value.scopes.clone(), token.value.groups.clone());
        let principal = Principal { scopes, groups, ..Principal::named(name) };
        (token.value.sha256, Arc::new(principal))
    };
    tokens.iter().map(one).collect()
}

/// Returns the principal of a token, if it is one of these. All are compared, so that the time says nothing of which.
fn among(tokens: &[(Digest256, Arc<Principal>)], digest: &Digest256) -> Option<Known> {
    tokens.iter().fold(None, |found, (known, principal)| {
        if bool::from(known.ct_eq(digest)) { Some(Known::always(principal)) } else { found }
    })
}

/// The token of an `Authorization` header.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// As which a token is known.
fn digest(token: &str) -> Digest256 {
    Sha256::digest(token).into()
}

/// The same, as a policy writes it.
pub fn sha256(token: &str) -> String {
    digest(token).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// How long a peer waits whose tokens were not good too often.
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
