//! Marks of items that are drawn: browsers draw a disc where other programs set a sign.

use super::font::Style;
use super::fragment::{Fragment, direction};

/// Most drawn marks of a page. Points of diagrams may be more; they are none.
const MAX_DOTS: usize = 2000;
/// The sides of a mark, in points.
const SMALL: f64 = 1.0;
const LARGE: f64 = 9.0;
/// How far before the text it stands, and how much of that must be empty before it, in sizes.
const BEFORE: f64 = 2.2;
const EMPTY: f64 = 1.5;
/// Most fragments that are looked at for one mark.
const MAX_NEAR: usize = 200;

/// Small shapes on a page, by their middles.
#[derive(Debug, Default)]
pub(super) struct Dots(Vec<(f64, f64)>);

impl Dots {
    /// Adds a shape that lies between two corners, if it is small and about as wide as high.
    pub(super) fn add(&mut self, one: (f64, f64), two: (f64, f64)) {
        let (width, height) = ((two.0 - one.0).abs(), (two.1 - one.1).abs());
        let is_small = |side: f64| (SMALL..=LARGE).contains(&side);
        let is_even = width < 1.5 * height && height < 1.5 * width;
        if is_small(width) && is_small(height) && is_even && self.0.len() < MAX_DOTS {
            self.0.push((f64::midpoint(one.0, two.0), f64::midpoint(one.1, two.1)));
        }
    }

    /// Adds a sign to fragments for each shape that stands before a line of them.
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
    // The middle of a mark is above the line of the text by less than its size.
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
