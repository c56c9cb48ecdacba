//! Converts a response to an engine's outcome.
//!
//! The engines' parsers check the page for a challenge, because only they have parsed it. This module checks
//! the rest of the response.

use scorpiox_tool_kit::web::{Response, WebError};

use crate::engine::{Answer, Engine, Token};
use crate::outcome::Outcome;
use crate::{clean, url};

/// Maximum length of a reason, in characters.
const MAX_MESSAGE_CHARS: usize = 300;

/// Returns the outcome of a response. A challenge counts with any status. Otherwise, only successful
/// responses are parsed.
pub(crate) fn of(engine: &Engine, response: &Response) -> Outcome {
    let answer = (engine.read)(response);
    if answer == Answer::Challenge {
        return Outcome::Captcha;
    }
    if !matches!(response.status, 200 | 203) {
        return of_status(response);
    }
    match answer {
        Answer::Hits(hits) => Outcome::Hits(hits),
        Answer::Nothing => Outcome::Empty,
        Answer::Unreadable(_) if is_challenge(response) => Outcome::Captcha,
        Answer::Unreadable(why) => Outcome::Failed(why),
        Answer::Challenge => Outcome::Captcha,
    }
}

/// Returns the token in a page, or the engine's outcome without it.
pub(crate) fn of_token(token: &Token, response: &Response) -> Result<String, Outcome> {
    let answer = (token.read)(response);
    if answer == Err(Answer::Challenge) {
        return Err(Outcome::Captcha);
    }
    if !matches!(response.status, 200 | 203) {
        return Err(of_status(response));
    }
    answer.map_err(|answer| match answer {
        _ if is_challenge(response) => Outcome::Captcha,
        Answer::Unreadable(why) => Outcome::Failed(why),
        Answer::Hits(_) | Answer::Nothing | Answer::Challenge => {
            Outcome::Failed("its first page is not what it was".to_owned())
        }
    })
}

/// Returns the outcome of an unsuccessful response. `DuckDuckGo` refuses with 202, and Yahoo with 999.
fn of_status(response: &Response) -> Outcome {
    if is_challenge(response) {
        return Outcome::Captcha;
    }
    match response.status {
        status @ (202 | 403 | 429 | 999) => Outcome::Refused(status),
        401 => Outcome::Failed("HTTP 401: it does not accept the key in policy.toml".to_owned()),
        status @ (402 | 432 | 433) => {
            Outcome::Failed(format!("HTTP {status}: the account behind the key has nothing left"))
        }
        status => Outcome::Failed(format!("HTTP {status}")),
    }
}

fn is_challenge(response: &Response) -> bool {
    response.header("cf-mitigated") == Some("challenge") || leads_to_challenge(&response.url)
}

/// Returns `true` if a URL is that of a challenge page.
fn leads_to_challenge(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    ["/captcha", "/sorry/", "/challenge"].iter().any(|part| path.contains(part))
}

/// Returns the outcome without a response, or `None` if the call was canceled.
pub(crate) fn of_error(error: WebError, key: &str) -> Option<Outcome> {
    Some(match error {
        WebError::Cancelled => return None,
        WebError::TimedOut(_) => Outcome::TimedOut,
        WebError::Denied(why) => Outcome::Denied(without(key, &why)),
        WebError::Moved(url) if leads_to_challenge(&url) => Outcome::Captcha,
        WebError::Moved(url) => {
            Outcome::Failed(without(key, &format!("it redirects to another host: {url}")))
        }
        WebError::TooLarge(bytes) => Outcome::Failed(format!("its answer has more than {bytes} bytes")),
        WebError::Invalid(why) | WebError::Failed(why) | WebError::NoBrowser(why) => {
            Outcome::Failed(without(key, &why))
        }
    })
}

/// Formats a message on one line without the key: it may contain a URL with the key, which is only for the
/// operator.
fn without(key: &str, message: &str) -> String {
    let pieces = std::iter::once(key).chain(key.split(':')).filter(|piece| !piece.is_empty());
    let message = pieces.fold(message.to_owned(), |message, piece| {
        message.replace(piece, "…").replace(&url::encode(piece), "…")
    });
    clean::text(&message, MAX_MESSAGE_CHARS)
}
