//! What the WASI of a call is made from.

use std::env;
use std::sync::Arc;

use scorpiox_audit::Uses;

use crate::secrets::Secrets;
use scorpiox_capabilities::approved::Approved;
use scorpiox_capabilities::web::Web;
use scorpiox_shell::Shell;

/// What the WASI of a call is made from.
pub struct WasiSource {
    /// Who asks, for messages.
    pub name: String,
    /// What was approved.
    pub approved: Arc<Approved>,
    /// The web; without one no request is made.
    pub web: Option<Arc<Web>>,
    /// The workspace and the policy; without them no folder is opened.
    pub shell: Option<Arc<Shell>>,
    /// What a person set.
    pub secrets: Arc<Secrets>,
    /// Told of what is decided.
    pub uses: Uses,
    /// Whether nothing may be changed at the moment.
    pub read_only: bool,
}

impl WasiSource {
    /// Nothing at all.
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

    /// The variables that were granted, and that are there.
    pub(super) fn variables(&self) -> Vec<(String, String)> {
        let value = |name: &String| Some((name.clone(), env::var(name).ok()?));
        self.approved.env.iter().filter_map(value).collect()
    }
}
