//! HTML result pages: one shape per engine, and one parser for all.

use dom_query::{Document, Matcher, NodeRef, Selection};
use scorpiox_tool_kit::web::Response;

use crate::engine::{Answer, Hit};
use crate::html;

/// CSS selectors for a result page.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Each result.
    pub result: &'static str,
    /// Results that are advertisements. May be empty.
    pub ad: &'static str,
    /// Within a result: the link with the `href`.
    pub link: &'static str,
    /// Within a result: the title; the first selector with text counts.
    pub title: &'static [&'static str],
    /// Within a result: the snippet; the first selector with text counts.
    pub snippet: &'static [&'static str],
    /// Returns the destination of an `href`, or `None` for advertisements and the engine's own pages.
    pub address: fn(&str) -> Option<String>,
    /// Elements that only a page without results has.
    pub nothing: &'static str,
    /// Texts of a page without results, in lower case.
    pub nothing_says: &'static [&'static str],
    /// Elements that only a challenge page has.
    pub challenge: &'static str,
}

/// Selectors of common challenges: Cloudflare, reCAPTCHA, hCaptcha, ALTCHA, Anubis, and forms with telling
/// names.
const CHALLENGE: &str = "#challenge-form, #challenge-running, #cf-challenge, .cf-turnstile, .g-recaptcha, \
     .h-captcha, altcha-widget, #anubis_challenge, form[action*='captcha'], form[id*='captcha'], \
     iframe[src*='captcha'], script[src*='/cdn-cgi/challenge-platform/']";

/// Parses a page.
pub(crate) fn read(response: &Response, shape: &Shape) -> Answer {
    let html = String::from_utf8_lossy(&response.body);
    let document = match html::parse(&html) {
        Ok(document) => document,
        Err(why) => return Answer::Unreadable(why),
    };
    let found = results(&document, shape);
    if !found.is_empty() {
        let candidates = found.len();
        let hits = found.iter().filter_map(|result| hit(result, shape));
        let answer = Answer::of(candidates, hits);
        if matches!(answer, Answer::Hits(_)) {
            return answer;
        }
    }
    without_results(&document, shape, found.len())
}

/// Size of the beginning of a response that is checked for a challenge, in bytes; challenge pages are short.
const CHALLENGE_BYTES: usize = 256 << 10;

/// Returns `true` if an unexpected response is a challenge.
pub(crate) fn is_challenge(response: &Response) -> bool {
    let length = response.body.len().min(CHALLENGE_BYTES);
    let html = String::from_utf8_lossy(&response.body[..length]);
    html.contains('<') && html::parse(&html).is_ok_and(|document| has_challenge(&document))
}

/// Returns `true` if a page contains one of the common challenges.
pub(crate) fn has_challenge(document: &Document) -> bool {
    has(document, CHALLENGE)
}

fn results<'a>(document: &'a Document, shape: &Shape) -> Vec<NodeRef<'a>> {
    let Ok(result) = Matcher::new(shape.result) else { return Vec::new() };
    let ad = Matcher::new(shape.ad).ok();
    let nodes = document.select_matcher(&result);
    let paid = |node: &NodeRef<'_>| ad.as_ref().is_some_and(|ad| node.is_match(ad));
    nodes.nodes().iter().filter(|node| !paid(node)).copied().collect()
}

fn hit(result: &NodeRef<'_>, shape: &Shape) -> Option<Hit> {
    let inside = Selection::from(*result);
    let link = Matcher::new(shape.link).ok()?;
    let href = inside.select_single_matcher(&link).attr("href")?;
    let address = (shape.address)(href.trim())?;
    Hit::new(&address, &first(&inside, shape.title), &first(&inside, shape.snippet))
}

/// Returns the text of the first selector that has text.
fn first(inside: &Selection<'_>, selectors: &[&str]) -> String {
    let text = |selector: &&str| {
        let matcher = Matcher::new(selector).ok()?;
        let found = inside.select_single_matcher(&matcher);
        let text = html::text(found.nodes().first()?);
        (!text.trim().is_empty()).then_some(text)
    };
    selectors.iter().find_map(text).unwrap_or_default()
}

fn without_results(document: &Document, shape: &Shape, unusable: usize) -> Answer {
    if has(document, shape.challenge) || has_challenge(document) {
        return Answer::Challenge;
    }
    if has(document, shape.nothing) || says(document, shape.nothing_says) {
        return Answer::Nothing;
    }
    Answer::Unreadable(if unusable > 0 {
        format!("none of its {unusable} results has a usable address")
    } else {
        "its page has neither results nor a note that there are none; the engine may have changed".to_owned()
    })
}

fn has(document: &Document, selector: &str) -> bool {
    Matcher::new(selector).is_ok_and(|matcher| document.select_single_matcher(&matcher).exists())
}

fn says(document: &Document, phrases: &[&str]) -> bool {
    if phrases.is_empty() {
        return false;
    }
    let text = html::text(&document.root()).to_lowercase();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    phrases.iter().any(|phrase| text.contains(phrase))
}
