//! Pages of the web: fetched, or shown in a browser, under the operator's policy.
//!
//! `scorpiox-web` fetches; [`browser`] keeps a browser in a sandbox whose only way out is a
//! proxy with the same checks; [`host`] gives both to components.

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
use scorpiox_operator::{Operator, OperatorError};

pub use browser::{Page, browser};
pub use host::{WebCtx, WebFailure};

use browser::Keeper;
use recent::Recent;

/// The web, for one server. Starts nothing before the first request.
pub struct Web {
    operator: Arc<Operator>,
    runtime: Arc<AsyncRuntime>,
    fetcher: OnceLock<Fetcher>,
    browser: Keeper,
    recent: Mutex<Recent>,
}

impl Web {
    /// The web under the policy that commands are under, too; `runtime` looks after requests.
    pub fn new(operator: Arc<Operator>, runtime: Arc<AsyncRuntime>) -> Self {
        Self {
            operator,
            runtime,
            fetcher: OnceLock::new(),
            browser: Keeper::default(),
            recent: Mutex::default(),
        }
    }

    /// The operator's policy.
    pub fn policy(&self) -> Result<&Policy, Arc<OperatorError>> {
        self.operator.policy()
    }

    /// What fetches pages. Without a policy that can be read nothing is fetched.
    pub fn fetcher(&self) -> Result<&Fetcher, WebError> {
        let policy = self.policy().map_err(|error| WebError::Denied(error.to_string()))?;
        Ok(self.fetcher.get_or_init(|| Fetcher::new(policy.web.clone(), Arc::clone(&self.runtime))))
    }

    /// Shows a page in a browser, and takes it `wait` after it has loaded; or as it was shown in
    /// the last minutes.
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

    /// Notes each host that is decided about, with its rule.
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

    /// Ends the browser, if one runs.
    pub fn shut_down(&self) {
        self.browser.end();
    }
}
