//! Request templates, and how they are filled.

use scorpiox_tool_kit::web::{Method, Request};
use serde_json::Value as Json;

use crate::url;

/// Template of a request.
#[derive(Debug)]
pub(crate) struct Template {
    /// Path after the base URL, with a leading `/`.
    pub path: &'static str,
    pub query: &'static [(&'static str, Value)],
    pub headers: &'static [(&'static str, Value)],
    pub body: Body,
    pub accept: &'static str,
}

/// Body of a request. Every variant except `None` makes it a `POST`.
#[derive(Debug)]
pub(crate) enum Body {
    None,
    Form(&'static [(&'static str, Value)]),
    Json(fn(&str) -> Json),
}

/// Value of a parameter or a header.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    Text(&'static str),
    Query,
    /// Token from the first request.
    Token,
    /// The key, prefixed by this text.
    Key(&'static str),
    /// The key up to its first `:`.
    KeyHead,
    /// The key after its first `:`.
    KeyTail,
}

/// Values for a template.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill<'a> {
    pub base: &'a str,
    pub query: &'a str,
    pub key: &'a str,
    pub token: &'a str,
}

const HTML: &str = "text/html";
const JSON: &str = "application/json";

/// Language of requests. Markers of empty pages are only known in English.
const LANGUAGE: &str = "en-US,en;q=0.8";

impl Template {
    /// Creates a request for a page.
    pub(crate) const fn html(path: &'static str, query: &'static [(&'static str, Value)]) -> Self {
        Self { path, query, headers: &[], body: Body::None, accept: HTML }
    }

    /// Creates a form request for a page.
    pub(crate) const fn form(path: &'static str, fields: &'static [(&'static str, Value)]) -> Self {
        Self { path, query: &[], headers: &[], body: Body::Form(fields), accept: HTML }
    }

    /// Creates a request for JSON.
    pub(crate) const fn json(
        path: &'static str,
        query: &'static [(&'static str, Value)],
        headers: &'static [(&'static str, Value)],
    ) -> Self {
        Self { path, query, headers, body: Body::None, accept: JSON }
    }

    /// Creates a request for JSON with a JSON body.
    pub(crate) const fn post_json(
        path: &'static str,
        headers: &'static [(&'static str, Value)],
        body: fn(&str) -> Json,
    ) -> Self {
        Self { path, query: &[], headers, body: Body::Json(body), accept: JSON }
    }

    /// Fills the template.
    pub(crate) fn fill(&self, fill: Fill<'_>, timeout_ms: u32) -> Request {
        let mut address = format!("{}{}", fill.base, self.path);
        if !self.query.is_empty() {
            address.push('?');
            address.push_str(&encoded(self.query, fill));
        }
        let mut request = Request::get(address, timeout_ms)
            .header("accept", self.accept)
            .header("accept-language", LANGUAGE);
        for (name, value) in self.headers {
            request = request.header(name, &value.of(fill));
        }
        match &self.body {
            Body::None => request,
            Body::Form(fields) => {
                let body = encoded(fields, fill);
                post(request, "application/x-www-form-urlencoded", body)
            }
            Body::Json(body) => post(request, JSON, body(fill.query).to_string()),
        }
    }
}

fn post(request: Request, kind: &str, body: String) -> Request {
    Request { method: Method::Post, body: body.into_bytes(), ..request.header("content-type", kind) }
}

fn encoded(parameters: &[(&str, Value)], fill: Fill<'_>) -> String {
    let pair = |(name, value): &(&str, Value)| format!("{name}={}", url::encode(&value.of(fill)));
    parameters.iter().map(pair).collect::<Vec<_>>().join("&")
}

impl Value {
    fn of(self, fill: Fill<'_>) -> String {
        let (head, tail) = fill.key.split_once(':').unwrap_or((fill.key, ""));
        match self {
            Self::Text(text) => text.to_owned(),
            Self::Query => fill.query.to_owned(),
            Self::Token => fill.token.to_owned(),
            Self::Key(before) => format!("{before}{}", fill.key),
            Self::KeyHead => head.to_owned(),
            Self::KeyTail => tail.to_owned(),
        }
    }
}
