//! Front matter: YAML between lines of dashes at the top of a file.
//!
//! The parser emits events and never recurses, and this module limits the events. Aliases are ignored, so
//! they cannot grow.

use saphyr_parser::{Event, Parser};
use scorpiox_page::line;

/// Maximum size of front matter, in bytes.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum number of parser events.
const MAX_EVENTS: usize = 4096;
/// Maximum length of a value, in characters.
const MAX_VALUE: usize = 300;
/// Maximum number of authors.
const MAX_AUTHORS: usize = 20;

/// Metadata of a page.
#[derive(Debug, Default)]
pub(super) struct Front {
    pub(super) title: Option<String>,
    pub(super) author: Option<String>,
    pub(super) date: Option<String>,
}

/// Splits the text into front matter and the remaining text. Returns `None` if the text does not begin with a
/// YAML mapping.
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

/// Reads the values by key. Returns `None` if the YAML is not a mapping.
fn read(yaml: &str) -> Option<Front> {
    let mut reading = Reading::default();
    for event in Parser::new_from_str(yaml).take(MAX_EVENTS) {
        let (event, _) = event.ok()?;
        reading.take(&event)?;
    }
    let author = (!reading.authors.is_empty()).then(|| reading.authors.join(", "));
    reading.is_mapping.then_some(Front { author, ..reading.front })
}

/// An open mapping or list.
#[derive(Debug)]
enum Level {
    /// A mapping, with the key of the next value.
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
    /// Returns `None` if the document is not a mapping.
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
            // A non-scalar key is never a known key.
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
