//! Turndown's test cases: HTML and the expected Markdown.

use std::fmt;
use std::path::Path;

use dom_query::Document as Dom;
use read_docs::{Format, convert_fragment};

use super::rendered::tree;

/// A test case.
#[derive(Debug)]
pub struct Case {
    pub name: String,
    pub input: String,
    pub wanted: String,
    pub got: String,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, input, wanted, got } = self;
        write!(f, "- {name}\n  in     {:?}\n  wanted {wanted:?}\n  got    {got:?}", input.trim())
    }
}

impl Case {
    /// Returns `true` if both texts render the same, independent of style.
    pub fn agrees(&self) -> bool {
        self.got == self.wanted || tree(&self.got) == tree(&self.wanted)
    }
}

pub fn cases(folder: &Path) -> Vec<Case> {
    let page = std::fs::read_to_string(folder.join("cases.html")).expect("the cases");
    let page = Dom::from(page);
    let cases = page.select(".case");
    cases
        .nodes()
        .iter()
        .map(|case| {
            let part =
                |class: &str| case.descendants_it().find(|node| node.has_class(class)).expect("a part");
            let input = part("input").inner_html().to_string();
            let got = convert_fragment(&input, Format::Markdown);
            Case {
                name: case.attr_or("data-name", "").to_string(),
                wanted: part("expected").text().to_string(),
                got,
                input,
            }
        })
        .collect()
}
