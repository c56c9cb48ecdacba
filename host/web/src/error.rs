//! Why there is no answer.

/// Each text is a sentence for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// The policy does not allow it.
    #[error("{0}")]
    Denied(String),
    /// Not a request that can be made.
    #[error("{0}")]
    Invalid(String),
    /// The server redirects to another host.
    #[error("the server redirects to another host: {0}")]
    Moved(String),
    /// The answer has more than this many bytes.
    #[error("the answer has more than {0} bytes")]
    TooLarge(u64),
    /// It took too long.
    #[error("{0}")]
    TimedOut(String),
    /// The server cannot be reached, or does not speak HTTP.
    #[error("{0}")]
    Failed(String),
    /// There is no browser, or it cannot run here.
    #[error("{0}")]
    NoBrowser(String),
}

/// An error with all its causes on one line: libraries put what is of interest last.
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
