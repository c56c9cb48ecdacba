//! Web pages, either fetched or rendered in a browser, under the operator's policy.
//!
//! `scorpiox-web` fetches pages. [`browser`] runs a browser in a sandbox whose only network access is a proxy
//! with the same checks. [`host`] provides both to components.

mod browser;
mod host;
mod recent;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use scorpiox_audit::{BUILT_IN, Uses};
use scorpiox_executor::{AsyncRuntime, Cancel};
use scorpiox_policy::{HostRule, Policy};
use scorpiox_web::{Fetcher, Router, Watch, WebError, tell};

use super::rules;
use scorpiox_workspace_config::{Operator, OperatorError};

pub use browser::{Page, browser};
pub use host::{WebCtx, WebFailure};

use browser::Keeper;
use recent::Recent;

/// Web access of one server. Nothing is started before the first request.
pub struct Web {
    operator: Arc<Operator>,
    runtime: Arc<AsyncRuntime>,
    fetcher: OnceLock<Fetcher>,
    browser: Keeper,
    recent: Mutex<Recent>,
}

impl Web {
    /// Creates the web access under the same policy as for commands; `runtime` drives the requests.
    pub fn new(operator: Arc<Operator>, runtime: Arc<AsyncRuntime>) -> Self {
        Self {
            operator,
            runtime,
            fetcher: OnceLock::new(),
            browser: Keeper::default(),
            recent: Mutex::default(),
        }
    }

    /// Returns the operator's policy.
    pub fn policy(&self) -> Result<&Policy, Arc<OperatorError>> {
        self.operator.policy()
    }

    /// Returns the fetcher of pages. Fails if the policy cannot be read.
    pub fn fetcher(&self) -> Result<&Fetcher, WebError> {
        let policy = self.policy().map_err(|error| WebError::Denied(error.to_string()))?;
        Ok(self.fetcher.get_or_init(|| Fetcher::new(policy.web.clone(), Arc::clone(&self.runtime))))
    }

    /// Renders a page in a browser and returns its state `wait` after it has loaded. Returns a recently
    /// rendered page from the cache if there is one.
    pub fn render(
        &self,
        url: &str,
        wait: Duration,
        cancel: &Cancel,
        watch: &Watch,
    ) -> Result<Page, WebError> {
        let router = self.fetcher()?.router();
        if let Some(page) = self.recent().get(url, wait, Instant::now()) {
            tell(Some(watch), &Router::parse(url)?, &Ok(()));
            return Ok(page);
        }
        let page = self.browser.render(&self.operator, router, url, wait, cancel, watch)?;
        if page.status == 200 {
            self.recent().put(url, wait, page.clone(), Instant::now());
        }
        Ok(page)
    }

    /// Returns a callback that records each decision about a host, with its rule.
    pub fn watch(self: Arc<Self>, only: Option<Arc<[HostRule]>>, uses: Uses) -> Watch {
        Arc::new(move |host, port, decided| {
            let rule = self.policy().map_or_else(
                |_| BUILT_IN.to_owned(),
                |policy| rules::of_host(&policy.web, only.as_deref(), (host, port), decided),
            );
            let what = format_args!("{host}:{port}");
            match decided {
                Ok(()) => uses.allowed("web", what, rule),
                Err(why) => uses.denied("web", what, why, rule),
            }
        })
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock()
    }

    /// Stops the browser, if one is running.
    pub fn shut_down(&self) {
        self.browser.end();
    }
}
