//! Reads the credentials stored by `docker login`: `config.json`, and the helpers it names
//! (`docker-credential-NAME`).

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use super::Reader;
use super::command::failed;
use crate::credentials::Credentials;

/// Maximum size of the configuration. With many registries, it has some kilobytes.
const MAX_CONFIG_BYTES: usize = 1024 * 1024;
const CONFIG: &str = "config.json";
/// Docker's name for its own registry, and the key in its configuration.
const HUB: (&str, &str) = ("docker.io", "https://index.docker.io/v1/");
/// User name that marks the secret as an identity token, which must be exchanged, instead of a password.
const IDENTITY: &str = "<token>";
/// Message of Docker's helpers for missing credentials.
const UNKNOWN: &str = "credentials not found";

/// Environment in which Docker finds its configuration and helpers.
#[derive(Debug)]
pub(super) struct Settings {
    /// Value of `DOCKER_CONFIG`.
    pub(super) folder: Option<PathBuf>,
    /// Value of `PATH`.
    pub(super) path: Option<OsString>,
}

/// Relevant part of `config.json`.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    auths: BTreeMap<String, Auth>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Auth {
    auth: String,
    identitytoken: String,
}

/// Output of a credential helper.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Got {
    username: String,
    secret: String,
}

impl Reader<'_> {
    pub(super) fn docker(&self, host: &str) -> Result<Credentials, String> {
        let folder = match (&self.docker.folder, &self.home) {
            (Some(folder), _) => folder.clone(),
            (None, Some(home)) => home.join(".docker"),
            (None, None) => return Err("the home folder is not known".to_owned()),
        };
        let path = folder.join(CONFIG);
        let config = self.secret(&path, MAX_CONFIG_BYTES)?;
        // A parser's error would quote its input, which is a secret.
        let config: Config = serde_json::from_slice(&config)
            .map_err(|error| format!("{} is not docker's: line {}", path.display(), error.line()))?;
        let names = names(host);
        let helper =
            names.iter().find_map(|name| config.cred_helpers.get(name)).or(Some(&config.creds_store));
        if let Some(helper) = helper.filter(|helper| !helper.is_empty())
            && let Some(found) = self.helper(helper, &names)?
        {
            return Ok(found);
        }
        let of_host = |(name, _): &(&String, &Auth)| names.iter().any(|own| bare(name) == bare(own));
        let Some((_, auth)) = config.auths.iter().find(of_host).filter(|(_, auth)| !auth.is_empty()) else {
            return Err(format!("{} has nothing for {host}; `docker login {host}` adds it", path.display()));
        };
        if !auth.identitytoken.is_empty() {
            return Err(identity());
        }
        let text = BASE64_STANDARD.decode(&auth.auth).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| format!("`auth` of {host} in {} is no base64", path.display()))?;
        let (user, password) = text
            .split_once(':')
            .ok_or_else(|| format!("`auth` of {host} in {} has no user and password", path.display()))?;
        Ok(Credentials::new(user.to_owned(), password.to_owned())?)
    }

    /// Queries one of Docker's credential helpers. Returns `None` if it has no credentials.
    fn helper(&self, helper: &str, names: &[String]) -> Result<Option<Credentials>, String> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if !helper.bytes().all(is_name) {
            return Err(
                "the name of its program has other characters than letters, digits, -, _ and .".to_owned()
            );
        }
        let name = format!("docker-credential-{helper}{}", env::consts::EXE_SUFFIX);
        let program = self.found(&name).ok_or_else(|| format!("{name} is not found in PATH"))?;
        for server in names {
            let done = self.run(&program, &["get".to_owned()], format!("{server}\n").as_bytes())?;
            let printed = String::from_utf8_lossy(&done.output).into_owned();
            if !done.status.success() {
                // Helpers print errors to standard output.
                let said = if done.said.is_empty() { &printed } else { &done.said };
                if printed.contains(UNKNOWN) || done.said.contains(UNKNOWN) {
                    continue;
                }
                return Err(format!("{name}: {}", failed(&done, said)));
            }
            let Got { username, secret } = serde_json::from_str(&printed)
                .map_err(|_| format!("{name} printed something else than it should"))?;
            if username == IDENTITY {
                return Err(identity());
            }
            return Ok(Some(Credentials::new(username, secret)?));
        }
        Ok(None)
    }

    /// Returns the first program with this name in `PATH`. If the later check fails, no other program is
    /// used.
    fn found(&self, name: &str) -> Option<PathBuf> {
        let folders = self.docker.path.as_ref()?;
        let mut paths = env::split_paths(folders).filter(|folder| folder.is_absolute());
        paths.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()))
    }
}

impl Auth {
    fn is_empty(&self) -> bool {
        self.auth.is_empty() && self.identitytoken.is_empty()
    }
}

fn identity() -> String {
    "docker has an identity token for it, which this program cannot use; make a password or an access token"
        .to_owned()
}

/// Returns Docker's names for a registry.
pub(super) fn names(host: &str) -> Vec<String> {
    if host == HUB.0 { vec![HUB.1.to_owned()] } else { vec![host.to_owned(), format!("https://{host}")] }
}

/// Returns the host of a name that may be a URL.
fn bare(name: &str) -> &str {
    let name = name.split_once("://").map_or(name, |(_, rest)| rest);
    name.split_once('/').map_or(name, |(host, _)| host)
}
