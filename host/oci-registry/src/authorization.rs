//! Answers the authentication challenge of a registry.

use http::HeaderValue;
use scorpiox_web::{Arrived, Courier, Transfer};
use serde::Deserialize;
use url::{Host, Url};

use crate::address::{Repository, is_this_machine};
use crate::challenge::Challenge;
use crate::credentials::{Credentials, Keyring};
use crate::error::RegistryError;
use crate::registry::{Access, QUICK};

/// Maximum size of a token server's response. Tokens of large companies have a few kilobytes.
const MAX_TOKEN_BYTES: u64 = 64 * 1024;

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    token: String,
    #[serde(default)]
    access_token: String,
}

/// Context of an authentication: the client, the repository, and the requested access.
pub(crate) struct Asks<'a> {
    pub(crate) courier: &'a Courier,
    pub(crate) keyring: &'a dyn Keyring,
    pub(crate) repository: &'a Repository,
    pub(crate) access: Access,
}

impl Asks<'_> {
    /// Returns the authorization for further requests after a refusal, and a description of the credentials
    /// in use.
    pub(crate) fn answer(&self, refusal: &Arrived) -> Result<(HeaderValue, Option<String>), RegistryError> {
        let host = self.repository.host();
        let none = || self.login("it is none that is known (Basic, or Bearer with a realm)");
        let challenge = Challenge::of(&refusal.headers).ok_or_else(none)?;
        let own = self.keyring.credentials(host);
        let own = own.map_err(|why| RegistryError::Credentials { host: host.to_owned(), why })?;
        let whose = own.as_ref().map(Credentials::described);
        let header = match challenge {
            Challenge::Basic => self.basic(own.as_ref())?.ok_or_else(|| RegistryError::Unauthorized {
                what: format!("oci://{host}/{}", self.repository.name()),
                said: String::new(),
                fix: without_credentials(host),
            }),
            Challenge::Bearer { realm, service } => {
                let realm = self.realm(&realm, own.as_ref())?;
                self.token(realm, service.as_deref(), own.as_ref())
            }
        };
        Ok((header?, whose))
    }

    fn basic(&self, own: Option<&Credentials>) -> Result<Option<HeaderValue>, RegistryError> {
        let cannot = || RegistryError::Credentials {
            host: self.repository.host().to_owned(),
            why: "they cannot be sent in a header".to_owned(),
        };
        own.map(|own| own.basic().ok_or_else(cannot)).transpose()
    }

    /// Checks the URL of a token server. Without credentials, it may be in the registry's own domain or on a
    /// host that the policy names. With credentials, it must be the registry's own host, or the configured
    /// token host, because other hosts of the domain may belong to someone else.
    fn realm(&self, written: &str, own: Option<&Credentials>) -> Result<Url, RegistryError> {
        let url = Url::parse(written)
            .map_err(|_| self.login("its realm, where tokens are to come from, is no address"))?;
        let is_plain =
            url.scheme() == "http" && is_this_machine(&url) && is_this_machine(self.repository.base());
        if url.scheme() != "https" && !is_plain {
            return Err(self.login(&format!("tokens would come from {url}, which is not https")));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(self.login("its realm has a user name in it"));
        }
        if let Some(own) = own {
            return if own.are_for(self.repository.base(), &url) {
                Ok(url)
            } else {
                Err(self.not_named(&url))
            };
        }
        if is_of_one_domain(self.repository.base(), &url) || self.courier.is_named(&url) {
            return Ok(url);
        }
        Err(self.login(&format!(
            "tokens would come from {}, which is neither of its domain nor named in `allow` of [web]",
            url.host_str().unwrap_or_default()
        )))
    }

    /// Returns the error for credentials that must not be sent to a host, with the setting that would allow
    /// it.
    fn not_named(&self, url: &Url) -> RegistryError {
        let host = self.repository.host();
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let token_host = format!("{}{port}", url.host_str().unwrap_or_default());
        self.login(&format!(
            "your credentials would go to {token_host}; if that is right, write `token_host = \"{token_host}\"` in \
             [plugins.registries.\"{host}\"] of policy.toml"
        ))
    }

    fn token(
        &self,
        mut realm: Url,
        service: Option<&str>,
        own: Option<&Credentials>,
    ) -> Result<HeaderValue, RegistryError> {
        let (host, name) = (self.repository.host(), self.repository.name());
        if let Some(service) = service {
            realm.query_pairs_mut().append_pair("service", service);
        }
        // The scope follows from the operation, not from the registry's challenge.
        realm.query_pairs_mut().append_pair("scope", &format!("repository:{name}:{}", self.access.scope()));
        let what = format!("the token for {host} from {}", realm.host_str().unwrap_or_default());
        let transfer = Transfer {
            method: http::Method::GET,
            url: realm,
            headers: http::HeaderMap::new(),
            authorization: self.basic(own)?,
            body: bytes::Bytes::new(),
            limit: MAX_TOKEN_BYTES,
            times: QUICK,
            gauge: None,
        };
        let arrived = self.courier.carry(transfer);
        let arrived = arrived.map_err(|error| RegistryError::web(&what, error, "tokens may have"))?;
        match arrived.status {
            200 => {}
            401 | 403 => {
                return Err(RegistryError::Unauthorized {
                    what,
                    said: crate::error::said(&arrived.body),
                    fix: own.map_or_else(
                        || without_credentials(host),
                        |own| format!("the credentials for {host} are not accepted ({})", own.described()),
                    ),
                });
            }
            _ => return Err(RegistryError::status(&what, &arrived)),
        }
        let wrong = || self.login("the token server sent no token");
        let Token { token, access_token } = serde_json::from_slice(&arrived.body).map_err(|_| wrong())?;
        let token = if token.is_empty() { access_token } else { token };
        if token.is_empty() {
            return Err(wrong());
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok(value)
    }

    fn login(&self, why: &str) -> RegistryError {
        RegistryError::Login { host: self.repository.host().to_owned(), why: why.to_owned() }
    }
}

pub(crate) fn without_credentials(host: &str) -> String {
    format!(
        "there are no credentials for {host}; it may be private, or may not exist. [plugins.registries.\"{host}\"] of \
         policy.toml gives some, with `user` and `password_file`, with `user` and `command`, or with \
         `credentials = \"docker\"`"
    )
}

/// Returns `true` if a host equals the registry's host, is below it, or is below its parent domain. Tokens
/// for `registry.example.com` may therefore come from `auth.example.com`.
fn is_of_one_domain(registry: &Url, other: &Url) -> bool {
    let (Some(own), Some(its)) = (registry.host(), other.host()) else { return false };
    if own == its {
        return true;
    }
    let (Host::Domain(own), Host::Domain(its)) = (own, its) else { return false };
    let is_below = |domain: &str| its == domain || its.ends_with(&format!(".{domain}"));
    // The parent domain must contain a dot: a top-level domain such as `com` has no single owner.
    let around = own.split_once('.').map(|(_, around)| around).filter(|around| around.contains('.'));
    is_below(own) || around.is_some_and(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_the_registry_s_and_what_is_beside_it() {
        let is_one = |own: &str, other: &str| {
            let url = |host: &str| Url::parse(&format!("https://{host}/")).unwrap();
            is_of_one_domain(&url(own), &url(other))
        };
        for (own, other) in [
            ("registry.example.com", "registry.example.com"),
            ("registry.example.com:5050", "registry.example.com"),
            ("registry.example.com", "auth.example.com"),
            ("registry.example.com", "example.com"),
            ("example.com", "auth.example.com"),
            ("127.0.0.1:5000", "127.0.0.1:5001"),
        ] {
            assert!(is_one(own, other), "{own} {other}");
        }
        for (own, other) in [
            ("example.com", "example.org"),
            ("example.com", "badexample.com"),
            ("registry.example.com", "example.com.evil.org"),
            ("registry.example.com", "auth.badexample.com"),
            ("127.0.0.1", "127.0.0.2"),
            ("localhost", "127.0.0.1"),
        ] {
            assert!(!is_one(own, other), "{own} {other}");
        }
    }
}
