//! `[http]`: how the server may be reached.

use std::net::SocketAddr;

use scorpiox_rules::{NetworkRule, Source, Sourced};

use crate::auth::Auth;
use crate::principal::Principal;
use crate::who::Who;

/// How the server may be reached over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpPolicy {
    /// Where the table stands; built-in where there is none.
    pub source: Source,
    /// What clients call the server's endpoint.
    pub url: Option<Sourced<String>>,
    /// Names that it may be asked as, beside those of this machine and that of `url`.
    pub hosts: Vec<Sourced<String>>,
    /// Where `hosts` stands.
    pub hosts_origin: Source,
    /// Pages that may call it from a browser.
    pub origins: Vec<Sourced<String>>,
    /// Where `origins` stands.
    pub origins_origin: Source,
    /// Proxies that may connect: nobody else may, and what they say about who connects to them is believed.
    pub proxies: Vec<NetworkRule>,
    /// Where `proxies` stands.
    pub proxies_origin: Source,
    /// The certificate that it shows.
    pub tls: Option<Sourced<Tls>>,
    /// How clients say who they are.
    pub auth: Sourced<Auth>,
    /// How it is watched.
    pub observe: ObservePolicy,
    /// Who may read the pages for the operator; nobody, and there are none, where nothing is said.
    pub admin: Option<Sourced<Who>>,
}

/// How a server is watched. Not at all, where nothing is said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObservePolicy {
    /// Where the table stands.
    pub source: Option<Source>,
    /// Where it says whether it is alive and ready, and what its figures are.
    pub listen: Option<Sourced<Vec<SocketAddr>>>,
    /// The OpenTelemetry collector that is told of each call, by the address where it takes traces.
    pub traces: Option<Sourced<String>>,
    /// A file with the authorities that the collector is to be known by, in place of the system's.
    pub ca: Option<Sourced<String>>,
}

/// A certificate and its key, in files that are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate and those between it and one that clients know, as PEM.
    pub certificate: String,
    /// Its key, as PEM.
    pub key: String,
}

impl HttpPolicy {
    /// What holds where nothing is said.
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

    /// Who a name is, as far as the policy knows it.
    pub fn principal(&self, name: &str) -> Principal {
        let mut principal = Principal::named(name);
        if let Some(token) = self.auth.value.tokens().and_then(|tokens| tokens.get(name)) {
            (principal.scopes, principal.groups) = (token.value.scopes.clone(), token.value.groups.clone());
        }
        principal
    }

    /// Whether somebody wrote something of it.
    pub fn is_set(&self) -> bool {
        *self != Self::builtin()
    }
}
