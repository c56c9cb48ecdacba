//! Styles, numbering and relationships: definitions that a document's text refers to.

use std::collections::HashMap;

use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::xml;

/// Maximum length of a chain of base styles.
const MAX_CHAIN: usize = 12;
/// Maximum level of lists, counted from 0.
pub(super) const MAX_LEVEL: usize = 8;

/// Meaningful text formatting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Bold = 1,
    Italic = 2,
    Struck = 4,
    Raised = 8,
    Lowered = 16,
    Code = 32,
    Hidden = 64,
}

/// Set of marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks(u8);

impl Marks {
    pub(super) fn has(self, mark: Mark) -> bool {
        self.0 & mark as u8 != 0
    }

    pub(super) fn set(&mut self, mark: Mark, is_on: bool) {
        if is_on { self.0 |= mark as u8 } else { self.0 &= !(mark as u8) }
    }

    /// Applies an element of the run properties.
    pub(super) fn take(&mut self, name: &str, start: &BytesStart<'_>) {
        let value = xml::attribute(start, "val");
        let is_on = !value.as_deref().is_some_and(|value| matches!(value, "0" | "false" | "off" | "none"));
        match name {
            "b" => self.set(Mark::Bold, is_on),
            "i" => self.set(Mark::Italic, is_on),
            "strike" | "dstrike" => self.set(Mark::Struck, is_on),
            "vanish" => self.set(Mark::Hidden, is_on),
            "vertAlign" => {
                self.set(Mark::Raised, value.as_deref() == Some("superscript"));
                self.set(Mark::Lowered, value.as_deref() == Some("subscript"));
            }
            _ => {}
        }
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Role of a paragraph according to its style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Role {
    #[default]
    Text,
    Title,
    Heading(usize),
    Code,
    Quotation,
}

/// A style, including inherited properties.
#[derive(Debug, Clone, Default)]
pub(super) struct Style {
    name: String,
    based_on: Option<String>,
    outline: Option<usize>,
    pub(super) list: Option<String>,
    pub(super) level: Option<usize>,
    pub(super) marks: Marks,
    pub(super) role: Role,
}

/// Styles by ID.
#[derive(Debug, Default)]
pub(super) struct Styles(HashMap<String, Style>);

impl Styles {
    pub(super) fn read(text: &str) -> Self {
        let mut styles: HashMap<String, Style> = HashMap::new();
        let mut open: Option<(String, Style)> = None;
        each(text, |name, event| match event {
            Some(start) if name == "style" => {
                open = xml::attribute(start, "styleId").map(|id| (id, Style::default()));
            }
            Some(start) => {
                let (Some((_, style)), value) = (&mut open, || xml::attribute(start, "val")) else { return };
                match name {
                    "name" => style.name = value().unwrap_or_default().to_ascii_lowercase(),
                    "basedOn" => style.based_on = value(),
                    "outlineLvl" => style.outline = value().and_then(|level| level.parse().ok()),
                    "numId" => style.list = value(),
                    "ilvl" => style.level = value().and_then(|level| level.parse().ok()),
                    name => style.marks.take(name, start),
                }
            }
            None if name == "style" => styles.extend(open.take()),
            None => {}
        });
        let resolved = styles.keys().map(|id| (id.clone(), resolve(&styles, id))).collect();
        Self(resolved)
    }

    pub(super) fn get(&self, id: &str) -> Option<&Style> {
        self.0.get(id)
    }
}

fn resolve(styles: &HashMap<String, Style>, id: &str) -> Style {
    let mut resolved = Style::default();
    let mut next = Some(id);
    for _ in 0..MAX_CHAIN {
        let Some(style) = next.and_then(|id| styles.get(id)) else { break };
        if resolved.role == Role::Text {
            resolved.role = role(style);
        }
        resolved.list = resolved.list.or_else(|| style.list.clone());
        resolved.level = resolved.level.or(style.level).or_else(|| level_in_name(&style.name));
        resolved.marks = resolved.marks.or(style.marks);
        if style.name.contains("code") || style.name.contains("verbatim") {
            resolved.marks.set(Mark::Code, true);
        }
        next = style.based_on.as_deref();
    }
    resolved
}

fn role(style: &Style) -> Role {
    let name = style.name.as_str();
    let by_name = name.strip_prefix("heading ").and_then(|level| level.parse().ok());
    let by_outline = style.outline.filter(|level| *level < 9).map(|level| level + 1);
    match name {
        "title" => Role::Title,
        "source code" | "html preformatted" | "preformatted text" | "macro text" | "code" => Role::Code,
        "quote" | "intense quote" | "block text" | "quotations" => Role::Quotation,
        _ => by_name.or(by_outline).map_or(Role::Text, Role::Heading),
    }
}

/// Returns the list level in a style name: `List Bullet 2` is the second level.
fn level_in_name(name: &str) -> Option<usize> {
    let rest = name.strip_prefix("list bullet ").or_else(|| name.strip_prefix("list number "))?;
    rest.parse::<usize>().ok()?.checked_sub(1).filter(|level| *level <= MAX_LEVEL)
}

/// Numbering of lists and first number, by list and level.
#[derive(Debug, Default)]
pub(super) struct Numbers(HashMap<(String, usize), Level>);

#[derive(Debug, Clone, Copy)]
pub(super) struct Level {
    pub(super) is_numbered: bool,
    pub(super) start: usize,
}

impl Numbers {
    pub(super) fn read(text: &str) -> Self {
        let mut kinds: HashMap<(String, usize), Level> = HashMap::new();
        let mut numbers: HashMap<(String, usize), Level> = HashMap::new();
        let (mut kind, mut list): (Option<String>, Option<String>) = (None, None);
        let mut level = 0;
        each(text, |name, event| {
            let Some(start) = event else { return };
            let value = || xml::attribute(start, "val");
            let number = || value().and_then(|value| value.parse().ok());
            match name {
                "abstractNum" => (kind, list) = (xml::attribute(start, "abstractNumId"), None),
                "num" => (kind, list) = (None, xml::attribute(start, "numId")),
                "lvl" | "lvlOverride" => {
                    let at = xml::attribute(start, "ilvl").and_then(|level| level.parse().ok());
                    level = at.unwrap_or(0).min(MAX_LEVEL);
                }
                "numFmt" => {
                    let is_numbered = value().is_some_and(|format| format != "bullet" && format != "none");
                    if let Some(kind) = &kind {
                        let entry = kinds.entry((kind.clone(), level));
                        entry.or_insert(Level { is_numbered, start: 1 }).is_numbered = is_numbered;
                    }
                }
                "start" => {
                    if let (Some(kind), Some(start)) = (&kind, number()) {
                        let entry = kinds.entry((kind.clone(), level));
                        entry.or_insert(Level { is_numbered: true, start }).start = start;
                    }
                }
                "abstractNumId" => {
                    if let (Some(list), Some(kind)) = (&list, value()) {
                        let levels = (0..=MAX_LEVEL)
                            .filter_map(|at| Some(((list.clone(), at), *kinds.get(&(kind.clone(), at))?)));
                        numbers.extend(levels.collect::<Vec<_>>());
                    }
                }
                "startOverride" => {
                    let known = list.as_ref().and_then(|list| numbers.get_mut(&(list.clone(), level)));
                    if let (Some(known), Some(start)) = (known, number()) {
                        known.start = start;
                    }
                }
                _ => {}
            }
        });
        Self(numbers)
    }

    pub(super) fn level(&self, list: &str, level: usize) -> Level {
        let known = self.0.get(&(list.to_owned(), level)).copied();
        known.unwrap_or(Level { is_numbered: false, start: 1 })
    }
}

/// Targets of relationships, by ID.
#[derive(Debug, Default)]
pub(super) struct Relations(HashMap<String, Relation>);

#[derive(Debug)]
struct Relation {
    kind: String,
    target: String,
    is_external: bool,
}

impl Relations {
    pub(super) fn read(text: &str) -> Self {
        let mut relations = HashMap::new();
        each(text, |name, event| {
            let Some(start) = event.filter(|_| name == "Relationship") else { return };
            if let (Some(id), Some(target)) = (xml::attribute(start, "Id"), xml::attribute(start, "Target")) {
                let kind = xml::attribute(start, "Type").unwrap_or_default();
                let is_external = xml::attribute(start, "TargetMode").is_some_and(|mode| mode == "External");
                relations.insert(id, Relation { kind, target, is_external });
            }
        });
        Self(relations)
    }

    /// Returns the URL of an external link.
    pub(super) fn link(&self, id: &str) -> Option<&str> {
        self.0.get(id).filter(|relation| relation.is_external).map(|relation| relation.target.as_str())
    }

    /// Returns the part of a kind such as `officeDocument`. Kinds are URLs that differ between standards.
    pub(super) fn part<'a>(&'a self, kind: &'a str) -> Option<&'a str> {
        self.parts(kind).next().map(|(_, target)| target)
    }

    /// Returns the ID and the name of each part of a kind.
    pub(super) fn parts<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let is_kind = move |relation: &Relation| {
            relation.kind.rsplit('/').next() == Some(kind) && !relation.is_external
        };
        let parts = self.0.iter().filter(move |(_, relation)| is_kind(relation));
        parts.map(|(id, relation)| (id.as_str(), relation.target.as_str()))
    }
}

/// Calls `call` with the local name of each element: with its start tag, and then with `None` at its end.
fn each(text: &str, mut call: impl FnMut(&str, Option<&BytesStart<'_>>)) {
    let mut reader = Reader::from_str(text);
    xml::configure(reader.config_mut());
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => call(start.local_name().into_inner(), Some(&start)),
            Ok(Event::End(end)) => call(end.local_name().into_inner(), None),
            Ok(Event::Eof) | Err(_) => return,
            Ok(_) => {}
        }
    }
}
