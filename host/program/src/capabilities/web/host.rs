//! The WIT interface `web`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_audit::Uses;
use scorpiox_executor::Cancel;
use scorpiox_policy::{HostRule, Policy};
use scorpiox_web as net;
use scorpiox_web::{Pending, Waited, Watch, WebError};

use super::Web;
use crate::bindings::capabilities::scorpiox::tool::web::{
    Error, Finished, Header, Host, Method, Rendered, Request, Response,
};
use crate::capabilities::approved::Approved;
use crate::capabilities::rules;
use crate::runtime::CallState;

/// Requests of one call at once.
const MAX_PENDING: usize = 32;
/// Longest wait of one `next`.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// What one call knows of the web.
pub struct WebView {
    web: Arc<Web>,
    cancel: Cancel,
    uses: Uses,
    pending: Option<Pending>,
    /// The hosts that were approved, for components of others.
    only: Option<Arc<[HostRule]>>,
}

impl WebView {
    /// For a call that stops with `cancel`.
    pub(crate) fn new(web: Arc<Web>, approved: Option<&Approved>, cancel: Cancel, uses: Uses) -> Self {
        let only = approved.map(|approved| approved.hosts.clone().unwrap_or_default());
        Self { web, cancel, uses, pending: None, only }
    }

    /// The operator's policy, if it can be read.
    pub(crate) fn policy(&self) -> Result<&Policy, WebError> {
        self.web.policy().map_err(|error| WebError::Denied(error.to_string()))
    }

    /// Notes each host that is decided about.
    fn watch(&self) -> Watch {
        rules::watch(Arc::clone(&self.web), self.only.clone(), self.uses.clone())
    }

    fn place(&self) -> Result<Pending, WebError> {
        Ok(self.web.fetcher()?.pending(self.only.clone())?.watched(self.watch()))
    }

    fn pending(&mut self) -> Result<&mut Pending, WebError> {
        if self.pending.is_none() {
            self.pending = Some(self.place()?);
        }
        self.pending.as_mut().ok_or_else(|| WebError::Failed("no place for requests".to_owned()))
    }
}

/// Why there is no answer, for the guest.
#[derive(Debug)]
pub struct WebFailure(Error);

impl From<WebError> for WebFailure {
    fn from(error: WebError) -> Self {
        Self(failure(error))
    }
}

fn failure(error: WebError) -> Error {
    match error {
        WebError::Denied(text) => Error::Denied(text),
        WebError::Invalid(text) => Error::Invalid(text),
        WebError::Moved(url) => Error::Moved(url),
        WebError::TooLarge(bytes) => Error::TooLarge(bytes),
        WebError::TimedOut(text) => Error::TimedOut(text),
        WebError::Failed(text) => Error::Failed(text),
        WebError::NoBrowser(text) => Error::NoBrowser(text),
    }
}

impl Host for CallState {
    fn fetch(&mut self, asked: Request) -> Result<Response, WebFailure> {
        let mut own = self.web.place()?;
        own.begin(request(asked));
        match own.next(MAX_WAIT + Duration::from_secs(1), self.web.cancel.bell()) {
            Waited::Finished(_, outcome) => Ok(response((*outcome)?)),
            Waited::Stopped => Err(WebFailure(Error::Cancelled)),
            Waited::Nothing => Err(WebFailure(Error::TimedOut("nothing was answered".to_owned()))),
        }
    }

    fn begin(&mut self, asked: Request) -> Result<u32, WebFailure> {
        let pending = self.web.pending()?;
        if pending.running() >= MAX_PENDING {
            return Err(WebFailure(Error::Invalid(format!("{MAX_PENDING} requests are waited for already"))));
        }
        Ok(pending.begin(request(asked)))
    }

    fn next(&mut self, timeout_ms: u32) -> wasmtime::Result<Option<Finished>> {
        let time = Duration::from_millis(timeout_ms.into()).min(MAX_WAIT);
        let WebView { pending: Some(pending), cancel, .. } = &mut self.web else { return Ok(None) };
        Ok(match pending.next(time, cancel.bell()) {
            Waited::Finished(id, outcome) => {
                Some(Finished { id, outcome: (*outcome).map(response).map_err(failure) })
            }
            // The call itself is stopped at its next step.
            Waited::Nothing | Waited::Stopped => None,
        })
    }

    fn render(&mut self, url: String, wait_ms: u32) -> Result<Rendered, WebFailure> {
        let wait = Duration::from_millis(wait_ms.into()).min(MAX_WAIT);
        if self.web.only.is_some() {
            // A page in a browser asks other hosts for its parts.
            let why = "plugins have no browser; use fetch".to_owned();
            return Err(WebFailure(Error::Denied(why)));
        }
        let begun = Instant::now();
        let page = self.web.web.render(&url, wait, &self.web.cancel, &self.web.watch());
        tracing::debug!(url, time = ?begun.elapsed(), "rendered");
        if self.web.cancel.is_set() {
            return Err(WebFailure(Error::Cancelled));
        }
        let page = page?;
        Ok(Rendered { url: page.url, status: page.status, html: page.html, notes: page.notes })
    }

    fn convert_error(&mut self, failure: WebFailure) -> wasmtime::Result<Error> {
        Ok(failure.0)
    }
}

fn request(asked: Request) -> net::Request {
    net::Request {
        method: match asked.method {
            Method::Get => net::Method::Get,
            Method::Post => net::Method::Post,
        },
        url: asked.url,
        headers: asked.headers.into_iter().map(|header| (header.name, header.value)).collect(),
        body: asked.body,
        timeout: Duration::from_millis(asked.timeout_ms.into()),
        cached: asked.cached,
    }
}

fn response(answer: net::Response) -> Response {
    let header = |(name, value)| Header { name, value };
    Response {
        url: answer.url,
        status: answer.status,
        headers: answer.headers.into_iter().map(header).collect(),
        body: answer.body,
    }
}
