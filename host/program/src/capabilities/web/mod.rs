//! Pages of the web: fetched, or shown in a browser, under the operator's policy.
//!
//! `scorpiox-web` fetches; [`browser`] keeps a browser in a sandbox whose only way out is a
//! proxy with the same checks; [`host`] gives both to components.

mod browser;
mod host;
mod recent;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use scorpiox_executor::{AsyncRuntime, Cancel};
use scorpiox_policy::Policy;
use scorpiox_web::{Fetcher, Router, Watch, WebError, tell};

use super::shell::{Shell, ShellError};

pub use browser::{Page, browser};
pub use host::{WebFailure, WebView};

use browser::Keeper;
use recent::Recent;

/// The web, for one server. Starts nothing before the first request.
pub struct Web {
    shell: Arc<Shell>,
    runtime: Arc<AsyncRuntime>,
    fetcher: OnceLock<Fetcher>,
    browser: Keeper,
    recent: Mutex<Recent>,
}

impl Web {
    /// The web under the policy that commands are under, too; `runtime` looks after requests.
    pub fn new(shell: Arc<Shell>, runtime: Arc<AsyncRuntime>) -> Self {
        Self {
            shell,
            runtime,
            fetcher: OnceLock::new(),
            browser: Keeper::default(),
            recent: Mutex::default(),
        }
    }

    /// The operator's policy.
    pub fn policy(&self) -> Result<&Policy, Arc<ShellError>> {
        self.shell.policy()
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
        let page = self.browser.render(&self.shell, router, url, wait, cancel, watch)?;
        if page.status == 200 {
            self.recent().put(url, wait, page.clone(), Instant::now());
        }
        Ok(page)
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the browser, if one runs.
    pub fn shut_down(&self) {
        self.browser.end();
    }
}
