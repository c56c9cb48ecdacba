//! Definition of an engine: data and two functions.

use scorpiox_tool_kit::web::Response;

use crate::request::Template;
use crate::{clean, snippet, url};

/// Maximum length of a title, in characters.
pub(crate) const MAX_TITLE_CHARS: usize = 200;
/// Maximum length of a snippet, in characters.
pub(crate) const MAX_SNIPPET_CHARS: usize = 400;
/// Maximum number of results from one engine. A result page has 10 to 20.
pub(crate) const MAX_HITS: usize = 50;

/// A search engine.
#[derive(Debug)]
pub(crate) struct Engine {
    /// Name in settings and results.
    pub name: &'static str,
    /// Display name.
    pub label: &'static str,
    pub family: Family,
    pub access: Access,
    /// Scheme, host and path prefix, which the setting `base_url` replaces.
    pub base: &'static str,
    /// Timeout for the complete response, from the start of the search.
    pub limit_ms: u64,
    /// Token that must be requested first.
    pub token: Option<Token>,
    pub request: Template,
    /// Parses a response with any status.
    pub read: fn(&Response) -> Answer,
}

/// A value from another page that the search requires.
#[derive(Debug)]
pub(crate) struct Token {
    pub request: Template,
    pub read: fn(&Response) -> Result<String, Answer>,
}

/// Index that the results come from. Engines that share an index count once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Family {
    Bing,
    Brave,
    Google,
    Mojeek,
    Qwant,
    Yep,
    Mwmbl,
    Wikipedia,
    Wiby,
    Tavily,
    Exa,
    Kagi,
    Searxng,
}

/// Condition under which an engine is queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Queried unless it is disabled.
    Open,
    /// Requires a key in the settings.
    Key,
    /// Requires a URL in the settings.
    BaseUrl,
}

/// Content of an engine's response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// At least one result.
    Hits(Vec<Hit>),
    /// The engine reports that it found nothing.
    Nothing,
    /// The engine requires a captcha or a similar check.
    Challenge,
    /// The response does not have the engine's usual form, for this reason.
    Unreadable(String),
}

/// A result with clean text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub url: String,
    pub title: String,
    /// Snippet; may be empty.
    pub snippet: String,
}

impl Hit {
    /// Creates a result from plain text without tags and entities. The URL must be `http` or `https`.
    pub(crate) fn new(address: &str, title: &str, snippet: &str) -> Option<Self> {
        let url = url::usable(address)?;
        let mut title = clean::text(&snippet::title(&clean::whole(title)), MAX_TITLE_CHARS);
        if title.is_empty() {
            title = clean::text(&url, MAX_TITLE_CHARS);
        }
        let snippet = snippet::text(&clean::whole(snippet), &title);
        Some(Self { url, title, snippet: clean::text(&snippet, MAX_SNIPPET_CHARS) })
    }
}

impl Answer {
    /// Creates an answer from the results of a page with this number of candidates.
    pub(crate) fn of(candidates: usize, hits: impl Iterator<Item = Hit>) -> Self {
        let hits: Vec<Hit> = hits.take(MAX_HITS).collect();
        if hits.is_empty() {
            return Self::Unreadable(format!("none of its {candidates} results has a usable address"));
        }
        Self::Hits(hits)
    }
}
