//! HTTP headers that the host adds to a plugin's requests. The plugin never sees the secrets in them.

use std::collections::{BTreeMap, BTreeSet};

use crate::asks::WebAsk;
use crate::manifest::{ManifestError, wrong};
use crate::secrets::{SecretName, Secrets};

/// Maximum number of hosts with headers, and of headers per host. The user reviews each of them.
const MAX_HEADERS: usize = 8;
/// Maximum length of a header name. The next constant limits the template of a header value.
const MAX_NAME_CHARS: usize = 100;
const MAX_TEMPLATE_CHARS: usize = 500;

/// Headers for message framing and routing, which only the host may set.
const OWN: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// Template of a header value, such as `Bearer ${KEY}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Secret(SecretName),
}

impl Template {
    /// Parses a template. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, after) = after.split_once('}').ok_or("after ${ the } is missing")?;
            let name = SecretName::try_from(name.to_owned()).map_err(|error| error.to_string())?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Secret(name));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        let is_plain = |part: &Part| match part {
            Part::Text(text) => text.bytes().all(|byte| (b' '..=b'~').contains(&byte)),
            Part::Secret(_) => true,
        };
        if !parts.iter().all(is_plain) {
            return Err("it has other characters than those of ASCII that can be seen".to_owned());
        }
        Ok(Self(parts))
    }

    /// Returns the names of the secrets in the template.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretName> {
        self.0.iter().filter_map(|part| match part {
            Part::Secret(name) => Some(name),
            Part::Text(_) => None,
        })
    }

    /// Returns the header value, or `None` if a secret is not set or contains characters that a header cannot
    /// have.
    pub fn fill(&self, secrets: &Secrets) -> Option<String> {
        let part = |part: &Part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::Secret(name) => {
                secrets.get(name).map(|value| value.reveal().to_owned()).filter(|value| fits_header(value))
            }
        };
        self.0.iter().map(part).collect()
    }
}

/// Returns `true` if the secret can be part of a header.
pub(crate) fn fits_header(value: &str) -> bool {
    value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

impl WebAsk {
    /// Iterates over all headers: host, name, and unparsed template.
    pub fn templates(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.headers.iter().flat_map(|(host, headers)| {
            headers.iter().map(move |(name, text)| (host.as_str(), name.as_str(), text.as_str()))
        })
    }

    /// Returns the secrets used in headers. They are sent in requests and are not visible to the plugin.
    pub fn secrets(&self) -> BTreeSet<SecretName> {
        let templates = self.templates().filter_map(|(_, _, text)| Template::parse(text).ok());
        templates.flat_map(|template| template.secrets().cloned().collect::<Vec<_>>()).collect()
    }
}

/// Checks the headers in a manifest. The hosts are checked when the capability is granted.
pub(crate) fn check(web: &WebAsk, secrets: &BTreeMap<SecretName, String>) -> Result<(), ManifestError> {
    let most = format!("the limit is {MAX_HEADERS}");
    if web.headers.len() > MAX_HEADERS {
        return Err(wrong(format!("capabilities.web.headers has {} hosts", web.headers.len()), most));
    }
    for (host, headers) in &web.headers {
        if headers.len() > MAX_HEADERS {
            return Err(wrong(
                format!("capabilities.web.headers.{host:?} has {} headers", headers.len()),
                most,
            ));
        }
        for (name, text) in headers {
            let place = format!("capabilities.web.headers.{host:?}.{name:?}");
            check_one(&place, name, text, secrets)?;
        }
    }
    Ok(())
}

fn check_one(
    place: &str,
    name: &str,
    text: &str,
    secrets: &BTreeMap<SecretName, String>,
) -> Result<(), ManifestError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.bytes().all(fits) {
        return Err(wrong(place, "a header's name has 1 to 100 letters, digits, - and _"));
    }
    if OWN.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Err(wrong(place, "the host sets this header itself; take it out"));
    }
    if text.len() > MAX_TEMPLATE_CHARS {
        return Err(wrong(
            format!("{place} has {} characters", text.len()),
            format!("the limit is {MAX_TEMPLATE_CHARS}"),
        ));
    }
    let template = Template::parse(text)
        .map_err(|why| wrong(format!("{place} = {text:?}: {why}"), "write \"Bearer ${KEY}\""))?;
    let Some(_) = template.secrets().next() else {
        return Err(wrong(format!("{place} = {text:?} names no secret"), "write \"Bearer ${KEY}\""));
    };
    match template.secrets().find(|secret| !secrets.contains_key(secret)) {
        Some(secret) => {
            let fix = format!("add it: [secrets] with {secret} = \"what it is for\"");
            Err(wrong(format!("{place} names {secret}, which [secrets] does not have"), fix))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(pairs: &[(&str, &str)]) -> Secrets {
        let mut secrets = Secrets::default();
        for (name, value) in pairs {
            let name = (*name).to_owned().try_into().expect("a name");
            secrets.set(name, (*value).to_owned().try_into().expect("a value"));
        }
        secrets
    }

    #[test]
    fn templates_are_filled_with_what_is_set() {
        let template = Template::parse("Basic ${USER}:${KEY}!").expect("a template");
        assert_eq!(template.secrets().map(SecretName::as_str).collect::<Vec<_>>(), ["USER", "KEY"]);
        assert_eq!(
            template.fill(&secrets(&[("USER", "me"), ("KEY", "${USER}")])).as_deref(),
            Some("Basic me:${USER}!")
        );
        assert_eq!(template.fill(&secrets(&[("USER", "me")])), None);
        assert_eq!(template.fill(&secrets(&[("USER", "me"), ("KEY", "a\r\nb: c")])), None);
        assert!(Template::parse("${KEY").is_err() && Template::parse("${a b}").is_err());
        assert!(Template::parse("a\nb ${KEY}").is_err());
    }
}
