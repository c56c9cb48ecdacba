//! Secrets that a manifest declares, and checks of their uses.

use super::check::{MAX_WHY_CHARS, single};
use super::{Manifest, ManifestError, wrong};
use crate::asks::WebAsk;
use crate::headers;
use crate::secrets::{SecretName, SecretValue, SecretValueError};

/// Maximum number of secrets. The user sets each of them.
const MAX_SECRETS: usize = 16;

impl Manifest {
    /// Returns the purpose of a secret, or an error if the manifest does not declare it.
    pub fn secret(&self, name: &SecretName) -> Result<&str, SecretValueError> {
        self.secrets.get(name).map(String::as_str).ok_or_else(|| {
            let known: Vec<_> = self.secrets.keys().map(SecretName::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            SecretValueError::Unknown { plugin: self.name.clone(), name: name.clone(), known }
        })
    }

    /// Converts `bytes` to the value of a secret, checking that the value fits its use.
    pub fn secret_value(&self, name: &SecretName, bytes: Vec<u8>) -> Result<SecretValue, SecretValueError> {
        self.secret(name)?;
        let value = String::from_utf8(bytes).map_err(|_| SecretValueError::NoUtf8)?;
        let value = SecretValue::try_from(value)?;
        let is_header = self.capabilities.web.as_ref().is_some_and(|web| web.secrets().contains(name));
        if is_header && !headers::fits_header(value.reveal()) {
            return Err(SecretValueError::NoHeader(name.clone()));
        }
        Ok(value)
    }

    pub(super) fn check_secrets(&self) -> Result<(), ManifestError> {
        if self.secrets.len() > MAX_SECRETS {
            let what = format!("secrets has {} names", self.secrets.len());
            return Err(wrong(what, format!("the limit is {MAX_SECRETS}")));
        }
        for (name, what_for) in &self.secrets {
            single(&format!("secrets.{name}"), what_for, MAX_WHY_CHARS)?;
            if what_for.trim().is_empty() {
                return Err(wrong(
                    format!("secrets.{name} is empty"),
                    "say what for: the user decides by this sentence",
                ));
            }
            if self.config.contains_key(name.as_str()) {
                let fix = "take one of them out: both would be the same value of wasi:config";
                return Err(wrong(format!("{name} is in config and in secrets"), fix));
            }
        }
        self.check_secret_variables()?;
        self.capabilities.web.as_ref().map_or(Ok(()), |web| headers::check(web, &self.secrets))
    }

    /// Checks the secrets that the plugin reads as variables. The plugin must not see a secret of a header.
    fn check_secret_variables(&self) -> Result<(), ManifestError> {
        let Some(env) = &self.capabilities.env else { return Ok(()) };
        let of_headers = self.capabilities.web.as_ref().map(WebAsk::secrets).unwrap_or_default();
        for name in &env.secrets {
            let wrong =
                |why: &str, fix: &str| Err(wrong(format!("capabilities.env.secrets has {name}, {why}"), fix));
            if !self.secrets.contains_key(name) {
                return wrong("which [secrets] does not have", "add it there, with what it is for");
            }
            if of_headers.contains(name) {
                let fix = "take it out of one of the two";
                return wrong("which a header has, so that the plugin does not see it", fix);
            }
            if env.names.iter().any(|variable| variable == name.as_str()) {
                return wrong("and capabilities.env.names has it, too", "take it out of one of the two");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::error;
    use super::*;

    #[test]
    fn a_secret_is_a_variable_only_if_it_is_declared_and_in_no_header() {
        let with = |line: &str| {
            format!(
                "name = \"a\"\ncomponent = \"a.wasm\"\n[secrets]\nKEY = \"of x\"\n[capabilities.env]\nwhy = \"x\"\n{line}"
            )
        };
        let manifest = Manifest::parse(&with("secrets = [\"KEY\"]")).expect("a manifest");
        let lines = manifest.capabilities.lines();
        assert_eq!(lines[0].details, [("secrets as variables", vec!["KEY".to_owned()])]);
        let header = "secrets = [\"KEY\"]\n[capabilities.web]\nwhy = \"x\"\nhosts = [\"a.b\"]\nheaders = { \"a.b\" = { X = \"${KEY}\" } }";
        for (line, expected) in [
            ("secrets = [\"OTHER\"]", "capabilities.env.secrets has OTHER, which [secrets] does not have"),
            (header, "capabilities.env.secrets has KEY, which a header has"),
            ("names = [\"KEY\"]\nsecrets = [\"KEY\"]", "and capabilities.env.names has it, too"),
            ("secrets = [\"a b\"]", "is not the name of a secret"),
        ] {
            let error = error(&with(line));
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
