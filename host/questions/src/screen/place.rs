//! Reading position on a page: the focused item and the scroll offset.
//!
//! Content taller than the window is read line by line: the focus leaves an item only after its end was
//! visible.

use std::ops::Range;

/// Dimensions of a page in its window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extent {
    /// Lines of each item. There is at least one item.
    pub(super) items: Vec<Range<usize>>,
    /// Total number of lines.
    pub(super) lines: usize,
    /// Number of visible lines.
    pub(super) height: usize,
}

impl Extent {
    fn max_scroll(&self) -> usize {
        self.lines.saturating_sub(self.height)
    }

    fn last(&self) -> usize {
        self.items.len() - 1
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) focus: usize,
    pub(super) scroll: usize,
}

impl Place {
    /// Returns `true` if any line of the focused item is visible.
    pub(super) fn sees_focus(self, extent: &Extent) -> bool {
        let item = &extent.items[self.focus];
        item.start < self.scroll + extent.height && item.end > self.scroll
    }

    /// Focuses an item and scrolls to it.
    pub(super) fn go_to(&mut self, item: usize, extent: &Extent) {
        self.focus = item.min(extent.last());
        self.show(extent);
    }

    /// Scrolls as little as possible to show the focused item from its first line.
    pub(super) fn show(&mut self, extent: &Extent) {
        let item = &extent.items[self.focus];
        if item.start < self.scroll {
            self.scroll = item.start;
        } else if item.end > self.scroll + extent.height {
            self.scroll = item.start.min(item.end - extent.height);
        }
        // Show the question above the first item, if both fit.
        if self.focus == 0 && item.end <= extent.height {
            self.scroll = 0;
        }
        self.clamp(extent);
    }

    /// Limits the scroll offset to the last line.
    pub(super) fn clamp(&mut self, extent: &Extent) {
        self.scroll = self.scroll.min(extent.max_scroll());
    }

    pub(super) fn down(&mut self, extent: &Extent) {
        if extent.items[self.focus].end > self.scroll + extent.height {
            self.scroll += 1;
        } else if self.focus < extent.last() {
            self.go_to(self.focus + 1, extent);
        }
    }

    pub(super) fn up(&mut self, extent: &Extent) {
        if self.focus == 0 || extent.items[self.focus].start < self.scroll {
            self.scroll = self.scroll.saturating_sub(1);
            return;
        }
        self.focus -= 1;
        let item = &extent.items[self.focus];
        let is_tall = item.len() > extent.height;
        self.show(extent);
        if is_tall {
            self.scroll = item.end - extent.height;
        }
    }

    pub(super) fn page_down(&mut self, extent: &Extent) {
        if self.scroll == extent.max_scroll() {
            self.focus = extent.last();
            return;
        }
        self.scroll = (self.scroll + page(extent)).min(extent.max_scroll());
        let is_ahead = |item: &Range<usize>| item.start >= self.scroll;
        let first = extent.items.iter().position(is_ahead).unwrap_or(extent.last());
        self.focus = self.focus.max(self.seen_or_before(first, extent));
    }

    pub(super) fn page_up(&mut self, extent: &Extent) {
        if self.scroll == 0 {
            self.focus = 0;
            return;
        }
        self.scroll = self.scroll.saturating_sub(page(extent));
        let end = self.scroll + extent.height;
        let last = extent.items.iter().rposition(|item| item.end <= end).unwrap_or(0);
        self.focus = self.focus.min(last);
    }

    /// Returns the item, or the previous one if the item starts below the window.
    fn seen_or_before(self, item: usize, extent: &Extent) -> usize {
        let is_seen = extent.items[item].start < self.scroll + extent.height;
        if is_seen { item } else { item.saturating_sub(1) }
    }
}

/// Returns the lines to scroll by a page, which keeps one line of the previous page.
fn page(extent: &Extent) -> usize {
    extent.height.saturating_sub(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extent(head: usize, items: &[usize], height: usize) -> Extent {
        let mut line = head;
        let item = |lines: &usize| {
            line += lines;
            line - lines..line
        };
        let items = items.iter().map(item).collect();
        Extent { items, lines: line, height }
    }

    #[test]
    fn a_long_question_is_read_before_its_first_option() {
        let extent = extent(10, &[1, 1], 4);
        let mut place = Place::default();
        let scrolls: Vec<_> = (0..9)
            .map(|_| {
                place.down(&extent);
                (place.focus, place.scroll)
            })
            .collect();
        assert_eq!(scrolls[..3], [(0, 1), (0, 2), (0, 3)]);
        assert_eq!(scrolls[5..], [(0, 6), (0, 7), (1, 8), (1, 8)]);
        for _ in 0..9 {
            place.up(&extent);
        }
        assert_eq!(place, Place::default());
    }

    #[test]
    fn a_tall_option_is_read_to_its_end() {
        let extent = extent(0, &[1, 6, 1], 3);
        let mut place = Place::default();
        let mut seen = Vec::new();
        for _ in 0..6 {
            place.down(&extent);
            seen.push((place.focus, place.scroll));
        }
        assert_eq!(seen, [(1, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 5)]);
        place.up(&extent);
        assert_eq!((place.focus, place.scroll), (1, 4));
    }

    #[test]
    fn pages_carry_the_focus_along() {
        let extent = extent(2, &[1; 20], 5);
        let mut place = Place::default();
        place.page_down(&extent);
        assert_eq!((place.focus, place.scroll), (2, 4));
        for _ in 0..9 {
            place.page_down(&extent);
        }
        assert_eq!((place.focus, place.scroll), (19, 17));
        place.page_up(&extent);
        assert_eq!((place.focus, place.scroll), (15, 13));
        for _ in 0..9 {
            place.page_up(&extent);
        }
        assert_eq!(place, Place::default());
    }

    fn see(seen: &mut [bool], place: Place, height: usize) {
        let end = seen.len().min(place.scroll + height);
        seen[place.scroll..end].fill(true);
    }

    proptest! {
        #[test]
        fn every_line_can_be_read_with_the_arrows(
            head in 0usize..12,
            items in prop::collection::vec(1usize..9, 1..8),
            height in 2usize..8,
        ) {
            let extent = extent(head, &items, height);
            for back in [false, true] {
                let mut place = Place::default();
                if back {
                    for _ in 0..200 { place.down(&extent); }
                }
                let mut seen = vec![false; extent.lines];
                for _ in 0..200 {
                    see(&mut seen, place, height);
                    if back { place.up(&extent) } else { place.down(&extent) }
                    prop_assert!(place.scroll <= extent.max_scroll());
                }
                prop_assert!(seen.iter().all(|seen| *seen), "{:?}", seen);
                prop_assert!(place.sees_focus(&extent) || place.scroll == 0);
            }
        }

        #[test]
        fn every_line_can_be_read_by_pages(
            head in 0usize..12,
            items in prop::collection::vec(1usize..9, 1..8),
            height in 2usize..8,
        ) {
            let extent = extent(head, &items, height);
            let mut place = Place::default();
            let mut seen = vec![false; extent.lines];
            for step in 0..200 {
                see(&mut seen, place, height);
                if step < 100 { place.page_down(&extent) } else { place.page_up(&extent) }
                prop_assert!(place.scroll <= extent.max_scroll() && place.focus < extent.items.len());
            }
            prop_assert!(seen.iter().all(|seen| *seen));
            prop_assert_eq!(place, Place::default());
        }
    }
}
