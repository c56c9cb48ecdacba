//! Reads the body of a response up to a limit.

use crate::error::{WebError, causes};

/// Reads the complete, decompressed body, if it has at most `limit` bytes.
pub(crate) async fn read(mut response: reqwest::Response, limit: usize) -> Result<Vec<u8>, WebError> {
    let too_large = || WebError::TooLarge(limit as u64);
    // `None` if the body is compressed.
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| broken(&error))? {
        if body.len() + chunk.len() > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn broken(error: &reqwest::Error) -> WebError {
    WebError::Failed(format!("the answer broke off or cannot be decompressed: {}", causes(error)))
}
