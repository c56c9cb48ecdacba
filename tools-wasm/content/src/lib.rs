//! Which part of a page is its content.
//!
//! The page is taken as a list of blocks of text ([`outline`]). What is known of each ([`features`]) is judged by two
//! forests, which were grown on pages that people had read ([`forest`]): the first looks at the block, the second at
//! what the first said of those around it. The blocks are kept that make the best of both, what is wanted and what is
//! not ([`choice`]).

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

/// Words that were left out of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// In what the page names as comments or replies.
    pub comments: u32,
    /// Others: navigation, mostly.
    pub others: u32,
}

/// Removes from a page what is not its content. What is in `asked` stays: if nothing in those elements is taken for
/// content, they are kept whole.
pub fn keep_content(dom: &Document, url: &Url, asked: &[NodeId]) -> LeftOut {
    let outline = Outline::of(dom);
    let facts = Facts::of(dom, url);
    let unseen = outline.unseen();
    let mut kept = choice::choose(&outline, &unseen, judge(&outline, &facts));
    choice::keep_asked(&outline, asked, &mut kept);
    prune::prune(dom, &outline, &kept, &unseen);
    outline.left_out(&kept)
}

/// How likely each block is wanted. Each row is made twice: a page has up to 100,000 blocks, and all rows would take
/// a kilobyte each.
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

/// The blocks of a page, for those who grow forests.
pub struct Blocks {
    outline: Outline,
    facts: Facts,
}

impl Blocks {
    /// Takes a page apart.
    pub fn of(dom: &Document, url: &Url) -> Self {
        Self { outline: Outline::of(dom), facts: Facts::of(dom, url) }
    }

    /// What each says.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.outline.blocks.iter().map(|block| self.outline.text(block))
    }

    /// What is known of each.
    pub fn rows(&self) -> Vec<Vec<f32>> {
        let describer = Describer::new(&self.outline, &self.facts);
        self.each(|index, row| describer.describe(index, row))
    }

    /// What is known of each after a first judgement, which has a probability for each.
    pub fn rows_after(&self, first: &[f32]) -> Vec<Vec<f32>> {
        let judged = Judged::new(&self.outline, first);
        self.each(|index, row| judged.describe(index, row))
    }

    /// Which are kept, by how likely each is wanted.
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
