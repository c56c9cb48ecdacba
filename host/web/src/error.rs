//! Reasons why a request has no response.

/// An error, each with a sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// The policy denies the request.
    #[error("{0}")]
    Denied(String),
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The server redirects to another host.
    #[error("the server redirects to another host: {0}")]
    Moved(String),
    /// The response exceeds this number of bytes.
    #[error("the answer has more than {0} bytes")]
    TooLarge(u64),
    /// The request timed out.
    #[error("{0}")]
    TimedOut(String),
    /// The server cannot be reached, or does not speak HTTP.
    #[error("{0}")]
    Failed(String),
    /// No browser is installed, or it cannot run here.
    #[error("{0}")]
    NoBrowser(String),
}

/// Variables that name a proxy for programs. The value may contain a password, so it is never cited.
const PROXY_VARIABLES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// Returns an addition to the error of a host that was not reached: where a proxy is the only way out, nothing else says
/// that it was not asked. Empty if the environment names no proxy.
pub(crate) fn without_proxy() -> String {
    let is_set = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match PROXY_VARIABLES.iter().find(is_set) {
        Some(name) => format!(
            "; {name} is set, but pages are fetched without a proxy, so that their addresses can be checked"
        ),
        None => String::new(),
    }
}

/// Formats an error with all its causes on one line, since libraries put the most specific cause last.
pub(crate) fn causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !parts.last().is_some_and(|last| last.contains(&text)) {
            parts.push(text);
        }
        next = error.source();
    }
    parts.join(": ")
}
