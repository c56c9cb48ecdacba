//! A component that serves HTTP, as a tool: it takes a request and returns the response. No port is opened.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use wasmtime::Store;
use wasmtime::component::{Func, Resource};
use wasmtime_wasi_http::p2::bindings::http::types::Scheme;
use wasmtime_wasi_http::p2::types::{HostIncomingRequest, HostResponseOutparam};
use wasmtime_wasi_http::{WasiBody, WasiHttpView as _};

use super::CallState;
use super::limits::OUTPUT_LIMIT;
use super::tasks::is_cancelled;
use crate::bindings::any_tool::exports::scorpiox::tool::tool::{ToolError, ToolResult};
use crate::bindings::any_tool::scorpiox::tool::types::Content;

/// Name of the tool.
pub const NAME: &str = "request";
/// Description of the input and output, for tools whose type does not describe them.
pub const TAKES: &str = "takes method, path, headers, and body or body_base64, and gives the response";
/// Name of the interface's function.
pub(super) const HANDLE: &str = "handle";

/// Maximum size of a request body in bytes; the same as for requests that plugins send.
const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;
/// Maximum length of the path with its query, in bytes.
const MAX_PATH_BYTES: usize = 16 * 1024;
/// Maximum number of headers of a request, and the maximum total bytes of names and values. The values match
/// common web servers.
const MAX_HEADERS: usize = 100;
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// Host of a request without a `Host` header.
const DEFAULT_HOST: &str = "localhost";

/// Names of the known arguments.
const KNOWN: [&str; 5] = ["method", "path", "headers", "body", "body_base64"];

/// Returns `true` if an export handles HTTP requests.
pub fn is_service(export: &str) -> bool {
    export.starts_with("wasi:http/incoming-handler@0.2.") || export.starts_with("wasi:http/handler@0.3.")
}

/// Returns the JSON Schema of the arguments.
pub(super) fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "method": { "type": "string", "description": "GET, POST, …; GET if absent" },
            "path": { "type": "string", "description": "The path with its query, such as /search?q=a; / if absent" },
            "headers": {
                "description": "Names and values, as an object or as a list of pairs",
                "anyOf": [
                    { "type": "object", "additionalProperties": { "type": "string" } },
                    { "type": "array", "items": pair() },
                ],
            },
            "body": { "type": "string", "description": "The body as text" },
            "body_base64": { "type": "string", "description": "The body in base64, in place of body" },
        },
        "additionalProperties": false,
    })
}

/// Returns the JSON Schema of a response.
pub(super) fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "status": { "type": "integer", "minimum": 100, "maximum": 999 },
            "headers": { "type": "array", "items": pair() },
            "body": { "type": "string", "description": "The body, if it is text" },
            "body_base64": { "type": "string", "description": "The body in base64, if it is no text" },
        },
        "required": ["status", "headers"],
        "additionalProperties": false,
    })
}

fn pair() -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 })
}

/// Decodes the arguments of a call.
pub(super) fn read(arguments: &Map<String, Value>) -> Result<Request<Bytes>, String> {
    if let Some(name) = arguments.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        return Err(format!("{name} is not known; expected {}", KNOWN.join(", ")));
    }
    let method = text(arguments, "method")?.unwrap_or("GET");
    let method = Method::from_bytes(method.as_bytes())
        .map_err(|_| format!("method: {method:?} is no method of HTTP; write GET, POST, …"))?;
    let path = text(arguments, "path")?.unwrap_or("/");
    let mut headers = headers(arguments.get("headers"))?;
    let body = body(arguments)?;
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or(DEFAULT_HOST);
    let uri = uri(host, path)?;
    // The length follows from the body; a header from the caller could contradict it.
    headers.remove(CONTENT_LENGTH);
    if !body.is_empty() {
        headers.insert(CONTENT_LENGTH, body.len().into());
    }
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, String> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(value) => Err(format!("{name}: expected a text, found {value}")),
    }
}

fn uri(host: &str, path: &str) -> Result<Uri, String> {
    if path.len() > MAX_PATH_BYTES {
        return Err(format!("path has {} bytes; the limit is {MAX_PATH_BYTES}", path.len()));
    }
    if !path.starts_with('/') {
        return Err(format!("path: {path:?} does not begin with /"));
    }
    let built = Uri::builder().scheme("http").authority(host).path_and_query(path).build();
    built.map_err(|error| format!("path or host header: {error}; write blanks and the like as %20"))
}

fn headers(value: Option<&Value>) -> Result<HeaderMap, String> {
    let wrong = |value: &Value| format!("headers: expected names and values as texts, found {value}");
    let pairs: Vec<(&str, &Value)> = match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(members)) => members.iter().map(|(name, value)| (name.as_str(), value)).collect(),
        Some(Value::Array(items)) => {
            let pair = |item: &'_ Value| match item.as_array().map(Vec::as_slice) {
                Some([Value::String(_), Value::String(_)]) => Ok(()),
                _ => Err(wrong(item)),
            };
            items.iter().try_for_each(pair)?;
            items.iter().map(|item| (item[0].as_str().unwrap_or_default(), &item[1])).collect()
        }
        Some(value) => return Err(wrong(value)),
    };
    let mut headers = HeaderMap::new();
    let mut bytes = 0;
    for (name, value) in pairs {
        let value = value.as_str().ok_or_else(|| wrong(value))?;
        bytes += name.len() + value.len();
        if headers.len() == MAX_HEADERS || bytes > MAX_HEADER_BYTES {
            return Err(format!(
                "headers: more than {MAX_HEADERS}, or more than {MAX_HEADER_BYTES} bytes of them"
            ));
        }
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("headers: {name:?} is no name of a header"))?;
        let value = HeaderValue::from_str(value)
            .map_err(|_| format!("headers: the value of {name} has control characters"))?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn body(arguments: &Map<String, Value>) -> Result<Bytes, String> {
    let body = match (text(arguments, "body")?, text(arguments, "body_base64")?) {
        (Some(_), Some(_)) => return Err("give body or body_base64, not both".to_owned()),
        (Some(text), None) => Bytes::from(text.to_owned()),
        (None, Some(text)) => {
            STANDARD.decode(text).map_err(|error| format!("body_base64 is no base64: {error}"))?.into()
        }
        (None, None) => Bytes::new(),
    };
    if body.len() > MAX_BODY_BYTES {
        return Err(format!("the body has {} bytes; the limit is {MAX_BODY_BYTES}", body.len()));
    }
    Ok(body)
}

/// Outcome of a request.
pub(super) enum Answer {
    Whole(Response<Bytes>),
    /// The component set an error instead of a response.
    Refused(String),
    /// The body exceeds the maximum size of a result.
    TooLarge,
    /// The response body broke off.
    BrokenOff(String),
    /// The component dropped the response outparam without setting it.
    None,
}

type Called = Result<ToolResult, ToolError>;

/// Lets a component answer a request. The response body is read while the component writes it. A complete
/// response counts, even if the component fails afterwards.
pub(super) async fn call(
    store: &mut Store<CallState>,
    handle: &Func,
    request: Request<Bytes>,
    most: usize,
) -> wasmtime::Result<Called> {
    type Parameters = (Resource<HostIncomingRequest>, Resource<HostResponseOutparam>);
    let handle = handle.typed::<Parameters, ()>(&mut *store)?;
    let (sender, receiver) = oneshot::channel();
    let mut http = store.data_mut().http();
    let incoming = http.new_incoming_request(Scheme::Http, request.map(Full::new))?;
    let out = http.new_response_outparam(sender)?;
    let answer = async {
        match receiver.await {
            Ok(Ok(response)) => collected(response, most).await,
            Ok(Err(code)) => Answer::Refused(format!("{code:?}")),
            Err(_) => Answer::None,
        }
    };
    let (called, answer) = both(handle.call_async(&mut *store, (incoming, out)), answer).await;
    match (called, answer) {
        (Ok(()), answer) => Ok(outcome(answer)),
        (Err(error), Some(Answer::Whole(response))) if !is_cancelled(&error) => {
            failed_afterwards(&error);
            Ok(Ok(result(&response)))
        }
        (Err(error), _) => Err(error),
    }
}

/// Runs a call, and polls its answer concurrently. After the end of the call, only an answer that is already
/// complete counts.
pub(super) async fn both<C, A>(
    call: impl Future<Output = C>,
    answer: impl Future<Output = A>,
) -> (C, Option<A>) {
    let (mut call, mut answer) = (pin!(call), pin!(answer));
    let mut answered = None;
    poll_fn(|context| {
        let called = call.as_mut().poll(context);
        if answered.is_none()
            && let Poll::Ready(answer) = answer.as_mut().poll(context)
        {
            answered = Some(answer);
        }
        called.map(|called| (called, answered.take()))
    })
    .await
}

/// Logs the failure of a component that had already given its whole response.
pub(super) fn failed_afterwards(error: &wasmtime::Error) {
    tracing::warn!("it answered a request, and failed afterwards: {error:#}");
}

pub(super) async fn collected(response: Response<WasiBody>, most: usize) -> Answer {
    let (parts, body) = response.into_parts();
    let (mut body, mut all) = (pin!(body), Vec::new());
    while let Some(frame) = body.frame().await {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => return Answer::BrokenOff(error.to_string()),
        };
        // Other frames are trailers.
        if let Ok(piece) = frame.into_data() {
            if piece.len() > most - all.len() {
                return Answer::TooLarge;
            }
            // Copied, so that the body takes the memory of its bytes, however small the pieces are.
            all.extend_from_slice(&piece);
        }
    }
    Answer::Whole(Response::from_parts(parts, all.into()))
}

pub(super) fn outcome(answer: Option<Answer>) -> Called {
    let failed = |why: String| Err(ToolError::Failed(why));
    match answer {
        Some(Answer::Whole(response)) => Ok(result(&response)),
        Some(Answer::Refused(code)) => failed(format!("It answered with an error: {code}.")),
        Some(Answer::TooLarge) => {
            failed(format!("The body of its answer is larger than a result may be: {OUTPUT_LIMIT} says so."))
        }
        Some(Answer::BrokenOff(why)) => failed(format!("Its answer broke off: {why}.")),
        Some(Answer::None) => failed("It gave no answer.".to_owned()),
        None => failed("It ended before its answer was whole.".to_owned()),
    }
}

/// Returns a response as structured data and as text.
fn result(response: &Response<Bytes>) -> ToolResult {
    let status = response.status();
    let value = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers: Vec<_> =
        response.headers().iter().map(|(name, text)| [name.as_str().to_owned(), value(text)]).collect();
    let (key, body) = match std::str::from_utf8(response.body()) {
        Ok(text) => ("body", text.to_owned()),
        Err(_) => ("body_base64", STANDARD.encode(response.body())),
    };
    let mut text = status.to_string();
    for [name, value] in &headers {
        let _ = write!(text, "\n{name}: {value}");
    }
    let _ = write!(text, "\n\n{body}");
    let structured = json!({ "status": status.as_u16(), "headers": headers, key: body });
    ToolResult { content: vec![Content::Text(text)], structured: Some(structured.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(arguments: &Value) -> Result<Request<Bytes>, String> {
        read(arguments.as_object().expect("an object"))
    }

    #[test]
    fn a_request_is_read_from_its_arguments() {
        let plain = request(&json!({})).expect("a request");
        assert_eq!((plain.method(), plain.uri().to_string()), (&Method::GET, "http://localhost/".to_owned()));
        let whole = request(&json!({
            "method": "POST", "path": "/a?b=c", "headers": [["X-A", "1"], ["x-a", "2"], ["Host", "example.com"]],
            "body": "ä",
        }))
        .expect("a request");
        assert_eq!(whole.uri(), "http://example.com/a?b=c");
        assert_eq!(whole.headers().get_all("x-a").iter().collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(
            (&whole.headers()["content-length"], &whole.body()[..]),
            (&"2".parse().expect("a value"), "ä".as_bytes())
        );
        let bytes = request(&json!({ "headers": {"Content-Length": "7"}, "body_base64": "//8=" }))
            .expect("a request");
        assert_eq!(
            (&bytes.body()[..], &bytes.headers()["content-length"]),
            (&[255, 255][..], &"2".parse().expect("a value"))
        );
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_place() {
        for (arguments, expected) in [
            (json!({"url": "/"}), "url is not known; expected method, path, headers, body, body_base64"),
            (json!({"method": "GE T"}), "method: \"GE T\" is no method of HTTP; write GET, POST, …"),
            (json!({"method": 1}), "method: expected a text, found 1"),
            (json!({"path": "a"}), "path: \"a\" does not begin with /"),
            (json!({"headers": ["a"]}), "headers: expected names and values as texts, found \"a\""),
            (json!({"headers": {"a": 1}}), "headers: expected names and values as texts, found 1"),
            (json!({"headers": {"a b": "c"}}), "headers: \"a b\" is no name of a header"),
            (json!({"headers": {"a": "b\r\nc: d"}}), "headers: the value of a has control characters"),
            (json!({"body": "a", "body_base64": "YQ=="}), "give body or body_base64, not both"),
        ] {
            assert_eq!(request(&arguments).expect_err("refused"), expected);
        }
        assert!(
            request(&json!({"path": "/a b"}))
                .expect_err("refused")
                .contains("write blanks and the like as %20")
        );
        assert!(
            request(&json!({"path": "/".repeat(20_000)}))
                .expect_err("refused")
                .contains("the limit is 16384")
        );
        assert!(request(&json!({"body_base64": "!"})).expect_err("refused").contains("is no base64"));
        let many: Vec<_> = (0..101).map(|number| [format!("a{number}"), "b".to_owned()]).collect();
        assert!(request(&json!({ "headers": many })).expect_err("refused").contains("more than 100"));
    }

    #[test]
    fn a_response_is_text_where_it_can_be() {
        let mut response = Response::new(Bytes::from_static(b"hello"));
        response.headers_mut().insert("content-type", HeaderValue::from_static("text/plain"));
        let ToolResult { content, structured } = result(&response);
        assert!(
            matches!(&content[..], [Content::Text(text)] if text == "200 OK\ncontent-type: text/plain\n\nhello")
        );
        let data: Value = serde_json::from_str(&structured.expect("data")).expect("JSON");
        assert_eq!(
            data,
            json!({"status": 200, "headers": [["content-type", "text/plain"]], "body": "hello"})
        );
        let bytes = result(&Response::new(Bytes::from_static(&[0xff, 0xfe])));
        assert!(bytes.structured.expect("data").contains("\"body_base64\":\"//4=\""));
    }
}
