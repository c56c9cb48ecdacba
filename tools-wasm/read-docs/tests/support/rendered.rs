//! Markdown from a renderer's point of view.

use std::fmt::Write as _;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};

fn parser(markdown: &str, more: Options) -> Parser<'_> {
    Parser::new_ext(
        markdown,
        more | Options::ENABLE_TABLES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_FOOTNOTES,
    )
}

/// Visible content of a Markdown text.
#[derive(Debug, Default)]
pub struct Seen {
    pub text: String,
    pub code_blocks: Vec<String>,
    /// Cells of each table, row by row.
    pub tables: Vec<Vec<String>>,
    pub links: usize,
    pub images: usize,
    /// Number of formulas. They are not compared, because pages use other notations than TeX.
    pub formulas: usize,
}

/// Renders Markdown. Formulas are parsed only if the page has any, because a dollar sign may be a currency.
pub fn seen(markdown: &str, has_formulas: bool) -> Seen {
    let more = if has_formulas { Options::ENABLE_MATH } else { Options::empty() };
    let mut seen = Seen::default();
    let (mut code, mut cell): (Option<String>, Option<String>) = (None, None);
    // The description of an image is not text of the page.
    let mut in_image = false;
    for event in parser(markdown, more) {
        if ends_line(&event) {
            seen.text.push('\n');
        }
        match event {
            Event::Start(Tag::CodeBlock(_)) => code = Some(String::new()),
            Event::End(TagEnd::CodeBlock) => seen.code_blocks.extend(code.take()),
            Event::Start(Tag::Table(_)) => seen.tables.push(Vec::new()),
            Event::Start(Tag::TableCell) => cell = Some(String::new()),
            Event::End(TagEnd::TableCell) => {
                if let (Some(table), Some(cell)) = (seen.tables.last_mut(), cell.take()) {
                    table.push(cell);
                }
            }
            Event::Start(Tag::Link { .. }) => seen.links += 1,
            Event::Start(Tag::Image { .. }) => {
                seen.images += 1;
                in_image = true;
            }
            Event::End(TagEnd::Image) => in_image = false,
            _ if in_image => {}
            Event::Text(text) | Event::Code(text) => {
                if let Some(code) = &mut code {
                    code.push_str(&text);
                }
                if let Some(cell) = &mut cell {
                    cell.push_str(&text);
                }
                seen.text.push_str(&text);
            }
            Event::FootnoteReference(label) => {
                let _ = write!(seen.text, "[{label}]");
            }
            Event::InlineMath(_) | Event::DisplayMath(_) => seen.formulas += 1,
            Event::SoftBreak | Event::HardBreak | Event::Rule => {
                if let Some(cell) = &mut cell {
                    cell.push(' ');
                }
                seen.text.push(' ');
            }
            Event::InlineHtml(tag) | Event::Html(tag) if tag.starts_with("<br") => {
                if let Some(cell) = &mut cell {
                    cell.push(' ');
                }
                seen.text.push(' ');
            }
            _ => {}
        }
    }
    seen
}

/// Returns `true` if an event separates words.
fn ends_line(event: &Event<'_>) -> bool {
    let is_inline = |tag: &Tag<'_>| {
        matches!(tag, Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. } | Tag::Image { .. })
    };
    match event {
        Event::Start(tag) => !is_inline(tag),
        Event::End(end) => !matches!(
            end,
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
        ),
        _ => false,
    }
}

/// Returns a text's tree in a form that is independent of style.
pub fn tree(markdown: &str) -> String {
    let mut out = String::new();
    let mut in_code = false;
    let mut list_items = 0_usize;
    for event in parser(markdown, Options::empty()) {
        match event {
            // The looseness of a list is style.
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) if list_items > 0 => {
                open(&mut out, "¶");
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                in_code = true;
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                open(&mut out, &format!("<code {language}>"));
            }
            Event::End(TagEnd::CodeBlock) => {
                in_code = false;
                out.truncate(out.trim_end_matches('\n').len());
                open(&mut out, "</code>");
            }
            Event::Start(Tag::Link { link_type, dest_url, title, .. }) => {
                let mail = if link_type == LinkType::Email { "mailto:" } else { "" };
                let title: Vec<_> = title.split_whitespace().collect();
                let _ = write!(out, "<a {mail}{dest_url} {title:?}>");
            }
            Event::Start(Tag::Image { dest_url, title, .. }) => {
                let title: Vec<_> = title.split_whitespace().collect();
                let _ = write!(out, "<img {dest_url} {title:?}>");
            }
            Event::Start(Tag::List(start)) => open(&mut out, &format!("<list {start:?}>")),
            Event::Start(tag) => {
                list_items += usize::from(matches!(tag, Tag::Item));
                start(&mut out, &tag);
            }
            Event::End(tag) => {
                list_items -= usize::from(matches!(tag, TagEnd::Item));
                end(&mut out, tag);
            }
            Event::Text(text) if in_code => out.push_str(&text),
            Event::Text(text) => words(&mut out, &text),
            Event::Code(text) => {
                let _ = write!(out, "<c>{text}</c>");
            }
            Event::SoftBreak => words(&mut out, " "),
            Event::HardBreak => open(&mut out, "<br>"),
            Event::Rule => open(&mut out, "<hr>"),
            Event::Html(text) | Event::InlineHtml(text) => out.push_str(&text),
            other => {
                let _ = write!(out, "{other:?}");
            }
        }
    }
    let one_paragraph_end = out.replace("¶\u{1}¶", "¶").replace('\u{1}', "");
    one_paragraph_end.replace('¶', "").trim().to_owned()
}

fn words(out: &mut String, text: &str) {
    for c in text.chars() {
        let is_space = matches!(c, ' ' | '\n' | '\t');
        if !is_space {
            out.push(c);
        } else if !out.ends_with([' ', '\u{1}']) {
            out.push(' ');
        }
    }
}

/// Adds a mark, and ignores whitespace around it.
fn open(out: &mut String, mark: &str) {
    out.truncate(out.trim_end_matches(' ').len());
    out.push_str(mark);
    out.push('\u{1}');
}

fn start(out: &mut String, tag: &Tag<'_>) {
    match tag {
        Tag::Emphasis => out.push_str("<em>"),
        Tag::Strong => out.push_str("<strong>"),
        Tag::Strikethrough => out.push_str("<del>"),
        other => open(out, &format!("<{other:?}>")),
    }
}

fn end(out: &mut String, tag: TagEnd) {
    match tag {
        TagEnd::Emphasis => out.push_str("</em>"),
        TagEnd::Strong => out.push_str("</strong>"),
        TagEnd::Strikethrough => out.push_str("</del>"),
        TagEnd::Link => out.push_str("</a>"),
        TagEnd::Image => out.push_str("</img>"),
        other => open(out, &format!("</{other:?}>")),
    }
}
