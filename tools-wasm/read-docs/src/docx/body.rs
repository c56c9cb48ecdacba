//! Reads the text of a document from XML events: paragraphs with their runs, tables, fields, notes. Tracked
//! insertions are included, and tracked deletions are not.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use crate::html::tree::Node;
use crate::tree::{element, heading, simple, text};
use crate::xml;

use super::blocks::{Block, Cell, Counters, Table, nodes};
use super::math::Equation;
use super::paragraph::Paragraph;
use super::styles::{Marks, Numbers, Relations, Role, Styles};

/// Maximum nesting depth of elements.
const MAX_DEPTH: usize = 200;
/// Maximum nesting depth of tables and text boxes; the writers recurse for each of them.
const MAX_CONTAINERS: usize = 6;
/// Maximum nesting depth of fields.
const MAX_FIELDS: usize = 16;
/// Maximum length of a field's instruction, in bytes.
const MAX_INSTRUCTION: usize = 8192;
/// Maximum length of an image's description, in characters.
const MAX_DESCRIPTION: usize = 500;

/// Definitions that the text refers to.
#[derive(Default)]
pub(super) struct Parts {
    /// Contents of included files, by ID. Each is taken once, so that references cannot multiply it.
    pub(super) chunks: RefCell<HashMap<String, Vec<Node>>>,
    pub(super) styles: Styles,
    pub(super) numbers: Numbers,
    pub(super) relations: Relations,
}

/// Kind of notes in a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Notes {
    Foot,
    End,
}

/// Content of a part.
#[derive(Default)]
pub(super) struct Body {
    pub(super) nodes: Vec<Node>,
    /// Text of the paragraph with the title style.
    pub(super) title: Option<String>,
    /// Referenced notes, in order.
    pub(super) references: Vec<(Notes, String)>,
    /// Notes of the part, by ID.
    pub(super) notes: HashMap<String, Vec<Node>>,
    pub(super) flaw: Option<String>,
    /// `true` if a note says that an included file was not read. It stands at the first one alone.
    lacks_chunk: bool,
}

/// Action at the end of an open element.
enum Open {
    Nothing,
    Paragraph,
    /// End of the paragraph's properties.
    ParagraphProperties,
    Run,
    Link(Option<Rc<str>>),
    Table,
    Cell,
    Box,
    Note(String),
    /// Element with text.
    Text,
    Instruction,
    /// Equations on lines of their own.
    Equations,
    Equation,
    EquationPart,
}

/// A field such as `HYPERLINK "https://example.com"`: its instruction, followed by its visible result.
#[derive(Default)]
struct Field {
    instruction: String,
    shows: bool,
    outer_link: Option<Rc<str>>,
}

struct Walk<'a> {
    parts: &'a Parts,
    counters: Counters,
    open: Vec<Open>,
    /// Depth below a skipped element.
    skipped: usize,
    containers: Vec<Vec<Block>>,
    paragraphs: Vec<Paragraph>,
    tables: Vec<Table>,
    cells: Vec<Cell>,
    fields: Vec<Field>,
    marks: Marks,
    link: Option<Rc<str>>,
    in_properties: bool,
    in_text: bool,
    in_instruction: bool,
    equation: Option<Equation>,
    body: Body,
}

pub(super) fn read(source: &str, parts: &Parts) -> Body {
    let mut walk = Walk {
        parts,
        counters: Counters::default(),
        open: Vec::new(),
        skipped: 0,
        containers: vec![Vec::new()],
        paragraphs: Vec::new(),
        tables: Vec::new(),
        cells: Vec::new(),
        fields: Vec::new(),
        marks: Marks::default(),
        link: None,
        in_properties: false,
        in_text: false,
        in_instruction: false,
        equation: None,
        body: Body::default(),
    };
    let flaw = walk.run(source);
    // Unfinished elements are included as far as they were read.
    while let Some(open) = walk.open.pop() {
        walk.close(open);
    }
    let blocks = walk.containers.pop().unwrap_or_default();
    walk.body.nodes = nodes(blocks, &parts.numbers, &mut walk.counters);
    walk.body.flaw = flaw;
    walk.body
}

impl Walk<'_> {
    /// Reads the events. Returns the reason if it stops before the end.
    fn run(&mut self, source: &str) -> Option<String> {
        let mut reader = Reader::from_str(source);
        xml::configure(reader.config_mut());
        loop {
            match reader.read_event() {
                Ok(Event::Start(start)) => {
                    if self.open.len() >= MAX_DEPTH {
                        return Some(format!(
                            "What follows was left out: elements are nested more than {MAX_DEPTH} deep."
                        ));
                    }
                    self.start(&start);
                }
                Ok(Event::End(_)) if self.skipped > 0 => self.skipped -= 1,
                Ok(Event::End(_)) => {
                    if let Some(open) = self.open.pop() {
                        self.close(open);
                    }
                }
                Ok(Event::Text(content)) => self.text(&content.xml10_content()),
                Ok(Event::CData(content)) => self.text(&content.xml10_content()),
                Ok(Event::GeneralRef(reference)) => {
                    if let Some(character) = xml::character(&reference) {
                        self.text(&character);
                    }
                }
                Ok(Event::Eof) if self.open.is_empty() && self.skipped == 0 => return None,
                Ok(Event::Eof) => return Some("The document ends early; what is there was read.".to_owned()),
                Ok(_) => {}
                Err(error) => {
                    return Some(format!(
                        "What follows was left out: the document is damaged there ({error})."
                    ));
                }
            }
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) {
        let name = start.local_name().into_inner();
        if self.skipped > 0 || is_passed_over(name) {
            self.skipped += 1;
            return;
        }
        if let Some(equation) = &mut self.equation {
            equation.start(name, xml::attribute(start, "val"));
            self.open.push(Open::EquationPart);
            return;
        }
        if self.in_properties {
            self.paragraph_property(name, start);
            return;
        }
        let open = match name {
            "p" => {
                self.paragraphs.push(Paragraph::default());
                Open::Paragraph
            }
            "pPr" => {
                self.in_properties = true;
                Open::ParagraphProperties
            }
            "r" => {
                self.marks = Marks::default();
                Open::Run
            }
            "t" => {
                self.in_text = true;
                Open::Text
            }
            "instrText" => {
                self.in_instruction = true;
                Open::Instruction
            }
            "hyperlink" => {
                let outside = xml::attribute(start, "r:id").or_else(|| xml::attribute(start, "id"));
                let outside = outside.and_then(|id| self.parts.relations.link(&id));
                self.open_link(outside.map(Rc::from))
            }
            "fldSimple" => {
                let instruction = xml::attribute(start, "instr").unwrap_or_default();
                self.open_link(address_of(&instruction).map(Rc::from))
            }
            "tbl" | "txbxContent" if self.containers.len() > MAX_CONTAINERS => {
                self.body.flaw.get_or_insert_with(|| "Tables within tables were left out.".to_owned());
                self.skipped += 1;
                return;
            }
            "tbl" => {
                self.tables.push(Table::default());
                Open::Table
            }
            "tc" => {
                self.cells.push(Cell::default());
                self.containers.push(Vec::new());
                Open::Cell
            }
            "txbxContent" => {
                self.containers.push(Vec::new());
                Open::Box
            }
            "footnote" | "endnote" => {
                self.containers.push(Vec::new());
                Open::Note(xml::attribute(start, "id").unwrap_or_default())
            }
            "oMathPara" => Open::Equations,
            "oMath" => {
                self.equation = Some(Equation::new());
                Open::Equation
            }
            name => {
                self.within(name, start);
                Open::Nothing
            }
        };
        self.open.push(open);
    }

    /// Handles elements whose content needs no special treatment.
    fn within(&mut self, name: &str, start: &BytesStart<'_>) {
        match name {
            "tr" => {
                if let Some(table) = self.tables.last_mut() {
                    table.begin_row();
                }
            }
            "tblHeader" | "tblLook" => {
                let is_head =
                    name == "tblHeader" || xml::attribute(start, "firstRow").as_deref() == Some("1");
                if let Some(table) = self.tables.last_mut() {
                    table.has_head |= is_head;
                }
            }
            "gridSpan" | "vMerge" => self.cell_property(name, start),
            "tab" => self.put("\t"),
            "noBreakHyphen" => self.put("-"),
            "br" | "cr" => {
                let is_line = xml::attribute(start, "type").is_none_or(|kind| kind == "textWrapping");
                let link = self.link.clone();
                if let Some(paragraph) = self.paragraphs.last_mut().filter(|_| is_line) {
                    paragraph.push_break(link.as_ref());
                }
            }
            "altChunk" => self.chunk(start),
            "footnoteReference" => self.reference(Notes::Foot, start),
            "endnoteReference" => self.reference(Notes::End, start),
            "fldChar" => self.field(&xml::attribute(start, "fldCharType").unwrap_or_default()),
            "docPr" => {
                let description = xml::attribute(start, "descr").unwrap_or_default();
                let description: String = description
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
                    .chars()
                    .take(MAX_DESCRIPTION)
                    .collect();
                if !description.is_empty() {
                    self.put(&format!("[picture: {description}]"));
                }
            }
            "rStyle" => {
                let style = xml::attribute(start, "val").and_then(|id| self.parts.styles.get(&id));
                if let Some(style) = style {
                    self.marks = style.marks;
                }
            }
            name => self.marks.take(name, start),
        }
    }

    fn paragraph_property(&mut self, name: &str, start: &BytesStart<'_>) {
        self.open.push(Open::Nothing);
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        let value = xml::attribute(start, "val");
        match name {
            "pStyle" => paragraph.style = value,
            "numId" => paragraph.list = value,
            "ilvl" => paragraph.level = value.and_then(|level| level.parse().ok()),
            "outlineLvl" => paragraph.outline = value.and_then(|level| level.parse().ok()),
            _ => {}
        }
    }

    fn cell_property(&mut self, name: &str, start: &BytesStart<'_>) {
        let Some(cell) = self.cells.last_mut() else { return };
        let value = xml::attribute(start, "val");
        match name {
            "gridSpan" => cell.span = value.and_then(|span| span.parse().ok()).unwrap_or(1),
            _ => cell.continues = value.as_deref() != Some("restart"),
        }
    }

    fn open_link(&mut self, to: Option<Rc<str>>) -> Open {
        let outer = self.link.clone();
        self.link = to.or_else(|| self.link.clone());
        Open::Link(outer)
    }

    /// Includes a file.
    fn chunk(&mut self, start: &BytesStart<'_>) {
        let id = xml::attribute(start, "id").unwrap_or_default();
        let chunk = self.parts.chunks.borrow_mut().remove(&id);
        match chunk {
            Some(nodes) => self.put_block(Block::Node(element("div", nodes))),
            None if !self.body.lacks_chunk => {
                self.body.lacks_chunk = true;
                self.put_block(Block::Node(simple("p", "[included file that was not read]")));
            }
            None => {}
        }
    }

    fn reference(&mut self, kind: Notes, start: &BytesStart<'_>) {
        let Some(id) = xml::attribute(start, "id") else { return };
        self.body.references.push((kind, id));
        let number = self.body.references.len();
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.push_note(number);
        }
    }

    fn field(&mut self, kind: &str) {
        match kind {
            "begin" if self.fields.len() < MAX_FIELDS => {
                self.fields.push(Field { outer_link: self.link.clone(), ..Field::default() });
            }
            "separate" => {
                if let Some(field) = self.fields.last_mut() {
                    field.shows = true;
                    if let Some(address) = address_of(&field.instruction) {
                        self.link = Some(Rc::from(address));
                    }
                }
            }
            "end" => {
                if let Some(field) = self.fields.pop() {
                    self.link = field.outer_link;
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, content: &str) {
        if self.skipped > 0 {
            return;
        }
        if let Some(equation) = &mut self.equation {
            equation.text(content);
        } else if self.in_instruction {
            let field = self.fields.last_mut().filter(|field| field.instruction.len() < MAX_INSTRUCTION);
            if let Some(field) = field {
                field.instruction.push_str(content);
            }
        } else if self.in_text {
            self.put(content);
        }
    }

    fn put(&mut self, content: &str) {
        // A field's instruction is not text.
        if self.fields.iter().any(|field| !field.shows) {
            return;
        }
        let (marks, link) = (self.marks, self.link.clone());
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.push_text(content, marks, link.as_ref());
        }
    }

    fn close(&mut self, open: Open) {
        match open {
            Open::Nothing | Open::Equations => {}
            Open::Run => self.marks = Marks::default(),
            Open::Text => self.in_text = false,
            Open::Instruction => self.in_instruction = false,
            Open::ParagraphProperties => self.in_properties = false,
            Open::Link(outer) => self.link = outer,
            Open::EquationPart => {
                if let Some(equation) = &mut self.equation {
                    equation.end();
                }
            }
            Open::Equation => {
                let tex = self.equation.take().map(Equation::tex).unwrap_or_default();
                let is_display = self.open.iter().any(|open| matches!(open, Open::Equations));
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.push_formula(tex, is_display);
                }
            }
            Open::Paragraph => {
                if let Some(paragraph) = self.paragraphs.pop() {
                    self.end_paragraph(paragraph);
                }
            }
            Open::Table => {
                if let Some(table) = self.tables.pop() {
                    self.put_block(Block::Node(table.node()));
                }
            }
            Open::Cell => {
                let content = self.end_container();
                let cell = self.cells.pop();
                if let (Some(table), Some(mut cell)) = (self.tables.last_mut(), cell) {
                    cell.content = content;
                    table.push(cell);
                }
            }
            Open::Box => {
                let content = self.end_container();
                self.put_block(Block::Node(element("div", content)));
            }
            Open::Note(id) => {
                let content = self.end_container();
                self.body.notes.insert(id, content);
            }
        }
    }

    fn end_container(&mut self) -> Vec<Node> {
        let blocks = self.containers.pop().unwrap_or_default();
        nodes(blocks, &self.parts.numbers, &mut self.counters)
    }

    fn put_block(&mut self, block: Block) {
        if let Some(container) = self.containers.last_mut() {
            container.push(block);
        }
    }

    fn end_paragraph(&mut self, paragraph: Paragraph) {
        // An unclosed field hides at most its own paragraph.
        for field in &mut self.fields {
            field.shows = true;
        }
        let style = paragraph.style.as_deref().and_then(|id| self.parts.styles.get(id));
        let by_outline = paragraph.outline.filter(|level| *level < 9).map(|level| Role::Heading(level + 1));
        let role = by_outline.or(style.map(|style| style.role)).unwrap_or_default();
        let list = paragraph.list.clone().or_else(|| style?.list.clone()).filter(|list| list != "0");
        let level = paragraph.level.or_else(|| style?.level).unwrap_or(0);
        let block = match (role, list) {
            (Role::Code, _) => Block::Code(paragraph.text()),
            (Role::Title | Role::Heading(_), _) => {
                let level = if let Role::Heading(level) = role { level } else { 1 };
                if role == Role::Title {
                    self.body.title.get_or_insert_with(|| paragraph.text().trim().to_owned());
                }
                Block::Node(element(heading(level), paragraph.nodes(true)))
            }
            (Role::Quotation, None) => Block::Quotation(element("p", paragraph.nodes(false))),
            (_, Some(list)) => Block::Item { list, level, content: paragraph.nodes(false) },
            (_, None) => Block::Node(element("p", paragraph.nodes(false))),
        };
        // Empty paragraphs are only spacing, and would split lists.
        let is_blank = match &block {
            Block::Node(Node::Element(element)) | Block::Quotation(Node::Element(element)) => {
                element.children.iter().all(Node::is_white)
                    && !element.any(&|element| element.attribute("data-x-ref").is_some())
            }
            _ => false,
        };
        if !is_blank {
            self.put_block(block);
        }
    }
}

/// Returns `true` for elements whose content is not text: properties, deleted or changed content, and
/// fallbacks for older programs.
fn is_passed_over(name: &str) -> bool {
    matches!(
        name,
        "del"
            | "moveFrom"
            | "delText"
            | "delInstrText"
            | "sectPr"
            | "tblGrid"
            | "sdtPr"
            | "sdtEndPr"
            | "Fallback"
            | "rt"
    ) || name.ends_with("PrChange")
}

/// Returns the URL in `HYPERLINK "https://example.com" \o "tip"`.
fn address_of(instruction: &str) -> Option<&str> {
    let rest = instruction.trim_start();
    let (name, rest) = rest.split_at_checked("HYPERLINK".len())?;
    let rest = rest.trim_start();
    let address = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split_whitespace().next()?,
    };
    (name.eq_ignore_ascii_case("HYPERLINK") && !address.starts_with('\\')).then_some(address)
}

/// Creates the footnote element for the writers.
pub(super) fn note(number: usize, mut content: Vec<Node>, with_number: bool) -> Node {
    if with_number {
        content.insert(0, text(format!("[{number}] ")));
    }
    crate::tree::with("div", "data-x-note", &number.to_string(), content)
}
