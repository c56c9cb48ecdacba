//! Inputs from which the WASI state of a call is created.

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;

use scorpiox_audit::Uses;

use crate::secrets::Secrets;
use scorpiox_capabilities::approved::Approved;
use scorpiox_capabilities::web::Web;
use scorpiox_shell::Shell;

/// Inputs from which the WASI state of a call is created.
pub struct WasiSource {
    /// Name of the plugin, for messages.
    pub name: String,
    /// Approved permissions.
    pub approved: Arc<Approved>,
    /// Web access; without it, no requests are sent.
    pub web: Option<Arc<Web>>,
    /// Shell with the workspace and the policy; without it, no folder is opened.
    pub shell: Option<Arc<Shell>>,
    /// Secrets that the user set.
    pub secrets: Arc<Secrets>,
    /// Record of the decisions.
    pub uses: Uses,
    /// `true` while nothing may be changed.
    pub read_only: bool,
}

impl WasiSource {
    /// Creates a source without any permissions.
    pub fn nothing(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            approved: Arc::default(),
            secrets: Arc::default(),
            web: None,
            shell: None,
            read_only: true,
            uses: Uses::default(),
        }
    }

    /// Returns the granted variables: those of the server that are set, and secrets.
    pub(super) fn variables(&self) -> BTreeMap<String, String> {
        let value = |name: &String| Some((name.clone(), env::var(name).ok()?));
        let own = self.approved.env.iter().filter_map(value);
        own.chain(self.secrets.variables.clone()).collect()
    }

    /// Returns the values of `wasi:config`: those of the manifest and the user, and the granted variables.
    pub(super) fn config(&self) -> BTreeMap<String, String> {
        let mut all = self.variables();
        all.extend(self.approved.config.clone());
        all.extend(self.secrets.config.clone());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variable that cargo sets for each test.
    const OWN: &str = "CARGO_MANIFEST_DIR";

    #[test]
    fn granted_variables_and_secrets_are_in_the_environment_and_in_the_configuration() {
        let map = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let approved = Approved {
            env: vec![OWN.to_owned(), "SCORPIOX_ABSENT".to_owned()],
            config: map(&[("city", "Ulm")]),
            ..Approved::default()
        };
        let secrets = Secrets {
            variables: map(&[("KEY", "hunter2")]),
            config: map(&[("KEY", "hunter2"), ("UNITS", "metric")]),
            ..Secrets::default()
        };
        let source = WasiSource {
            approved: Arc::new(approved),
            secrets: Arc::new(secrets),
            ..WasiSource::nothing("a")
        };
        let own = env::var(OWN).expect("a variable");
        assert_eq!(source.variables(), map(&[(OWN, &own), ("KEY", "hunter2")]));
        let all = [(OWN, own.as_str()), ("KEY", "hunter2"), ("UNITS", "metric"), ("city", "Ulm")];
        assert_eq!(source.config(), map(&all));
    }
}
