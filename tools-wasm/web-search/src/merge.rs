//! Merges several lists into one with reciprocal rank fusion.
//!
//! A page scores 1 / (60 + rank) for each index that contains it, with the best rank from an engine of this
//! index. The result depends on the responses, never on their order.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::engine::{Engine, Family, Hit};
use crate::{engines, identity};

/// Usual constant of the method (Cormack, Clarke, Büttcher 2009), which limits the weight of first ranks.
const K: f64 = 60.0;

/// A page that at least one engine found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Page {
    pub url: String,
    pub title: String,
    pub snippet: String,
    /// Names of engines, in the order of the table.
    pub engines: Vec<&'static str>,
    pub score: f64,
}

/// A page during merging.
struct Candidate<'a> {
    best_rank: usize,
    title: &'a str,
    url: &'a str,
    snippet: &'a str,
    engines: Vec<&'static str>,
    ranks: BTreeMap<Family, usize>,
}

/// Merges all lists to pages, best first.
pub(crate) fn merge(mut lists: Vec<(&'static Engine, &[Hit])>) -> Vec<Page> {
    // Of two equally good texts, the one from the first engine in the table wins.
    lists.sort_by_key(|(engine, _)| engines::position(engine));
    let groups = identity::groups::of(lists.iter().flat_map(|(_, hits)| hits.iter()));
    let mut candidates: BTreeMap<String, Candidate<'_>> = BTreeMap::new();
    for (engine, hits) in lists {
        for (index, hit) in hits.iter().enumerate() {
            let own = identity::certain(&hit.url);
            let identity = groups.get(&own).cloned().unwrap_or(own);
            let candidate = candidates.entry(identity).or_insert_with(|| Candidate::new(hit));
            candidate.add(engine, index + 1, hit);
        }
    }
    let mut pages: Vec<(String, Page)> =
        candidates.into_iter().map(|(identity, found)| (identity, found.page())).collect();
    pages.sort_by(order);
    pages.into_iter().map(|(_, page)| page).collect()
}

/// Orders pages by score, then by number of engines, then by the first engine that found them.
fn order((identity, page): &(String, Page), (other_identity, other): &(String, Page)) -> Ordering {
    let first = |page: &Page| engines::ENGINES.iter().position(|engine| page.engines.contains(&engine.name));
    let by_score = other.score.total_cmp(&page.score);
    let by_engines = other.engines.len().cmp(&page.engines.len());
    by_score.then(by_engines).then(first(page).cmp(&first(other))).then(identity.cmp(other_identity))
}

impl<'a> Candidate<'a> {
    fn new(hit: &'a Hit) -> Self {
        Self {
            best_rank: usize::MAX,
            title: &hit.title,
            url: &hit.url,
            snippet: "",
            engines: Vec::new(),
            ranks: BTreeMap::new(),
        }
    }

    fn add(&mut self, engine: &Engine, rank: usize, hit: &'a Hit) {
        if rank < self.best_rank {
            self.best_rank = rank;
            self.title = &hit.title;
        }
        if preference(&hit.url) < preference(self.url) {
            self.url = &hit.url;
        }
        if hit.snippet.chars().count() > self.snippet.chars().count() {
            self.snippet = &hit.snippet;
        }
        if !self.engines.contains(&engine.name) {
            self.engines.push(engine.name);
        }
        let best = self.ranks.entry(engine.family).or_insert(rank);
        *best = rank.min(*best);
    }

    fn page(self) -> Page {
        #[allow(clippy::cast_precision_loss)] // ranks are small
        let score = self.ranks.values().map(|rank| 1.0 / (K + *rank as f64)).sum();
        Page {
            url: identity::shown(self.url),
            title: self.title.to_owned(),
            snippet: self.snippet.to_owned(),
            engines: self.engines,
            score,
        }
    }
}

/// Sort key for the URLs of a page; the smallest is displayed. It prefers `https`, then URLs that are not
/// mobile or AMP variants, then the shorter URL without tracking parameters.
fn preference(url: &str) -> (bool, bool, usize, &str) {
    (!url.starts_with("https://"), identity::is_variant(url), identity::shown(url).len(), url)
}
