//! Secrets that the user set for a plugin, as one call sees them: values that the plugin reads, and headers
//! that it never sees.
//!
//! Invariant: [`fmt::Debug`] shows no values, and values are redacted in the plugin's output.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use scorpiox_policy::{HostRule, covers};

/// Reads the current secrets. The error names the missing secrets and the remedy.
pub type ReadSecrets = dyn Fn() -> Result<Secrets, String> + Send + Sync;

/// Minimum length of a redacted value. Shorter values would match everywhere.
const MIN_REDACTED_BYTES: usize = 4;

/// Secrets of one call.
#[derive(Default)]
pub struct Secrets {
    /// Values for `wasi:config`.
    pub config: BTreeMap<String, String>,
    /// Values that are environment variables.
    pub variables: BTreeMap<String, String>,
    /// Headers for requests.
    pub headers: Vec<SecretHeader>,
    /// All values with their names, for redaction.
    pub values: Vec<(String, String)>,
}

/// A header that is added to requests to one host.
pub struct SecretHeader {
    /// Host of the requests.
    pub host: HostRule,
    /// Name of the header.
    pub name: HeaderName,
    /// Value of the header.
    pub value: HeaderValue,
}

/// Reason why a request cannot be sent with its secret headers.
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
    /// Returns a text with all secrets redacted.
    pub fn redacted(&self, text: String) -> String {
        without(text, self.values.iter().map(|(name, value)| (name, value.as_str())))
    }

    /// Returns a text or JSON of a result with the secrets redacted that are variables. Programs often print
    /// their environment.
    pub fn withheld(&self, text: String) -> String {
        let escaped = self.variables.iter().map(|(name, value)| {
            let quoted = serde_json::Value::from(value.trim()).to_string();
            let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            (name, inner.unwrap_or_default().to_owned())
        });
        let escaped: Vec<_> = escaped.collect();
        let plain = self.variables.iter().map(|(name, value)| (name, value.as_str()));
        without(text, plain.chain(escaped.iter().map(|(name, value)| (*name, value.as_str()))))
    }
}

/// Returns a text without these values, by name.
fn without<'a>(text: String, values: impl Iterator<Item = (&'a String, &'a str)>) -> String {
    let long = values.map(|(name, value)| (name, value.trim()));
    long.filter(|(_, value)| value.len() >= MIN_REDACTED_BYTES).fold(text, |text, (name, value)| {
        if text.contains(value) { text.replace(value, &format!("[secret {name}]")) } else { text }
    })
}

/// Adds the headers for a request. Replaces headers with the same names that the plugin set.
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

/// Returns `true` if requests to a host do not leave the machine.
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
    fn a_result_has_no_secret_that_is_a_variable() {
        let all = [("KEY", "hunter\"2"), ("CITY", "Ulm an der Donau")];
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let secrets = Secrets {
            variables: [all[0].clone()].into(),
            config: all.clone().into(),
            values: all.into(),
            ..Secrets::default()
        };
        assert_eq!(
            secrets.withheld("hunter\"2 in Ulm an der Donau".to_owned()),
            "[secret KEY] in Ulm an der Donau"
        );
        assert_eq!(secrets.withheld(r#"{"key":"hunter\"2"}"#.to_owned()), r#"{"key":"[secret KEY]"}"#);
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
