//! Running heads and numbers of pages, which say the same on page after page.

use std::collections::HashMap;

use super::block::{Block, Text};
use super::fragment::whole;
use super::page::{Edge, PageText};

/// Places that differ by less, in points, are one.
const NEAR: f64 = 4.0;
/// A head of this part of the pages, or of so many, is a running one.
const PART: usize = 3;
const MANY: usize = 3;
/// Titles of slides may be the same, but are larger than the text.
const LARGER: f64 = 1.25;

/// Drops them, and puts what else is at the edges where it belongs. Whether there were any.
pub(super) fn remove(pages: &mut [PageText], size: f64) -> bool {
    let count = pages.len();
    let mut seen: HashMap<(bool, i32, String), usize> = HashMap::new();
    let mut numbers: HashMap<(bool, i64), usize> = HashMap::new();
    for page in pages.iter() {
        for (is_top, edge) in all(page) {
            for at in places(edge.base) {
                *seen.entry((is_top, at, key(&edge.text))).or_default() += 1;
            }
            for offset in offsets(edge, page.number) {
                *numbers.entry((is_top, offset)).or_default() += 1;
            }
        }
    }
    let is_running = |is_top: bool, edge: &Edge, number: usize| {
        let often = |found: usize| found >= 2 && (found >= MANY || found * PART >= count);
        let is_small = edge.text.size <= LARGER * size;
        let is_same = places(edge.base).iter().any(|at| {
            seen.get(&(is_top, *at, key(&edge.text))).copied().is_some_and(often)
        });
        let is_numbered = offsets(edge, number)
            .iter()
            .any(|offset| numbers.get(&(is_top, *offset)).is_some_and(|found| *found >= MANY && *found * 5 >= count));
        // The number of the page alone says what its mark says.
        let is_number = edge.text.plain().trim() == number.to_string();
        is_small && (is_same || is_numbered || is_number)
    };
    let mut any = false;
    for page in pages {
        let number = page.number;
        let mut kept = |is_top: bool, edges: Vec<Edge>| {
            let before = edges.len();
            let kept: Vec<Block> = edges
                .into_iter()
                .filter(|edge| !is_running(is_top, edge, number))
                .map(|edge| Block::Text(edge.text))
                .collect();
            any |= kept.len() < before;
            kept
        };
        let top = kept(true, std::mem::take(&mut page.top));
        let bottom = kept(false, std::mem::take(&mut page.bottom));
        page.body.splice(0..0, top);
        page.body.extend(bottom.into_iter().rev());
    }
    any
}

fn all(page: &PageText) -> impl Iterator<Item = (bool, &Edge)> {
    page.top.iter().map(|edge| (true, edge)).chain(page.bottom.iter().map(|edge| (false, edge)))
}

/// Two cells of the grid of places, so that near ones share one.
fn places(base: f64) -> [i32; 2] {
    let cell = whole((base / NEAR).floor()).saturating_mul(2);
    let shifted = whole((base / NEAR + 0.5).floor()).saturating_mul(2);
    [cell, shifted.saturating_add(1)]
}

/// The text with every number as one sign.
fn key(text: &Text) -> String {
    let mut key = String::new();
    for c in text.plain().chars().take(200) {
        match c {
            c if c.is_ascii_digit() && key.ends_with('#') => {}
            c if c.is_ascii_digit() => key.push('#'),
            c => key.extend(c.to_lowercase()),
        }
    }
    key
}

/// How far the numbers at the edge's ends are from the number of the page.
fn offsets(edge: &Edge, page: usize) -> Vec<i64> {
    let text = edge.text.plain();
    let page = i64::try_from(page).unwrap_or_default();
    let mut words = text.split_whitespace();
    let ends = [words.next(), words.next_back()];
    let mut found: Vec<i64> =
        ends.iter().flatten().filter_map(|word| word.parse::<i32>().ok()).map(|number| i64::from(number) - page).collect();
    found.dedup();
    found
}
