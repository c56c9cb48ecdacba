//! Removes images that only repeat the text next to them.

use std::collections::HashSet;

use dom_query::{Document, NodeRef};

/// Maximum distance between an image and its text, in ancestor levels. `MAX_WORDS` is the limit in words.
const LEVELS: usize = 4;
const MAX_WORDS: usize = 80;
/// Minimum number of words of a description. A shorter description may occur in any text.
const MIN_WORDS: usize = 2;
/// Extensions of image files. A link to an image file shows the same image in a larger size.
const PICTURES: [&str; 7] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg"];

/// Removes images whose link target also has a text link, as in cards, and images whose description is in the
/// nearby text.
pub fn drop_repeated(dom: &Document) {
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

/// Returns `true` if the nearest text contains all words of the description except at most one.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_go_whose_words_stand_beside_them() {
        let html = "<div><a href=/tent><img id=a alt=Tent></a><a href=/tent>A tent</a></div>\
                    <div><p>Blue tent for two</p><img id=b alt='Blue tent 1'></div>\
                    <figure><img id=c alt='Blue tent'><figcaption>Blue tent</figcaption></figure>\
                    <p>A sentence.</p><p><a href=large.png><img id=d alt='The way to the camp'></a></p>";
        let dom = Document::from(html);
        drop_repeated(&dom);
        let left: Vec<String> =
            dom.select("img").nodes().iter().map(|node| node.attr_or("id", "").to_string()).collect();
        assert_eq!(left, ["c", "d"]);
    }
}
