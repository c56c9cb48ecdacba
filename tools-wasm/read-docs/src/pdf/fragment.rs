//! Combines characters into fragments: pieces of text on one line without a gap, usually words.
//!
//! The axes of fragments follow the direction of their text: `start` and `end` lie along it, and `base`
//! increases from line to line. Rotated and vertical text is therefore laid out like any other text.

use std::collections::BTreeMap;

use super::bidi;
use super::font::Style;
use super::links::Links;
use super::matrix::Matrix;

/// Minimum gap between words, relative to the font size.
pub(super) const SPACE: f64 = 0.12;
/// Minimum backward distance of a character that begins a new fragment, relative to the font size.
const BACK: f64 = 0.35;
/// Minimum distance from the baseline of raised or lowered characters, relative to the font size.
const RAISED: f64 = 0.08;
/// Maximum character spacing that counts as part of a character, relative to the font size: spaced-out
/// letters form one word.
const MOST_EXTRA: f64 = 0.6;
/// Maximum length of a fragment, in bytes.
const MAX_BYTES: usize = 4096;
/// Maximum number of characters on a page. Dense pages have 20,000.
const MAX_GLYPHS: usize = 200_000;
/// Maximum distance from the page's origin.
const FARTHEST: f64 = 1e6;

/// A character, or several that are drawn as one glyph.
#[derive(Debug)]
pub(super) struct Glyph {
    pub(super) text: String,
    pub(super) place: Matrix,
    pub(super) size: f64,
    /// Width in text space, before `place` is applied.
    pub(super) width: f64,
    /// Spacing that is added to the width of every character.
    pub(super) extra: f64,
    pub(super) style: Style,
    pub(super) is_vertical: bool,
}

/// A piece of text.
#[derive(Debug, Clone)]
pub(super) struct Fragment {
    pub(super) text: String,
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) base: f64,
    pub(super) size: f64,
    pub(super) style: Style,
    /// Index of the page's link that contains the fragment.
    pub(super) link: Option<usize>,
    /// `true` if a space was drawn after the fragment.
    pub(super) space_after: bool,
}

impl Fragment {
    /// Returns the amount of text: full-width characters count twice.
    pub(super) fn weight(&self) -> usize {
        self.text.chars().map(|c| if bidi::is_wide(c) { 2 } else { 1 }).sum()
    }
}

/// A fragment that may continue.
#[derive(Debug)]
struct Open {
    fragment: Fragment,
    angle: i32,
    /// Start of each character in the text.
    marks: Vec<usize>,
}

/// Fragments of a page, by the angle of their text in degrees.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    by_angle: BTreeMap<i32, Vec<Fragment>>,
    open: Option<Open>,
    glyphs: usize,
}

impl Fragments {
    pub(super) fn add(&mut self, glyph: &Glyph, links: &Links) {
        let Some(spot) = Spot::of(glyph) else { return };
        if glyph.text.trim().is_empty() {
            if let Some(open) = &mut self.open {
                open.fragment.space_after = true;
            }
            self.close();
            return;
        }
        self.glyphs = self.glyphs.saturating_add(1);
        if self.glyphs > MAX_GLYPHS {
            return;
        }
        let link = links.at(spot.middle.0, spot.middle.1);
        if !self.open.as_ref().is_some_and(|open| open.takes(&spot, glyph.style, link)) {
            self.close();
            let fragment = Fragment {
                text: String::new(),
                start: spot.start,
                end: spot.end,
                base: spot.base,
                size: spot.size,
                style: glyph.style,
                link,
                space_after: false,
            };
            self.open = Some(Open { fragment, angle: spot.angle, marks: Vec::new() });
        }
        if let Some(open) = &mut self.open {
            open.marks.push(open.fragment.text.len());
            push(&glyph.text, &mut open.fragment.text);
            open.fragment.end = spot.end;
        }
    }

    /// Adds the place of a character to the open fragment, without its text.
    pub(super) fn widen(&mut self, glyph: &Glyph) {
        let (Some(open), Some(spot)) = (&mut self.open, Spot::of(glyph)) else { return };
        let is_same_line = (spot.base - open.fragment.base).abs() <= RAISED * open.fragment.size;
        if open.angle == spot.angle && is_same_line {
            open.fragment.end = open.fragment.end.max(spot.end);
        }
    }

    fn close(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        if bidi::is_right_to_left(&open.fragment.text) {
            open.fragment.text = bidi::reversed(&open.fragment.text, &open.marks);
        }
        if !open.fragment.text.is_empty() {
            self.by_angle.entry(open.angle).or_default().push(open.fragment);
        }
    }

    /// Returns the fragments of each text direction, the page's main direction first.
    pub(super) fn finish(mut self) -> Vec<(i32, Vec<Fragment>)> {
        self.close();
        let mut all: Vec<_> = self.by_angle.into_iter().collect();
        all.sort_by_key(|(_, fragments)| std::cmp::Reverse(fragments.len()));
        all
    }

    /// Returns the number of characters so far.
    pub(super) fn glyphs(&self) -> usize {
        self.glyphs
    }

    pub(super) fn is_full(&self) -> bool {
        self.glyphs > MAX_GLYPHS
    }
}

impl Open {
    fn takes(&self, spot: &Spot, style: Style, link: Option<usize>) -> bool {
        let last = &self.fragment;
        let gap = spot.start - last.end;
        let same_size = (spot.size - last.size).abs() <= 0.02 * last.size;
        self.angle == spot.angle
            && same_size
            && style == last.style
            && link == last.link
            && (spot.base - last.base).abs() <= RAISED * last.size
            && gap <= SPACE * last.size
            && gap >= -BACK * last.size
            && last.text.len() < MAX_BYTES
    }
}

/// Position of a glyph along its own direction.
struct Spot {
    angle: i32,
    start: f64,
    end: f64,
    base: f64,
    size: f64,
    /// Center of the glyph on the page.
    middle: (f64, f64),
}

impl Spot {
    /// Returns `None` for a glyph without a size or a finite position.
    fn of(glyph: &Glyph) -> Option<Self> {
        let [right, up, lean, rise, x, y] = glyph.place.0;
        let (stretch, height) = (right.hypot(up), lean.hypot(rise));
        // Vertical text continues in the direction of the next line of horizontal text.
        let (along, stretch, height) = if glyph.is_vertical {
            ((-lean / height, -rise / height), height, stretch)
        } else {
            ((right / stretch, up / stretch), stretch, height)
        };
        let size = (glyph.size * height).abs();
        let has_size = size.is_finite() && size > 0.01 && size < FARTHEST && stretch > 0.0;
        let is_there = x.abs() < FARTHEST && y.abs() < FARTHEST;
        if !has_size || !is_there {
            return None;
        }
        // A negative font size mirrors the text, and the matrix mirrors it back.
        let width = glyph.width * stretch;
        let extra = glyph.extra * stretch;
        let extra = if extra.is_finite() { extra.clamp(0.0, MOST_EXTRA * size) } else { 0.0 };
        let end_in_text = if width.is_finite() { width.clamp(-FARTHEST, FARTHEST) } else { 0.0 };
        let degrees = along.1.atan2(along.0).to_degrees().round();
        let angle = if degrees.is_finite() { whole(degrees).rem_euclid(360) } else { return None };
        let (cos, sin) = direction(angle);
        let (from, base) = (x * cos + y * sin, x * sin - y * cos);
        let (start, end) = (from.min(from + end_in_text), from.max(from + end_in_text) + extra);
        let half = end_in_text / 2.0;
        let middle = (x + cos * half - sin * size * 0.3, y + sin * half + cos * size * 0.3);
        Some(Self { angle, start, end, base, size, middle })
    }
}

/// Returns cosine and sine of an angle in whole degrees, exact for right angles.
pub(super) fn direction(angle: i32) -> (f64, f64) {
    match angle {
        0 => (1.0, 0.0),
        90 => (0.0, 1.0),
        180 => (-1.0, 0.0),
        270 => (0.0, -1.0),
        other => {
            let radians = f64::from(other).to_radians();
            (radians.cos(), radians.sin())
        }
    }
}

/// Truncates a number that is known to be small.
#[expect(clippy::cast_possible_truncation, reason = "it saturates")]
pub(super) fn whole(number: f64) -> i32 {
    number as i32
}

/// Appends text; ligatures, which are a single Unicode character, are expanded.
fn push(text: &str, out: &mut String) {
    for c in text.chars().filter(|c| !c.is_control()) {
        match c {
            'ﬀ' => out.push_str("ff"),
            'ﬁ' => out.push_str("fi"),
            'ﬂ' => out.push_str("fl"),
            'ﬃ' => out.push_str("ffi"),
            'ﬄ' => out.push_str("ffl"),
            'ﬅ' | 'ﬆ' => out.push_str("st"),
            '\u{ad}' => out.push('-'),
            c => out.push(c),
        }
    }
}
