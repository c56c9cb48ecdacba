//! Word documents (`.docx`): headings, lists, tables, links, notes and text marks. Layout, headers, footers
//! and comments are omitted.

mod archive;
mod blocks;
mod body;
mod math;
mod paragraph;
mod styles;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use quick_xml::events::Event;
use quick_xml::reader::Reader;
use scorpiox_tool_kit::Failure;

use crate::Format;
use crate::document::Document;
use crate::html::nodes_of_fragment;
use crate::html::tree::Node;
use crate::tree::{Blocks, paragraphs, simple};
use crate::xml;

use archive::{Archive, refused};
use body::{Body, Notes, Parts};
use styles::{Numbers, Relations, Styles};

/// Maximum number of included files.
const MAX_CHUNKS: usize = 64;
/// Maximum size of all included files, in bytes.
const MAX_CHUNK_BYTES: usize = 2 * 1024 * 1024;
/// Maximum number of notes in the result.
const MAX_NOTES: usize = 5000;

pub(crate) fn read(body: &[u8], format: Format) -> Result<Document, Failure> {
    let mut archive = Archive::open(body)?;
    let mut flaws = Vec::new();
    let mut part = |name: &str| -> Result<Option<String>, Failure> {
        let Some(part) = archive.part(name)? else { return Ok(None) };
        flaws.extend(part.flaw);
        Ok(Some(part.text))
    };
    let main = main_part(part("_rels/.rels")?.as_deref());
    let text = part(&main)?.ok_or_else(|| {
        refused(&format!("The file is no document of Word, or damaged: it has no part {main}."))
    })?;
    let (folder, file) = main.rsplit_once('/').unwrap_or(("", &main));
    let mut beside = |name: &str| part(&format!("{folder}/{name}"));
    let relations = Relations::read(&beside(&format!("_rels/{file}.rels"))?.unwrap_or_default());
    let chunks = chunks(&relations, folder, &mut beside)?;
    let parts = Parts {
        chunks: RefCell::new(chunks),
        styles: Styles::read(&beside("styles.xml")?.unwrap_or_default()),
        numbers: Numbers::read(&beside("numbering.xml")?.unwrap_or_default()),
        relations,
    };
    let main_body = body::read(&text, &parts);
    drop(text);
    let mut notes = HashMap::new();
    for (kind, name) in [(Notes::Foot, "footnotes"), (Notes::End, "endnotes")] {
        if !main_body.references.iter().any(|(known, _)| *known == kind) {
            continue;
        }
        let own = Relations::read(&beside(&format!("_rels/{name}.xml.rels"))?.unwrap_or_default());
        let parts = Parts { relations: own, ..Parts::default() };
        let read = body::read(&beside(&format!("{name}.xml"))?.unwrap_or_default(), &parts);
        notes.extend(read.notes.into_iter().map(|(id, nodes)| ((kind, id), nodes)));
    }
    let about = About::read(&part("docProps/core.xml")?.unwrap_or_default());
    flaws.extend(main_body.flaw.clone());
    Ok(write(main_body, notes, about, format, flaws))
}

/// Reads the files that the text includes as a whole (`altChunk`), by ID. Those that are not read are noted where they are
/// included.
fn chunks(
    relations: &Relations,
    folder: &str,
    beside: &mut impl FnMut(&str) -> Result<Option<String>, Failure>,
) -> Result<HashMap<String, Vec<Node>>, Failure> {
    let mut chunks = HashMap::new();
    let mut known = HashSet::new();
    let mut left = MAX_CHUNK_BYTES;
    for (id, target) in relations.parts("aFChunk").take(MAX_CHUNKS) {
        // A name that begins with a slash counts from the root of the archive.
        let own = target
            .strip_prefix('/')
            .map_or(Some(target), |whole| whole.strip_prefix(folder)?.strip_prefix('/'));
        let extension = target.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
        let is_text = match extension.as_deref() {
            Some("htm" | "html" | "xhtml") => false,
            Some("txt") => true,
            _ => continue,
        };
        // Each file is read once, so that relations cannot multiply it.
        let Some(own) = own.filter(|own| known.insert(own.to_owned())) else { continue };
        let Some(text) = beside(own)?.filter(|text| text.len() <= left) else { continue };
        left -= text.len();
        let nodes = if is_text { paragraphs(&text) } else { nodes_of_fragment(&text, None) };
        chunks.insert(id.to_owned(), nodes);
    }
    Ok(chunks)
}

fn write(
    body: Body,
    mut notes: HashMap<(Notes, String), Vec<Node>>,
    about: About,
    format: Format,
    mut flaws: Vec<String>,
) -> Document {
    let title = body.title.clone().or(about.title);
    let mut content = Vec::new();
    // The title precedes the text unless the text contains it.
    if let Some(title) = title.as_deref().filter(|_| body.title.is_none()) {
        content.push(simple("h1", title));
    }
    content.extend(body.nodes);
    for (at, key) in body.references.into_iter().enumerate().take(MAX_NOTES) {
        if let Some(note) = notes.remove(&key) {
            content.push(body::note(at.saturating_add(1), note, format == Format::Html));
        }
    }
    let mut blocks = Blocks::new(format);
    blocks.push(content);
    let (body, cut) = blocks.finish();
    flaws.extend(cut);
    Document { title, byline: about.author, published: about.date, body, notes: flaws, ..Document::default() }
}

/// Returns the name of the main part according to the archive's relationships.
fn main_part(relations: Option<&str>) -> String {
    const USUAL: &str = "word/document.xml";
    let relations = Relations::read(relations.unwrap_or_default());
    let target = relations.part("officeDocument").map(|target| target.trim_start_matches('/'));
    target.unwrap_or(USUAL).to_owned()
}

/// Metadata of a document.
#[derive(Debug, Default)]
struct About {
    title: Option<String>,
    author: Option<String>,
    date: Option<String>,
}

impl About {
    fn read(source: &str) -> Self {
        let mut about = Self::default();
        let mut reader = Reader::from_str(source);
        xml::configure(reader.config_mut());
        let mut open = String::new();
        loop {
            match reader.read_event() {
                Ok(Event::Start(start)) => start.local_name().into_inner().clone_into(&mut open),
                Ok(Event::End(_)) => open.clear(),
                Ok(Event::Text(text)) => about.take(&open, &text.xml10_content()),
                Ok(Event::GeneralRef(reference)) => {
                    about.take(&open, &xml::character(&reference).unwrap_or_default());
                }
                Ok(Event::Eof) | Err(_) => return about,
                Ok(_) => {}
            }
        }
    }

    fn take(&mut self, name: &str, text: &str) {
        /// Maximum length of each value, in bytes.
        const MAX: usize = 500;
        let place = match name {
            "title" => &mut self.title,
            "creator" => &mut self.author,
            "created" => &mut self.date,
            _ => return,
        };
        let known = place.get_or_insert_default();
        if known.len() < MAX {
            known.push_str(text);
        }
        if known.trim().is_empty() {
            *place = None;
        }
    }
}
