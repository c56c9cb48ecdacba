//! Layout of the window.

use ratatui::layout::{Rect, Size};

/// Minimum window width.
pub const MIN_WIDTH: u16 = 20;
/// Minimum window height.
pub const MIN_HEIGHT: u16 = 6;

/// Minimum height for rules above and below the page.
const RULES_FROM_HEIGHT: u16 = 10;
/// Minimum width for left and right margins.
const MARGIN_FROM_WIDTH: u16 = 40;

/// Areas of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Geometry {
    /// Names the asker. Text of the asker never appears here.
    pub(super) asker: Rect,
    pub(super) tabs: Rect,
    pub(super) rules: Option<[Rect; 2]>,
    /// Text of the page.
    pub(super) body: Rect,
    /// A single column that shows the scroll position.
    pub(super) scrollbar: Rect,
    pub(super) footer: Rect,
}

impl Geometry {
    /// Returns the layout, or `None` if the window is too small.
    pub(super) fn of(size: Size) -> Option<Self> {
        let Size { width, height } = size;
        if width < MIN_WIDTH || height < MIN_HEIGHT {
            return None;
        }
        let margin = u16::from(width >= MARGIN_FROM_WIDTH);
        let rule = u16::from(height >= RULES_FROM_HEIGHT);
        let row = |y| Rect::new(margin, y, width - 2 * margin, 1);
        let body_height = height - 3 - 2 * rule;
        let rules = [Rect::new(0, 2, width, 1), Rect::new(0, height - 2, width, 1)];
        Some(Self {
            asker: row(0),
            tabs: row(1),
            rules: (rule > 0).then_some(rules),
            body: Rect::new(margin, 2 + rule, width - 2 * margin - 1, body_height),
            scrollbar: Rect::new(width - 1, 2 + rule, 1, body_height),
            footer: row(height - 1),
        })
    }
}
