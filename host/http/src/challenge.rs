//! What a client is told that may not come in: how it gets in (RFC 6750), and where it asks for that (RFC 9728).

use std::collections::BTreeSet;

use hyper::header::{self, HeaderValue};
use hyper::{Method, StatusCode};
use scorpiox_access::{AccessDenial, Auth, HttpPolicy};
use scorpiox_mcp::RpcError;
use serde_json::json;

use crate::answer::{self, Answer};
use crate::callers::{PAUSE, Unknown};
use crate::endpoint::PATH;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// How clients of a server get in.
pub(crate) struct Challenge {
    /// What clients call the server, without the path of the endpoint; none where tokens are given by hand.
    base: Option<Base>,
    /// The address of each issuer, and what rules put before its scopes: nothing, where it has no name.
    issuers: Vec<(String, String)>,
    /// The scopes that every token needs, whoever issued it.
    needed: BTreeSet<String>,
    /// The scopes that tokens of some issuer need.
    scopes: BTreeSet<String>,
    /// Where a token comes from that is given by hand.
    hint: &'static str,
}

struct Base {
    /// Such as `https://mcp.example.com`.
    origin: String,
    /// What stands before the path of the endpoint.
    prefix: String,
}

impl Challenge {
    /// That of a policy.
    pub(crate) fn of(policy: &HttpPolicy) -> Self {
        let issuers = policy.auth.value.issuers();
        if issuers.is_empty() {
            let hint = match policy.auth.value {
                Auth::OwnToken => "; `scorpiox-code config --http` prints it",
                _ => "; who runs the server gives you one",
            };
            let (needed, scopes) = (BTreeSet::new(), BTreeSet::new());
            return Self { base: None, issuers: Vec::new(), needed, scopes, hint };
        }
        let base = policy.url.as_ref().and_then(|url| {
            let parsed = url::Url::parse(&url.value).ok()?;
            let prefix = parsed.path().strip_suffix(PATH)?.to_owned();
            Some(Base { origin: parsed.origin().ascii_serialization(), prefix })
        });
        let all = || issuers.iter().map(|jwt| &jwt.value.scopes);
        let needed = all().cloned().reduce(|one, other| &one & &other).unwrap_or_default();
        let scopes = all().flatten().cloned().collect();
        let issuers = issuers.iter().map(|jwt| (jwt.value.issuer.clone(), jwt.value.qualified("")));
        Self { base, issuers: issuers.collect(), needed, scopes, hint: "" }
    }

    /// Whether a path is one at which clients look for that.
    pub(crate) fn is_well_known(path: &str) -> bool {
        path.starts_with(WELL_KNOWN)
    }

    /// The answer to a request for what is to be known of the server before one may come in, if it is one.
    pub(crate) fn metadata(&self, method: &Method, path: &str) -> Option<Answer> {
        let base = self.base.as_ref()?;
        let rest = path.strip_prefix(WELL_KNOWN)?;
        if ![Method::GET, Method::HEAD].contains(method) {
            let mut refused = answer::refused(StatusCode::METHOD_NOT_ALLOWED, "this is read by GET");
            refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(refused);
        }
        let endpoint = match rest.strip_prefix(&base.prefix).unwrap_or(rest) {
            "" | "/" => PATH,
            endpoint if crate::served::name_in(endpoint).is_some() => endpoint,
            _ => return Some(answer::refused(StatusCode::NOT_FOUND, "no endpoint of this server is there")),
        };
        let document = json!({
            "resource": format!("{}{}{endpoint}", base.origin, base.prefix),
            "authorization_servers": self.issuers.iter().map(|(issuer, _)| issuer).collect::<Vec<_>>(),
            "scopes_supported": self.scopes,
            "bearer_methods_supported": ["header"],
            "resource_name": "scorpiox-code",
        });
        Some(answer::json(StatusCode::OK, document.to_string().into_bytes()))
    }

    /// The answer to a request of nobody who is known.
    pub(crate) fn refuse(&self, path: &str, unknown: &Unknown) -> Answer {
        match unknown {
            Unknown::Missing => {
                let why = format!("a token is needed: Authorization: Bearer TOKEN{}", self.hint);
                self.refusal(StatusCode::UNAUTHORIZED, path, None, &self.needed, &why, plain(&why))
            }
            Unknown::NotGood(why) => {
                let why = format!("{why}{}", self.hint);
                let kind = Some("invalid_token");
                self.refusal(StatusCode::UNAUTHORIZED, path, kind, &self.needed, &why, plain(&why))
            }
            Unknown::Insufficient(scopes) => {
                let why = format!("the token lacks a scope: {} needed", words(scopes));
                self.insufficient(path, scopes, &why, plain(&why))
            }
            Unknown::Unavailable => answer::refused(
                StatusCode::SERVICE_UNAVAILABLE,
                "nobody new can be let in: the keys of the tokens' issuer cannot be read at the moment",
            ),
        }
    }

    /// The answer to a call that its principal, whom this issuer vouches for, may not make; `line` is the message that says so.
    pub(crate) fn deny(
        &self,
        path: &str,
        issuer: Option<&str>,
        denial: &AccessDenial,
        line: Vec<u8>,
    ) -> Answer {
        self.insufficient(path, &self.gained(issuer, &denial.scopes), &denial.why, line)
    }

    /// The scopes that a client has to ask this issuer for, as that calls them; none, where some are not its own to give.
    fn gained(&self, issuer: Option<&str>, scopes: &BTreeSet<String>) -> BTreeSet<String> {
        if self.issuers.is_empty() {
            return scopes.clone();
        }
        let own = self.issuers.iter().find(|(known, _)| issuer == Some(known));
        let Some((_, prefix)) = own else { return BTreeSet::new() };
        let plain = scopes.iter().map(|scope| scope.strip_prefix(prefix.as_str()).map(str::to_owned));
        plain.collect::<Option<_>>().unwrap_or_default()
    }

    /// The answer to a request whose sender needs other scopes, if any would help.
    fn insufficient(&self, path: &str, scopes: &BTreeSet<String>, why: &str, line: Vec<u8>) -> Answer {
        let kind = (!scopes.is_empty()).then_some("insufficient_scope");
        self.refusal(StatusCode::FORBIDDEN, path, kind, scopes, why, line)
    }

    fn refusal(
        &self,
        status: StatusCode,
        path: &str,
        kind: Option<&str>,
        scopes: &BTreeSet<String>,
        why: &str,
        line: Vec<u8>,
    ) -> Answer {
        let mut refused = answer::json(status, line);
        if status == StatusCode::FORBIDDEN && kind.is_none() {
            return refused;
        }
        let mut parts = Vec::new();
        if let Some(kind) = kind {
            parts.push(format!("error=\"{kind}\""));
            parts.push(format!("error_description=\"{}\"", quoted(why)));
        }
        if !scopes.is_empty() {
            let scopes: Vec<_> = scopes.iter().map(String::as_str).collect();
            parts.push(format!("scope=\"{}\"", scopes.join(" ")));
        }
        if let Some(base) = &self.base {
            parts.push(format!("resource_metadata=\"{}{WELL_KNOWN}{}{path}\"", base.origin, base.prefix));
        }
        let challenge =
            if parts.is_empty() { "Bearer".to_owned() } else { format!("Bearer {}", parts.join(", ")) };
        let challenge = HeaderValue::try_from(challenge).unwrap_or(HeaderValue::from_static("Bearer"));
        refused.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        refused
    }
}

/// The message that says why, to a request that was not looked at.
fn plain(why: &str) -> Vec<u8> {
    RpcError::invalid_request(why).reply_to_unknown()
}

fn words(scopes: &BTreeSet<String>) -> String {
    let listed: Vec<_> = scopes.iter().map(String::as_str).collect();
    format!("{} {}", listed.join(" "), if listed.len() == 1 { "is" } else { "are" })
}

/// What may stand in a quoted text: RFC 6750, 3.
fn quoted(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == '"' || c == '\\' {
                '\''
            } else if (' '..='~').contains(&c) {
                c
            } else {
                '?'
            }
        })
        .collect()
}

/// The answer to a peer whose tokens were not good too often.
pub(crate) fn too_many() -> Answer {
    let why = "too many requests came from here with tokens that are not good";
    answer::later(answer::refused(StatusCode::TOO_MANY_REQUESTS, why), PAUSE)
}
