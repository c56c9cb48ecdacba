//! `[http]`: access to the server over HTTP.

use std::net::SocketAddr;

use crate::rule::{NetworkRule, Source, Sourced};

use crate::access::auth::Auth;
use crate::access::principal::Principal;
use crate::access::who::Who;

/// Settings for access over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpPolicy {
    /// Source of the table; built-in if there is none.
    pub source: Source,
    /// URL of the endpoint, as clients use it.
    pub url: Option<Sourced<String>>,
    /// Accepted host names, in addition to those of this machine and of `url`.
    pub hosts: Vec<Sourced<String>>,
    /// Source of the `hosts` list.
    pub hosts_origin: Source,
    /// Origins of web pages that may call the server from a browser.
    pub origins: Vec<Sourced<String>>,
    /// Source of the `origins` list.
    pub origins_origin: Source,
    /// Proxies that may connect. If any are listed, no other peer may connect. The server trusts their
    /// headers about the client.
    pub proxies: Vec<NetworkRule>,
    /// Source of the `proxies` list.
    pub proxies_origin: Source,
    /// Certificate of the server.
    pub tls: Option<Sourced<Tls>>,
    /// Authentication of clients.
    pub auth: Sourced<Auth>,
    /// Monitoring of the server.
    pub observe: ObservePolicy,
    /// Principals that may read the operator's pages; `None` disables these pages.
    pub admin: Option<Sourced<Who>>,
}

/// Monitoring of a server; disabled by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObservePolicy {
    /// Source of the table.
    pub source: Option<Source>,
    /// Addresses that serve health checks and metrics.
    pub listen: Option<Sourced<Vec<SocketAddr>>>,
    /// Address of the OpenTelemetry collector that receives a trace of each call.
    pub traces: Option<Sourced<String>>,
    /// File with the certificate authorities for the collector; `None` uses the system's.
    pub ca: Option<Sourced<String>>,
}

/// A certificate and its key, in files that are reloaded when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Path of the certificate chain, as PEM.
    pub certificate: String,
    /// Path of the private key, as PEM.
    pub key: String,
}

impl HttpPolicy {
    /// Returns the default settings.
    pub const fn builtin() -> Self {
        Self {
            source: Source::Builtin,
            url: None,
            hosts: Vec::new(),
            hosts_origin: Source::Builtin,
            origins: Vec::new(),
            origins_origin: Source::Builtin,
            proxies: Vec::new(),
            proxies_origin: Source::Builtin,
            tls: None,
            auth: Sourced::builtin(Auth::OwnToken),
            observe: ObservePolicy { source: None, listen: None, traces: None, ca: None },
            admin: None,
        }
    }

    /// Returns the principal with this name, with the scopes and groups that the policy gives it.
    pub fn principal(&self, name: &str) -> Principal {
        let mut principal = Principal::named(name);
        if let Some(token) = self.auth.value.tokens().and_then(|tokens| tokens.get(name)) {
            (principal.scopes, principal.groups) = (token.value.scopes.clone(), token.value.groups.clone());
        }
        principal
    }

    /// Returns `true` if the settings differ from the defaults.
    pub fn is_set(&self) -> bool {
        *self != Self::builtin()
    }
}
