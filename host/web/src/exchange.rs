//! Sends a request unchanged and returns the response as a stream, for components that implement HTTP
//! themselves. Redirects are returned as responses; following one requires another request.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
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
    pub body: Vec<u8>,
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
        let request = request.headers(passed_on(exchange.headers)).body(exchange.body);
        let answer = timeout(time, request.send()).await;
        let late = || WebError::TimedOut(format!("{url} sent nothing within {} s", time.as_secs_f32()));
        let answer =
            answer.map_err(|_| late())?.map_err(|error| unreachable(&url, &route.addresses, &error))?;
        Ok(answer.into())
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
}
