//! Answers to unauthenticated clients: how to authenticate (RFC 6750), and where to get a token (RFC 9728).

use std::collections::BTreeSet;

use bytes::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Method, StatusCode};
use scorpiox_mcp::RpcError;
use scorpiox_policy::access::{AccessDenial, Auth, HttpPolicy};
use serde_json::json;

use crate::answer::{self, Answer};
use crate::callers::{PAUSE, Unknown};
use crate::endpoint::PATH;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Authentication information for clients.
pub(crate) struct Challenge {
    /// Public address of the server without the endpoint's path; `None` if tokens are handed out manually.
    base: Option<Base>,
    /// Address of each issuer, with the prefix of its scopes in rules. The prefix is empty if the issuer has
    /// no name.
    issuers: Vec<(String, String)>,
    /// Scopes that every token needs, whatever its issuer.
    needed: BTreeSet<String>,
    /// Scopes that the tokens of some issuer need.
    scopes: BTreeSet<String>,
    /// Hint where to get a manually issued token.
    hint: &'static str,
}

struct Base {
    /// Origin such as `https://mcp.example.com`.
    origin: String,
    /// Path before the path of the endpoint.
    prefix: String,
}

impl Challenge {
    /// Creates the challenge for a policy.
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

    /// Returns `true` for paths of the protected resource metadata.
    pub(crate) fn is_well_known(path: &str) -> bool {
        path.starts_with(WELL_KNOWN)
    }

    /// Returns the protected resource metadata, if `path` names it.
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

    /// Returns the answer to an unauthenticated request.
    pub(crate) fn refuse(&self, path: &str, unknown: &Unknown) -> Answer {
        match unknown {
            Unknown::Missing => {
                let why = format!("a token is needed: Authorization: Bearer TOKEN{}", self.hint);
                self.refusal(StatusCode::UNAUTHORIZED, path, None, &self.needed, &why, plain(&why).into())
            }
            Unknown::NotGood(why) => {
                let why = format!("{why}{}", self.hint);
                let kind = Some("invalid_token");
                self.refusal(StatusCode::UNAUTHORIZED, path, kind, &self.needed, &why, plain(&why).into())
            }
            Unknown::Insufficient(scopes) => {
                let why = format!("the token lacks a scope: {} needed", words(scopes));
                self.insufficient(path, scopes, &why, plain(&why).into())
            }
            Unknown::Unavailable => answer::refused(
                StatusCode::SERVICE_UNAVAILABLE,
                "nobody new can be let in: the keys of the tokens' issuer cannot be read at the moment",
            ),
        }
    }

    /// Returns the answer to a call that the principal of this issuer may not make. `line` is the message
    /// with the reason.
    pub(crate) fn deny(
        &self,
        path: &str,
        issuer: Option<&str>,
        denial: &AccessDenial,
        line: Bytes,
    ) -> Answer {
        self.insufficient(path, &self.gained(issuer, &denial.scopes), &denial.why, line)
    }

    /// Returns the scopes to request from this issuer, in its own names. Returns none if another issuer
    /// grants some of them.
    fn gained(&self, issuer: Option<&str>, scopes: &BTreeSet<String>) -> BTreeSet<String> {
        if self.issuers.is_empty() {
            return scopes.clone();
        }
        let own = self.issuers.iter().find(|(known, _)| issuer == Some(known));
        let Some((_, prefix)) = own else { return BTreeSet::new() };
        let plain = scopes.iter().map(|scope| scope.strip_prefix(prefix.as_str()).map(str::to_owned));
        plain.collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns the answer to a request that lacks scopes, if other scopes would help.
    fn insufficient(&self, path: &str, scopes: &BTreeSet<String>, why: &str, line: Bytes) -> Answer {
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
        line: Bytes,
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
            // The path is the client's, and must not end the value.
            let path = path.replace('"', "%22").replace('\\', "%5C");
            parts.push(format!("resource_metadata=\"{}{WELL_KNOWN}{}{path}\"", base.origin, base.prefix));
        }
        let challenge =
            if parts.is_empty() { "Bearer".to_owned() } else { format!("Bearer {}", parts.join(", ")) };
        let challenge = HeaderValue::try_from(challenge).unwrap_or(HeaderValue::from_static("Bearer"));
        refused.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        refused
    }
}

/// Returns the message with the reason, for a request that was not parsed.
fn plain(why: &str) -> Vec<u8> {
    RpcError::invalid_request(why).reply_to_unknown()
}

fn words(scopes: &BTreeSet<String>) -> String {
    let listed: Vec<_> = scopes.iter().map(String::as_str).collect();
    format!("{} {}", listed.join(" "), if listed.len() == 1 { "is" } else { "are" })
}

/// Replaces characters that a quoted string must not contain (RFC 6750, section 3).
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

/// Returns the answer to a peer that sent too many invalid tokens.
pub(crate) fn too_many() -> Answer {
    let why = "too many requests came from here with tokens that are not good";
    answer::later(answer::refused(StatusCode::TOO_MANY_REQUESTS, why), PAUSE)
}
