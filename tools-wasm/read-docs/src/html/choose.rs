//! Which part of a page is its content.
//!
//! Articles are found by their words and markup (`dom_smoothie`, after Mozilla's Readability).
//! That throws away parts of reference documentation, which is mostly code, tables and links;
//! such pages say where their content is, and it is taken as it is. Where neither gives much of
//! the page, the body is taken without what surrounds content.

use dom_query::{Document as Dom, NodeRef};
use dom_smoothie::{Config, Readability};
use url::Url;

use super::clean;
use super::links::Links;
use super::tree::{self, Element};

/// Extraction copies the DOM several times; larger pages are taken by their landmarks.
const MAX_ELEMENTS_TO_EXTRACT: u32 = 30_000;
/// Extraction also writes HTML, and its writer looks at the rest of a text again for each
/// character that it escapes: this many bytes take a fraction of a second.
const MAX_COST_OF_WRITING: usize = 200_000_000;
/// An article with a smaller share of the words of its landmark is not all of it (percent).
const MIN_SHARE_OF_LANDMARK: usize = 40;
/// The same for the whole body: there is always something around an article.
const MIN_SHARE_OF_BODY: usize = 10;
/// Where words of links are a greater share, it is a list of links rather than text (percent).
const MAX_SHARE_OF_LINKS: usize = 50;

/// Generators of documentation, as they name themselves.
const GENERATORS: [&str; 26] = [
    "rustdoc",
    "mdbook",
    "sphinx",
    "docutils",
    "docusaurus",
    "mkdocs",
    "vitepress",
    "vuepress",
    "gitbook",
    "doxygen",
    "javadoc",
    "starlight",
    "pdoc",
    "yard",
    "typedoc",
    "docfx",
    "antora",
    "asciidoctor",
    "nextra",
    "mintlify",
    "exdoc",
    "ex_doc",
    "dokka",
    "haddock",
    "latexml",
    "docsify",
];
/// What generators name the element with the content, the most particular first.
const CONTENT: [&str; 12] = [
    "#main-content",
    ".theme-doc-markdown",
    ".vp-doc",
    ".sl-markdown-content",
    ".rst-content [itemprop=articleBody]",
    ".rst-content",
    "div.body[role=main]",
    "article.markdown-body",
    ".md-content",
    ".markdown-section",
    "#mdbook-content main",
    "#content > main",
];
/// Landmarks that any page can have.
const LANDMARKS: [&str; 3] = ["main", "[role=main]", "article"];

/// What is known about the content.
#[derive(Debug, Default)]
pub(super) struct About {
    pub(super) title: Option<String>,
    pub(super) byline: Option<String>,
    pub(super) published: Option<String>,
}

/// The content of a page.
pub(super) struct Content {
    pub(super) about: About,
    pub(super) root: Element,
}

pub(super) fn choose(dom: Dom, elements: u32, url: &Url) -> Content {
    let base = dom.base_uri().map(|base| base.to_string());
    let links = Links::of_page(url, base.as_deref());
    let mut reader = reader(dom, url);
    let about = about(&reader);
    let is_too_much =
        elements > MAX_ELEMENTS_TO_EXTRACT || cost_of_writing(&reader.doc) > MAX_COST_OF_WRITING;
    if is_too_much || is_documentation(&reader.doc, url) {
        return whole(&reader.doc, about, &links);
    }
    let spare = reader.doc.clone();
    let Ok(article) = reader.parse() else { return whole(&spare, about, &links) };
    let found = reader.doc.select_single("#readability-page-1");
    let Some(found) = found.nodes().first() else { return whole(&spare, about, &links) };
    if has_more(&spare, found) {
        return whole(&spare, about, &links);
    }
    let known = |text: Option<String>| text.map(|text| one_line(&text)).filter(|text| !text.is_empty());
    let about = About {
        title: known(Some(article.title)),
        byline: known(article.byline),
        published: known(article.published_time),
    };
    Content { about, root: tree::of(found, &links) }
}

fn reader(dom: Dom, url: &Url) -> Readability {
    Readability { doc: dom, doc_url: Some(url.to_string()), config: Config::default() }
}

fn about(reader: &Readability) -> About {
    let data = reader.get_article_metadata(reader.parse_json_ld());
    let known = |text: Option<String>| text.map(|text| one_line(&text)).filter(|text| !text.is_empty());
    About {
        title: known(Some(data.title)),
        byline: known(data.byline),
        published: known(data.published_time),
    }
}

fn cost_of_writing(dom: &Dom) -> usize {
    let cost = |text: NodeRef<'_>| {
        let text = text.text();
        let escaped = text.chars().filter(|c| matches!(c, '&' | '<' | '>' | '\u{a0}')).count();
        escaped.saturating_mul(text.len())
    };
    let is_written = |text: &NodeRef<'_>| {
        text.is_text()
            && !text.parent().is_some_and(|parent| parent.has_name("script") || parent.has_name("style"))
    };
    dom.root().descendants_it().filter(is_written).map(cost).fold(0, usize::saturating_add)
}

fn is_documentation(dom: &Dom, url: &Url) -> bool {
    let named = dom.select("meta[name=generator], meta[name=Generator]").nodes().iter().any(|meta| {
        let generator = meta.attr_or("content", "").to_ascii_lowercase();
        GENERATORS.iter().any(|name| generator.contains(name))
    });
    let is_marked = || CONTENT.iter().any(|selector| dom.select(selector).exists());
    let is_addressed = || is_address_of_documentation(url) && landmark(dom).is_some();
    named || is_marked() || is_addressed()
}

fn is_address_of_documentation(url: &Url) -> bool {
    const HOSTS: [&str; 8] = ["docs", "doc", "developer", "developers", "api", "man", "manual", "reference"];
    const FOLDERS: [&str; 10] =
        ["docs", "doc", "documentation", "reference", "api", "manual", "man", "guide", "handbook", "book"];
    let host = url.host_str().unwrap_or_default().split('.').next().unwrap_or_default();
    let mut folders = url.path_segments().into_iter().flatten();
    HOSTS.contains(&host) || folders.any(|folder| FOLDERS.contains(&folder))
}

/// The landmark, else the body, cleaned.
fn whole(dom: &Dom, mut about: About, links: &Links) -> Content {
    let root = landmark(dom).unwrap_or_else(|| {
        clean::drop_banner(dom);
        dom.body().unwrap_or_else(|| dom.root())
    });
    clean::clean(dom, &root);
    // The page's own heading goes to the top, with what is known of the page.
    let headings: Vec<_> = root.descendants_it().filter(|node| node.has_name("h1")).collect();
    if let [heading] = headings.as_slice() {
        let tree = tree::of(heading, links);
        let text = one_line(&tree.text());
        let is_plain =
            !tree.any(&|element| &*element.name == "img" || element.attribute("data-x-tex").is_some());
        if !text.is_empty() && is_plain {
            heading.remove_from_parent();
            about.title = Some(text);
        }
    }
    Content { about, root: tree::of(&root, links) }
}

/// The element that holds the content, when the page names one.
fn landmark(dom: &Dom) -> Option<NodeRef<'_>> {
    let single = |selector: &str| {
        let found = dom.select(selector);
        match found.nodes() {
            [only] => Some(*only),
            _ => None,
        }
    };
    CONTENT.iter().chain(&LANDMARKS).filter_map(|selector| single(selector)).find(has_words)
}

fn has_words(node: &NodeRef<'_>) -> bool {
    const FEW: usize = 20;
    words(node, &|_| false) >= FEW
}

/// Whether the page has much more content than was found.
fn has_more(spare: &Dom, found: &NodeRef<'_>) -> bool {
    let found_words = words(found, &|_| false);
    let (whole, least) = match landmark(spare) {
        Some(landmark) => (landmark, MIN_SHARE_OF_LANDMARK),
        None => match spare.body() {
            Some(body) => (body, MIN_SHARE_OF_BODY),
            None => return false,
        },
    };
    let all = words(&whole, &is_no_content);
    if found_words * 100 >= all * least {
        return false;
    }
    let unlinked = words(&whole, &|node| is_no_content(node) || node.has_name("a"));
    found_words == 0 || (all - unlinked) * 100 < all * MAX_SHARE_OF_LINKS
}

fn is_no_content(node: &NodeRef<'_>) -> bool {
    const NAMES: [&str; 10] =
        ["script", "style", "noscript", "template", "nav", "aside", "footer", "form", "button", "select"];
    let style = || node.attr_or("style", "").to_ascii_lowercase().replace(' ', "");
    NAMES.iter().any(|name| node.has_name(name))
        || node.has_attr("hidden")
        || node.attr_or("aria-hidden", "").as_ref() == "true"
        || node.has_attr("style")
            && (style().contains("display:none") || style().contains("visibility:hidden"))
}

/// Words below a node, without those in elements that are passed over.
fn words(node: &NodeRef<'_>, passes: &dyn Fn(&NodeRef<'_>) -> bool) -> usize {
    let mut count = 0;
    let mut waiting = vec![*node];
    while let Some(node) = waiting.pop() {
        if node.is_text() {
            count += node.text().split_whitespace().count();
        } else if !node.is_element() || !passes(&node) {
            waiting.extend(node.children_it(false));
        }
    }
    count
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
