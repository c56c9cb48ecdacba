//! Credentials from the operator's policy: `[plugins.registries."HOST"]`.
//!
//! Invariants:
//! - Only the policy determines the source of credentials. Registries, plugins, tools and files of the
//!   workspace do not influence it.
//! - Credentials are read only when the registry requires authentication.
//! - A file that commands can write, or a secret that others can read, is an error, and so is any other
//!   problem. Configured credentials never degrade to an anonymous request.

mod command;
mod docker;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use scorpiox_fs::Writable;
use scorpiox_policy::{CredentialsFrom, RegistryLogin, Sourced};
use scorpiox_workspace_config::{MAX_PASSWORD_BYTES, Operator, one_password, read_secret, written_path};

use crate::credentials::{Credentials, Keyring};

/// Credentials that the policy configures for the user of the command line.
pub struct OperatorKeyring<'a> {
    operator: &'a Operator,
    docker: docker::Settings,
}

/// Reader of secrets, with the context shared by all sources.
struct Reader<'a> {
    home: Option<PathBuf>,
    writable: Writable,
    docker: &'a docker::Settings,
}

impl<'a> OperatorKeyring<'a> {
    /// Creates the keyring of this operator's policy. Docker's helpers and settings are found as Docker finds
    /// them.
    pub fn new(operator: &'a Operator) -> Self {
        Self::with(operator, std::env::var_os("DOCKER_CONFIG"), std::env::var_os("PATH"))
    }

    /// Creates a keyring with explicit values in place of the environment variables.
    fn with(operator: &'a Operator, docker_config: Option<OsString>, path: Option<OsString>) -> Self {
        Self { operator, docker: docker::Settings { folder: docker_config.map(PathBuf::from), path } }
    }
}

impl Keyring for OperatorKeyring<'_> {
    fn credentials(&self, host: &str) -> Result<Option<Credentials>, String> {
        let policy = self.operator.policy().map_err(|error| error.to_string())?;
        let Some(login) = policy.plugins.registries.get(host) else { return Ok(None) };
        let site = self.operator.site();
        let reader =
            Reader { home: site.home.clone(), writable: site.writable(policy), docker: &self.docker };
        let Sourced { value: RegistryLogin { credentials, token_host }, source } = login;
        let found =
            reader.read(host, credentials).map_err(|why| format!("{credentials} ({source}): {why}"))?;
        let place = format!("{credentials}, {source}");
        Ok(Some(found.found_in(place).with_token_host(token_host.clone())))
    }
}

impl Reader<'_> {
    fn read(&self, host: &str, from: &CredentialsFrom) -> Result<Credentials, String> {
        let (user, password) = match from {
            CredentialsFrom::File { user, path } => (user, self.password_in(path)?),
            CredentialsFrom::Command { user, command } => (user, self.password_by(command)?),
            CredentialsFrom::Docker => return self.docker(host),
        };
        Ok(Credentials::new(user.clone(), password)?)
    }

    /// Expands a path from the policy.
    fn place(&self, written: &str) -> Result<PathBuf, String> {
        written_path(written, self.home.as_deref())
    }

    fn password_in(&self, path: &str) -> Result<String, String> {
        one_password(self.secret(&self.place(path)?, MAX_PASSWORD_BYTES)?)
    }

    /// Reads a file that only the user or the system's owner can read and write, and no command.
    fn secret(&self, path: &Path, most: usize) -> Result<Vec<u8>, String> {
        read_secret(path, &self.writable, most)
    }
}

#[cfg(test)]
mod tests;
