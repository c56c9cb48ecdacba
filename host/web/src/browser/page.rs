//! Renders one page, from its context to its document.

use std::collections::BTreeSet;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use url::Url;

use crate::browser::connection::{Connection, Event, wait};
use crate::browser::{BrowserError, MAX_DOCUMENT_BYTES, Rendered, Visit};

/// Timeout for operations that are fast unless the browser is broken.
const CALL_TIME: Duration = Duration::from_secs(10);

/// Maximum time after the wait in which a page may finish loading its data.
const DATA_TIME: Duration = Duration::from_secs(3);
/// Time in which a page shows the data that it has loaded.
const SHOW_TIME: Duration = Duration::from_millis(100);
/// Maximum number of requests of a page that are waited for.
const MAX_REQUESTS: usize = 1000;

/// Script that returns the current document and its URL. It drops a document above the limit, so that the
/// excess is detected without a transfer.
const TAKE: &str = "(() => { const type = document.doctype ? '<!DOCTYPE html>' : ''; \
     const html = type + (document.documentElement ? document.documentElement.outerHTML : ''); \
     return [location.href, html.length > LIMIT ? null : html]; })()";

/// Opens a page, waits until it has loaded, and returns it.
pub(crate) fn render(
    connection: &Connection,
    visit: &Visit<'_>,
    stopped: &dyn Fn() -> bool,
) -> Result<Rendered, BrowserError> {
    let browser = |method: &str, params: &Value| {
        connection.call(None, method, params, Instant::now() + CALL_TIME, stopped)
    };
    let context = browser("Target.createBrowserContext", &json!({"disposeOnDetach": true}))?;
    let context = text(&context, "browserContextId")?;
    let shown = (|| {
        let target = json!({"url": "about:blank", "browserContextId": context});
        let target = text(&browser("Target.createTarget", &target)?, "targetId")?;
        let session = browser("Target.attachToTarget", &json!({"targetId": target, "flatten": true}))?;
        let session = text(&session, "sessionId")?;
        let page = Page { connection, session: &session, visit, stopped };
        let events = connection.events(&session);
        let shown = page.show(&events);
        connection.forget(&session);
        shown
    })();
    // Also closes all pages that the page has opened.
    let dispose = json!({"browserContextId": context});
    let until = Instant::now() + CALL_TIME;
    let _ = connection.call(None, "Target.disposeBrowserContext", &dispose, until, &|| false);
    shown
}

fn text(value: &Value, name: &str) -> Result<String, BrowserError> {
    let found = value[name].as_str().map(str::to_owned);
    found.ok_or_else(|| BrowserError::Gone(format!("it left {name} out of an answer")))
}

struct Page<'a> {
    connection: &'a Connection,
    session: &'a str,
    visit: &'a Visit<'a>,
    stopped: &'a dyn Fn() -> bool,
}

/// Loading state of the page.
#[derive(Default)]
struct Progress {
    frame: String,
    status: u16,
    loaded: bool,
    /// IDs of the requests for data that are not complete.
    loading: BTreeSet<String>,
    /// URL of another host to which the page tried to navigate.
    moved: Option<String>,
}

impl Page<'_> {
    fn call(&self, method: &str, params: &Value) -> Result<Value, BrowserError> {
        let until = Instant::now() + CALL_TIME;
        let answer = self.connection.call(Some(self.session), method, params, until, self.stopped);
        match answer {
            // The browser still works; only its page does not respond.
            Err(BrowserError::Gone(_)) if self.connection.is_alive() => {
                Err(BrowserError::Page(format!("{} is busy and does not let itself be read", self.visit.url)))
            }
            other => other,
        }
    }

    fn show(&self, events: &Receiver<Event>) -> Result<Rendered, BrowserError> {
        for method in ["Page.enable", "Network.enable", "Runtime.enable"] {
            self.call(method, &json!({}))?;
        }
        // Each document is paused until its request is allowed.
        self.call("Fetch.enable", &json!({"patterns": [{"resourceType": "Document"}]}))?;
        let tree = self.call("Page.getFrameTree", &json!({}))?;
        let frame = tree["frameTree"]["frame"]["id"].as_str().unwrap_or_default().to_owned();
        let mut progress = Progress { frame, ..Progress::default() };
        self.navigate()?;
        self.watch(events, &mut progress, self.visit.until, |progress| progress.loaded)?;
        let still_loading = !progress.loaded;
        if still_loading {
            // Endless scripts would also block reading the document.
            self.connection.tell(self.session, "Runtime.terminateExecution", &json!({}))?;
        }
        let until = self.visit.until.min(Instant::now() + self.visit.wait);
        self.watch(events, &mut progress, until, |_| false)?;
        if !still_loading && !progress.loading.is_empty() {
            let until = self.visit.until.min(Instant::now() + DATA_TIME);
            self.watch(events, &mut progress, until, |progress| progress.loading.is_empty())?;
            let until = self.visit.until.min(Instant::now() + SHOW_TIME);
            self.watch(events, &mut progress, until, |_| false)?;
        }
        self.take(&progress, still_loading)
    }

    /// Starts the navigation, which reports its progress as events. The result of this method arrives only
    /// with the document, which is paused until `Fetch.requestPaused` is answered.
    fn navigate(&self) -> Result<(), BrowserError> {
        let params = json!({"url": self.visit.url.as_str()});
        self.connection.tell(self.session, "Page.navigate", &params)
    }

    /// Processes events until the deadline or until `is_enough`.
    fn watch(
        &self,
        events: &Receiver<Event>,
        progress: &mut Progress,
        until: Instant,
        is_enough: impl Fn(&Progress) -> bool,
    ) -> Result<(), BrowserError> {
        while !is_enough(progress) {
            let Some(event) = wait(events, until, self.stopped)? else { return Ok(()) };
            self.take_note(&event, progress)?;
            if let Some(target) = progress.moved.take() {
                return Err(BrowserError::Moved(target));
            }
        }
        Ok(())
    }

    fn take_note(&self, event: &Event, progress: &mut Progress) -> Result<(), BrowserError> {
        let params = &event.params;
        let in_main_frame = params["frameId"] == progress.frame.as_str();
        if event.method == "Network.loadingFailed" {
            progress.loading.remove(params["requestId"].as_str().unwrap_or_default());
        }
        match event.method.as_str() {
            "Page.loadEventFired" => progress.loaded = true,
            "Network.requestWillBeSent"
                if matches!(params["type"].as_str(), Some("Fetch" | "XHR"))
                    && progress.loading.len() < MAX_REQUESTS =>
            {
                progress.loading.insert(params["requestId"].as_str().unwrap_or_default().to_owned());
            }
            "Network.loadingFinished" => {
                progress.loading.remove(params["requestId"].as_str().unwrap_or_default());
            }
            "Fetch.requestPaused" => self.judge(params, in_main_frame, progress)?,
            "Network.responseReceived" if in_main_frame && params["type"] == "Document" => {
                let status = params["response"]["status"].as_u64().unwrap_or(0);
                progress.status = u16::try_from(status).unwrap_or(0);
            }
            "Network.loadingFailed" if params["type"] == "Document" && progress.status == 0 => {
                let error = params["errorText"].as_str().unwrap_or("no reason given");
                // A navigation that was refused here is reported as such.
                if progress.moved.is_none() && error != "net::ERR_ABORTED" {
                    return Err(BrowserError::Page(format!(
                        "the browser cannot load {}: {error}",
                        self.visit.url
                    )));
                }
            }
            "Page.javascriptDialogOpening" => {
                self.connection.tell(
                    self.session,
                    "Page.handleJavaScriptDialog",
                    &json!({"accept": false}),
                )?;
            }
            "Inspector.targetCrashed" => {
                return Err(BrowserError::Page(format!("{} crashed the browser's page", self.visit.url)));
            }
            _ => {}
        }
        Ok(())
    }

    /// Allows or refuses the load of a document. The main frame must stay on the requested host.
    fn judge(
        &self,
        params: &Value,
        in_main_frame: bool,
        progress: &mut Progress,
    ) -> Result<(), BrowserError> {
        let request = params["requestId"].as_str().unwrap_or_default();
        let target = params["request"]["url"].as_str().unwrap_or_default();
        if in_main_frame && !self.visit.follow && !is_same_host(self.visit.url, target) {
            progress.moved = Some(target.to_owned());
            let params = json!({"requestId": request, "errorReason": "BlockedByClient"});
            return self.connection.tell(self.session, "Fetch.failRequest", &params);
        }
        self.connection.tell(self.session, "Fetch.continueRequest", &json!({"requestId": request}))
    }

    fn take(&self, progress: &Progress, still_loading: bool) -> Result<Rendered, BrowserError> {
        let expression = TAKE.replace("LIMIT", &MAX_DOCUMENT_BYTES.to_string());
        let params =
            json!({"expression": expression, "returnByValue": true, "silent": true, "timeout": 5000});
        let answer = self.call("Runtime.evaluate", &params)?;
        let taken = &answer["result"]["value"];
        let Some(url) = taken[0].as_str() else {
            return Err(BrowserError::Page(format!("{} does not let itself be read", self.visit.url)));
        };
        if url.starts_with("chrome-error:") || url == "about:blank" {
            return Err(BrowserError::Page(format!("the browser cannot load {}", self.visit.url)));
        }
        let html = taken[1].as_str().ok_or(BrowserError::TooLarge)?;
        Ok(Rendered { url: url.to_owned(), status: progress.status, html: html.to_owned(), still_loading })
    }
}

/// Returns `true` if a URL has the host of the first one, ignoring `www.`.
fn is_same_host(first: &Url, target: &str) -> bool {
    let Ok(target) = Url::parse(target) else { return false };
    let name = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    matches!(target.scheme(), "http" | "https")
        && name(first) == name(&target)
        && first.port() == target.port()
}
