//! Headers that the host adds to a plugin's requests, with secrets that the plugin itself never sees.

use std::collections::{BTreeMap, BTreeSet};

use crate::asks::WebAsk;
use crate::manifest::{ManifestError, wrong};
use crate::secrets::{SecretName, Secrets};

/// Most hosts with headers, and most headers of a host: a person looks at each.
const MAX_HEADERS: usize = 8;
/// Longest name of a header, and longest text around the secrets of its value.
const MAX_NAME_CHARS: usize = 100;
const MAX_TEMPLATE_CHARS: usize = 500;

/// What says how a message is framed and where it goes: the host's business alone.
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

/// The value of a header, such as `Bearer ${KEY}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Secret(SecretName),
}

impl Template {
    /// Reads one; says what is wrong.
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

    /// The secrets in it.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretName> {
        self.0.iter().filter_map(|part| match part {
            Part::Secret(name) => Some(name),
            Part::Text(_) => None,
        })
    }

    /// The value, where all secrets in it are set and fit into a header.
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

/// Whether a secret can be a part of a header.
pub(crate) fn fits_header(value: &str) -> bool {
    value.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

impl WebAsk {
    /// All headers: host, name, and the value as it is written.
    pub fn templates(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.headers.iter().flat_map(|(host, headers)| {
            headers.iter().map(move |(name, text)| (host.as_str(), name.as_str(), text.as_str()))
        })
    }

    /// The secrets in them: those go into requests alone.
    pub fn secrets(&self) -> BTreeSet<SecretName> {
        let templates = self.templates().filter_map(|(_, _, text)| Template::parse(text).ok());
        templates.flat_map(|template| template.secrets().cloned().collect::<Vec<_>>()).collect()
    }
}

/// Whether the headers that a manifest asks for can be added. Hosts are looked at by whoever grants them.
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
