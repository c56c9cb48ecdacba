//! Bounds that the quality of `ReadDocs` may not fall below.

#![allow(missing_docs, unreachable_pub)]

mod support;

use support::readability::{HEADS, Measured};
use support::{data, readability, turndown};

/// Cases that are rendered otherwise than Turndown has it, each for a reason.
const OTHERWISE: [(&str, &str); 4] = [
    ("escaping ~~~", "a <pre> is code here, with or without <code> in it"),
    ("preformatted code with leading whitespace", "white space in <code> collapses, as it does in a browser"),
    ("preformatted code with trailing whitespace", "the same"),
    ("preformatted code with newlines", "the same"),
];

#[test]
#[allow(clippy::cast_precision_loss)]
fn articles_are_what_readability_finds() {
    let Some(folder) = data::folder_or_skipped("readability") else { return };
    let pages = readability::measure(&folder);
    assert!(pages.len() >= 44, "{} pages", pages.len());
    let mean = |value: fn(&Measured) -> f64| pages.iter().map(value).sum::<f64>() / pages.len() as f64;
    let (content, with_head) = (mean(|page| page.f1), mean(|page| page.f1_with_head));
    assert!(content >= 0.995, "mean F1 of the content: {content}");
    assert!(with_head >= 0.95, "mean F1 with the lines above it: {with_head}");
    for page in &pages {
        assert!(page.f1 >= 0.95, "{HEADS}\n{page}");
        assert_eq!(page.tables.kept, page.tables.wanted, "{HEADS}\n{page}");
        assert_eq!(page.code_blocks.kept, page.code_blocks.wanted, "{HEADS}\n{page}");
        assert!(page.images.0 >= page.images.1, "{HEADS}\n{page}");
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
