//! What an engine is: data and two functions.

use scorpiox_tool_kit::web::Response;

use crate::request::Template;
use crate::{clean, snippet, url};

/// Longest title, in characters.
pub(crate) const MAX_TITLE_CHARS: usize = 200;
/// Longest snippet, in characters.
pub(crate) const MAX_SNIPPET_CHARS: usize = 400;
/// Results taken from one engine. A result page has 10 to 20.
pub(crate) const MAX_HITS: usize = 50;

/// One search engine.
#[derive(Debug)]
pub(crate) struct Engine {
    /// In settings and results.
    pub name: &'static str,
    /// For people.
    pub label: &'static str,
    pub family: Family,
    pub access: Access,
    /// Scheme, host and path prefix that the setting `base_url` replaces.
    pub base: &'static str,
    /// Until its whole answer is there, from the start of the search.
    pub limit_ms: u64,
    /// Something to be asked for first.
    pub token: Option<Token>,
    pub request: Template,
    /// What is in an answer, whatever its status.
    pub read: fn(&Response) -> Answer,
}

/// A value that the search needs and another page gives.
#[derive(Debug)]
pub(crate) struct Token {
    pub request: Template,
    pub read: fn(&Response) -> Result<String, Answer>,
}

/// Whose index the results come from: engines that share one are one voice.
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

/// When an engine is asked at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Unless it is disabled.
    Open,
    /// With a key in the settings.
    Key,
    /// With an address in the settings.
    BaseUrl,
}

/// What a page of an engine says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// At least one.
    Hits(Vec<Hit>),
    /// The engine says that it found nothing.
    Nothing,
    /// It wants to know whether a person asks.
    Challenge,
    /// Not what this engine's answers look like; why.
    Unreadable(String),
}

/// One result, clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub url: String,
    pub title: String,
    /// May be empty.
    pub snippet: String,
}

impl Hit {
    /// A result whose address is http or https; of plain text, without tags and entities.
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
    /// The results of a page that has `candidates` of them.
    pub(crate) fn of(candidates: usize, hits: impl Iterator<Item = Hit>) -> Self {
        let hits: Vec<Hit> = hits.take(MAX_HITS).collect();
        if hits.is_empty() {
            return Self::Unreadable(format!("none of its {candidates} results has a usable address"));
        }
        Self::Hits(hits)
    }
}
