//! Extracts the main content of a page.
//!
//! The page is split into a list of text blocks ([`outline`]). Two forests ([`forest`]), trained on pages
//! that were annotated by hand, judge the features ([`features`]) of each block: the first forest judges the
//! block alone, the second also uses the first forest's results for the surrounding blocks. The selection
//! ([`choice`]) balances wanted and unwanted text.

mod choice;
mod features;
mod fill;
mod forest;
pub mod images;
mod marks;
mod outline;
mod prune;
pub mod section;
mod sight;
mod tags;
#[cfg(test)]
mod tests;
mod words;

use dom_query::{Document, NodeId};
use url::Url;

use features::{Describer, Facts, Judged};
use forest::Forest;
use outline::Outline;

static FIRST: Forest = Forest::of(include_bytes!("first.forest"));
static SECOND: Forest = Forest::of(include_bytes!("second.forest"));

/// Numbers of words that were removed from a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Words in elements that the page marks as comments or replies.
    pub comments: u32,
    /// Other words, mostly navigation.
    pub others: u32,
}

/// Removes everything but the content from a page. If none of the blocks in the `asked` elements counts as
/// content, these elements are kept as a whole.
pub fn keep_content(dom: &Document, url: &Url, asked: &[NodeId]) -> LeftOut {
    let outline = Outline::of(dom);
    let facts = Facts::of(dom, url);
    let unseen = outline.unseen();
    let mut kept = choice::choose(&outline, &unseen, judge(&outline, &facts));
    choice::keep_asked(&outline, asked, &mut kept);
    prune::prune(dom, &outline, &kept, &unseen);
    outline.left_out(&kept)
}

/// Returns the probability of each block. Each row of features is computed twice instead of stored: a page
/// has up to 100,000 blocks, and a row takes a kilobyte.
fn judge(outline: &Outline, facts: &Facts) -> Vec<f32> {
    let describer = Describer::new(outline, facts);
    let mut row = Vec::new();
    let blocks = 0..outline.blocks.len();
    let first: Vec<f32> = blocks
        .clone()
        .map(|index| {
            describer.describe(index, &mut row);
            FIRST.probability(&row)
        })
        .collect();
    let judged = Judged::new(outline, &first);
    blocks
        .map(|index| {
            describer.describe(index, &mut row);
            judged.describe(index, &mut row);
            SECOND.probability(&row)
        })
        .collect()
}

/// Blocks of a page, for training forests.
pub struct Blocks {
    outline: Outline,
    facts: Facts,
}

impl Blocks {
    /// Splits a page into blocks.
    pub fn of(dom: &Document, url: &Url) -> Self {
        Self { outline: Outline::of(dom), facts: Facts::of(dom, url) }
    }

    /// Returns the text of each block.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.outline.blocks.iter().map(|block| self.outline.text(block))
    }

    /// Returns the features of each block.
    pub fn rows(&self) -> Vec<Vec<f32>> {
        let describer = Describer::new(&self.outline, &self.facts);
        self.each(|index, row| describer.describe(index, row))
    }

    /// Returns the features of each block for the second forest, from the first forest's probabilities.
    pub fn rows_after(&self, first: &[f32]) -> Vec<Vec<f32>> {
        let judged = Judged::new(&self.outline, first);
        self.each(|index, row| judged.describe(index, row))
    }

    /// Selects the blocks to keep from their probabilities.
    pub fn kept(&self, likely: Vec<f32>) -> Vec<bool> {
        choice::choose(&self.outline, &self.outline.unseen(), likely)
    }

    fn each(&self, describe: impl Fn(usize, &mut Vec<f32>)) -> Vec<Vec<f32>> {
        let row = |index| {
            let mut row = Vec::new();
            describe(index, &mut row);
            row
        };
        (0..self.outline.blocks.len()).map(row).collect()
    }
}
