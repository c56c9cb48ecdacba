//! The WIT interface `web`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_audit::Uses;
use scorpiox_executor::Cancel;
use scorpiox_policy::HostRule;
use scorpiox_web as net;
use scorpiox_web::{Pending, Waited, Watch, WebError};

use wasmtime::component::Linker;

use super::Web;
use crate::setup::{Grantee, Setup};
use crate::view::{HasCtx, Provided, View, Viewed};
use wit::{Error, Finished, Header, Host, Method, Rendered, Request, Response};

/// Maximum number of concurrent requests of one call.
const MAX_PENDING: usize = 32;
/// Maximum wait of one `next`.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Bindings generated from the WIT file.
mod wit {
    #![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]
    wasmtime::component::bindgen!({
        path: "../../wit",
        inline: "package scorpiox:host; world one { import scorpiox:tool/web@0.1.0; }",
        imports: { default: trappable },
        trappable_error_type: { "scorpiox:tool/web.error" => super::WebFailure },
    });
    pub use scorpiox::tool::web::*;
}

/// State of the web capability in one call.
pub struct WebCtx {
    web: Arc<Web>,
    cancel: Cancel,
    uses: Uses,
    pending: Option<Pending>,
    /// Approved hosts of a plugin component.
    only: Option<Arc<[HostRule]>>,
}

impl Provided for WebCtx {
    const NAME: &'static str = "web";
    const MAY: &'static str = "fetch pages of the public web, as far as the policy allows";

    fn new(setup: &Setup, grantee: &Grantee<'_>) -> Self {
        let only = grantee.approved.map(|approved| approved.hosts.clone().unwrap_or_default());
        let (web, cancel, uses) = (Arc::clone(&setup.web), setup.cancel.clone(), setup.uses.clone());
        Self { web, cancel, uses, pending: None, only }
    }

    fn add_to_linker<T: HasCtx<Self>>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
        wit::add_to_linker::<T, Viewed<Self>>(linker, T::view)
    }
}

impl WebCtx {
    /// Returns a callback that records each decision about a host.
    fn watch(&self) -> Watch {
        Arc::clone(&self.web).watch(self.only.clone(), self.uses.clone())
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

/// Reason why there is no response, for the guest.
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

impl Host for View<'_, WebCtx> {
    fn fetch(&mut self, asked: Request) -> Result<Response, WebFailure> {
        self.call.function = "fetch";
        let mut own = self.ctx.place()?;
        own.begin(request(asked));
        match own.next(MAX_WAIT + Duration::from_secs(1), Some(&self.ctx.cancel)) {
            Waited::Finished(_, outcome) => Ok(response((*outcome)?)),
            Waited::Stopped => Err(WebFailure(Error::Cancelled)),
            Waited::Nothing => Err(WebFailure(Error::TimedOut("nothing was answered".to_owned()))),
        }
    }

    fn begin(&mut self, asked: Request) -> Result<u32, WebFailure> {
        self.call.function = "begin";
        let pending = self.ctx.pending()?;
        if pending.running() >= MAX_PENDING {
            return Err(WebFailure(Error::Invalid(format!("{MAX_PENDING} requests are waited for already"))));
        }
        Ok(pending.begin(request(asked)))
    }

    fn next(&mut self, timeout_ms: u32) -> wasmtime::Result<Option<Finished>> {
        self.call.function = "next";
        let time = Duration::from_millis(timeout_ms.into()).min(MAX_WAIT);
        let WebCtx { pending: Some(pending), cancel, .. } = &mut *self.ctx else { return Ok(None) };
        Ok(match pending.next(time, Some(cancel)) {
            Waited::Finished(id, outcome) => {
                let outcome = (*outcome).map(response).map_err(failure);
                let outcome = outcome.inspect_err(|error| self.call.failed(WebCtx::NAME, error));
                Some(Finished { id, outcome })
            }
            // A cancelled call stops at its next step.
            Waited::Nothing | Waited::Stopped => None,
        })
    }

    fn render(&mut self, url: String, wait_ms: u32) -> Result<Rendered, WebFailure> {
        self.call.function = "render";
        let wait = Duration::from_millis(wait_ms.into()).min(MAX_WAIT);
        if self.ctx.only.is_some() {
            // A page in a browser loads resources from other hosts.
            let why = "plugins have no browser; use fetch".to_owned();
            return Err(WebFailure(Error::Denied(why)));
        }
        let begun = Instant::now();
        let page = self.ctx.web.render(&url, wait, &self.ctx.cancel, &self.ctx.watch());
        tracing::debug!(url, time = ?begun.elapsed(), "rendered");
        if self.ctx.cancel.is_set() {
            return Err(WebFailure(Error::Cancelled));
        }
        let page = page?;
        Ok(Rendered { url: page.url, status: page.status, html: page.html, notes: page.notes })
    }

    fn convert_error(&mut self, failure: WebFailure) -> wasmtime::Result<Error> {
        self.call.failed(WebCtx::NAME, &failure.0);
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
