//! Parsed YAML with the position of each node.

use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};

use super::super::Refusal;
use super::super::text::{column_at, line_at};

/// Maximum nesting depth, deeper than any configuration.
const MAX_DEPTH: usize = 64;

/// A YAML node.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Range in bytes.
    pub(super) span: Range<usize>,
    pub(super) style: Style,
    pub(super) meaning: Meaning,
    /// Anchors and tags. They are kept and compared, but not interpreted.
    marks: Marks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Structured by indentation; for scalars, a literal or folded block.
    Block,
    /// In brackets; for scalars, plain or quoted.
    Flow,
}

#[derive(Debug, Clone)]
pub(super) enum Meaning {
    /// `plain` distinguishes `true` from `"true"`.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    Alias(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Marks {
    anchor: usize,
    tag: Option<String>,
}

impl Node {
    fn new(meaning: Meaning) -> Self {
        Self { span: 0..0, style: Style::Flow, meaning, marks: Marks::default() }
    }

    pub(super) fn text(text: &str) -> Self {
        Self::new(Meaning::Scalar { text: text.to_owned(), plain: false })
    }

    pub(super) fn plain(text: &str) -> Self {
        Self::new(Meaning::Scalar { text: text.to_owned(), plain: true })
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::new(Meaning::List(items))
    }

    pub(super) fn map(pairs: Vec<(Self, Self)>) -> Self {
        Self::new(Meaning::Map(pairs))
    }

    pub(super) fn is_text(&self, wanted: &str) -> bool {
        matches!(&self.meaning, Meaning::Scalar { text, .. } if text == wanted)
    }

    /// Returns a mapping with one value changed or added. Other nodes are returned unchanged.
    pub(super) fn with(&self, key: &str, value: Self) -> Self {
        let mut node = self.clone();
        if let Meaning::Map(pairs) = &mut node.meaning {
            match pairs.iter_mut().find(|(known, _)| known.is_text(key)) {
                Some((_, old)) => *old = value,
                None => pairs.push((Self::plain(key), value)),
            }
        }
        node
    }

    /// Returns `true` if two nodes have the same meaning, regardless of position and style.
    pub(super) fn means(&self, other: &Self) -> bool {
        let same = match (&self.meaning, &other.meaning) {
            (Meaning::Scalar { text: a, plain: p }, Meaning::Scalar { text: b, plain: q }) => {
                a == b && p == q
            }
            (Meaning::List(a), Meaning::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.means(b))
            }
            (Meaning::Map(a), Meaning::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0.means(&b.0) && a.1.means(&b.1))
            }
            (Meaning::Alias(a), Meaning::Alias(b)) => a == b,
            _ => false,
        };
        same && self.marks == other.marks
    }

    /// Returns the offset of the line after the end of this node.
    pub(super) fn last_line_end(&self, text: &str) -> usize {
        let end = self.last_leaf().span.end;
        text[end..].find('\n').map_or(text.len(), |line| end + line + 1)
    }

    /// Returns the last node that is not a block list or block mapping.
    pub(super) fn last_leaf(&self) -> &Self {
        let inner = match &self.meaning {
            Meaning::List(items) if self.style == Style::Block => items.last(),
            Meaning::Map(pairs) if self.style == Style::Block => pairs.last().map(|(_, value)| value),
            _ => None,
        };
        inner.map_or(self, Self::last_leaf)
    }
}

/// Parses the only document of a text. Returns `None` if there is none.
pub(super) fn read(text: &str) -> Result<Option<Node>, Refusal> {
    let mut reader = Reader { text, bytes: Bytes::new(text), events: Parser::new_from_str(text) };
    let mut document = None;
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => return Ok(document),
            (Event::DocumentStart(_), span) if document.is_some() => {
                let line = span.start.line();
                return Err(Refusal::Unusual { line, what: "a second document begins".to_owned() });
            }
            (Event::DocumentStart(_), _) => {
                let first = reader.next()?;
                document = Some(reader.node(first, MAX_DEPTH)?);
            }
            _ => {}
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    bytes: Bytes<'a>,
    events: Parser<'a, StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Refusal> {
        match self.events.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(not_valid(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, (event, span): (Event<'a>, Span), depth: usize) -> Result<Node, Refusal> {
        let start = self.bytes.at(span.start.index());
        let Some(depth) = depth.checked_sub(1) else {
            let (line, column) = (line_at(self.text, start), column_at(self.text, start));
            let what = format!("nested more than {MAX_DEPTH} deep");
            return Err(Refusal::NotValid { line, column, format: "YAML", what });
        };
        let end = self.bytes.at(span.end.index());
        let style = self.style(start);
        let (meaning, style, end, anchor, tag) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let style = if block { Style::Block } else { Style::Flow };
                (Meaning::Scalar { text: text.into_owned(), plain }, style, end, anchor, tag)
            }
            Event::SequenceStart(anchor, tag) => {
                let (items, end) = self.items(depth)?;
                (Meaning::List(items), style, end, anchor, tag)
            }
            Event::MappingStart(anchor, tag) => {
                let (pairs, end) = self.pairs(depth)?;
                (Meaning::Map(pairs), style, end, anchor, tag)
            }
            Event::Alias(anchor) => (Meaning::Alias(anchor), Style::Flow, end, 0, None),
            other => unreachable!("no node begins with {other:?}"),
        };
        let tag = tag.map(|tag| format!("{}{}", tag.handle, tag.suffix));
        Ok(Node { span: start..end.max(start), style, meaning, marks: Marks { anchor, tag } })
    }

    /// Returns the style of a list or mapping that starts at `start`.
    fn style(&self, start: usize) -> Style {
        if self.text[start..].starts_with(['[', '{']) { Style::Flow } else { Style::Block }
    }

    /// Reads the items of a list up to its end, and returns them with the end offset.
    fn items(&mut self, depth: usize) -> Result<(Vec<Node>, usize), Refusal> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, span) => return Ok((items, self.bytes.at(span.end.index()))),
                event => items.push(self.node(event, depth)?),
            }
        }
    }

    /// Reads the pairs of a mapping up to its end, and returns them with the end offset.
    fn pairs(&mut self, depth: usize) -> Result<(Vec<(Node, Node)>, usize), Refusal> {
        let mut pairs = Vec::new();
        loop {
            match self.next()? {
                (Event::MappingEnd, span) => return Ok((pairs, self.bytes.at(span.end.index()))),
                key => {
                    let key = self.node(key, depth)?;
                    let value = self.next()?;
                    pairs.push((key, self.node(value, depth)?));
                }
            }
        }
    }
}

fn not_valid(error: &ScanError) -> Refusal {
    let at = error.marker();
    Refusal::NotValid { line: at.line(), column: at.col() + 1, format: "YAML", what: error.info().to_owned() }
}

/// Converts character offsets, which mostly increase, to byte offsets.
struct Bytes<'a> {
    text: &'a str,
    /// Last converted offset, in characters and in bytes.
    last: (usize, usize),
}

impl<'a> Bytes<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, last: (0, 0) }
    }

    fn at(&mut self, index: usize) -> usize {
        let (chars, bytes) = if index < self.last.0 { (0, 0) } else { self.last };
        let skipped: usize = self.text[bytes..].chars().take(index - chars).map(char::len_utf8).sum();
        self.last = (index, bytes + skipped);
        self.last.1
    }
}
