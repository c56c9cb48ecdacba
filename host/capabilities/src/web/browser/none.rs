//! Systems without a sandbox that a browser could run in.
//!
//! Invariant: no browser is started.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use scorpiox_cell::Tier;
use scorpiox_executor::Cancel;
use scorpiox_operator::Operator;
use scorpiox_web::{Router, Watch, WebError};

use super::Page;

const WHY: &str =
    "pages are shown in a browser where that has a sandbox, which this program has on Linux alone";

/// Keeps no browser.
#[derive(Default)]
pub(in crate::web) struct Keeper {}

impl Keeper {
    #[allow(clippy::unused_self, clippy::too_many_arguments)] // as where there is one
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

    #[allow(clippy::unused_self)] // as where there is one
    pub(in crate::web) fn end(&self) {}
}

/// For people: which browser would show pages, and in which tier; or why none does.
pub fn browser(_: &Operator) -> Result<(PathBuf, Tier), String> {
    Err(WHY.to_owned())
}
