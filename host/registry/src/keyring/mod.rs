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
mod file;

use std::ffi::OsString;
use std::path::PathBuf;

use scorpiox_operator::Operator;
use scorpiox_paths::Writable;
use scorpiox_policy::{CredentialsFrom, RegistryLogin, Sourced};

use crate::credentials::{Credentials, Keyring};

/// Longest password, in bytes. Tokens of cloud registries have three kilobytes.
const MAX_PASSWORD_BYTES: usize = 16 * 1024;

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
        match (written.strip_prefix("~/"), &self.home) {
            (None, _) => Ok(PathBuf::from(written)),
            (Some(inside), Some(home)) => Ok(home.join(inside)),
            (Some(_), None) => Err("the home folder is not known".to_owned()),
        }
    }
}

/// The password in what a file or a program has: one line.
fn one_password(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|_| "the password is no UTF-8".to_owned())?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    match line {
        "" => Err("there is no password in it".to_owned()),
        line if line.contains('\n') => Err("it has more than one line, and a password is one".to_owned()),
        line => Ok(line.to_owned()),
    }
}

#[cfg(test)]
mod tests;
