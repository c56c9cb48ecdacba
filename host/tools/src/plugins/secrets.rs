//! The secrets of a plugin, as provided to its calls.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use scorpiox_plugin::{
    Asks, Installed, MAX_SECRET_BYTES, PluginName, SecretName, SecretValue, Secrets as Kept, Template, WebAsk,
};
use scorpiox_policy::{HostPattern, HostRule, SecretFrom, Source, Sourced};
use scorpiox_wasi::secrets::{ReadSecrets, SecretHeader, Secrets};
use scorpiox_workspace_config::{Operator, read_secret, written_path};

use super::grants::Ungrantable;

/// Value of each secret in a trial.
pub const OF_TRIAL: &str = "no-secret-in-a-trial";

/// A requested header, parsed.
struct Asked {
    host: HostRule,
    name: HeaderName,
    template: Template,
}

/// Reads the secrets for a plugin's calls.
struct Reader {
    plugin: PluginName,
    /// The program's own directory and the operator, who may provide secrets. `None` for a plugin in a trial.
    kept: Option<(PathBuf, Arc<Operator>)>,
    names: BTreeSet<SecretName>,
    /// Secrets that the plugin reads as variables.
    variables: Vec<SecretName>,
    headers: Vec<Asked>,
}

/// Checks that the requested headers can be added: each to a single host, which the plugin may reach.
pub(super) fn check(asks: &Asks, hosts: &[HostRule]) -> Result<(), Ungrantable> {
    for Asked { host, .. } in asked(asks)? {
        let is_listed = |rule: &HostRule| rule.meet(&host).is_some();
        if !hosts.iter().any(is_listed) {
            let why = format!("headers are for {host}, which `hosts` does not have; add it there");
            return Err(Ungrantable { name: "web", why });
        }
    }
    Ok(())
}

fn asked(asks: &Asks) -> Result<Vec<Asked>, Ungrantable> {
    let refused = |why: String| Ungrantable { name: "web", why };
    let one = |(host, name, text): (&str, &str, &str)| {
        let rule = HostRule::parse(host, Source::Builtin).map_err(|error| refused(error.to_string()))?;
        if matches!(rule.pattern, HostPattern::Below(_)) {
            return Err(refused(format!("headers are for {host}, which is more than one host; name each")));
        }
        let header = HeaderName::from_bytes(name.as_bytes());
        let header = header.map_err(|_| refused(format!("{name:?} is no name of a header")))?;
        Ok(Asked { host: rule, name: header, template: Template::parse(text).map_err(refused)? })
    };
    asks.web.iter().flat_map(WebAsk::templates).map(one).collect()
}

/// Returns the reader of an approved plugin's secrets, if it has any.
pub(super) fn reader(
    installed: &Installed,
    asks: &Asks,
    own_home: &Path,
    operator: &Arc<Operator>,
) -> Result<Option<Box<ReadSecrets>>, Ungrantable> {
    read_by(installed, asks, Some((own_home.to_owned(), Arc::clone(operator))))
}

/// Returns the reader of [`OF_TRIAL`] for a plugin in a trial, which must not receive the secrets of an installed plugin with
/// the same name.
pub fn untried(installed: &Installed, asks: &Asks) -> Result<Option<Box<ReadSecrets>>, Ungrantable> {
    read_by(installed, asks, None)
}

fn read_by(
    installed: &Installed,
    asks: &Asks,
    kept: Option<(PathBuf, Arc<Operator>)>,
) -> Result<Option<Box<ReadSecrets>>, Ungrantable> {
    let names: BTreeSet<_> = installed.manifest.secrets.keys().cloned().collect();
    if names.is_empty() {
        return Ok(None);
    }
    let variables = asks.env.as_ref().map(|env| env.secrets.clone()).unwrap_or_default();
    let reader = Reader { plugin: installed.name.clone(), kept, names, variables, headers: asked(asks)? };
    Ok(Some(Box::new(move || reader.read())))
}

impl Reader {
    fn read(&self) -> Result<Secrets, String> {
        let plugin = &self.plugin;
        let kept = match &self.kept {
            None => self.of_trial()?,
            Some((own_home, operator)) => {
                let mut kept = Kept::read(own_home, plugin).map_err(|error| error.to_string())?;
                self.take_given(operator, &mut kept)?;
                kept
            }
        };
        let missing: Vec<_> = self.names.iter().filter(|name| kept.get(name).is_none()).collect();
        if let Some(first) = missing.first() {
            let all = missing.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            return Err(format!(
                "plugin {plugin} needs the user to set {all} first; the command for it: \
                 `scorpiox-code plugin secret set {plugin} {first}`"
            ));
        }
        let headers = self.headers.iter().map(|asked| self.header(asked, &kept)).collect::<Result<_, _>>()?;
        let hidden: BTreeSet<_> = self.headers.iter().flat_map(|asked| asked.template.secrets()).collect();
        let value = |name: &SecretName| {
            let value = kept.get(name).map_or("", |value| value.reveal());
            (name.to_string(), value.to_owned())
        };
        Ok(Secrets {
            config: self.names.iter().filter(|name| !hidden.contains(name)).map(value).collect(),
            variables: self.variables.iter().filter(|name| !hidden.contains(name)).map(value).collect(),
            headers,
            values: self.names.iter().map(value).collect(),
        })
    }

    /// Returns a value that is no secret for each.
    fn of_trial(&self) -> Result<Kept, String> {
        let mut kept = Kept::default();
        for name in &self.names {
            let value = SecretValue::try_from(OF_TRIAL.to_owned()).map_err(|error| error.to_string())?;
            kept.set(name.clone(), value);
        }
        Ok(kept)
    }

    /// Replaces the user's secrets by those that the operator provides.
    fn take_given(&self, operator: &Operator, kept: &mut Kept) -> Result<(), String> {
        let policy = operator.policy().map_err(|error| error.to_string())?;
        for name in &self.names {
            let key = (self.plugin.to_string(), name.to_string());
            let Some(Sourced { value: from, source }) = policy.plugins.secrets.get(&key) else { continue };
            let value = given(operator, from)
                .and_then(|text| SecretValue::try_from(text).map_err(|error| error.to_string()));
            let told = |why| format!("the secret {name} of {} ({source}, {from}): {why}", self.plugin);
            kept.set(name.clone(), value.map_err(told)?);
        }
        Ok(())
    }

    fn header(&self, asked: &Asked, kept: &Kept) -> Result<SecretHeader, String> {
        let value = asked.template.fill(kept).and_then(|text| HeaderValue::from_str(&text).ok());
        let Some(mut value) = value else {
            let plugin = &self.plugin;
            let name = asked.template.secrets().next().map_or("KEY", SecretName::as_str);
            return Err(format!(
                "a secret of {plugin} cannot be a part of the header {}; set it again with \
                 `scorpiox-code plugin secret set {plugin} {name}`",
                asked.name
            ));
        };
        value.set_sensitive(true);
        Ok(SecretHeader { host: asked.host.clone(), name: asked.name.clone(), value })
    }
}

/// Reads a secret from the location that the policy defines.
fn given(operator: &Operator, from: &SecretFrom) -> Result<String, String> {
    match from {
        SecretFrom::File(path) => {
            let path = written_path(path, operator.site().home.as_deref())?;
            let writable = operator.writable().map_err(|error| error.to_string())?;
            let bytes = read_secret(&path, &writable, MAX_SECRET_BYTES)?;
            let text = String::from_utf8(bytes).map_err(|_| "it is not valid UTF-8".to_owned())?;
            // Text files usually end with a line feed.
            let line = text.strip_suffix('\n').map_or(&*text, |line| line.strip_suffix('\r').unwrap_or(line));
            Ok(line.to_owned())
        }
        SecretFrom::Variable(name) => {
            std::env::var(name).map_err(|_| "it is not set, or not valid Unicode".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use scorpiox_plugin::Manifest;

    use super::*;

    fn asks(web: &str) -> Asks {
        let text = format!(
            "name = \"a\"\ncomponent = \"a.wasm\"\n[secrets]\nKEY = \"x\"\n[capabilities.web]\nwhy = \"x\"\n{web}"
        );
        Manifest::parse(&text).expect("a manifest").capabilities
    }

    fn checked(web: &str) -> Result<(), String> {
        let asks = asks(web);
        super::super::grants(&asks, &scorpiox_plugin::Pins::new())
            .map(drop)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn headers_are_for_one_host_that_may_be_reached() {
        let header = |host: &str| format!("headers = {{ \"{host}\" = {{ X-Key = \"${{KEY}}\" }} }}");
        let with = |hosts: &str, host: &str| checked(&format!("hosts = [{hosts}]\n{}", header(host)));
        assert_eq!(with("\"api.example.com\"", "api.example.com"), Ok(()));
        assert_eq!(with("\"*.example.com\"", "api.example.com"), Ok(()));
        for (hosts, host, expected) in [
            ("\"example.com\"", "api.example.com", "which `hosts` does not have"),
            ("\"api.example.com\"", "api.example.com:8443", "which `hosts` does not have"),
            ("\"*.example.com\"", "*.example.com", "which is more than one host"),
            ("\"api.example.com\"", "https://api.example.com/", "is an address of a page"),
        ] {
            let error = with(hosts, host).expect_err("refused");
            assert!(error.contains(expected), "{error}");
        }
    }
}
