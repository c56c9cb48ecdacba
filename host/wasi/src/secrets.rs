//! What a person set for a plugin, as one call has it: values that the plugin reads, and headers that it never sees.
//!
//! Invariant: no value is in what [`fmt::Debug`] writes, and what a plugin prints of one is taken out.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use scorpiox_policy::{HostRule, covers};

/// Reads the secrets as they are now, or says which are missing, and what to do.
pub type ReadSecrets = dyn Fn() -> Result<Secrets, String> + Send + Sync;

/// Values that are shorter are not taken out of what is printed: they would be found everywhere.
const MIN_REDACTED_BYTES: usize = 4;

/// Secrets of one call.
#[derive(Default)]
pub struct Secrets {
    /// For `wasi:config`.
    pub config: BTreeMap<String, String>,
    /// For requests.
    pub headers: Vec<SecretHeader>,
    /// All values with their names, to find them in what is printed.
    pub values: Vec<(String, String)>,
}

/// A header that is added to requests to one host.
pub struct SecretHeader {
    /// The host.
    pub host: HostRule,
    /// Its name.
    pub name: HeaderName,
    /// Its value.
    pub value: HeaderValue,
}

/// Why a request does not go out with its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unsent {
    #[error("a secret is sent over https alone")]
    Unencrypted,
    #[error("TRACE would give the plugin its secrets back")]
    Traced,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.iter().map(|(name, _)| name)).finish()
    }
}

impl Secrets {
    /// A text without them.
    pub fn redacted(&self, text: String) -> String {
        let long = |(_, value): &&(String, String)| value.trim().len() >= MIN_REDACTED_BYTES;
        self.values.iter().filter(long).fold(text, |text, (name, value)| {
            if text.contains(value.trim()) {
                text.replace(value.trim(), &format!("[secret {name}]"))
            } else {
                text
            }
        })
    }
}

/// Adds what belongs to a request. What the plugin itself wrote there is replaced.
pub(crate) fn add(
    secrets: &[SecretHeader],
    method: &Method,
    uri: &http::Uri,
    headers: &mut HeaderMap,
) -> Result<(), Unsent> {
    let is_encrypted = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 });
    let host = uri.host().unwrap_or_default();
    let is_for = |secret: &&SecretHeader| covers(std::slice::from_ref(&secret.host), host, port);
    for secret in secrets.iter().filter(is_for) {
        if !is_encrypted && !stays_here(host) {
            return Err(Unsent::Unencrypted);
        }
        if method == Method::TRACE {
            return Err(Unsent::Traced);
        }
        headers.insert(secret.name.clone(), secret.value.clone());
    }
    Ok(())
}

/// Whether what is sent to a host does not leave the machine.
fn stays_here(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    address.is_ok_and(|address: IpAddr| match address {
        IpAddr::V4(address) => address == Ipv4Addr::LOCALHOST,
        IpAddr::V6(address) => address == Ipv6Addr::LOCALHOST,
    })
}

#[cfg(test)]
mod tests {
    use scorpiox_policy::Source;

    use super::*;

    fn secret(host: &str) -> SecretHeader {
        SecretHeader {
            host: HostRule::parse(host, Source::Builtin).expect("a host"),
            name: HeaderName::from_static("authorization"),
            value: HeaderValue::from_static("Bearer hunter2"),
        }
    }

    fn sent(host: &str, method: &Method, uri: &str) -> Result<Option<HeaderValue>, Unsent> {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("its own"));
        add(&[secret(host)], method, &uri.parse().expect("a URI"), &mut headers)?;
        Ok(headers.get("authorization").filter(|value| *value != "its own").cloned())
    }

    #[test]
    fn a_header_goes_to_its_host_alone() {
        let get = |host: &str, uri: &str| sent(host, &Method::GET, uri);
        let added = || Ok(Some(HeaderValue::from_static("Bearer hunter2")));
        assert_eq!(get("api.example.com", "https://api.example.com/a"), added());
        assert_eq!(get("api.example.com", "https://API.example.com:443/a"), added());
        assert_eq!(get("api.example.com:8443", "https://api.example.com:8443/"), added());
        assert_eq!(get("127.0.0.1:8080", "http://127.0.0.1:8080/"), added());
        for other in [
            "https://example.com/",
            "https://api.example.com.evil.example/",
            "https://a.api.example.com/",
            "https://api.example.com:8443/",
        ] {
            assert_eq!(get("api.example.com", other), Ok(None), "{other}");
        }
        assert_eq!(get("api.example.com", "http://api.example.com/"), Err(Unsent::Unencrypted));
        assert_eq!(sent("api.example.com", &Method::TRACE, "https://api.example.com/"), Err(Unsent::Traced));
    }

    #[test]
    fn what_is_printed_has_no_secret() {
        let values =
            [("KEY", "hunter2"), ("PIN", "12")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let secrets = Secrets { values: values.into(), ..Secrets::default() };
        assert_eq!(secrets.redacted("key hunter2, pin 12".to_owned()), "key [secret KEY], pin 12");
        assert!(!format!("{secrets:?}").contains("hunter2"));
    }
}
