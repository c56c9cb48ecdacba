//! Bounds that the quality of `ReadDocs` may not fall below.

#![allow(missing_docs, unreachable_pub)]

mod support;

use support::readability::{HEADS, Measured};
use support::{data, readability, references, turndown};

/// Cases that are rendered otherwise than Turndown has it, each for a reason.
const OTHERWISE: [(&str, &str); 4] = [
    ("escaping ~~~", "a <pre> is code here, with or without <code> in it"),
    ("preformatted code with leading whitespace", "white space in <code> collapses, as it does in a browser"),
    ("preformatted code with trailing whitespace", "the same"),
    ("preformatted code with newlines", "the same"),
];

/// F1 of words, at least, over the pages with references. The forests were grown on these pages: on pages that they have
/// not seen it is less, which `make reading` does not show and `tests/reading/run.sh validate` does.
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

/// Pages that the bounds were measured on: of other pages they say nothing.
const PAGES: usize = 1_495;

#[test]
fn what_people_read_is_read() {
    let Some(folder) = data::folder_or_skipped("wcxb") else { return };
    let (pages, scores) = references::measure(&folder);
    assert_eq!(pages, PAGES, "other pages than the bounds are for: measure them anew");
    for (kind, least) in LEAST {
        let score = scores.get(kind).copied().unwrap_or_default();
        assert!(score >= least, "{kind}: {score:.4} of {least} in {scores:.4?}");
    }
}

/// These pages were seen by nobody who made the choice of content. Readability keeps lists of related articles that are
/// not read here, and other things are read that it leaves out.
#[test]
#[allow(clippy::cast_precision_loss)]
fn articles_are_much_what_readability_finds() {
    let Some(folder) = data::folder_or_skipped("readability") else { return };
    let pages = readability::measure(&folder);
    assert!(pages.len() >= 44, "{} pages", pages.len());
    let mean = |value: fn(&Measured) -> f64| pages.iter().map(value).sum::<f64>() / pages.len() as f64;
    let content = mean(|page| page.f1);
    assert!(content >= 0.94, "mean F1 of the content: {content}");
    for page in &pages {
        assert_eq!(page.code_blocks.kept, page.code_blocks.wanted, "{HEADS}\n{page}");
    }
}

#[test]
fn fragments_are_rendered_as_turndown_has_them() {
    let Some(folder) = data::folder_or_skipped("turndown") else { return };
    let cases = turndown::cases(&folder);
    assert_eq!(cases.len(), 147);
    let failing: Vec<_> = cases.iter().filter(|case| !case.agrees()).collect();
    let names: Vec<&str> = failing.iter().map(|case| case.name.as_str()).collect();
    let shown: Vec<String> = failing.iter().map(ToString::to_string).collect();
    assert_eq!(names, OTHERWISE.map(|(name, _)| name), "{}", shown.join("\n"));
}
