//! Credentials as the operator's policy names them: `[plugins.registries."HOST"]`.
//!
//! Invariants:
//! - Nothing but the policy says where credentials come from. Neither the registry nor a plugin, a tool or a file of
//!   the workspace has a say.
//! - They are read when the registry asks who somebody is, and not before.
//! - A place that commands can write, or a secret that others can read, is an error. So is whatever else is wrong: nobody
//!   is a stranger to a registry who has said who they are.

mod command;
mod docker;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use scorpiox_operator::{MAX_PASSWORD_BYTES, Operator, one_password, read_secret, written_path};
use scorpiox_paths::Writable;
use scorpiox_policy::{CredentialsFrom, RegistryLogin, Sourced};

use crate::credentials::{Credentials, Keyring};

/// What the policy names, for the person at this command line.
pub struct OperatorKeyring<'a> {
    operator: &'a Operator,
    docker: docker::Settings,
}

/// Who reads a place: what is the same for each of them.
struct Reader<'a> {
    home: Option<PathBuf>,
    writable: Writable,
    docker: &'a docker::Settings,
}

impl<'a> OperatorKeyring<'a> {
    /// Under this operator's policy; docker's programs and settings are found as docker finds them.
    pub fn new(operator: &'a Operator) -> Self {
        Self::with(operator, std::env::var_os("DOCKER_CONFIG"), std::env::var_os("PATH"))
    }

    /// The same with these in the place of the variables.
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

    /// A path of the policy's as it is here.
    fn place(&self, written: &str) -> Result<PathBuf, String> {
        written_path(written, self.home.as_deref())
    }

    fn password_in(&self, path: &str) -> Result<String, String> {
        one_password(self.secret(&self.place(path)?, MAX_PASSWORD_BYTES)?)
    }

    /// A file that this person, or the system's owner, alone can read and write, and no command.
    fn secret(&self, path: &Path, most: usize) -> Result<Vec<u8>, String> {
        read_secret(path, &self.writable, most)
    }
}

#[cfg(test)]
mod tests;
