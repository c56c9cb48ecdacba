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
