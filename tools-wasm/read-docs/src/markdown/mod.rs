//! Markdown files: kept unchanged, except for markup for site generators.

mod front;
mod links;
mod mdx;
mod nodes;

use url::Url;

use crate::document::Document;
use crate::write::escape;

pub(crate) use nodes::nodes;

/// Reads a Markdown file from a URL. The first heading is the title if the front matter has none.
pub(crate) fn read(text: &str, url: &Url) -> Document {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (front, body) = front::split(text).unwrap_or_else(|| (front::Front::default(), text));
    let body = mdx::plain(body, url.path());
    let mut body = links::absolute(body.trim_start_matches(['\n', '\r']).to_owned(), url);
    let heading = first_heading(&body);
    let title = front.title.clone().or_else(|| heading.clone());
    let facts = facts(&front);
    let mut head = String::new();
    let begins_with_title = heading.is_some() && body.starts_with("# ");
    if begins_with_title && !facts.is_empty() {
        // The heading goes above the metadata.
        let end = body.find('\n').unwrap_or(body.len());
        let rest = body.split_off(end);
        head.push_str(body.trim_end());
        rest.trim_start_matches(['\n', '\r']).clone_into(&mut body);
    } else if let (None, Some(title)) = (&heading, &front.title) {
        head = format!("# {}", escape::text(title, false));
    }
    if !facts.is_empty() {
        head.push_str(if head.is_empty() { "" } else { "\n\n" });
        head.push_str(&facts);
    }
    Document { title, byline: front.author, published: front.date, head, body, notes: Vec::new() }
}

/// Returns the first level-1 heading outside of code.
fn first_heading(body: &str) -> Option<String> {
    let mut fence = Fence::default();
    body.lines().filter(|line| !fence.holds(line)).find_map(|line| {
        let title = line.strip_prefix("# ")?;
        Some(title.trim().trim_end_matches('#').trim_end().to_owned()).filter(|title| !title.is_empty())
    })
}

fn facts(front: &front::Front) -> String {
    let byline = front.author.as_deref().map(|author| format!("By {}", escape::text(author, false)));
    let date = front.date.as_deref().map(|date| escape::text(date, false));
    byline.into_iter().chain(date).collect::<Vec<_>>().join(" · ")
}

/// Tracks if lines are in a code block.
#[derive(Debug, Default)]
struct Fence {
    /// Character and length of the fence that opened the block.
    open: Option<(char, usize)>,
}

impl Fence {
    /// Returns `true` if the next line is code or a fence.
    fn holds(&mut self, line: &str) -> bool {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'));
        let length = mark.map_or(0, |mark| line.len() - line.trim_start_matches(mark).len());
        match (self.open, mark) {
            (None, Some(mark)) if length >= 3 => {
                self.open = Some((mark, length));
                true
            }
            (None, _) => false,
            (Some((open, least)), Some(mark)) if mark == open && length >= least => {
                if line.trim_start_matches(mark).trim().is_empty() {
                    self.open = None;
                }
                true
            }
            (Some(_), _) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Document {
        super::read(text, &Url::parse("https://example.org/a.md").expect("a URL"))
    }

    #[test]
    fn front_matter_becomes_the_lines_above() {
        let file = "---\ntitle: \"Tides: a guide\"\nauthor:\n  - Jane Doe\n  - name: Max\ndate: 2024-05-06\ntags: [a, b]\n---\n\nText.\n";
        let document = read(file);
        assert_eq!(document.title.as_deref(), Some("Tides: a guide"));
        assert_eq!(document.byline.as_deref(), Some("Jane Doe, Max"));
        assert_eq!(document.text(), "# Tides: a guide\n\nBy Jane Doe, Max · 2024-05-06\n\nText.\n");
    }

    #[test]
    fn a_heading_of_its_own_stays_the_first_line() {
        let document = read("---\nauthor: Jane\n---\n# Start\n\nText.\n");
        assert_eq!(document.text(), "# Start\n\nBy Jane\n\nText.\n");
        let document = read("---\ntitle: Start here\n---\n# Start\n\nText.\n");
        assert_eq!(document.text(), "# Start\n\nText.\n");
        assert_eq!(document.title.as_deref(), Some("Start here"));
    }

    #[test]
    fn what_only_looks_like_front_matter_is_text() {
        for file in [
            "---\n\nA line, a paragraph, a line.\n\n---\n",
            "---\nnot a mapping\n---\n",
            "---\n- a\n- list\n---\n",
            "---\ntitle: never closed\n",
            "---\n{unclosed: [\n---\nx",
            "# Title\n\n---\na: b\n---\n",
            "---",
            "",
        ] {
            assert_eq!(read(file).text(), file.trim_start_matches('\n'), "{file:?}");
        }
    }

    #[test]
    fn headings_in_code_are_no_title() {
        assert_eq!(read("```sh\n# comment\n```\n# Real\n").title.as_deref(), Some("Real"));
        assert_eq!(read("```sh\n# comment\n").title, None);
    }
}
