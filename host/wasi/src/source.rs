//! Inputs from which the WASI state of a call is created.

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

    /// Returns the granted variables that are set.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let value = |name: &String| Some((name.clone(), env::var(name).ok()?));
        self.approved.env.iter().filter_map(value).collect()
    }
}
