//! Title, author and date of a page, if they are certain, without repetition.

use dom_query::{Document as Dom, NodeRef, Selection};
use dom_smoothie::{Config, Readability};
use scorpiox_page::line;
use url::Url;

use super::tree::{Element, Node};
use crate::write::names::is_block;

/// Maximum length of an author's name, in characters. Longer text is a sentence.
const MAX_BYLINE: usize = 100;
/// Maximum length of a date, in characters.
const MAX_DATE: usize = 40;
/// Maximum number of headings that are checked.
const MAX_HEADINGS: usize = 20;
/// Number of blocks at the beginning that may repeat the metadata.
const FIRST_BLOCKS: usize = 10;
/// Maximum number of words in a block of metadata. A longer block is text.
const LONG: usize = 14;
/// Words that accompany names and dates.
const FILLING: [&str; 20] = [
    "by",
    "written",
    "author",
    "authors",
    "published",
    "posted",
    "on",
    "at",
    "date",
    "am",
    "pm",
    "utc",
    "gmt",
    "the",
    "of",
    "in",
    "and",
    "th",
    "st",
    "nd",
];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Metadata of the content.
#[derive(Debug, Default)]
pub(super) struct About {
    pub(super) title: Option<String>,
    pub(super) byline: Option<String>,
    pub(super) published: Option<String>,
}

impl About {
    /// Reads the metadata from the head and the structured data of a page.
    pub(super) fn of(dom: Dom, url: &Url) -> (Dom, Self) {
        let reader = Readability { doc: dom, doc_url: Some(url.to_string()), config: Config::default() };
        let data = reader.get_article_metadata(reader.parse_json_ld());
        let known =
            |text: Option<String>| text.map(|text| line::whole(&text)).filter(|text| !text.is_empty());
        let site = known(data.site_name);
        let title = known(Some(data.title));
        let is_name = |name: &String| {
            let is_other = |known: &Option<String>| known.as_ref().is_none_or(|known| !is_same(known, name));
            name.chars().count() <= MAX_BYLINE
                && name.chars().any(char::is_alphabetic)
                && !name.contains("://")
                && is_other(&site)
                && is_other(&title)
        };
        let byline = known(data.byline).filter(is_name);
        let published = known(data.published_time).filter(|date| is_date(date));
        (reader.doc, Self { title, byline, published })
    }

    /// Removes the page's heading and makes it the title. The heading is the one that matches the title in
    /// the head, or the only one if it comes first.
    ///
    /// `named` is the heading that matched the title before the content was selected. It may have been
    /// removed.
    pub(super) fn take_heading(&mut self, dom: &Dom, named: Option<String>) {
        let found = dom.select("h1");
        let headings = plain(&found);
        let only = || match headings.as_slice() {
            [only] if stands_first(dom, only) => Some(*only),
            _ => None,
        };
        match self.of_title(&headings).or_else(only) {
            Some(heading) => {
                self.title = Some(line::whole(&heading.text()));
                heading.remove_from_parent();
            }
            None => self.title = named.or(self.title.take()),
        }
    }

    /// Returns the text of the heading that matches the title in the head. The title often includes the
    /// site's name.
    pub(super) fn named(&self, dom: &Dom) -> Option<String> {
        let found = dom.select("h1");
        self.of_title(&plain(&found)).map(|heading| line::whole(&heading.text()))
    }

    /// Returns the heading that equals the title, or the only one if it is a part of the title.
    fn of_title<'a>(&self, headings: &[&'a NodeRef<'a>]) -> Option<&'a NodeRef<'a>> {
        let title = self.title.as_deref().unwrap_or_default();
        let same = headings.iter().find(|heading| is_same(&heading.text(), title));
        match (same, headings) {
            (Some(same), _) => Some(same),
            (None, [only]) if is_part(&only.text(), title) => Some(only),
            _ => None,
        }
    }

    /// Drops metadata that the first blocks repeat.
    pub(super) fn drop_repeated(&self, root: &mut Element) {
        let mut left = FIRST_BLOCKS;
        self.drop_repeated_below(root, &mut left);
    }

    fn drop_repeated_below(&self, element: &mut Element, left: &mut usize) {
        element.children.retain_mut(|node| match node {
            _ if *left == 0 => true,
            Node::Text(text) => {
                if text.split_whitespace().nth(LONG).is_some() {
                    *left = 0;
                }
                true
            }
            Node::Element(child) if child.any(&|below| is_block(&below.name)) => {
                self.drop_repeated_below(child, left);
                true
            }
            Node::Element(child) => {
                let text = child.text();
                let words = text.split_whitespace().take(LONG + 1).count();
                if words == 0 {
                    return true;
                }
                *left = if words > LONG { 0 } else { *left - 1 };
                !self.says(&text)
            }
        });
    }

    /// Returns `true` if a text contains only known metadata.
    fn says(&self, text: &str) -> bool {
        if self.title.as_deref().is_some_and(|title| is_same(title, text)) {
            return true;
        }
        let name: Vec<String> = self.byline.as_deref().map(words).unwrap_or_default();
        let date: Vec<String> = self.published.as_deref().map(words_of_date).unwrap_or_default();
        let is_known = |word: &String| name.contains(word) || date.contains(word);
        let said = words(text);
        let is_filling = |word: &String| FILLING.contains(&word.as_str());
        said.iter().any(is_known) && said.iter().all(|word| is_known(word) || is_filling(word))
    }
}

/// Returns `true` for a heading that contains only text.
fn is_plain(heading: &NodeRef<'_>) -> bool {
    let is_more = |node: NodeRef<'_>| node.has_name("img") || node.has_attr("data-x-tex");
    heading.text().chars().any(char::is_alphanumeric) && !heading.descendants_it().any(is_more)
}

/// Returns the first headings that contain only text.
fn plain<'a>(found: &'a Selection<'a>) -> Vec<&'a NodeRef<'a>> {
    found.nodes().iter().take(MAX_HEADINGS).filter(|heading| is_plain(heading)).collect()
}

fn stands_first(dom: &Dom, heading: &NodeRef<'_>) -> bool {
    let Some(body) = dom.body() else { return false };
    let is_unseen =
        |node: NodeRef<'_>| ["script", "style", "template"].iter().any(|name| node.has_name(name));
    let is_read = |text: &NodeRef<'_>| {
        text.text().chars().any(char::is_alphanumeric) && !text.parent().is_some_and(is_unseen)
    };
    let first = body.descendants_it().filter(NodeRef::is_text).find(is_read);
    first.is_some_and(|text| text.ancestors_it(None).any(|around| around.id == heading.id))
}

/// Returns `true` for a date in any format that contains a year.
fn is_date(text: &str) -> bool {
    let is_year = |word: &String| word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    text.chars().count() <= MAX_DATE && words(text).iter().any(is_year)
}

/// Returns the words of a date such as `2026-03-05T10:00Z` in several spellings.
fn words_of_date(date: &str) -> Vec<String> {
    let mut all = words(date);
    let is_number = |word: &&String| word.bytes().all(|b| b.is_ascii_digit());
    let numbers: Vec<usize> =
        all.iter().take(3).take_while(is_number).filter_map(|word| word.parse().ok()).collect();
    if let [_, month, _] = numbers.as_slice()
        && let Some(month) = month.checked_sub(1).and_then(|index| MONTHS.get(index))
    {
        all.extend([(*month).to_owned(), month[..3].to_owned()]);
    }
    let plain: Vec<String> = all.iter().map(|word| word.trim_start_matches('0').to_owned()).collect();
    all.extend(plain);
    all
}

fn words(text: &str) -> Vec<String> {
    // `05T10` and `5th` are two words each.
    let mut all: Vec<String> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, rest) = word.split_at(digits);
        let rest = if number.is_empty() { rest } else { rest.trim_start_matches('T') };
        for part in [number, rest] {
            if !part.is_empty() {
                all.push(part.to_lowercase());
            }
        }
    }
    all
}

fn is_same(one: &str, other: &str) -> bool {
    one.split_whitespace().map(str::to_lowercase).eq(other.split_whitespace().map(str::to_lowercase))
}

/// Returns `true` if a text is a part of another one, in complete words.
fn is_part(text: &str, whole: &str) -> bool {
    let spaced = |text: &str| format!(" {} ", words(text).join(" "));
    let text = spaced(text);
    !text.trim().is_empty() && spaced(whole).contains(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about() -> About {
        About {
            title: Some("A Title".to_owned()),
            byline: Some("Ada Lovelace".to_owned()),
            published: Some("2026-03-05T10:00:00Z".to_owned()),
        }
    }

    #[test]
    fn what_is_known_is_found_again_in_other_spellings() {
        let known = [
            "a  title",
            "By Ada Lovelace",
            "March 5, 2026",
            "Published on Mar 05th 2026 at 10:00 by Ada Lovelace",
            "The 5th of March 2026",
        ];
        for text in known {
            assert!(about().says(text), "{text}");
        }
        for text in
            ["A title more", "By Ada Lovelace and Charles Babbage", "March 6, 2026", "by", "", "Updated 2025"]
        {
            assert!(!about().says(text), "{text}");
        }
    }

    #[test]
    fn a_date_has_a_year() {
        assert!(is_date("2026-03-05") && is_date("5 March 2026") && is_date("20 Jan 1999"));
        assert!(
            !is_date("yesterday") && !is_date("05/03/26") && !is_date(&format!("{} 2026", "x".repeat(40)))
        );
    }
}
