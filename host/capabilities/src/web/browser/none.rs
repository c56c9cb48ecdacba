//! Systems without a sandbox for a browser.
//!
//! Invariant: no browser is started.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use scorpiox_executor::Cancel;
use scorpiox_sandbox::Tier;
use scorpiox_web::{Router, Watch, WebError};
use scorpiox_workspace_config::Operator;

use super::Page;

const WHY: &str =
    "pages are shown in a browser where that has a sandbox, which this program has on Linux alone";

/// Keeper without a browser.
#[derive(Default)]
pub(in crate::web) struct Keeper {}

impl Keeper {
    #[allow(clippy::unused_self, clippy::too_many_arguments)] // same signature as on Unix
    pub(in crate::web) fn render(
        &self,
        _: &Operator,
        _: &Arc<Router>,
        _: &str,
        _: Duration,
        _: &Cancel,
        _: &Watch,
    ) -> Result<Page, WebError> {
        Err(WebError::NoBrowser(WHY.to_owned()))
    }

    #[allow(clippy::unused_self)] // same signature as on Unix
    pub(in crate::web) fn end(&self) {}
}

/// Returns the browser that would render pages and its tier, for display. Always fails with the reason.
pub fn browser(_: &Operator) -> Result<(PathBuf, Tier), String> {
    Err(WHY.to_owned())
}
