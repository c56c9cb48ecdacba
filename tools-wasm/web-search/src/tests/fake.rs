//! A scripted web that advances the clock while it waits.

use std::cell::Cell;

use scorpiox_tool_kit::memory::{MemoryClient, MemoryStore};
use scorpiox_tool_kit::web::{Progress, Rendered, Request, Response, Web, WebError};
use scorpiox_tool_kit::{Failure, Output};
use serde_json::json;

use super::{OPEN, page, response};
use crate::EngineSettings;

pub(super) const START: u64 = 1_795_214_432_000;

/// Delay and response.
pub(super) type Reply = (u64, Result<Response, WebError>);
/// Returns the response of an engine to a request.
pub(super) type Script<'a> = dyn Fn(&str, &Request) -> Reply + 'a;

pub(super) struct FakeWeb<'a> {
    clock: &'a Cell<u64>,
    script: &'a Script<'a>,
    pending: Vec<(u64, u32, Result<Response, WebError>)>,
    /// Engine and request.
    pub asked: Vec<(String, Request)>,
    /// `true` to lose all requests, like a host that forgot them.
    pub forgetful: bool,
}

impl Web for FakeWeb<'_> {
    fn fetch(&mut self, _request: Request) -> Result<Response, WebError> {
        panic!("a search never waits for one engine")
    }

    fn begin(&mut self, request: Request) -> Result<u32, WebError> {
        let path = request.url.strip_prefix("http://engines.test/").expect("the base of the settings");
        let name = path.split(['/', '?']).next().expect("a name").to_owned();
        let (delay, outcome) = (self.script)(&name, &request);
        if let Err(error @ WebError::Denied(_)) = outcome {
            return Err(error);
        }
        let id = u32::try_from(self.asked.len()).expect("few");
        let limit = u64::from(request.timeout_ms);
        let late = || Err(WebError::TimedOut("too slow".to_owned()));
        let outcome = if delay > limit { late() } else { outcome };
        if !self.forgetful {
            self.pending.push((self.clock.get() + delay.min(limit), id, outcome));
        }
        self.asked.push((name, request));
        Ok(id)
    }

    fn next(&mut self, timeout_ms: u32) -> Option<(u32, Result<Response, WebError>)> {
        let at = (0..self.pending.len()).min_by_key(|at| self.pending[*at].0)?;
        let until = self.clock.get() + u64::from(timeout_ms);
        if self.pending[at].0 > until {
            self.clock.set(until);
            return None;
        }
        let (due, id, outcome) = self.pending.remove(at);
        self.clock.set(self.clock.get().max(due));
        Some((id, outcome))
    }

    fn render(&mut self, _url: &str, _wait_ms: u32) -> Result<Rendered, WebError> {
        panic!("a search needs no browser")
    }
}

/// Recorded progress reports.
#[derive(Default)]
pub(super) struct Heard(pub Vec<(u32, Option<u32>, String)>);

impl Progress for Heard {
    fn report(&mut self, done: u32, total: Option<u32>, message: &str) {
        self.0.push((done, total, message.to_owned()));
    }
}

/// A server with a persistent store and clock. Its settings redirect all engines to the fake.
pub(super) struct Server {
    pub store: MemoryStore,
    pub client: MemoryClient,
    pub clock: Cell<u64>,
    pub settings: Vec<EngineSettings>,
    pub heard: Heard,
    pub forgetful: bool,
    /// Requests of the last call.
    pub asked: Vec<(String, Request)>,
}

impl Server {
    pub(super) fn new() -> Self {
        let settings = OPEN.iter().map(|name| at_the_fake(name, None)).collect();
        Self {
            store: MemoryStore::default(),
            client: MemoryClient::default(),
            clock: Cell::new(START),
            settings,
            heard: Heard::default(),
            forgetful: false,
            asked: Vec::new(),
        }
    }

    /// Creates a server with only these engines.
    pub(super) fn only(names: &[&str]) -> Self {
        let mut server = Self::new();
        for set in &mut server.settings {
            set.enabled = Some(names.contains(&set.name.as_str()));
        }
        server
    }

    pub(super) fn search(&mut self, query: &str, script: &Script<'_>) -> Result<Output, Failure> {
        self.call(&json!({"query": query}).to_string(), script)
    }

    pub(super) fn call(&mut self, arguments: &str, script: &Script<'_>) -> Result<Output, Failure> {
        let (asked, pending) = (Vec::new(), Vec::new());
        let mut web = FakeWeb { clock: &self.clock, script, pending, asked, forgetful: self.forgetful };
        self.heard = Heard::default();
        let clock = || self.clock.get();
        let (settings, heard, store) = (&self.settings, &mut self.heard, &mut self.store);
        let result = crate::call(&mut web, settings, heard, store, &self.client, &clock, arguments);
        self.asked = web.asked;
        result
    }

    /// Searches with another store.
    pub(super) fn search_with(
        &mut self,
        store: &mut impl scorpiox_tool_kit::Store,
        script: &Script<'_>,
    ) -> Result<Output, Failure> {
        let (asked, pending) = (Vec::new(), Vec::new());
        let mut web = FakeWeb { clock: &self.clock, script, pending, asked, forgetful: false };
        let clock = || self.clock.get();
        let (settings, heard) = (&self.settings, &mut self.heard);
        crate::call(&mut web, settings, heard, store, &self.client, &clock, r#"{"query":"x"}"#)
    }

    /// Returns the engines of the last call, in the order of their requests.
    pub(super) fn asked(&self) -> Vec<&str> {
        self.asked.iter().map(|(name, _)| name.as_str()).collect()
    }
}

pub(super) fn at_the_fake(name: &str, key: Option<&str>) -> EngineSettings {
    EngineSettings {
        name: name.to_owned(),
        enabled: None,
        base_url: Some(format!("http://engines.test/{name}")),
        key: key.map(str::to_owned),
    }
}

/// Returns the page with this name, or Startpage's home page if it is requested.
#[allow(clippy::unnecessary_wraps)] // scripts consist of results
pub(super) fn gives(name: &str, request: &Request, which: &str) -> Result<Response, WebError> {
    let first = request.url.ends_with("/startpage/");
    Ok(response(200, page(name, if first { "home" } else { which })))
}

/// Returns every engine's normal page immediately.
pub(super) fn normal(name: &str, request: &Request) -> Reply {
    (100, gives(name, request, "normal"))
}

pub(super) fn failed(result: Result<Output, Failure>) -> String {
    match result {
        Err(Failure::Failed(text)) => text,
        other => panic!("not a failure: {other:?}"),
    }
}
