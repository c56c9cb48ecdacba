//! Front matter: YAML between lines of dashes at the top of a file.
//!
//! The parser gives events and never recurses; what is read of them is bounded here. An alias
//! counts as nothing, so that none can grow.

use saphyr_parser::{Event, Parser};
use scorpiox_page::line;

/// Longest front matter, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// Most events of the parser.
const MAX_EVENTS: usize = 4096;
/// Longest value, in characters.
const MAX_VALUE: usize = 300;
/// Most authors.
const MAX_AUTHORS: usize = 20;

/// What is told of a page.
#[derive(Debug, Default)]
pub(super) struct Front {
    pub(super) title: Option<String>,
    pub(super) author: Option<String>,
    pub(super) date: Option<String>,
}

/// The front matter and the text behind it; none if the text begins with no YAML mapping.
pub(super) fn split(text: &str) -> Option<(Front, &str)> {
    let rest = text.strip_prefix("---")?;
    let rest = rest.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
    let near = &rest[..rest.floor_char_boundary(MAX_BYTES)];
    let mut at = 0;
    for line in near.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            let body = rest.get(at + line.len()..)?;
            return Some((read(rest.get(..at)?)?, body));
        }
        at += line.len();
    }
    None
}

/// The values by their keys; none if this is no mapping.
fn read(yaml: &str) -> Option<Front> {
    let mut reading = Reading::default();
    for event in Parser::new_from_str(yaml).take(MAX_EVENTS) {
        let (event, _) = event.ok()?;
        reading.take(&event)?;
    }
    let author = (!reading.authors.is_empty()).then(|| reading.authors.join(", "));
    reading.is_mapping.then_some(Front { author, ..reading.front })
}

/// A mapping or a list that is open.
#[derive(Debug)]
enum Level {
    /// With the key whose value comes next.
    Mapping(Option<String>),
    List,
}

#[derive(Debug, Default)]
struct Reading {
    is_mapping: bool,
    levels: Vec<Level>,
    front: Front,
    authors: Vec<String>,
}

impl Reading {
    /// None when the document is no mapping.
    fn take(&mut self, event: &Event<'_>) -> Option<()> {
        match event {
            Event::MappingStart(..) => self.open(Level::Mapping(None))?,
            Event::SequenceStart(..) => self.open(Level::List)?,
            Event::MappingEnd | Event::SequenceEnd => {
                self.levels.pop();
                self.end_value();
            }
            Event::Scalar(text, ..) => self.scalar(text)?,
            Event::Alias(..) => self.scalar("")?,
            _ => {}
        }
        Some(())
    }

    fn open(&mut self, level: Level) -> Option<()> {
        match self.levels.last_mut() {
            None if matches!(level, Level::List) => return None,
            None => self.is_mapping = true,
            // What is no scalar is no key that is known here.
            Some(Level::Mapping(key)) => {
                key.get_or_insert_default();
            }
            Some(Level::List) => {}
        }
        self.levels.push(level);
        Some(())
    }

    fn scalar(&mut self, text: &str) -> Option<()> {
        if let Level::Mapping(key @ None) = self.levels.last_mut()? {
            *key = Some(text.to_ascii_lowercase());
        } else {
            self.value(text);
            self.end_value();
        }
        Some(())
    }

    fn end_value(&mut self) {
        if let Some(Level::Mapping(key)) = self.levels.last_mut() {
            *key = None;
        }
    }

    fn value(&mut self, text: &str) {
        const DEEP: usize = 3;
        let text = line::text(text, MAX_VALUE);
        if text.is_empty() || self.levels.len() > DEEP {
            return;
        }
        let keys = self.levels.iter().filter_map(|level| match level {
            Level::Mapping(key) => key.as_deref(),
            Level::List => None,
        });
        match keys.collect::<Vec<_>>().as_slice() {
            ["title"] => {
                self.front.title.get_or_insert(text);
            }
            ["date" | "published" | "pubdate" | "published_at"] => {
                self.front.date.get_or_insert(text);
            }
            ["author" | "authors"] | ["author" | "authors", "name"] if self.authors.len() < MAX_AUTHORS => {
                self.authors.push(text);
            }
            _ => {}
        }
    }
}
