//! Parses a document into headings, code blocks, links and inline code.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// Returns the project's directory.
pub(super) fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the project")
}

/// Returns the paths of the user documentation, relative to the project.
pub(super) fn names() -> Vec<String> {
    let mut names = vec!["README.md".to_owned(), "CONTRIBUTING.md".to_owned()];
    names.extend(pages());
    names
}

/// Returns the pages in `docs/`.
pub(super) fn pages() -> Vec<String> {
    let entries = fs::read_dir(project().join("docs")).expect("the pages");
    let names = entries.map(|entry| entry.expect("a page").file_name().to_string_lossy().into_owned());
    let mut pages: Vec<_> =
        names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")).collect();
    pages.sort();
    pages
}

pub(super) struct Heading {
    pub level: usize,
    /// Line number, from 1.
    pub line: usize,
    pub text: String,
    /// Fragment of links to the heading, without `#`.
    pub anchor: String,
}

/// Fenced block.
pub(super) struct Block {
    /// Line number of the first line of code, from 1.
    pub line: usize,
    pub language: String,
    pub text: String,
    /// Content of an HTML comment on the line before the fence.
    pub marker: Option<String>,
    /// Expected output, from a text block that follows immediately.
    pub prints: Option<String>,
}

pub(super) struct Document {
    pub name: String,
    pub lines: usize,
    pub headings: Vec<Heading>,
    pub blocks: Vec<Block>,
    /// Lines outside of blocks, each with its number.
    pub prose: Vec<(usize, String)>,
}

impl Document {
    pub(super) fn read(name: &str) -> Self {
        let text = fs::read_to_string(project().join(name)).unwrap_or_else(|_| panic!("{name} is missing"));
        let mut document = Self {
            name: name.to_owned(),
            lines: text.lines().count(),
            headings: Vec::new(),
            blocks: Vec::new(),
            prose: Vec::new(),
        };
        let mut open: Option<Block> = None;
        // `true` while only empty lines follow the last block.
        let mut is_next = false;
        for (line, number) in text.lines().zip(1..) {
            match (&mut open, line.strip_prefix("```")) {
                (Some(_), Some(_)) => {
                    let block = open.take().expect("it is open");
                    document.close(block, is_next);
                    is_next = true;
                }
                (Some(block), None) => block.text += &format!("{line}\n"),
                (None, Some(language)) => {
                    let before = document.prose.last().map(|(_, line)| line.trim()).unwrap_or_default();
                    let marker = before.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
                    open = Some(Block {
                        line: number + 1,
                        language: language.trim().to_owned(),
                        text: String::new(),
                        marker: marker.map(|text| text.trim().to_owned()),
                        prints: None,
                    });
                }
                (None, None) => {
                    is_next &= line.trim().is_empty();
                    document.prose(line, number);
                }
            }
        }
        assert!(open.is_none(), "{name}: a block has no end");
        document
    }

    fn close(&mut self, block: Block, is_next: bool) {
        match self.blocks.last_mut() {
            Some(before) if is_next && before.language == "sh" && block.language == "text" => {
                before.prints = Some(block.text);
            }
            _ => self.blocks.push(block),
        }
    }

    fn prose(&mut self, line: &str, number: usize) {
        let text = line.trim_start_matches('#');
        let level = line.len() - text.len();
        if level > 0 && text.starts_with(' ') {
            let text = text.trim().to_owned();
            let same = |heading: &&Heading| slug(&heading.text) == slug(&text);
            let anchor = match self.headings.iter().filter(same).count() {
                0 => slug(&text),
                count => format!("{}-{count}", slug(&text)),
            };
            self.headings.push(Heading { level, line: number, text, anchor });
        }
        self.prose.push((number, line.to_owned()));
    }

    /// Returns the line of a section's heading.
    pub(super) fn heading(&self, text: &str) -> usize {
        let found = self.headings.iter().find(|heading| heading.text == text);
        found.unwrap_or_else(|| panic!("{} has no section {text:?}", self.name)).line
    }

    /// Returns inline code with its line numbers. A span may continue on the next line.
    pub(super) fn inline_code(&self) -> Vec<(usize, String)> {
        let span = Regex::new("(``?)([^`](?:.*?[^`])?)(``?)").expect("an expression");
        let mut found = Vec::new();
        for (number, paragraph) in self.paragraphs() {
            found.extend(span.captures_iter(&paragraph).map(|span| (number, span[2].replace('\n', " "))));
        }
        found
    }

    /// Returns link targets with the line numbers of their paragraphs.
    pub(super) fn links(&self) -> Vec<(usize, String)> {
        let code = Regex::new("``?[^`]*``?").expect("an expression");
        let link = Regex::new(r"\]\(([^)\s]+)\)").expect("an expression");
        let mut found = Vec::new();
        for (number, paragraph) in self.paragraphs() {
            let text = code.replace_all(&paragraph, "code");
            found.extend(link.captures_iter(&text).map(|link| (number, link[1].to_owned())));
        }
        found
    }

    /// Returns runs of nonempty lines by the number of their first line; each table row is separate.
    fn paragraphs(&self) -> BTreeMap<usize, String> {
        let mut paragraphs = BTreeMap::<usize, String>::new();
        let mut last = 0;
        for (number, line) in &self.prose {
            let begins = last == 0 || line.starts_with('|') || line.starts_with("- ");
            if line.trim().is_empty() {
                last = 0;
            } else if begins {
                paragraphs.insert(*number, line.clone());
                last = *number;
            } else {
                *paragraphs.get_mut(&last).expect("its beginning") += &format!("\n{line}");
            }
        }
        paragraphs
    }
}

/// Returns the slug of a heading as common Markdown renderers compute it.
fn slug(heading: &str) -> String {
    let kept = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c))
        .collect::<String>();
    kept.replace(' ', "-")
}
