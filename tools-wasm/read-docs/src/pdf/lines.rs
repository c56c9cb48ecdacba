//! Characters with places to words, lines and paragraphs.
//!
//! The order is the one of drawing, which nearly all programs keep to the order of reading, also
//! where there are columns.

use super::matrix::Matrix;

/// A wider gap than this part of the font's size is a space.
const SPACE: f64 = 0.18;
/// A greater distance from the line than this part of the size begins a new one. Raised and
/// lowered characters are nearer.
const LINE: f64 = 0.55;
/// A greater distance between lines begins a paragraph.
const PARAGRAPH: f64 = 1.65;

/// A character, or a few that are drawn as one.
#[derive(Debug)]
pub(super) struct Glyph {
    pub(super) text: String,
    pub(super) place: Matrix,
    pub(super) size: f64,
    /// In the units of the text, before `place`.
    pub(super) width: f64,
}

/// Text that is being put together.
#[derive(Debug, Default)]
pub(super) struct Lines {
    out: String,
    last: Option<Last>,
}

/// Where the last character ended.
#[derive(Debug, Clone, Copy)]
struct Last {
    /// Along the line, and across it.
    end: f64,
    across: f64,
    size: f64,
}

impl Lines {
    pub(super) fn add(&mut self, glyph: &Glyph) {
        let [right, up, lean, rise, x, y] = glyph.place.0;
        let stretch = right.hypot(up);
        let size = (glyph.size * lean.hypot(rise)).abs();
        let is_usable = stretch > 0.0 && size > 0.0 && stretch.is_finite() && size.is_finite();
        if !is_usable || !x.is_finite() || !y.is_finite() {
            return;
        }
        // The direction of the line, so that turned text is read as well.
        let (along_x, along_y) = (right / stretch, up / stretch);
        let along = x * along_x + y * along_y;
        let across = y * along_x - x * along_y;
        let is_white = glyph.text.trim().is_empty();
        if let Some(last) = self.last
            && !is_white
        {
            self.part(last, along, across, size);
        }
        if is_white {
            self.space();
        } else {
            // Ligatures come as one character of Unicode.
            for c in glyph.text.chars().filter(|c| !c.is_control()) {
                match c {
                    'ﬀ' => self.out.push_str("ff"),
                    'ﬁ' => self.out.push_str("fi"),
                    'ﬂ' => self.out.push_str("fl"),
                    'ﬃ' => self.out.push_str("ffi"),
                    'ﬄ' => self.out.push_str("ffl"),
                    '\u{ad}' => self.out.push('-'),
                    c => self.out.push(c),
                }
            }
            self.last = Some(Last { end: along + glyph.width * stretch, across, size });
        }
    }

    fn part(&mut self, last: Last, along: f64, across: f64, size: f64) {
        let unit = size.max(last.size);
        let step = (across - last.across).abs();
        let gap = along - last.end;
        if step > LINE * unit {
            let is_paragraph = step > PARAGRAPH * unit || across > last.across + unit;
            self.end_line(is_paragraph);
        } else if gap < -unit {
            self.end_line(false);
        } else if gap > SPACE * unit {
            self.space();
        }
    }

    fn space(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
    }

    fn end_line(&mut self, is_paragraph: bool) {
        self.out.truncate(self.out.trim_end().len());
        self.out.push_str(if is_paragraph { "\n\n" } else { "\n" });
    }

    pub(super) fn finish(self) -> String {
        self.out.trim().to_owned()
    }
}
