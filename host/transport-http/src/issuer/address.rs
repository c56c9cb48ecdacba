//! Address of an issuer's keys, and the certificate authorities trusted for its host.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::jwt::Keys;
use scorpiox_executor::AsyncRuntime;
use scorpiox_fs::others_can_change;
use scorpiox_policy::{HostRule, NetworkRule, Source, Sourced, WebPattern, WebPolicy, WebRule};
use scorpiox_web::{Fetcher, Method, Request, Waited};
use url::Url;

/// Timeout for fetching the keys.
const FETCH_TIME: Duration = Duration::from_secs(10);
/// Maximum size of a key set and of a certificate file, in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Address from which keys are fetched.
pub(crate) struct Address {
    url: String,
    trust: Trust,
}

/// Certificate authorities trusted for the host.
enum Trust {
    /// The system's authorities, read once because there are many.
    System(Arc<Fetcher>),
    /// Only the authorities in a file. It is read each time, so that changes need no restart.
    File(PathBuf, Arc<AsyncRuntime>),
}

impl Address {
    /// Creates the address, with an optional file of authorities that is read immediately.
    pub(crate) fn new(url: &str, ca: Option<&str>, runtime: Arc<AsyncRuntime>) -> Result<Self, String> {
        let trust = match ca {
            Some(ca) => Trust::File(ca.into(), runtime),
            None => Trust::System(Arc::new(Fetcher::new(only_to(url)?, runtime))),
        };
        let address = Self { url: url.to_owned(), trust };
        address.fetcher().map(|_| address)
    }

    fn fetcher(&self) -> Result<Arc<Fetcher>, String> {
        let (path, runtime) = match &self.trust {
            Trust::System(fetcher) => return Ok(Arc::clone(fetcher)),
            Trust::File(path, runtime) => (path, runtime),
        };
        let told = |why: &dyn std::fmt::Display| {
            format!("`ca` of the keys at {} cannot be used, {}: {why}", self.url, path.display())
        };
        let (pem, _) = read(path).map_err(|error| told(&error))?;
        let fetcher = Fetcher::new(only_to(&self.url)?, Arc::clone(runtime));
        fetcher.trusting(&pem).map(Arc::new).map_err(|error| told(&error))
    }

    /// Fetches the current keys.
    pub(crate) fn fetch(&self) -> Result<Keys, String> {
        let fetcher = self.fetcher()?;
        let trusted = match &self.trust {
            Trust::System(_) => String::new(),
            Trust::File(path, _) => {
                format!(" (only the certificates in {} vouch for that host)", path.display())
            }
        };
        let told =
            |why: &dyn std::fmt::Display| format!("the keys at {} cannot be used: {why}{trusted}", self.url);
        let mut pending = fetcher.pending(None).map_err(|error| told(&error))?;
        pending.begin(Request {
            method: Method::Get,
            url: self.url.clone(),
            headers: vec![("accept".to_owned(), "application/jwk-set+json, application/json".to_owned())],
            body: Vec::new(),
            timeout: FETCH_TIME,
            cached: false,
        });
        let response = match pending.next(FETCH_TIME, None) {
            Waited::Finished(_, response) => response.map_err(|error| told(&error))?,
            Waited::Nothing | Waited::Stopped => return Err(told(&"nothing came in time")),
        };
        if response.status != 200 {
            return Err(told(&format!("the status is {}", response.status)));
        }
        if response.body.len() > MAX_BYTES {
            return Err(told(&"it is larger than 1 MiB"));
        }
        Keys::parse(&response.body).map_err(|error| told(&error))
    }
}

/// Reads a file that decides on authentication. Fails if other users can change it.
pub(crate) fn read(path: &Path) -> Result<(Vec<u8>, std::fs::Metadata), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    if let Some(why) = others_can_change(&file).map_err(|error| error.to_string())? {
        return Err(why);
    }
    let about = file.metadata().map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > MAX_BYTES { Err("it is larger than 1 MiB".to_owned()) } else { Ok((bytes, about)) }
}

/// Allows only the host of the address. It may be in a private network, because the operator named it.
fn only_to(url: &str) -> Result<WebPolicy, String> {
    let parsed = Url::parse(url).ok();
    let host =
        parsed.as_ref().and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?)));
    let (host, port) = host.ok_or_else(|| format!("{url} has no host"))?;
    let networks = ["0.0.0.0/0", "::/0"].map(|network| NetworkRule::parse(network, Source::Builtin));
    let networks = networks.into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    let rule = HostRule::parse(&format!("{host}:{port}"), Source::Builtin);
    let pattern = WebPattern::Host(rule.map_err(|error| error.to_string())?);
    Ok(WebPolicy {
        allow: vec![WebRule { pattern, source: Source::Builtin }],
        allow_private: networks,
        enabled: Sourced::builtin(true),
        ..scorpiox_policy::Policy::builtin().web
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Self-signed test certificate, valid for a hundred years.
    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n\
        MIIBfzCCASWgAwIBAgIUPtlJguMOo0bVtjy8iSs+MHro5LkwCgYIKoZIzj0EAwIw\n\
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNzA2NTk1NloYDzIxMjYxMTAz\n\
        MDY1OTU2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO\n\
        PQMBBwNCAAS3u/mHSfyc2YTDRMAH37qYxnwRmspdZH/Bef0eQPd/eFpseNSnjBy7\n\
        SFNZAY6CBBAWLH2/RBYe5N7fzaRUHeZro1MwUTAdBgNVHQ4EFgQU2h2MNZjqkavr\n\
        3hKqVS3/H4WtUGAwHwYDVR0jBBgwFoAU2h2MNZjqkavr3hKqVS3/H4WtUGAwDwYD\n\
        VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAhcG4p0U/mFK8IRO+pzce\n\
        DY/FupIIZqJ9UTXg/8OnQz8CIFgcWuR8YIjzaV9vXDpyQi/YPT6E68ZiUrokhPZx\n\
        cmrb\n\
        -----END CERTIFICATE-----\n";

    const URL: &str = "https://id.example.com/keys";

    fn of(path: &Path) -> Result<Address, String> {
        Address::new(URL, Some(&path.display().to_string()), Arc::default())
    }

    #[test]
    fn a_file_of_authorities_that_cannot_be_used_is_named_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ca.pem");
        let refused = |path: &Path, why: &str| {
            let told = of(path).err().expect("a refusal");
            let name = path.display().to_string();
            assert!(told.contains(&name) && told.contains(URL) && told.contains(why), "{told}");
        };
        refused(&path, "cannot be used");
        for (text, why) in [
            ("", "there is none in it"),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "there is none in it"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "cannot be used"),
            ("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n", "cannot be used"),
        ] {
            std::fs::write(&path, text).expect("written");
            refused(&path, why);
        }
        std::fs::write(&path, vec![b'\n'; MAX_BYTES + 1]).expect("written");
        refused(&path, "larger than 1 MiB");
        refused(folder.path(), "cannot be used");
    }

    #[cfg(unix)]
    #[test]
    fn authorities_that_others_can_change_are_not_trusted() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ca.pem");
        std::fs::write(&path, CERTIFICATE).expect("written");
        assert!(of(&path).is_ok());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o646)).expect("a mode");
        let told = of(&path).err().expect("a refusal");
        assert!(told.contains("others may write it") && told.contains("ca.pem"), "{told}");
    }
}
