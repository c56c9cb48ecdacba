//! Lines in a monospaced font: their indentation, and empty lines in vertical gaps.

use super::fragment::whole;
use super::line::Line;

/// Returns the text of each line.
pub(super) fn lines(lines: &[Line]) -> Vec<String> {
    /// Maximum indentation. `MOST_EMPTY` is the maximum number of consecutive empty lines.
    const MOST: usize = 120;
    const MOST_EMPTY: f64 = 3.0;
    let left = lines.iter().map(|line| line.left).fold(f64::INFINITY, f64::min);
    let width = lines.iter().flat_map(|line| &line.pieces).find_map(|piece| {
        let count = piece.text.chars().count();
        (count > 2).then(|| (piece.end - piece.start) / f64::from(u32::try_from(count).unwrap_or(1)))
    });
    let step = lines.windows(2).filter_map(|two| Some(two.get(1)?.base - two.first()?.base));
    let step = step.filter(|step| *step > 0.0).fold(f64::INFINITY, f64::min);
    let mut out: Vec<String> = Vec::new();
    let mut last: Option<f64> = None;
    for line in lines {
        let width = width.filter(|width| *width > 0.0).unwrap_or(line.size * 0.6);
        if let Some(last) = last {
            let empty = ((line.base - last) / step).round() - 1.0;
            let empty = if empty.is_finite() { empty.clamp(0.0, MOST_EMPTY) } else { 0.0 };
            out.extend((0..whole(empty)).map(|_| String::new()));
        }
        let mut text = String::new();
        let mut column = 0;
        for piece in &line.pieces {
            let at = whole(((piece.start - left) / width).round());
            let at = usize::try_from(at).unwrap_or_default();
            let spaces = at.saturating_sub(column).min(MOST);
            text.extend(std::iter::repeat_n(' ', spaces));
            text.push_str(&piece.text);
            column = at.max(column) + piece.text.chars().count();
        }
        out.push(text);
        last = Some(line.base);
    }
    out
}
