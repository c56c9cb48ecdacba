//! Lines that are drawn on a page: they rule tables and separate columns.

use super::dots::Dots;
use super::fragment::direction;
use super::matrix::Matrix;

/// Maximum number of lines of a page. `MAX_IN_PATH` is the maximum number of one path.
const MAX_RULES: usize = 10_000;
const MAX_IN_PATH: usize = 4000;
/// Maximum thickness of a rectangle that counts as a line, in points. `SHORT` is the minimum length of a
/// line.
const THICK: f64 = 3.0;
const SHORT: f64 = 6.0;

type Point = (f64, f64);

/// A line along the text (`is_across` is `false`) or across it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rule {
    pub(super) is_across: bool,
    /// Start and end of the line.
    pub(super) start: f64,
    pub(super) end: f64,
    /// Position on the other axis.
    pub(super) at: f64,
}

/// Collects the lines of a page's paths.
#[derive(Debug, Default)]
pub(super) struct Paths {
    segments: Vec<(Point, Point)>,
    /// Segments of the path that is not painted yet. The following fields are its rectangles, and its start
    /// and current points.
    path: Vec<(Point, Point)>,
    boxes: Vec<(Point, Point)>,
    has_curve: bool,
    from: Point,
    at: Point,
    pub(super) dots: Dots,
}

impl Paths {
    pub(super) fn move_to(&mut self, place: Matrix, x: f64, y: f64) {
        self.at = place.point(x, y);
        self.from = self.at;
    }

    pub(super) fn line_to(&mut self, place: Matrix, x: f64, y: f64) {
        let to = place.point(x, y);
        if self.path.len() < MAX_IN_PATH {
            self.path.push((self.at, to));
        }
        self.at = to;
    }

    /// Adds a curve. It is not a line, but may be part of a small shape.
    pub(super) fn curve_to(&mut self, place: Matrix, x: f64, y: f64) {
        self.has_curve = true;
        self.line_to(place, x, y);
    }

    pub(super) fn close(&mut self) {
        if self.path.len() < MAX_IN_PATH {
            self.path.push((self.at, self.from));
        }
        self.at = self.from;
    }

    pub(super) fn rectangle(&mut self, place: Matrix, [x, y, width, height]: [f64; 4]) {
        if self.boxes.len() < MAX_IN_PATH {
            self.boxes.push((place.point(x, y), place.point(x + width, y + height)));
        }
    }

    pub(super) fn drop(&mut self) {
        self.path.clear();
        self.boxes.clear();
        self.has_curve = false;
    }

    /// Paints the path: its lines, or the shape that they enclose.
    pub(super) fn paint(&mut self, is_stroked: bool) {
        let mut found = Vec::new();
        let all = bounds(self.path.iter().chain(&self.boxes));
        if let Some((low, high)) = all {
            self.dots.add(low, high);
        }
        if self.has_curve {
            self.path.clear();
        }
        if is_stroked {
            found.append(&mut self.path);
        } else if let Some(all) = bounds(self.path.iter()) {
            // A thin filled path is a line.
            self.boxes.push(all);
        }
        for (one, two) in &self.boxes {
            let (x0, x1) = (one.0.min(two.0), one.0.max(two.0));
            let (y0, y1) = (one.1.min(two.1), one.1.max(two.1));
            if y1 - y0 <= THICK || x1 - x0 <= THICK {
                let is_flat = y1 - y0 <= x1 - x0;
                let (x, y) = (f64::midpoint(x0, x1), f64::midpoint(y0, y1));
                found.push(if is_flat { ((x0, y), (x1, y)) } else { ((x, y0), (x, y1)) });
            } else if is_stroked {
                found.extend([
                    ((x0, y0), (x1, y0)),
                    ((x0, y1), (x1, y1)),
                    ((x0, y0), (x0, y1)),
                    ((x1, y0), (x1, y1)),
                ]);
            }
        }
        let room = MAX_RULES.saturating_sub(self.segments.len());
        self.segments.extend(found.into_iter().filter(is_straight).take(room));
        self.drop();
    }

    /// Returns the lines along and across text of an angle.
    pub(super) fn rules(&self, angle: i32) -> Vec<Rule> {
        let (cos, sin) = direction(angle);
        let turned = |(x, y): Point| (x * cos + y * sin, x * sin - y * cos);
        let mut rules: Vec<Rule> = Vec::new();
        for (one, two) in &self.segments {
            let ((u0, v0), (u1, v1)) = (turned(*one), turned(*two));
            let is_along = (v1 - v0).abs() <= 1.0;
            rules.push(if is_along {
                Rule { is_across: false, start: u0.min(u1), end: u0.max(u1), at: f64::midpoint(v0, v1) }
            } else {
                Rule { is_across: true, start: v0.min(v1), end: v0.max(v1), at: f64::midpoint(u0, u1) }
            });
        }
        rules.sort_by(|one, two| one.at.total_cmp(&two.at).then(one.start.total_cmp(&two.start)));
        join(rules)
    }
}

/// Joins touching lines at the same position, because tables are often ruled cell by cell.
fn join(rules: Vec<Rule>) -> Vec<Rule> {
    const NEAR: f64 = 2.0;
    let mut joined: Vec<Rule> = Vec::with_capacity(rules.len());
    // Lines at almost the same position are adjacent in the order, except for lines across in between.
    let mut last: [Option<usize>; 2] = [None, None];
    for rule in rules {
        let slot = usize::from(rule.is_across);
        let before = last.get(slot).copied().flatten().and_then(|at| joined.get_mut(at));
        match before {
            Some(before)
                if (rule.at - before.at).abs() < 0.5
                    && rule.start <= before.end + NEAR
                    && rule.end >= before.start - NEAR =>
            {
                before.end = before.end.max(rule.end);
                before.start = before.start.min(rule.start);
            }
            _ => {
                if let Some(place) = last.get_mut(slot) {
                    *place = Some(joined.len());
                }
                joined.push(rule);
            }
        }
    }
    joined
}

fn bounds<'a>(path: impl Iterator<Item = &'a (Point, Point)>) -> Option<(Point, Point)> {
    let points = path.flat_map(|(one, two)| [*one, *two]);
    points.fold(None, |all: Option<(Point, Point)>, (x, y)| match all {
        None => Some(((x, y), (x, y))),
        Some((low, high)) => Some(((low.0.min(x), low.1.min(y)), (high.0.max(x), high.1.max(y)))),
    })
}

fn is_straight((one, two): &(Point, Point)) -> bool {
    let (width, height) = ((two.0 - one.0).abs(), (two.1 - one.1).abs());
    let is_finite = [one.0, one.1, two.0, two.1].iter().all(|side| side.abs() < 1e6);
    is_finite && (width <= 1.0 || height <= 1.0) && width.max(height) >= SHORT
}
