//! Lower bounds for the quality of `ReadDocs` over the whole suites in `$SCORPIOX_DATA`. Run by `make test-suites`.

#![allow(missing_docs, unreachable_pub)]

#[allow(dead_code)] // only part of it is used
mod support;

use support::readability::{HEADS, Measured};
use support::{data, readability, references};

/// Minimum F1 score of words over the pages with references. The forests were trained on these pages. On
/// unseen pages the score is lower, which `tests/reading/run.sh validate` shows, but not `make reading`.
const LEAST: [(&str, f64); 8] = [
    ("all", 0.911),
    ("article", 0.969),
    ("collection", 0.801),
    ("documentation", 0.947),
    ("forum", 0.843),
    ("listing", 0.801),
    ("product", 0.788),
    ("service", 0.894),
];

/// Number of pages on which the bounds were measured; the bounds do not apply to other sets.
const PAGES: usize = 1_495;

#[test]
fn what_people_read_is_read() {
    let (pages, scores) = references::measure(&data::folder("wcxb"));
    assert_eq!(pages, PAGES, "other pages than the bounds are for: measure them anew");
    for (kind, least) in LEAST {
        let score = scores.get(kind).copied().unwrap_or_default();
        assert!(score >= least, "{kind}: {score:.4} of {least} in {scores:.4?}");
    }
}

/// The content selection was not trained on these pages. Readability keeps lists of related articles that are
/// left out here, and leaves out other parts that are kept here.
#[test]
#[allow(clippy::cast_precision_loss)]
fn articles_are_much_what_readability_finds() {
    let pages = readability::measure(&data::folder("readability"));
    assert!(pages.len() >= 44, "{} pages", pages.len());
    let mean = |value: fn(&Measured) -> f64| pages.iter().map(value).sum::<f64>() / pages.len() as f64;
    let content = mean(|page| page.f1);
    assert!(content >= 0.94, "mean F1 of the content: {content}");
    for page in &pages {
        assert_eq!(page.code_blocks.kept, page.code_blocks.wanted, "{HEADS}\n{page}");
    }
}
