//! Pictures that say nothing that does not stand beside them.

use std::collections::HashSet;

use dom_query::{Document as Dom, NodeRef};

/// How far around a picture its text may stand: in elements, and in words.
const LEVELS: usize = 4;
const MAX_WORDS: usize = 80;
/// A shorter description may well stand in any text.
const MIN_WORDS: usize = 2;
/// Files of pictures: a link to one shows the same picture larger.
const PICTURES: [&str; 7] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg"];

/// Removes the pictures of cards, which link where a text beside them does, and those whose description stands
/// beside them.
pub(super) fn drop_repeated(dom: &Dom) {
    let says = |link: &&NodeRef<'_>| link.text().chars().any(char::is_alphanumeric);
    let links = dom.select("a[href]");
    let said: HashSet<String> =
        links.nodes().iter().filter(says).map(|link| link.attr_or("href", "").to_string()).collect();
    for image in dom.select("img").nodes() {
        let link = image.ancestors_it(Some(LEVELS)).find(|around| around.has_name("a"));
        let target =
            link.map(|link| link.attr_or("href", "").to_string()).filter(|target| !is_picture(target));
        if target.is_some_and(|target| said.contains(&target)) || is_described_beside(image) {
            image.remove_from_parent();
        }
    }
}

fn is_picture(address: &str) -> bool {
    let path = address.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    PICTURES.iter().any(|ending| path.ends_with(ending))
}

/// Whether the nearest text has the words of the description, but for one.
fn is_described_beside(image: &NodeRef<'_>) -> bool {
    let description = words(&image.attr_or("alt", ""));
    if description.len() < MIN_WORDS {
        return false;
    }
    let is_whole = |node: &NodeRef<'_>| node.has_name("body") || node.has_name("figure");
    for around in image.ancestors_it(Some(LEVELS)).take_while(|node| !is_whole(node)) {
        let text: HashSet<String> = words(&around.text()).into_iter().collect();
        if text.len() > MAX_WORDS {
            return false;
        }
        if !text.is_empty() {
            let missing = description.iter().filter(|word| !text.contains(*word)).count();
            return missing * 3 <= description.len() && missing <= 1;
        }
    }
    false
}

fn words(text: &str) -> Vec<String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    parts.take(10 * MAX_WORDS).map(str::to_lowercase).collect()
}
