//! From what came back to what became of an engine.
//!
//! Readers look at the page for a challenge, as only they have taken it apart; here it is looked
//! for in what came with the page.

use scorpiox_tool_kit::web::{Response, WebError};

use crate::engine::{Answer, Engine, Token};
use crate::outcome::Outcome;
use crate::{clean, url};

/// Longest reason, in characters.
const MAX_MESSAGE_CHARS: usize = 300;

/// What an answer means. A challenge is one whatever the status; nothing else is read from an
/// answer that is not a success.
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

/// The token in a page, or what became of the engine without it.
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

/// What an answer means that is not a success. 202 is how `DuckDuckGo`, 999 how Yahoo refuses.
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

/// Whether an address is that of a page that asks whether a person asks.
fn leads_to_challenge(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    ["/captcha", "/sorry/", "/challenge"].iter().any(|part| path.contains(part))
}

/// What no answer means; none when the call is to stop.
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

/// A message on one line and without the key: an address in it may contain it, and keys are
/// for the operator.
fn without(key: &str, message: &str) -> String {
    let pieces = std::iter::once(key).chain(key.split(':')).filter(|piece| !piece.is_empty());
    let message = pieces.fold(message.to_owned(), |message, piece| {
        message.replace(piece, "…").replace(&url::encode(piece), "…")
    });
    clean::text(&message, MAX_MESSAGE_CHARS)
}
