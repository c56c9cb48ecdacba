//! Texts that were put on a finished page (ISO 32000-1, 12.5 and 12.7): values of form fields, typed text, stamps, and
//! notes.

use hayro_syntax::Pdf;
use hayro_syntax::object::{Array, Dict, Name, Object, Rect, Stream, String as PdfString};
use hayro_syntax::page::Page;

use super::content::Reader;
use super::font::Style;
use super::fragment::Glyph;
use super::matrix::Matrix;
use super::{lines_of, stream};

/// Maximum number of annotations of a page.
const MAX_ANNOTATIONS: usize = 2000;
/// Maximum length of a text, in bytes. The rest is left out, and the page counts as read in part.
const MAX_TEXT: usize = 64 * 1024;
/// Maximum number of lines of an annotation without an appearance of its own.
const MAX_LINES: usize = 200;
/// Maximum number of options of a list.
const MAX_OPTIONS: usize = 1000;
/// Maximum length of a default appearance, in bytes.
const MAX_APPEARANCE: usize = 1000;
/// Maximum number of fields above a field, whose properties it inherits.
const MAX_PARENTS: usize = 8;

/// Flags of an annotation that is not shown.
const HIDDEN: i32 = 1 << 1;
const NO_VIEW: i32 = 1 << 5;
/// Flags of fields.
const IS_PASSWORD: i32 = 1 << 13;
const IS_PUSH_BUTTON: i32 = 1 << 16;

/// Font size where the field has none, its minimum, and the usual distance of lines, in font sizes.
const SIZE: f64 = 11.0;
const MIN_SIZE: f64 = 4.0;
const STEP: f64 = 1.2;
/// Average width of a character, in font sizes.
const WIDTH: f64 = 0.5;

impl<'a> Reader<'_, 'a> {
    /// Reads the annotations of a page. `is_outdated` is `true` if the file asks for fields to be drawn again, so that
    /// their appearances may show old values.
    pub(super) fn annotations(&mut self, page: &Page<'a>, is_outdated: bool) {
        let Some(annotations) = page.raw().get::<Array<'a>>("Annots") else { return };
        for annotation in annotations.iter::<Dict<'a>>().take(MAX_ANNOTATIONS) {
            let flags = annotation.get::<i32>("F").unwrap_or_default();
            let Some(kind) = annotation.get::<Name<'_>>("Subtype") else { continue };
            if self.is_full() {
                return;
            }
            if flags & (HIDDEN | NO_VIEW) != 0 || self.layers.hide(&annotation, "OC") {
                continue;
            }
            match kind.as_str() {
                "Widget" => self.field(&annotation, page, is_outdated),
                "FreeText" | "Stamp" if !self.appearance(&annotation, page) => {
                    let lines = self.contents(&annotation);
                    self.put_text(&annotation, &lines);
                }
                "Text" => {
                    let note = self.contents(&annotation).join(" ");
                    self.found.notes.extend(Some(note).filter(|note| !note.is_empty()));
                }
                _ => {}
            }
        }
    }

    fn contents(&mut self, annotation: &Dict<'_>) -> Vec<String> {
        let text = annotation.get::<PdfString<'_>>("Contents");
        text.map(|text| self.lines(text.as_bytes())).unwrap_or_default()
    }

    /// Decodes a text. Annotations can share one, so each costs as much as drawing it.
    fn lines(&mut self, text: &[u8]) -> Vec<String> {
        let kept = text.get(..MAX_TEXT).unwrap_or(text);
        self.found.is_cut |= kept.len() < text.len();
        self.spend(kept.len());
        lines_of(kept)
    }

    fn field(&mut self, field: &Dict<'a>, page: &Page<'a>, is_outdated: bool) {
        let flags = inherited(field, "Ff", |dict| dict.get::<i32>("Ff")).unwrap_or_default();
        let kind = inherited(field, "FT", |dict| dict.get::<Name<'a>>("FT"));
        let kind = kind.as_ref().map_or("", Name::as_str);
        match kind {
            "Btn" if flags & IS_PUSH_BUTTON == 0 => self.put_text(field, &[box_of(field).to_owned()]),
            "Tx" if flags & IS_PASSWORD != 0 => {}
            "Tx" | "Ch" => {
                let value = self.value(field);
                let is_drawn = (!is_outdated || value.is_empty()) && self.appearance(field, page);
                if !is_drawn {
                    self.put_text(field, &value);
                }
            }
            _ => {
                self.appearance(field, page);
            }
        }
    }

    /// Returns the lines of a field's value.
    fn value(&mut self, field: &Dict<'_>) -> Vec<String> {
        let value = inherited(field, "V", |dict| dict.get::<Object<'_>>("V"));
        match value {
            Some(Object::String(text)) => self.shown(field, &text),
            Some(Object::Stream(text)) => match stream::decoded(&text) {
                Some(text) => {
                    self.pay(text.len());
                    self.lines(&text)
                }
                None => Vec::new(),
            },
            Some(Object::Array(all)) => {
                let all: Vec<_> = all.iter::<PdfString<'_>>().take(MAX_LINES).collect();
                all.iter().flat_map(|text| self.shown(field, text)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the lines that a list shows for a value: its options may be pairs of a value and a text.
    fn shown(&mut self, field: &Dict<'_>, value: &PdfString<'_>) -> Vec<String> {
        let options = inherited(field, "Opt", |dict| dict.get::<Array<'_>>("Opt"));
        for pair in options.iter().flat_map(Array::iter::<Array<'_>>).take(MAX_OPTIONS) {
            self.spend(1);
            let mut pair = pair.iter::<PdfString<'_>>();
            if let (Some(known), Some(text)) = (pair.next(), pair.next())
                && known.as_bytes() == value.as_bytes()
            {
                return self.lines(text.as_bytes());
            }
        }
        self.lines(value.as_bytes())
    }

    /// Draws the appearance of an annotation. Returns `true` if it has text.
    fn appearance(&mut self, annotation: &Dict<'a>, page: &Page<'a>) -> bool {
        let before = self.found.fragments.glyphs();
        if let Some((form, place)) = appearance_of(annotation) {
            self.start_over(place);
            self.draw(&form, page.resources(), 0);
        }
        self.found.fragments.glyphs() > before
    }

    /// Puts lines of text on the place of an annotation.
    fn put_text(&mut self, annotation: &Dict<'_>, lines: &[String]) {
        let Some([x0, y0, _, y1]) = rect_of(annotation) else { return };
        let height = y1 - y0;
        let asked = inherited(annotation, "DA", |dict| dict.get::<PdfString<'_>>("DA"));
        let asked = asked.and_then(|text| {
            self.spend(text.as_bytes().len());
            size_of(text.as_bytes())
        });
        let size = asked.unwrap_or_else(|| SIZE.min(height * 0.8)).max(MIN_SIZE);
        // A single line stands in the middle, several begin at the top.
        let first = if lines.len() == 1 { y0 + (height - size) / 2.0 + 0.2 * size } else { y1 - size };
        let mut y = first;
        for line in lines.iter().take(MAX_LINES) {
            let mut x = x0 + 2.0;
            for c in line.chars() {
                let width = WIDTH * size;
                let place = Matrix::shift(x, y);
                let glyph = Glyph {
                    text: c.to_string(),
                    place,
                    size,
                    width,
                    extra: 0.0,
                    style: Style::default(),
                    is_vertical: false,
                };
                self.found.fragments.add(&glyph, &self.found.links);
                x += width;
            }
            y -= STEP * size;
        }
    }
}

/// Returns `true` if a file asks for its fields to be drawn again.
pub(super) fn are_outdated(pdf: &Pdf) -> bool {
    let xref = pdf.xref();
    let root = xref.get::<Dict<'_>>(xref.root_id());
    let form = root.and_then(|root| root.get::<Dict<'_>>("AcroForm"));
    form.is_some_and(|form| form.get::<bool>("NeedAppearances").unwrap_or_default())
}

/// Returns a property of a field or of a field above it.
fn inherited<'a, T>(field: &Dict<'a>, key: &str, read: impl Fn(&Dict<'a>) -> Option<T>) -> Option<T> {
    let mut field = field.clone();
    for _ in 0..MAX_PARENTS {
        if field.contains_key(key) {
            return read(&field);
        }
        field = field.get::<Dict<'a>>("Parent")?;
    }
    None
}

/// Returns the corners of an annotation, the lower left first.
fn rect_of(annotation: &Dict<'_>) -> Option<[f64; 4]> {
    let rect = annotation.get::<Rect>("Rect")?;
    let sides = [rect.x0.min(rect.x1), rect.y0.min(rect.y1), rect.x0.max(rect.x1), rect.y0.max(rect.y1)];
    sides.iter().all(|side| side.is_finite()).then_some(sides)
}

/// Returns the normal appearance of an annotation, and its place on the page (12.5.5).
fn appearance_of<'a>(annotation: &Dict<'a>) -> Option<(Stream<'a>, Matrix)> {
    let all = annotation.get::<Dict<'a>>("AP")?;
    let form = match all.get::<Stream<'a>>("N") {
        Some(form) => form,
        // An appearance for each state.
        None => all.get::<Dict<'a>>("N")?.get::<Stream<'a>>(annotation.get::<Name<'_>>("AS")?.as_str())?,
    };
    let [x0, y0, x1, y1] = rect_of(annotation)?;
    let numbers = |key: &str| -> Vec<f64> {
        form.dict().get::<Array<'_>>(key).map(|all| all.iter::<f64>().take(6).collect()).unwrap_or_default()
    };
    let own = <[f64; 6]>::try_from(numbers("Matrix")).map_or(Matrix::IDENTITY, Matrix);
    let [bx0, by0, bx1, by1] = <[f64; 4]>::try_from(numbers("BBox")).ok()?;
    let corners = [(bx0, by0), (bx0, by1), (bx1, by0), (bx1, by1)].map(|(x, y)| own.point(x, y));
    let least = |of: fn(&(f64, f64)) -> f64| corners.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&(f64, f64)) -> f64| corners.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let (left, right, bottom, top) = (least(|at| at.0), most(|at| at.0), least(|at| at.1), most(|at| at.1));
    let stretch = |to: f64, from: f64| if from > 0.0 { to / from } else { 1.0 };
    let (across, up) = (stretch(x1 - x0, right - left), stretch(y1 - y0, top - bottom));
    let place = Matrix([across, 0.0, 0.0, up, x0 - left * across, y0 - bottom * up]);
    place.0.iter().all(|number| number.is_finite()).then_some((form, place))
}

/// Returns the font size that a default appearance sets (`/Helv 12 Tf`); `None` if the text is to fit its place (0).
fn size_of(appearance: &[u8]) -> Option<f64> {
    let text = String::from_utf8_lossy(appearance.get(..MAX_APPEARANCE).unwrap_or(appearance));
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "Tf")?;
    let size: f64 = words.get(at.checked_sub(1)?)?.parse().ok()?;
    (size > 0.0 && size.is_finite()).then_some(size)
}

/// Returns the sign of a check box or a radio button.
fn box_of(field: &Dict<'_>) -> &'static str {
    let state =
        field.get::<Name<'_>>("AS").or_else(|| inherited(field, "V", |dict| dict.get::<Name<'_>>("V")));
    if state.is_some_and(|state| state.as_str() != "Off") { "[x]" } else { "[ ]" }
}
