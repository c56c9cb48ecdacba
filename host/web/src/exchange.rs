//! Sends a request unchanged and returns the response as a stream, for components that implement HTTP
//! themselves. Redirects are returned as responses; following one requires another request.

use std::collections::HashSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use reqwest::header::{HeaderMap, HeaderName, TRAILER};
use scorpiox_policy::HostRule;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::FIRST_BYTE_TIME;
use crate::error::WebError;
use crate::fetch::{Fetcher, OWN_HEADERS, unreachable};
use crate::route::{Router, Watch, tell};

/// A request of a component.
pub struct Exchange {
    /// Any method except `CONNECT`.
    pub method: http::Method,
    /// Absolute http or https URL.
    pub url: String,
    /// Headers. Those for framing and routing are omitted.
    pub headers: HeaderMap,
    /// Complete body.
    pub body: Bytes,
    /// Trailers, which follow the body. Those for framing and routing are omitted.
    pub trailers: HeaderMap,
    /// Maximum time until the response starts; capped at [`FIRST_BYTE_TIME`].
    pub first_byte: Option<Duration>,
}

impl Fetcher {
    /// Sends a request to a host that both `only` and the policy allow. The future must run on this fetcher's
    /// own [`handle`](Self::handle).
    pub async fn exchange(
        &self,
        exchange: Exchange,
        only: Arc<[HostRule]>,
        watch: &Watch,
    ) -> Result<http::Response<reqwest::Body>, WebError> {
        let url = Router::parse(&exchange.url)?;
        let (router, target) = (self.router().clone(), url.clone());
        let found = spawn_blocking(move || router.route(&target, Some(&only))).await;
        let found = found.map_err(|error| WebError::Failed(format!("looking up {url} failed: {error}")))?;
        tell(Some(watch), &url, &found);
        let route = found?;
        if exchange.method == http::Method::CONNECT {
            return Err(WebError::Invalid("CONNECT is not for requests".to_owned()));
        }
        let time = exchange.first_byte.map_or(FIRST_BYTE_TIME, |time| time.min(FIRST_BYTE_TIME));
        let request = self.as_it_is()?.request(exchange.method, url.clone());
        let (headers, body) = framed(exchange.headers, exchange.body, exchange.trailers);
        let request = request.headers(headers).body(body);
        let answer = timeout(time, request.send()).await;
        let late = || WebError::TimedOut(format!("{url} sent nothing within {} s", time.as_secs_f32()));
        let answer =
            answer.map_err(|_| late())?.map_err(|error| unreachable(&url, &route.addresses, &error))?;
        Ok(answer.into())
    }
}

/// Combines a body with its trailers. Without trailers, the length of the body is announced.
fn framed(headers: HeaderMap, body: Bytes, trailers: HeaderMap) -> (HeaderMap, reqwest::Body) {
    let (mut headers, trailers) = (passed_on(headers), passed_on(trailers));
    if trailers.is_empty() {
        return (headers, body.into());
    }
    // HTTP/1.1 sends trailers only after chunks, and only those that the head announces.
    let names: Vec<_> = trailers.keys().map(HeaderName::as_str).collect();
    if let Ok(names) = names.join(", ").parse() {
        headers.insert(TRAILER, names);
    }
    (headers, reqwest::Body::wrap(Followed { body: Some(body), trailers: Some(trailers) }))
}

/// A complete body that trailers follow. Its length is not announced.
struct Followed {
    body: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

impl Body for Followed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let body = self.body.take().filter(|body| !body.is_empty()).map(Frame::data);
        Poll::Ready(body.or_else(|| self.trailers.take().map(Frame::trailers)).map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.trailers.is_none()
    }
}

/// Removes hop-by-hop headers (RFC 9110, 7.6.1).
fn passed_on(mut headers: HeaderMap) -> HeaderMap {
    let named: HashSet<String> = headers
        .get_all("connection")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
        .collect();
    let own = OWN_HEADERS.iter().filter(|name| **name != "user-agent").copied();
    for name in own.map(str::to_owned).chain(named) {
        headers.remove(name.as_str());
    }
    headers
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn what_concerns_one_connection_is_not_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in
            [("host", "a"), ("connection", "close, X-Own"), ("x-own", "1"), ("accept", "*/*"), ("te", "x")]
        {
            headers.append(name, value.parse().expect("a value"));
        }
        let kept = passed_on(headers);
        assert_eq!(kept.keys().map(http::HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
    }

    /// Returns the bytes that a server receives until `end`.
    async fn received(
        headers: HeaderMap,
        body: &'static [u8],
        trailers: HeaderMap,
        end: &'static str,
    ) -> String {
        // Fails if a provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let (mut all, mut bytes) = (String::new(), [0; 1024]);
            while !all.ends_with(end) {
                let count = stream.read(&mut bytes).expect("reads");
                assert!(count > 0, "{all}");
                all += std::str::from_utf8(&bytes[..count]).expect("text");
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").expect("writes");
            all
        });
        let (headers, body) = framed(headers, Bytes::from_static(body), trailers);
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let answer = client.post(url).headers(headers).body(body).send().await.expect("an answer");
        assert_eq!(answer.status(), 204);
        server.join().expect("a server")
    }

    #[tokio::test]
    async fn trailers_follow_the_body_and_are_announced() {
        const LAST: &str = "\r\n0\r\nx-sum: 7\r\n\r\n";
        let of = |name: &'static str, value: &'static str| {
            HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))])
        };
        let mut trailers = of("x-sum", "7");
        trailers.insert("connection", HeaderValue::from_static("close"));
        let all = received(of("content-length", "9"), b"the last", trailers.clone(), LAST).await;
        assert!(all.contains("trailer: x-sum\r\n") && !all.contains("content-length"), "{all}");
        assert!(all.ends_with(&format!("8\r\nthe last{LAST}")), "{all}");
        let empty = received(HeaderMap::new(), b"", trailers, LAST).await;
        assert!(empty.ends_with(&format!("\r\n{LAST}")), "{empty}");
        let none = received(HeaderMap::new(), b"the last", HeaderMap::new(), "the last").await;
        assert!(none.contains("content-length: 8\r\n") && !none.contains("trailer"), "{none}");
    }
}
