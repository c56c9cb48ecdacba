//! Running heads and page numbers, which repeat on many pages.

use std::collections::HashMap;

use super::fragment::whole;
use super::page::{Draft, Edge};

/// Maximum distance between positions that count as the same, in points.
const NEAR: f64 = 4.0;
/// Minimum share of the pages (one third) on which a running head occurs. `MANY` is a sufficient number of
/// pages.
const PART: usize = 3;
const MANY: usize = 3;
/// Maximum font size of a running head relative to the text, because slide titles may repeat too.
const LARGER: f64 = 1.25;
/// Maximum number of characters of a line that are compared.
const CHARS: usize = 200;

/// Text at the edges of the previous pages.
#[derive(Debug, Default)]
pub(super) struct Running {
    pages: usize,
    /// Number of pages with a text at a position.
    texts: HashMap<(bool, i32, String), usize>,
    /// Number of pages with a given difference between a number and the page number.
    numbers: HashMap<(bool, i64), usize>,
    /// Amount of text by font size, in quarters of a point.
    sizes: HashMap<i32, usize>,
}

impl Running {
    pub(super) fn learn(&mut self, page: &Draft) {
        self.pages += 1;
        for fragment in page.fragments() {
            *self.sizes.entry(whole((fragment.size * 4.0).round())).or_default() += fragment.text.len();
        }
        for edge in &page.edges {
            for at in places(edge.base) {
                *self.texts.entry((edge.is_top, at, key(&edge.text))).or_default() += 1;
            }
            for offset in offsets(edge, page.number) {
                *self.numbers.entry((edge.is_top, offset)).or_default() += 1;
            }
        }
    }

    /// Returns the font size of most of the text.
    pub(super) fn size(&self) -> f64 {
        let most = self.sizes.iter().max_by_key(|(size, weight)| (**weight, **size));
        most.map_or(10.0, |(size, _)| f64::from(*size) / 4.0)
    }

    pub(super) fn is_running(&self, edge: &Edge, page: usize, size: f64) -> bool {
        let often = |found: &usize| *found >= 2 && (*found >= MANY || *found * PART >= self.pages);
        let is_same = || {
            let key = key(&edge.text);
            places(edge.base)
                .iter()
                .any(|at| self.texts.get(&(edge.is_top, *at, key.clone())).is_some_and(often))
        };
        let is_numbered = || {
            offsets(edge, page).iter().any(|offset| {
                self.numbers
                    .get(&(edge.is_top, *offset))
                    .is_some_and(|found| *found >= MANY && *found * 5 >= self.pages)
            })
        };
        // The page number alone has the same information as the page's own mark.
        let is_number = || is_number(edge, page);
        edge.size <= LARGER * size && (is_number() || is_same() || is_numbered())
    }
}

/// Returns `true` for a page number: `7`, `- 7 -`, `7 / 12`, `Page 7 of 12` on the seventh page.
pub(super) fn is_number(edge: &Edge, page: usize) -> bool {
    let mut words =
        edge.text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    words.next_if(|word| word.eq_ignore_ascii_case("page"));
    words.next().is_some_and(|word| word.parse() == Ok(page))
        && words.all(|word| word.eq_ignore_ascii_case("of") || word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns two grid cells of a position, so that close positions share one.
fn places(base: f64) -> [i32; 2] {
    let cell = whole((base / NEAR).floor()).saturating_mul(2);
    let shifted = whole((base / NEAR + 0.5).floor()).saturating_mul(2);
    [cell, shifted.saturating_add(1)]
}

/// Returns the text with every number replaced by the same sign.
fn key(text: &str) -> String {
    let mut key = String::new();
    for c in text.chars().take(CHARS) {
        match c {
            c if c.is_ascii_digit() && key.ends_with('#') => {}
            c if c.is_ascii_digit() => key.push('#'),
            c => key.extend(c.to_lowercase()),
        }
    }
    key
}

/// Returns the differences between the numbers at the line's ends and the page number.
fn offsets(edge: &Edge, page: usize) -> Vec<i64> {
    let page = i64::try_from(page).unwrap_or_default();
    let mut words = edge.text.split_whitespace();
    let ends = [words.next(), words.next_back()];
    let numbers = ends.iter().flatten().filter_map(|word| word.parse::<i32>().ok());
    let mut found: Vec<i64> = numbers.map(|number| i64::from(number) - page).collect();
    found.dedup();
    found
}
