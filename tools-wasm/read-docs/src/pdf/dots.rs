//! List marks that are drawn as shapes: browsers draw a disc where other programs use a character.

use super::font::Style;
use super::fragment::{Fragment, direction};

/// Maximum number of drawn marks on a page. Diagrams may have more dots, which are not marks.
const MAX_DOTS: usize = 2000;
/// Minimum and maximum side length of a mark, in points.
const SMALL: f64 = 1.0;
const LARGE: f64 = 9.0;
/// Maximum distance of a mark from its text, and the empty space required before it, in font sizes.
const BEFORE: f64 = 2.2;
const EMPTY: f64 = 1.5;
/// Maximum number of fragments that are checked for one mark.
const MAX_NEAR: usize = 200;

/// Centers of the small shapes on a page.
#[derive(Debug, Default)]
pub(super) struct Dots(Vec<(f64, f64)>);

impl Dots {
    /// Adds a shape between two corners if it is small and approximately square.
    pub(super) fn add(&mut self, one: (f64, f64), two: (f64, f64)) {
        let (width, height) = ((two.0 - one.0).abs(), (two.1 - one.1).abs());
        let is_small = |side: f64| (SMALL..=LARGE).contains(&side);
        let is_even = width < 1.5 * height && height < 1.5 * width;
        if is_small(width) && is_small(height) && is_even && self.0.len() < MAX_DOTS {
            self.0.push((f64::midpoint(one.0, two.0), f64::midpoint(one.1, two.1)));
        }
    }

    /// Adds a bullet character to the fragments for each shape that precedes a line.
    pub(super) fn mark(&self, angle: i32, fragments: &mut Vec<Fragment>) {
        if self.0.is_empty() {
            return;
        }
        let (cos, sin) = direction(angle);
        fragments.sort_by(|one, two| one.base.total_cmp(&two.base));
        let found: Vec<Fragment> = self
            .0
            .iter()
            .filter_map(|(x, y)| mark(x * cos + y * sin, x * sin - y * cos, fragments))
            .collect();
        fragments.extend(found);
    }
}

fn mark(x: f64, y: f64, fragments: &[Fragment]) -> Option<Fragment> {
    // The center of a mark is less than a font size above the baseline.
    let begin = fragments.partition_point(|fragment| fragment.base < y - 1.0);
    let near = fragments.get(begin..)?.iter().take(MAX_NEAR);
    let line: Vec<&Fragment> = near
        .take_while(|fragment| fragment.base <= y + 30.0)
        .filter(|fragment| (0.1..0.6).contains(&((fragment.base - y) / fragment.size)))
        .collect();
    let after = line.iter().filter(|fragment| fragment.start > x);
    let text = after.min_by(|one, two| one.start.total_cmp(&two.start))?;
    let is_near = text.start - x < BEFORE * text.size;
    let is_first = !line.iter().any(|other| other.start <= x && other.end > x - EMPTY * text.size);
    (is_near && is_first).then(|| Fragment {
        text: "•".to_owned(),
        start: x - 0.2 * text.size,
        end: (x + 0.2 * text.size).min(text.start - 0.25 * text.size),
        base: text.base,
        size: text.size,
        style: Style::default(),
        link: None,
        space_after: true,
    })
}
