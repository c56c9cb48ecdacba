//! Validation of the arguments.

use percent_encoding::percent_decode_str;
use scorpiox_tool_kit::args::shown;
use scorpiox_tool_kit::{Args, Failure};
use url::Url;

use crate::file::File;

/// Maximum wait that a call may request, in milliseconds.
const MAX_WAIT_MS: i64 = 30_000;
/// Maximum length of a URL, in characters; servers refuse longer ones.
const MAX_URL_CHARS: usize = 8192;
/// Suffix of a URL that precedes the number of a result page.
const PAGE_SUFFIX: &str = "#page=";
/// Suffix that requests the complete page, including navigation and comments. It precedes the page number.
pub(crate) const FULL_SUFFIX: &str = "#full";

/// Output format of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `CommonMark` with GitHub's tables, task lists, strikethrough and footnotes.
    Markdown,
    /// Plain text without markup.
    Text,
    /// HTML of the content, without presentational markup.
    Html,
}

impl Format {
    /// Returns the name of the format in the arguments.
    pub fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Html => "html",
        }
    }

    fn named(name: &str) -> Result<Self, Failure> {
        let all = [Self::Markdown, Self::Text, Self::Html];
        all.into_iter().find(|format| format.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            Failure::InvalidInput(format!("format {:?} is unknown; use markdown, text or html.", shown(name)))
        })
    }
}

/// Requested part of a page.
#[derive(Debug, Default)]
pub(crate) struct Part {
    /// Fragment of the URL. The part that it refers to comes first in the result.
    pub(crate) fragment: Option<String>,
    /// `true` if the text around the content is requested too.
    pub(crate) is_whole: bool,
}

/// Parsed arguments of a call.
#[derive(Debug)]
pub(crate) struct Ask {
    /// URL without its fragment. That of a file is the base of the links in it.
    pub(crate) url: Url,
    /// The file, if the address means one.
    pub(crate) file: Option<File>,
    /// URL with the fragment if a script uses it as a route (`#/guide`, `#!guide`).
    pub(crate) url_for_browser: Url,
    /// URL as given, without the page number.
    pub(crate) address: String,
    pub(crate) part: Part,
    /// Page of the result, counted from 1.
    pub(crate) page: usize,
    pub(crate) format: Format,
    pub(crate) wait_ms: Option<u32>,
}

impl Ask {
    pub(crate) fn read(args: &Args<'_>) -> Result<Self, Failure> {
        let text = args.trimmed("url")?.ok_or_else(|| {
            Failure::InvalidInput(
                "url is missing; give the address of a page, such as https://example.org/, or the path of a file.".to_owned(),
            )
        })?;
        let (address, page) = split_page(&text)?;
        let (of_page, is_whole) =
            address.strip_suffix(FULL_SUFFIX).map_or((address, false), |address| (address, true));
        let parsed = parse(of_page);
        let file = File::of(of_page, parsed.as_ref().err().cloned())?;
        let url_for_browser = match &file {
            Some(file) => file.base()?,
            None => parsed?,
        };
        let mut url = url_for_browser.clone();
        url.set_fragment(None);
        let is_route = |fragment: &str| fragment.starts_with(['/', '!']);
        let (url_for_browser, fragment) = match url_for_browser.fragment() {
            Some(fragment) if is_route(fragment) => (url_for_browser, None),
            fragment => (url.clone(), fragment.and_then(name_of_part)),
        };
        let format = args.trimmed("format")?.map_or(Ok(Format::Markdown), |name| Format::named(&name))?;
        let wait_ms = args.integer("wait_ms", 0, MAX_WAIT_MS)?.and_then(|wait| u32::try_from(wait).ok());
        let part = Part { fragment, is_whole };
        Ok(Self { url, file, url_for_browser, address: address.to_owned(), part, page, format, wait_ms })
    }

    /// Returns the URL that requests a page of the result.
    pub(crate) fn url_of_page(&self, page: usize) -> String {
        // An existing suffix stays in front, because `split_page` uses the last one.
        format!("{}{PAGE_SUFFIX}{page}", self.address)
    }
}

/// Returns the name of the part, or `None` for the top of a page and for a text fragment.
pub(crate) fn name_of_part(fragment: &str) -> Option<String> {
    let name = fragment.split(":~:").next().unwrap_or_default();
    let name = percent_decode_str(name).decode_utf8_lossy().into_owned();
    (!name.is_empty() && !name.eq_ignore_ascii_case("top")).then_some(name)
}

/// Splits `#page=N` from the URL, and returns the URL and N.
fn split_page(text: &str) -> Result<(&str, usize), Failure> {
    let Some((address, number)) = text.rsplit_once(PAGE_SUFFIX) else { return Ok((text, 1)) };
    match number.parse::<usize>() {
        Ok(page) if page > 0 => Ok((address, page)),
        _ => Err(Failure::InvalidInput(format!(
            "The page in #page={} must be a number from 1.",
            shown(number)
        ))),
    }
}

fn parse(address: &str) -> Result<Url, Failure> {
    let refused = |why: String| Err(Failure::InvalidInput(format!("url {:?} {why}", shown(address))));
    if address.chars().nth(MAX_URL_CHARS).is_some() {
        return refused(format!("is too long; the limit is {MAX_URL_CHARS} characters."));
    }
    match Url::parse(address) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        // `localhost:3000/x` parses as a scheme and a path.
        _ if looks_like_host_and_path(address) => {
            refused(format!("has no scheme; write https://{address} (or http://{address})."))
        }
        Ok(url) => refused(format!("has the scheme {}; only http and https can be read.", url.scheme())),
        Err(error) => refused(format!("is not usable: {error}; write it like https://example.org/page.")),
    }
}

fn looks_like_host_and_path(address: &str) -> bool {
    let host = address.split(['/', '?', '#']).next().unwrap_or_default();
    let (name, port) = host.split_once(':').unwrap_or((host, "80"));
    let is_name = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
    let is_dotted = name.contains('.') && !name.starts_with('.') && !name.ends_with('.');
    is_name && (is_dotted || name == "localhost") && port.parse::<u16>().is_ok()
}
