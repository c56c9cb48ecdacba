//! Alternatives that a page announces for programs: its Markdown version, and an index of its site.
//!
//! The sources are `<link rel="alternate" type="text/markdown">` in the head, the same in a `Link` header
//! (RFC 8288), and links with any relation to an `llms.txt`. Only URLs on the page's own site count: same
//! scheme, host and port.

use scorpiox_tool_kit::web::Response;
use url::Url;

use crate::html::Page;

/// Maximum length of a URL, in bytes.
const MAX_ADDRESS: usize = 500;
/// Maximum number of links that are checked.
const MAX_LINKS: usize = 200;

/// The two URLs, if they are known.
#[derive(Debug, Default)]
pub(crate) struct Announced {
    /// URL of the page as Markdown.
    pub(crate) twin: Option<Url>,
    /// URL of the index, which the model can request.
    pub(crate) index: Option<Url>,
}

/// A link in the head or the headers of a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) relation: String,
    pub(crate) kind: String,
    pub(crate) address: String,
}

/// Collects the announcements of a page and its response.
pub(crate) fn of(page: &Page, response: &Response, url: &Url) -> Announced {
    let base = page.base(url);
    let mut announced = of_headers(response, url);
    for link in page.links().into_iter().take(MAX_LINKS) {
        announced.take(&link, &base, url);
    }
    // Mintlify and others announce the index in a sentence that is meant only for models.
    if announced.index.is_none() {
        let said = page.said_index().and_then(|address| site(&address, &base, url));
        announced.index = said.filter(is_index);
    }
    announced
}

/// Collects the announcements in the headers, for a response that is not HTML.
pub(crate) fn of_headers(response: &Response, url: &Url) -> Announced {
    let mut announced = Announced::default();
    let headers = response.headers.iter().filter(|(name, _)| name == "link");
    for link in headers.flat_map(|(_, value)| header(value)).take(MAX_LINKS) {
        announced.take(&link, url, url);
    }
    if announced.index.is_none()
        && let Some(address) = response.header("x-llms-txt")
    {
        announced.index = site(address, url, url).filter(is_index);
    }
    announced
}

impl Announced {
    fn take(&mut self, link: &Link, base: &Url, page: &Url) {
        let Some(url) = site(&link.address, base, page) else { return };
        if is_index(&url) {
            // Prefers the short index over the complete site in one file.
            let is_short = url.path().ends_with("/llms.txt");
            if self.index.is_none()
                || is_short && !self.index.as_ref().is_some_and(|known| known.path().ends_with("/llms.txt"))
            {
                self.index = Some(url);
            }
            return;
        }
        let relations =
            |name: &str| link.relation.split_ascii_whitespace().any(|own| own.eq_ignore_ascii_case(name));
        let kind = link.kind.split(';').next().unwrap_or_default().trim();
        let is_markdown =
            ["text/markdown", "text/x-markdown"].iter().any(|known| kind.eq_ignore_ascii_case(known));
        // An alternate in another language or an alternate style sheet is not a Markdown version.
        if relations("alternate")
            && !relations("stylesheet")
            && is_markdown
            && self.twin.is_none()
            && url != *page
        {
            self.twin = Some(url);
        }
    }
}

/// Resolves a URL if it is on the page's own site, and removes its fragment.
fn site(address: &str, base: &Url, page: &Url) -> Option<Url> {
    if address.len() > MAX_ADDRESS || address.trim().is_empty() {
        return None;
    }
    let mut url = base.join(address.trim()).ok()?;
    url.set_fragment(None);
    let is_ours = is_same_site(&url, page) && url.username().is_empty() && url.password().is_none();
    (is_ours && url.as_str().len() <= MAX_ADDRESS).then_some(url)
}

/// Returns `true` if two URLs have the same scheme, host and port.
pub(crate) fn is_same_site(one: &Url, other: &Url) -> bool {
    matches!(one.scheme(), "http" | "https") && one.origin() == other.origin()
}

fn is_index(url: &Url) -> bool {
    ["/llms.txt", "/llms-full.txt"].iter().any(|name| url.path().to_ascii_lowercase().ends_with(name))
}

/// Parses the links of a `Link` header: `<address>; rel="…"; type=…, <address>; …`.
fn header(value: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut rest = value;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((address, parameters)) = after.split_once('>') else { break };
        let mut link =
            Link { relation: String::new(), kind: String::new(), address: address.trim().to_owned() };
        rest = parameters;
        while let Some(parameter) = rest.trim_start().strip_prefix(';') {
            let (name, value, after) = parameter_of(parameter);
            match name.to_ascii_lowercase().as_str() {
                // The first value counts.
                "rel" if link.relation.is_empty() => link.relation = value,
                "type" if link.kind.is_empty() => link.kind = value,
                _ => {}
            }
            rest = after;
        }
        links.push(link);
        if links.len() >= MAX_LINKS {
            break;
        }
    }
    links
}

/// Parses a leading `name="value"` or `name=value`, and returns it with the remaining text.
fn parameter_of(text: &str) -> (&str, String, &str) {
    let end = text.find(['=', ';', ',']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let Some(rest) = rest.strip_prefix('=') else { return (name.trim(), String::new(), rest) };
    let rest = rest.trim_start();
    let Some(quoted) = rest.strip_prefix('"') else {
        let end = rest.find([';', ',']).unwrap_or(rest.len());
        let (value, after) = rest.split_at(end);
        return (name.trim(), value.trim().to_owned(), after);
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (name.trim(), value, quoted.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(characters.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (name.trim(), value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(relation: &str, kind: &str, address: &str) -> Link {
        Link { relation: relation.to_owned(), kind: kind.to_owned(), address: address.to_owned() }
    }

    #[test]
    fn a_header_has_links_with_parameters() {
        // Examples from RFC 8288, 3.5, and from real servers.
        let cases = [
            (
                "<http://example.com/TheBook/chapter2>; rel=\"previous\"; title=\"previous chapter\"",
                vec![link("previous", "", "http://example.com/TheBook/chapter2")],
            ),
            ("</>; rel=\"http://example.net/foo\"", vec![link("http://example.net/foo", "", "/")]),
            ("</terms>; rel=\"copyright\"; anchor=\"#foo\"", vec![link("copyright", "", "/terms")]),
            (
                "</TheBook/chapter2>; rel=\"previous\"; title*=UTF-8'de'letztes%20Kapitel, </TheBook/chapter4>; rel=\"next\"; title*=UTF-8'de'n%c3%a4chstes%20Kapitel",
                vec![link("previous", "", "/TheBook/chapter2"), link("next", "", "/TheBook/chapter4")],
            ),
            (
                "<http://example.org/>; rel=\"start http://example.net/relation/other\"",
                vec![link("start http://example.net/relation/other", "", "http://example.org/")],
            ),
            (
                "<https://example.org/>; rel=\"start\", <https://example.org/index>; rel=\"index\"",
                vec![
                    link("start", "", "https://example.org/"),
                    link("index", "", "https://example.org/index"),
                ],
            ),
            (
                "</llms.txt>; rel=\"llms-txt\", </a,b;c.md>; type=text/markdown ; title=\"a, <b>; \\\"c\\\"\"; rel=alternate",
                vec![link("llms-txt", "", "/llms.txt"), link("alternate", "text/markdown", "/a,b;c.md")],
            ),
            ("", vec![]),
            ("<unclosed", vec![]),
            ("<x>; rel=\"unclosed", vec![link("unclosed", "", "x")]),
        ];
        for (value, wanted) in cases {
            assert_eq!(header(value), wanted, "{value}");
        }
    }

    #[test]
    fn only_the_pages_own_site_counts() {
        let page = Url::parse("https://example.com:8443/docs/a").expect("a URL");
        let cases = [
            ("b.md", Some("https://example.com:8443/docs/b.md")),
            ("/docs/a.md#part", Some("https://example.com:8443/docs/a.md")),
            ("//example.com:8443/a.md", Some("https://example.com:8443/a.md")),
            ("https://example.com/a.md", None),
            ("http://example.com:8443/a.md", None),
            ("https://www.example.com:8443/a.md", None),
            ("https://example.com.evil.example:8443/a.md", None),
            ("https://example.com:8443@evil.example/a.md", None),
            ("https://user@example.com:8443/a.md", None),
            ("file:///etc/passwd", None),
            ("javascript:alert(1)", None),
            ("\\\\evil.example\\a.md", None),
            ("", None),
        ];
        for (address, wanted) in cases {
            let got = site(address, &page, &page);
            assert_eq!(got.as_ref().map(Url::as_str), wanted, "{address}");
        }
    }
}
