//! Parses the address of a plugin as a user types it.

use std::fmt;

use scorpiox_text::line;
use url::{Host, Url};

use crate::digest::Digest;

/// Maximum length of a repository name with its host, from the OCI specification.
const MAX_NAME_CHARS: usize = 255;
/// Maximum length of a tag, from the OCI specification.
const MAX_TAG_CHARS: usize = 128;
/// Maximum number of characters of an invalid address that an error shows.
const MAX_SHOWN_CHARS: usize = 300;
/// Default tag.
const LATEST: &str = "latest";
/// Name of Docker's registry, and its host.
const DOCKER: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// Address of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A manifest in an OCI registry.
    Registry(Reference),
    /// A file on a web server.
    File(FileAddress),
}

/// Reference to a manifest in a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Repository of the manifest.
    pub repository: Repository,
    /// Tag or digest of the manifest.
    pub version: Version,
}

/// A repository of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Host of the registry as typed, with the port if there is one.
    host: String,
    /// Base URL of the registry.
    base: Url,
    name: String,
}

/// Tag or digest that selects a manifest of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// The manifest to which the tag currently refers.
    Tag(String),
    /// The manifest with this digest.
    Digest(Digest),
}

/// URL of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAddress(Url);

/// Reason why a text is not a valid address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address}: {why}")]
pub struct AddressError {
    address: String,
    why: &'static str,
}

const FORM: &str =
    "it is no address in a registry; write oci://REGISTRY/NAME:TAG or oci://REGISTRY/NAME@sha256:DIGEST";

impl Address {
    /// Returns `true` if a text is an address rather than a path.
    pub fn is_one(text: &str) -> bool {
        text.split_once("://").is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    }

    /// Parses an address.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let wrong = |why| AddressError { address: line::clean(text, MAX_SHOWN_CHARS), why };
        match text.split_once("://") {
            Some(("oci", rest)) => Reference::parse(rest).map(Self::Registry).map_err(wrong),
            Some(("https" | "http", _)) => FileAddress::parse(text).map(Self::File).map_err(wrong),
            _ => Err(wrong(
                "it is no address of a plugin; write oci://REGISTRY/NAME:TAG, or one with https://",
            )),
        }
    }

    /// Returns the default name of a plugin from this address: the last path component, without a suffix for
    /// its type.
    pub fn last_part(&self) -> &str {
        match self {
            Self::Registry(reference) => reference.repository.last_part(),
            Self::File(file) => file.last_part(),
        }
    }
}

impl Reference {
    /// Parses the part after `oci://`.
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (host, path) = text.split_once('/').ok_or(FORM)?;
        let (path, digest) = match path.split_once('@') {
            Some((path, digest)) => {
                let digest = Digest::parse(digest);
                (path, Some(digest.ok_or("behind @ stands sha256: with 64 digits, in small letters")?))
            }
            None => (path, None),
        };
        let (name, tag) = path.split_once(':').map_or((path, None), |(name, tag)| (name, Some(tag)));
        let version = match (tag, digest) {
            (Some(_), Some(_)) => return Err("it has a tag and a digest; write one of them"),
            (None, Some(digest)) => Version::Digest(digest),
            (tag, None) => Version::Tag(parse_tag(tag.unwrap_or(LATEST))?),
        };
        Ok(Self { repository: Repository::parse(host, name)?, version })
    }

    /// Returns a reference to the same manifest by its digest, which is independent of later changes to the
    /// tag.
    pub(crate) fn pinned(&self, digest: &Digest) -> Self {
        Self { repository: self.repository.clone(), version: Version::Digest(digest.clone()) }
    }
}

fn parse_tag(tag: &str) -> Result<String, &'static str> {
    let is_first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_next = |byte: u8| is_first(byte) || byte == b'.' || byte == b'-';
    let is_one = tag.bytes().next().is_some_and(is_first) && tag.bytes().all(is_next);
    if is_one && tag.len() <= MAX_TAG_CHARS {
        return Ok(tag.to_owned());
    }
    Err("a tag has up to 128 letters, digits, `_`, `.` and `-`, and begins with none of the last two")
}

impl Repository {
    fn parse(host: &str, name: &str) -> Result<Self, &'static str> {
        let url = |scheme| Url::parse(&format!("{scheme}://{host}/"));
        let mut base = url("https").map_err(|_| FORM)?;
        if base.path() != "/" || base.query().is_some() || base.fragment().is_some() || host.contains('@') {
            return Err("the registry is a host, with a port if it needs one; no user name stands before it");
        }
        if is_this_machine(&base) {
            base = url("http").map_err(|_| FORM)?;
        }
        if host.eq_ignore_ascii_case(DOCKER.0) {
            base.set_host(Some(DOCKER.1)).map_err(|_| FORM)?;
        }
        let is_name = name.split('/').all(is_part) && host.len() + 1 + name.len() <= MAX_NAME_CHARS;
        if !is_name {
            return Err(
                "the name in a registry has small letters, digits, and between them `.`, `_`, `-` and `/`",
            );
        }
        Ok(Self { host: host.to_ascii_lowercase(), base, name: name.to_owned() })
    }

    /// Returns the host of the registry as typed, which is the key for credentials.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the base URL of the registry.
    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    /// Returns the name of the repository in the registry.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn last_part(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the URL of a resource in the repository.
    pub(crate) fn url(&self, rest: &str) -> Url {
        let mut url = self.base.clone();
        // Names, tags and digests contain no characters that are special in a path.
        url.set_path(&format!("/v2/{}/{rest}", self.name));
        url
    }
}

/// Returns `true` for letters and digits with separators between them (`.`, `_`, `__`, or any number of `-`).
fn is_part(part: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let (mut rest, mut is_first) = (part, true);
    while !rest.is_empty() {
        if !is_first {
            let separator = rest.bytes().take_while(|byte| !is_word(*byte)).count();
            let is_known = matches!(&rest[..separator], "." | "_" | "__")
                || rest[..separator].bytes().all(|byte| byte == b'-');
            if !is_known {
                return false;
            }
            rest = &rest[separator..];
        }
        let word = rest.bytes().take_while(|byte| is_word(*byte)).count();
        if word == 0 {
            return false;
        }
        (rest, is_first) = (&rest[word..], false);
    }
    !is_first
}

impl FileAddress {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let mut url = Url::parse(text).map_err(|_| "it is no address; write https://HOST/FILE")?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it has a user name in it, which is not sent");
        }
        if url.scheme() == "http" && !is_this_machine(&url) {
            return Err("anybody on the way could change what http brings; write https://");
        }
        url.set_fragment(None);
        let file = Self(url);
        if file.last_part().is_empty() {
            return Err("it names no file");
        }
        Ok(file)
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    /// Returns the URL of the file's signature.
    pub(crate) fn signature(&self) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}.minisig", self.0.path()));
        url
    }

    fn last_part(&self) -> &str {
        self.0.path().rsplit('/').next().unwrap_or_default()
    }
}

/// Returns `true` if the name in a URL refers to this machine, so that no network is involved.
pub(crate) fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(reference) => reference.fmt(f),
            Self::File(file) => file.0.fmt(f),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Repository { host, name, .. } = &self.repository;
        match &self.version {
            Version::Tag(tag) => write!(f, "oci://{host}/{name}:{tag}"),
            Version::Digest(digest) => write!(f, "oci://{host}/{name}@{digest}"),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => f.write_str(tag),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn reference(text: &str) -> Reference {
        match Address::parse(text) {
            Ok(Address::Registry(reference)) => reference,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_reference_names_a_tag_or_a_digest() {
        for (text, shown, url) in [
            (
                "oci://registry.example.com/acme/weather:1.2.0",
                "oci://registry.example.com/acme/weather:1.2.0",
                "https://registry.example.com/v2/acme/weather/manifests/1.2.0",
            ),
            (
                "oci://registry.example.com:5000/a-b_c/d__e.f",
                "oci://registry.example.com:5000/a-b_c/d__e.f:latest",
                "https://registry.example.com:5000/v2/a-b_c/d__e.f/manifests/latest",
            ),
            (
                "oci://docker.io/acme/weather",
                "oci://docker.io/acme/weather:latest",
                "https://registry-1.docker.io/v2/acme/weather/manifests/latest",
            ),
            (
                "oci://127.0.0.1:5000/weather:x",
                "oci://127.0.0.1:5000/weather:x",
                "http://127.0.0.1:5000/v2/weather/manifests/x",
            ),
        ] {
            let found = reference(text);
            assert_eq!(found.to_string(), shown);
            assert_eq!(found.repository.url(&format!("manifests/{}", found.version)).as_str(), url);
        }
        let pinned = format!("oci://registry.example.com/weather@{DIGEST}");
        assert_eq!(reference(&pinned).to_string(), pinned);
        assert_eq!(Address::parse(&pinned).unwrap().last_part(), "weather");
    }

    #[test]
    fn what_is_no_reference_is_refused_with_a_reason() {
        for (text, why) in [
            ("oci://registry.example.com", "write oci://REGISTRY/NAME:TAG"),
            ("oci:///weather", "write oci://REGISTRY/NAME:TAG"),
            ("oci://registry.example.com/", "the name in a registry"),
            ("oci://registry.example.com/Weather", "the name in a registry"),
            ("oci://registry.example.com/a//b", "the name in a registry"),
            ("oci://registry.example.com/a/../b", "the name in a registry"),
            ("oci://registry.example.com/a?x=1", "the name in a registry"),
            ("oci://registry.example.com/-a", "the name in a registry"),
            ("oci://registry.example.com/a_", "the name in a registry"),
            ("oci://registry.example.com/a___b", "the name in a registry"),
            ("oci://registry.example.com/a:", "a tag has up to 128"),
            ("oci://registry.example.com/a:.b", "a tag has up to 128"),
            ("oci://registry.example.com/a:b/c", "a tag has up to 128"),
            ("oci://registry.example.com/a@sha256:12", "64 digits"),
            ("oci://registry.example.com/a@sha512:12", "64 digits"),
            ("oci://me:secret@registry.example.com/a", "no user name"),
            ("oci://registry.example.com?x/a", "the registry is a host"),
            ("ftp://example.com/a.wasm", "it is no address of a plugin; write oci://"),
            ("http://example.com/a.wasm", "write https://"),
            ("https://me:secret@example.com/a.wasm", "user name"),
            ("https://example.com/", "names no file"),
        ] {
            let error = Address::parse(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        let both = format!("oci://registry.example.com/a:1@{DIGEST}");
        assert!(Address::parse(&both).unwrap_err().to_string().contains("a tag and a digest"));
        let long = format!("oci://registry.example.com/{}", "a".repeat(256));
        assert!(Address::parse(&long).is_err());
    }

    #[test]
    fn a_file_has_its_signature_beside_it() {
        let Ok(Address::File(file)) = Address::parse("https://example.com/x/weather.wasm?v=1#top") else {
            panic!("a file");
        };
        assert_eq!(file.url().as_str(), "https://example.com/x/weather.wasm?v=1");
        assert_eq!(file.signature().as_str(), "https://example.com/x/weather.wasm.minisig?v=1");
        assert_eq!(Address::File(file).last_part(), "weather.wasm");
    }

    #[test]
    fn paths_are_no_addresses() {
        for path in ["./weather", "weather.wasm", "C:\\weather", "/srv/weather", "://x", "a b://x"] {
            assert!(!Address::is_one(path), "{path}");
        }
        assert!(Address::is_one("oci://x") && Address::is_one("ftp://x"));
    }
}
