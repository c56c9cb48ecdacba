//! Interprets the operators of a page that draw text (ISO 32000-1, 9.3 and 9.4).

use std::collections::HashMap;

use hayro_cmap::BfString;
use hayro_font::{Font, FontGlyph, UNITS_PER_EM};
use hayro_syntax::content::TypedIter;
use hayro_syntax::content::ops::TypedInstruction;
use hayro_syntax::object::{Array, Dict, Number, Object, Stream};
use hayro_syntax::object::{Name, String as PdfString};
use hayro_syntax::page::{Page, Resources};

use super::Fonts;
use super::coding::Coding;
use super::font::{self, Style};
use super::fragment::{Fragments, Glyph};
use super::layers::{Layers, Mark, Replacement};
use super::links::Links;
use super::matrix::Matrix;
use super::rules::Paths;
use super::stream;

/// Maximum nesting depth of forms. Typical files use three or four.
const MAX_DEPTH: usize = 8;
/// Maximum number of operators of a page, including its characters and the forms on it.
const MAX_OPERATORS: usize = 2_000_000;
/// Number of decoded bytes that count as one operator.
const BYTES_OF_OPERATOR: usize = 64;
/// Maximum size of a page's content that consists of several parts, in bytes.
const MAX_CONTENT: usize = 64 * 1024 * 1024;
/// Maximum nesting depth of saved states, and of marked content.
const MAX_SAVED: usize = 64;
const MAX_MARKS: usize = 256;

/// State that the operators change.
#[derive(Clone)]
struct State<'a> {
    place: Matrix,
    font: Option<Font<'a>>,
    style: Style,
    coding: Option<Coding>,
    size: f64,
    char_space: f64,
    word_space: f64,
    /// Horizontal scaling; 1 is the normal width.
    scale: f64,
    leading: f64,
    rise: f64,
}

impl State<'_> {
    /// Returns the state at the beginning of a page.
    fn at(place: Matrix) -> Self {
        Self {
            place,
            font: None,
            style: Style::default(),
            coding: None,
            size: 1.0,
            char_space: 0.0,
            word_space: 0.0,
            scale: 1.0,
            leading: 0.0,
            rise: 0.0,
        }
    }
}

/// Content of a page.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) fragments: Fragments,
    pub(super) paths: Paths,
    pub(super) links: Links,
    /// `true` if the page has a picture.
    pub(super) has_picture: bool,
    /// Notes that are attached to the page.
    pub(super) notes: Vec<String>,
    /// `true` if parts of the page are damaged or exceed the limits.
    pub(super) is_cut: bool,
}

/// Fonts by their names in a page or form.
type Named<'a> = HashMap<Vec<u8>, (Option<Font<'a>>, Style, Option<Coding>)>;

/// Answers to which layers are hidden, by their names in a page or form.
type Hidden = HashMap<Vec<u8>, bool>;

pub(super) struct Reader<'r, 'a> {
    fonts: &'r Fonts<'a>,
    pub(super) layers: &'r Layers,
    /// Marked content that is open.
    marks: Vec<Mark>,
    /// Number of marks around the form that is being drawn, which cannot end them.
    outer_marks: usize,
    /// Content of the page found so far.
    pub(super) found: &'r mut Found,
    state: State<'a>,
    saved: Vec<State<'a>>,
    /// Text matrix of the next character. `line` is the matrix of its line's start.
    text: Matrix,
    line: Matrix,
    operators: usize,
}

impl<'r, 'a> Reader<'r, 'a> {
    pub(super) fn new(fonts: &'r Fonts<'a>, layers: &'r Layers, found: &'r mut Found) -> Self {
        Self {
            fonts,
            layers,
            marks: Vec::new(),
            outer_marks: 0,
            found,
            state: State::at(Matrix::IDENTITY),
            saved: Vec::new(),
            text: Matrix::IDENTITY,
            line: Matrix::IDENTITY,
            operators: 0,
        }
    }

    /// Reads a page with its annotations, and returns its number of operators. `is_outdated` is `true` if appearances of
    /// fields may show old values.
    pub(super) fn page(&mut self, page: &Page<'a>, is_outdated: bool) -> usize {
        let (content, is_cut) = contents(page);
        self.found.is_cut |= is_cut;
        self.pay(content.len());
        self.run(TypedIter::new(&content), page.resources(), 0);
        self.annotations(page, is_outdated);
        self.operators
    }

    /// Returns to the state at the beginning of a page, at another place.
    pub(super) fn start_over(&mut self, place: Matrix) {
        self.saved.clear();
        self.marks.clear();
        self.state = State::at(place);
        self.begin_line(Matrix::IDENTITY);
    }

    /// Returns `true` if the limits of a page are reached, and notes it.
    pub(super) fn is_full(&mut self) -> bool {
        let is_full = self.operators > MAX_OPERATORS || self.found.fragments.is_full();
        self.found.is_cut |= is_full;
        is_full
    }

    /// Counts characters as work.
    pub(super) fn spend(&mut self, characters: usize) {
        self.operators = self.operators.saturating_add(characters);
    }

    /// Counts decoded bytes as work.
    pub(super) fn pay(&mut self, bytes: usize) {
        self.operators = self.operators.saturating_add(bytes / BYTES_OF_OPERATOR);
    }

    fn run(&mut self, mut operators: TypedIter<'_>, resources: &Resources<'a>, depth: usize) {
        let mut named = Named::new();
        let mut layers = Hidden::new();
        while let Some(operator) = operators.next() {
            self.operators = self.operators.saturating_add(1);
            if self.is_full() {
                return;
            }
            match operator {
                TypedInstruction::XObject(form) if depth < MAX_DEPTH => self.form(form.0, resources, depth),
                TypedInstruction::TextFont(font) => {
                    self.state.size = font.1.as_f64();
                    let found = named.entry(font.0.to_vec()).or_insert_with(|| self.font(font.0, resources));
                    (self.state.font, self.state.style, self.state.coding) = found.clone();
                }
                TypedInstruction::InlineImage(_) => self.found.has_picture = true,
                TypedInstruction::BeginMarkedContent(_) => self.mark(Mark::Plain),
                TypedInstruction::BeginMarkedContentWithProperties(with) => {
                    let mark = self.mark_of(with.0, with.1, resources, &mut layers);
                    self.mark(mark);
                }
                TypedInstruction::EndMarkedContent(_) if self.marks.len() > self.outer_marks => {
                    self.marks.pop();
                }
                TypedInstruction::EndMarkedContent(_) => {}
                operator => self.apply(&operator),
            }
        }
    }

    /// Returns the mark of a sequence with these properties.
    fn mark_of(
        &mut self,
        tag: &Name<'_>,
        properties: &Object<'_>,
        resources: &Resources<'_>,
        layers: &mut Hidden,
    ) -> Mark {
        if let Object::Name(name) = properties
            && tag.as_str() == "OC"
        {
            let hide = || self.layers.hide(&resources.properties, &**name);
            let is_hidden = *layers.entry(name.to_vec()).or_insert_with(hide);
            return if is_hidden { Mark::Hidden } else { Mark::Plain };
        }
        let dict = match properties {
            Object::Dict(dict) => Some(dict.clone()),
            Object::Name(name) => resources.properties.get::<Dict<'_>>(&**name),
            _ => None,
        };
        let text = dict.and_then(|dict| dict.get::<PdfString<'_>>("ActualText"));
        let Some(text) = text else { return Mark::Plain };
        // Sequences can share a text, which is read for each.
        self.spend(text.as_bytes().len());
        Mark::replacing(text.as_bytes())
    }

    fn mark(&mut self, mark: Mark) {
        // Beyond the limit, the ends of the inner ones end outer ones: marks count for less than text.
        if self.marks.len() < MAX_MARKS {
            self.marks.push(mark);
        }
    }

    fn apply(&mut self, operator: &TypedInstruction<'_, '_>) {
        match operator {
            TypedInstruction::SaveState(_) if self.saved.len() < MAX_SAVED => {
                self.saved.push(self.state.clone());
            }
            TypedInstruction::RestoreState(_) => {
                if let Some(state) = self.saved.pop() {
                    self.state = state;
                }
            }
            TypedInstruction::Transform(m) => {
                let m = matrix([&m.0, &m.1, &m.2, &m.3, &m.4, &m.5]);
                self.state.place = m.then(self.state.place);
            }
            TypedInstruction::CharacterSpacing(space) => self.state.char_space = space.0.as_f64(),
            TypedInstruction::WordSpacing(space) => self.state.word_space = space.0.as_f64(),
            TypedInstruction::HorizontalScaling(scale) => self.state.scale = scale.0.as_f64() / 100.0,
            TypedInstruction::TextLeading(leading) => self.state.leading = leading.0.as_f64(),
            TypedInstruction::TextRise(rise) => self.state.rise = rise.0.as_f64(),
            TypedInstruction::BeginText(_) => self.begin_line(Matrix::IDENTITY),
            TypedInstruction::SetTextMatrix(m) => {
                self.begin_line(matrix([&m.0, &m.1, &m.2, &m.3, &m.4, &m.5]));
            }
            TypedInstruction::NextLine(by) => self.next_line(by.0.as_f64(), by.1.as_f64()),
            TypedInstruction::NextLineAndSetLeading(by) => {
                self.state.leading = -by.1.as_f64();
                self.next_line(by.0.as_f64(), by.1.as_f64());
            }
            TypedInstruction::NextLineUsingLeading(_) => self.next_line(0.0, -self.state.leading),
            TypedInstruction::ShowText(text) => self.show(text.0),
            TypedInstruction::ShowTexts(texts) => self.show_all(texts.0),
            TypedInstruction::NextLineAndShowText(text) => {
                self.next_line(0.0, -self.state.leading);
                self.show(text.0);
            }
            TypedInstruction::ShowTextWithParameters(with) => {
                self.state.word_space = with.0.as_f64();
                self.state.char_space = with.1.as_f64();
                self.next_line(0.0, -self.state.leading);
                self.show(with.2);
            }
            operator => self.path(operator),
        }
    }

    /// Interprets the operators that draw lines (ISO 32000-1, 8.5).
    fn path(&mut self, operator: &TypedInstruction<'_, '_>) {
        let (place, paths) = (self.state.place, &mut self.found.paths);
        match operator {
            TypedInstruction::MoveTo(to) => paths.move_to(place, to.0.as_f64(), to.1.as_f64()),
            TypedInstruction::LineTo(to) => paths.line_to(place, to.0.as_f64(), to.1.as_f64()),
            TypedInstruction::CubicTo(to) => paths.curve_to(place, to.4.as_f64(), to.5.as_f64()),
            TypedInstruction::CubicStartTo(to) => paths.curve_to(place, to.2.as_f64(), to.3.as_f64()),
            TypedInstruction::CubicEndTo(to) => paths.curve_to(place, to.2.as_f64(), to.3.as_f64()),
            TypedInstruction::RectPath(sides) => {
                let sides = [&sides.0, &sides.1, &sides.2, &sides.3];
                paths.rectangle(place, sides.map(Number::as_f64));
            }
            TypedInstruction::ClosePath(_) => paths.close(),
            TypedInstruction::StrokePath(_)
            | TypedInstruction::FillAndStrokeNonZero(_)
            | TypedInstruction::FillAndStrokeEvenOdd(_) => paths.paint(true),
            TypedInstruction::CloseAndStrokePath(_)
            | TypedInstruction::CloseFillAndStrokeNonZero(_)
            | TypedInstruction::CloseFillAndStrokeEvenOdd(_) => {
                paths.close();
                paths.paint(true);
            }
            TypedInstruction::FillPathNonZero(_)
            | TypedInstruction::FillPathNonZeroCompatibility(_)
            | TypedInstruction::FillPathEvenOdd(_) => paths.paint(false),
            TypedInstruction::EndPath(_) => paths.drop(),
            _ => {}
        }
    }

    fn begin_line(&mut self, line: Matrix) {
        self.line = line;
        self.text = line;
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.begin_line(Matrix::shift(x, y).then(self.line));
    }

    fn font(&self, name: &Name<'_>, resources: &Resources<'a>) -> (Option<Font<'a>>, Style, Option<Coding>) {
        let Some(dict) = resources.get_font(name) else { return (None, Style::default(), None) };
        let font = self.fonts.cache.font(&dict, &self.fonts.programs, &self.fonts.maps);
        (font, font::style(&dict), Coding::of(&dict))
    }

    /// Draws a form with the current state, which the form cannot change.
    fn form(&mut self, name: &Name<'_>, resources: &Resources<'a>, depth: usize) {
        if let Some(form) = resources.get_x_object(name) {
            self.draw(&form, resources, depth);
        }
    }

    pub(super) fn draw(&mut self, form: &Stream<'a>, resources: &Resources<'a>, depth: usize) {
        let dict = form.dict();
        let kind = dict.get::<Name<'_>>("Subtype");
        if kind.as_ref().is_none_or(|kind| kind.as_str() != "Form") {
            self.found.has_picture |= kind.is_some_and(|kind| kind.as_str() == "Image");
            return;
        }
        if self.layers.hide(dict, "OC") {
            return;
        }
        let Some(content) = stream::decoded(form) else {
            self.found.is_cut = true;
            return;
        };
        self.pay(content.len());
        let outer = (self.state.clone(), std::mem::take(&mut self.saved), self.text, self.line);
        let marks = (self.marks.len(), self.outer_marks);
        self.outer_marks = self.marks.len();
        if let Some(m) = dict.get::<Array<'_>>("Matrix") {
            let numbers: Vec<f64> = m.iter::<f64>().collect();
            if let Ok(numbers) = <[f64; 6]>::try_from(numbers) {
                self.state.place = Matrix(numbers).then(self.state.place);
            }
        }
        let sides: Vec<f64> = dict
            .get::<Array<'_>>("BBox")
            .map(|sides| sides.iter::<f64>().take(4).collect())
            .unwrap_or_default();
        if let [x0, y0, x1, y1] = sides.as_slice() {
            let place = self.state.place;
            self.found.paths.dots.add(place.point(*x0, *y0), place.point(*x1, *y1));
        }
        let own = dict.get::<Dict<'a>>("Resources").map(Resources::new);
        self.run(TypedIter::new(&content), own.as_ref().unwrap_or(resources), depth + 1);
        (self.state, self.saved, self.text, self.line) = outer;
        self.marks.truncate(marks.0);
        self.outer_marks = marks.1;
    }

    fn show_all(&mut self, texts: &Array<'_>) {
        for part in texts.iter::<Object<'_>>() {
            match part {
                Object::String(text) => self.show(&text),
                Object::Number(space) => {
                    let by = -space.as_f64() / f64::from(UNITS_PER_EM) * self.state.size * self.state.scale;
                    self.text = Matrix::shift(by, 0.0).then(self.text);
                }
                _ => {}
            }
        }
    }

    fn show(&mut self, text: &PdfString<'_>) {
        let Some(font) = self.state.font.clone() else { return };
        let bytes = text.as_bytes();
        let is_vertical = !font.is_horizontal();
        let mut at = 0;
        while at < bytes.len() && self.operators <= MAX_OPERATORS && !self.found.fragments.is_full() {
            let (code, length) = font.read_code(bytes, at);
            at = at.saturating_add(length.max(1));
            self.operators = self.operators.saturating_add(1);
            let glyph = font.glyph(font.map_code(code), code);
            let word_space = if code == 32 && length == 1 { self.state.word_space } else { 0.0 };
            let extra = self.state.char_space + word_space;
            let width = font.code_advance(code);
            if is_vertical {
                let height = width.y / f64::from(UNITS_PER_EM) * self.state.size;
                self.put(&glyph, (code, length), (height.abs(), -extra), true);
                self.text = Matrix::shift(0.0, height + extra).then(self.text);
            } else {
                let scale = self.state.scale;
                let width = width.x / f64::from(UNITS_PER_EM) * self.state.size * scale;
                self.put(&glyph, (code, length), (width, extra * scale), false);
                self.text = Matrix::shift(width + extra * scale, 0.0).then(self.text);
            }
        }
    }

    fn put(
        &mut self,
        glyph: &FontGlyph<'_>,
        (code, length): (u32, usize),
        (width, extra): (f64, f64),
        is_vertical: bool,
    ) {
        if self.marks.contains(&Mark::Hidden) {
            return;
        }
        let own = match glyph {
            _ if self.state.style.is_bitmap => {
                font::of_bitmap(code).map(|text| BfString::String(text.to_owned()))
            }
            FontGlyph::Outline(glyph) => glyph.as_unicode(),
            FontGlyph::Type3(glyph) => glyph.as_unicode(),
        };
        let own = own.map(|own| match own {
            BfString::Char(c) => c.to_string(),
            BfString::String(text) => text,
        });
        let own = own.or_else(|| self.state.coding?.text(code, length));
        // The first character has the whole text in its place, and the others widen it.
        let (text, widens) = match self.marks.iter_mut().find_map(Mark::take_text) {
            Some(Replacement::Text(text)) => (Some(text), false),
            Some(Replacement::Over) => (Some(String::new()), true),
            None => (own, false),
        };
        let Some(text) = text else { return };
        let State { size, style, rise, place, .. } = self.state;
        let place = Matrix::shift(0.0, rise).then(self.text).then(place);
        let glyph = Glyph { text, place, size, width, extra, style, is_vertical };
        if widens {
            self.found.fragments.widen(&glyph);
        } else {
            self.found.fragments.add(&glyph, &self.found.links);
        }
    }
}

/// Returns the content of a page, and `true` if parts of it are unreadable. Unlike [`Page::page_stream`], it
/// does not keep the content after the page is done.
fn contents(page: &Page<'_>) -> (Vec<u8>, bool) {
    if let Some(content) = page.raw().get::<Stream<'_>>("Contents") {
        let content = stream::decoded(&content);
        return (content.as_deref().unwrap_or_default().to_vec(), content.is_none());
    }
    let (mut all, mut is_cut) = (Vec::new(), false);
    let parts = page.raw().get::<Array<'_>>("Contents");
    for part in parts.iter().flat_map(Array::iter::<Stream<'_>>) {
        match stream::decoded(&part).filter(|_| all.len() <= MAX_CONTENT) {
            Some(part) => {
                all.extend_from_slice(&part);
                all.push(b' ');
            }
            None => is_cut = true,
        }
        if all.len() > MAX_CONTENT {
            break;
        }
    }
    (all, is_cut)
}

fn matrix(numbers: [&Number; 6]) -> Matrix {
    Matrix(numbers.map(Number::as_f64))
}
