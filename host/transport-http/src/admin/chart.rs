//! Small charts made of SVG rectangles. They need no scripts and no inline styles.

/// A bar with its position, size and description.
pub(crate) struct Bar {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// CSS class that selects the color.
    pub(crate) kind: &'static str,
    /// Tooltip.
    pub(crate) title: String,
}

/// Width and height of each chart in its own units.
pub(crate) const WIDTH: u32 = 160;
pub(crate) const HEIGHT: u32 = 24;

/// Stacks the parts of a whole in a row. The largest of all charts fills the width.
pub(crate) fn stacked(parts: &[(&'static str, &str, u64)], largest: u64) -> Vec<Bar> {
    let mut x = 0;
    let mut bars = Vec::new();
    for (kind, what, count) in parts.iter().filter(|(.., count)| *count > 0) {
        // A nonzero part is always visible.
        let width = scaled(*count, largest, WIDTH).max(1);
        bars.push(Bar { x, y: 4, width, height: HEIGHT - 8, kind, title: format!("{what}: {count}") });
        x += width;
    }
    bars
}

/// Draws one column for each count.
pub(crate) fn columns(counts: &[(String, u64)]) -> Vec<Bar> {
    let largest = counts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let step = WIDTH / u32::try_from(counts.len().max(1)).unwrap_or(1);
    let bar = |(at, (what, count)): (usize, &(String, u64))| {
        let height = scaled(*count, largest, HEIGHT).max(1);
        let x = u32::try_from(at).unwrap_or(0) * step;
        Bar {
            x,
            y: HEIGHT - height,
            width: step.saturating_sub(1).max(1),
            height,
            kind: "ok",
            title: format!("{what}: {count}"),
        }
    };
    counts.iter().enumerate().filter(|(_, (_, count))| *count > 0).map(bar).collect()
}

fn scaled(count: u64, largest: u64, length: u32) -> u32 {
    let scaled = u128::from(count) * u128::from(length) / u128::from(largest.max(1));
    u32::try_from(scaled).unwrap_or(length).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_seen_and_nothing_is_longer_than_the_chart() {
        let bars =
            stacked(&[("ok", "well", u64::MAX), ("error", "failed", 1), ("denied", "denied", 0)], u64::MAX);
        assert_eq!(bars.iter().map(|bar| (bar.x, bar.width)).collect::<Vec<_>>(), [(0, WIDTH), (WIDTH, 1)]);
        assert_eq!(bars[1].title, "failed: 1");
        let bars = columns(&[("a".to_owned(), 10), ("b".to_owned(), 0), ("c".to_owned(), 1)]);
        assert_eq!(bars.iter().map(|bar| (bar.x, bar.height)).collect::<Vec<_>>(), [(0, HEIGHT), (106, 2)]);
        assert!(columns(&[]).is_empty());
    }
}
