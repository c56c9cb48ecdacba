//! Event-based parser for RSS and Atom, without recursion and with limits on every count.

use std::rc::Rc;

use quick_xml::events::{BytesStart, Event};
use quick_xml::name::{Namespace, ResolveResult};
use quick_xml::reader::NsReader;
use url::Url;

use super::{Addresses, Entry, Feed, MAX_ENTRIES, Markup, Text};
use crate::xml;

/// Maximum nesting depth of elements outside of texts.
const MAX_DEPTH: usize = 64;
/// Maximum number of enclosures of an entry that are listed.
pub(super) const MAX_ENCLOSURES: usize = 8;

const ATOM: [&str; 2] = ["http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"];
const DUBLIN_CORE: [&str; 2] = ["http://purl.org/dc/elements/1.1/", "http://purl.org/dc/terms/"];
const CONTENT: &str = "http://purl.org/rss/1.0/modules/content/";
const ITUNES: &str = "http://www.itunes.com/dtds/podcast-1.0.dtd";
const MEDIA: [&str; 2] = ["http://search.yahoo.com/mrss/", "http://search.yahoo.com/mrss"];

/// Vocabulary of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    Rss,
    Atom,
    DublinCore,
    Content,
    Itunes,
    Media,
    Other,
}

/// Role of an open element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The root element `<rss>` or `<rdf:RDF>`.
    Root,
    /// A `<channel>` or `<feed>` element.
    Feed,
    Entry,
    /// An Atom author.
    Author,
    Ignored,
}

struct Parser<'a> {
    reader: NsReader<&'a [u8]>,
    /// Open elements, and the base URL of links in them.
    open: Vec<(Role, Rc<Url>)>,
    addresses: Addresses,
    url: Rc<Url>,
    feed: Feed,
    is_feed: bool,
}

/// Returns `None` if the root element is not that of a feed.
pub(super) fn parse(source: &str, url: &Url) -> Option<Feed> {
    let mut reader = NsReader::from_str(source);
    xml::configure(reader.config_mut());
    let mut parser = Parser {
        reader,
        open: Vec::new(),
        url: Rc::new(url.clone()),
        addresses: Addresses::new(),
        feed: Feed::default(),
        is_feed: false,
    };
    if let Err(why) = parser.run() {
        let count = parser.feed.entries.len();
        parser.feed.cut = Some(format!("The feed could be read only up to its entry {count}: {why}."));
    }
    parser.is_feed.then_some(parser.feed)
}

impl<'a> Parser<'a> {
    fn run(&mut self) -> Result<(), String> {
        loop {
            match self.event()? {
                Event::Start(start) => self.start(&start)?,
                Event::End(_) => {
                    self.open.pop();
                    // Content after the root element is ignored.
                    if self.open.is_empty() && self.is_feed {
                        return Ok(());
                    }
                }
                Event::Eof if self.open.is_empty() => return Ok(()),
                Event::Eof => return Err("it ends there".to_owned()),
                _ => {}
            }
        }
    }

    fn event(&mut self) -> Result<Event<'a>, String> {
        self.reader.read_event().map_err(|error| format!("it is damaged there ({error})"))
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), String> {
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("elements are nested more than {MAX_DEPTH} deep"));
        }
        let words = self.words(start);
        let name = start.local_name().into_inner().to_ascii_lowercase();
        let parent = self.open.last();
        let outer = parent.map_or(&self.url, |(_, base)| base);
        let base = xml::attribute(start, "xml:base").and_then(|base| self.addresses.join(outer, &base));
        let base = base.map_or_else(|| Rc::clone(outer), Rc::new);
        let role = match (parent.map(|(role, _)| *role), name.as_str()) {
            (None, "rss" | "rdf") => self.as_feed(Role::Root),
            (None, "feed") => self.as_feed(Role::Feed),
            (Some(Role::Root), "channel") => Role::Feed,
            (Some(Role::Root | Role::Feed), "item" | "entry")
                if words == Words::Rss || words == Words::Atom =>
            {
                self.enter_entry()?
            }
            (Some(Role::Feed), _) => return self.field_of_feed(start, words, &name, base),
            (Some(Role::Entry), _) => return self.field_of_entry(start, words, &name, base),
            (Some(Role::Author), "name") => return self.author(),
            _ => Role::Ignored,
        };
        self.open.push((role, base));
        Ok(())
    }

    fn as_feed(&mut self, role: Role) -> Role {
        self.is_feed = true;
        role
    }

    fn enter_entry(&mut self) -> Result<Role, String> {
        if self.feed.entries.len() >= MAX_ENTRIES {
            return Err(format!("more than {MAX_ENTRIES} are not read"));
        }
        self.feed.entries.push(Entry::default());
        Ok(Role::Entry)
    }

    fn field_of_feed(
        &mut self,
        start: &BytesStart<'_>,
        words: Words,
        name: &str,
        base: Rc<Url>,
    ) -> Result<(), String> {
        use Words::{Atom, DublinCore, Itunes, Rss};
        match (words, name) {
            (Rss | Atom, "title") => {
                let text = self.text(start, words, base, Markup::Unsure)?;
                self.feed.title.get_or_insert(text);
            }
            (Rss | Atom, "description" | "subtitle" | "tagline") => {
                let text = self.text(start, words, base, Markup::Unsure)?;
                self.feed.description.get_or_insert(text);
            }
            (Rss | Atom, "link") => {
                if let Some(link) = self.link(start, words, &base)? {
                    self.feed.link.get_or_insert(link);
                }
            }
            (Rss | Atom, "lastbuilddate" | "pubdate" | "updated" | "modified") | (DublinCore, "date") => {
                let date = self.line()?;
                fill(&mut self.feed.updated, date);
            }
            (Rss, "managingeditor") | (DublinCore, "creator") | (Itunes, "author") => {
                let author = self.line()?;
                fill(&mut self.feed.author, person(&author));
            }
            (Atom, "author") => self.open.push((Role::Author, base)),
            _ => self.open.push((Role::Ignored, base)),
        }
        Ok(())
    }

    fn field_of_entry(
        &mut self,
        start: &BytesStart<'_>,
        words: Words,
        name: &str,
        base: Rc<Url>,
    ) -> Result<(), String> {
        use Words::{Atom, Content, DublinCore, Itunes, Media, Rss};
        match (words, name) {
            (Rss | Atom, "title") => {
                let text = self.text(start, words, base, Markup::Unsure)?;
                self.entry(|entry| put(&mut entry.title, text));
            }
            (Rss, "description") | (Atom | Itunes, "summary") => {
                let text = self.text(start, words, base, Markup::Unsure)?;
                self.entry(|entry| put(&mut entry.summary, text));
            }
            (Media, "description") => {
                let text = self.text(start, words, base, Markup::Plain)?;
                self.entry(|entry| put(&mut entry.summary, text));
            }
            (Content, "encoded") | (Atom, "content") => {
                let source =
                    xml::attribute(start, "src").and_then(|source| self.addresses.join(&base, &source));
                let text = self.text(start, words, base, Markup::Html)?;
                self.entry(|entry| {
                    put(&mut entry.content, text);
                    attach(entry, source);
                });
            }
            (Rss | Atom, "link") => {
                let is_file = xml::attribute(start, "rel").is_some_and(|rel| rel == "enclosure");
                let file = xml::attribute(start, "href").filter(|_| is_file);
                let file = file.and_then(|file| self.addresses.join(&base, &file));
                let link = self.link(start, words, &base)?;
                self.entry(|entry| {
                    entry.link = entry.link.take().or(link);
                    attach(entry, file);
                });
            }
            (Rss, "guid") => {
                let is_link = xml::attribute(start, "isPermaLink").is_none_or(|is| is != "false");
                let link = Url::parse(&self.line()?).ok().filter(|url| is_link && url.has_host());
                self.entry(|entry| entry.link = entry.link.take().or(link));
            }
            (Rss, "enclosure") => {
                let file = xml::attribute(start, "url").and_then(|file| self.addresses.join(&base, &file));
                self.entry(|entry| attach(entry, file));
                self.open.push((Role::Ignored, base));
            }
            (Rss, "pubdate") | (Atom, "published" | "issued") | (DublinCore, "date") => {
                let date = self.line()?;
                self.entry(|entry| entry.date = Some(date).filter(|date| !date.is_empty()));
            }
            (Atom, "updated" | "modified") => {
                let date = self.line()?;
                self.entry(|entry| fill(&mut entry.date, date));
            }
            (Rss | Itunes, "author") | (DublinCore, "creator") => {
                let author = self.line()?;
                self.entry(|entry| fill(&mut entry.author, person(&author)));
            }
            (Atom, "author") => self.open.push((Role::Author, base)),
            // A group wraps elements of the entry.
            (Media, "group") => self.open.push((Role::Entry, base)),
            _ => self.open.push((Role::Ignored, base)),
        }
        Ok(())
    }

    /// Reads the name of an author, for the enclosing feed or entry.
    fn author(&mut self) -> Result<(), String> {
        let name = self.line()?;
        let is_in_entry = self.open.iter().any(|(role, _)| *role == Role::Entry);
        let last = self.feed.entries.last_mut().filter(|_| is_in_entry);
        match last {
            Some(entry) => add_name(&mut entry.author, &name),
            None => add_name(&mut self.feed.author, &name),
        }
        Ok(())
    }

    fn entry(&mut self, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.feed.entries.last_mut() {
            change(entry);
        }
    }

    fn words(&self, start: &BytesStart<'_>) -> Words {
        match self.reader.resolver().resolve_element(start.name()).0 {
            ResolveResult::Bound(Namespace(name)) => match name {
                name if ATOM.contains(&name) => Words::Atom,
                name if DUBLIN_CORE.contains(&name) => Words::DublinCore,
                name if MEDIA.contains(&name) => Words::Media,
                CONTENT => Words::Content,
                name if name.eq_ignore_ascii_case(ITUNES) => Words::Itunes,
                // RSS has had several namespaces.
                name if start.name().prefix().is_none() || name.contains("/rss/1.0/") => match name {
                    "http://www.w3.org/1999/xhtml" => Words::Other,
                    _ => Words::Rss,
                },
                _ => Words::Other,
            },
            ResolveResult::Unbound => Words::Rss,
            // Undeclared prefixes have their usual meaning.
            ResolveResult::Unknown(prefix) => match prefix.as_str() {
                "dc" => Words::DublinCore,
                "content" => Words::Content,
                "itunes" => Words::Itunes,
                "media" => Words::Media,
                "atom" => Words::Atom,
                _ => Words::Other,
            },
        }
    }

    /// Returns the page of a feed or an entry, or `None` for other links.
    fn link(&mut self, start: &BytesStart<'_>, words: Words, base: &Url) -> Result<Option<Url>, String> {
        let relation = xml::attribute(start, "rel");
        let address = xml::attribute(start, "href");
        let text = self.line()?;
        let is_page = relation.is_none_or(|relation| relation == "alternate");
        let address = if words == Words::Atom { address.filter(|_| is_page) } else { Some(text) };
        let address = address.filter(|address| !address.is_empty());
        Ok(address.and_then(|address| self.addresses.join(base, &address)).filter(Url::has_host))
    }

    /// Reads the text of the element that was just opened, on one line.
    fn line(&mut self) -> Result<String, String> {
        let captured = self.capture()?;
        Ok(captured.text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Reads the text of the element that was just opened. `otherwise` is the markup if the element has no
    /// type.
    fn text(
        &mut self,
        start: &BytesStart<'_>,
        words: Words,
        base: Rc<Url>,
        otherwise: fn(String) -> Markup,
    ) -> Result<Text, String> {
        let kind = xml::attribute(start, "type").unwrap_or_default().to_ascii_lowercase();
        let captured = self.capture()?;
        let markup = match kind.as_str() {
            _ if captured.has_elements => Markup::Html(captured.markup),
            "html" | "text/html" | "xhtml" | "application/xhtml+xml" => Markup::Html(captured.text),
            _ if words == Words::Atom => Markup::Plain(captured.text),
            _ => otherwise(captured.text),
        };
        Ok(Text { markup, base })
    }

    /// Captures everything up to the end of the element that was just opened.
    fn capture(&mut self) -> Result<Captured, String> {
        let mut captured = Captured::default();
        let mut depth: usize = 0;
        loop {
            match self.event()? {
                Event::Start(start) => {
                    depth += 1;
                    captured.open(&start);
                }
                Event::End(_) if depth == 0 => return Ok(captured),
                Event::End(end) => {
                    depth -= 1;
                    captured.close(end.local_name().into_inner());
                }
                Event::Text(text) => captured.push(&text.xml10_content()),
                Event::CData(text) => captured.push(&text.xml10_content()),
                Event::GeneralRef(reference) => match xml::character(&reference) {
                    Some(character) => captured.push(&character),
                    // HTML has many character references that XML does not have.
                    None => captured.push_reference(&reference),
                },
                Event::Eof => return Err("it ends there".to_owned()),
                _ => {}
            }
        }
    }
}

/// Content of an element: its text, and the same as HTML if it contains elements.
#[derive(Default)]
struct Captured {
    text: String,
    markup: String,
    has_elements: bool,
}

impl Captured {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.has_elements {
            self.markup.push_str(&crate::write::escape::html(text));
        }
    }

    fn push_reference(&mut self, name: &str) {
        let reference = format!("&{name};");
        self.text.push_str(&reference);
        if self.has_elements {
            self.markup.push_str(&reference);
        }
    }

    /// Adds a start tag without its prefix, because HTML has no prefixes.
    fn open(&mut self, start: &BytesStart<'_>) {
        if !self.has_elements {
            self.has_elements = true;
            self.markup = crate::write::escape::html(&self.text);
        }
        self.markup.push('<');
        self.markup.push_str(start.local_name().into_inner());
        self.markup.push_str(start.attributes_raw());
        self.markup.push('>');
    }

    fn close(&mut self, name: &str) {
        self.markup.push_str("</");
        self.markup.push_str(name);
        self.markup.push('>');
    }
}

/// Keeps the first non-blank text.
fn put(place: &mut Option<Text>, text: Text) {
    if place.as_ref().is_none_or(Text::is_blank) {
        *place = Some(text);
    }
}

fn fill(place: &mut Option<String>, text: String) {
    if !text.is_empty() {
        place.get_or_insert(text);
    }
}

fn add_name(place: &mut Option<String>, name: &str) {
    /// Maximum length of all authors' names, in characters.
    const MAX_NAMES: usize = 500;
    match place {
        Some(names) if names.len() < MAX_NAMES => {
            names.push_str(", ");
            names.push_str(name);
        }
        Some(_) => {}
        None if name.is_empty() => {}
        None => *place = Some(name.to_owned()),
    }
}

fn attach(entry: &mut Entry, file: Option<Url>) {
    if entry.enclosures.len() < MAX_ENCLOSURES {
        entry.enclosures.extend(file);
    }
}

/// Returns the name. RSS uses the form `address (name)`, and the email address is dropped.
fn person(text: &str) -> String {
    match text.split_once('(').map(|(_, rest)| rest.trim_end_matches(')').trim()) {
        Some(name) if text.contains('@') && !name.is_empty() => name.to_owned(),
        _ => text.to_owned(),
    }
}
