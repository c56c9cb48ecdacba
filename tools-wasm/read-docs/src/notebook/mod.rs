//! Jupyter notebooks (nbformat 3 and 4): text, code in its language, and the code's output. Images are
//! mentioned, but never shown.

mod cells;
mod terminal;

use url::Url;

use crate::document::Document;
use crate::html::nodes_of_fragment;
use crate::html::tree::Node;
use crate::tree::{Blocks, code, heading, simple};
use crate::{Format, markdown};

use cells::{Bundle, Cell, Notebook, Output};

/// Minimum length of encoded data that is removed from a text.
const SHORTEST_DATA: usize = 64;

/// Returns `None` if the source is not a notebook.
pub(crate) fn read(source: &str, url: &Url, format: Format) -> Option<Document> {
    let notebook: Notebook = serde_json::from_str(source).ok()?;
    let language = notebook.language();
    let mut writer = Writer { blocks: Blocks::new(format), format, url, title: None };
    for cell in notebook.cells() {
        writer.cell(cell, &language);
    }
    let title = notebook.title().or(writer.title);
    let (body, note) = writer.blocks.finish();
    Some(Document { title, body, notes: note.into_iter().collect(), ..Document::default() })
}

struct Writer<'a> {
    blocks: Blocks,
    format: Format,
    url: &'a Url,
    title: Option<String>,
}

impl Writer<'_> {
    fn cell(&mut self, cell: &Cell, language: &str) {
        let source = cell.source();
        match cell.kind.0.as_str() {
            "markdown" => self.markdown(source),
            "heading" => {
                let name = heading(cell.level.unwrap_or(1));
                self.blocks.push(vec![simple(name, source)]);
            }
            "code" => {
                if !source.trim().is_empty() {
                    let own = cell.language.0.as_str();
                    let language = if own.is_empty() { language } else { own };
                    self.blocks.push(vec![code(source, magic(source).unwrap_or(language))]);
                }
                for output in &cell.outputs {
                    self.output(output);
                }
            }
            _ if source.trim().is_empty() => {}
            _ => self.blocks.push(vec![code(source, "")]),
        }
    }

    fn markdown(&mut self, source: &str) {
        let text = without_data(source);
        if self.title.is_none() {
            let heading = text.lines().find_map(|line| line.strip_prefix("# "));
            self.title = heading.map(|title| title.trim().to_owned());
        }
        if self.format == Format::Html {
            self.blocks.push(markdown::nodes(&text, self.url));
        } else {
            self.blocks.push_written(&closed(text.trim_matches(['\n', '\r'])));
        }
    }

    fn output(&mut self, output: &Output) {
        match output.kind.0.as_str() {
            "stream" => self.text("Output:", &output.text.0),
            "error" | "pyerr" => {
                let said = format!("{}: {}", output.ename.0, output.evalue.0);
                let trace = &output.traceback.0;
                self.text("Error:", if trace.trim().is_empty() { &said } else { trace });
            }
            _ => {
                for bundle in output.data.iter().chain([&output.of_old_version()]) {
                    self.bundle(bundle);
                }
            }
        }
    }

    /// Adds the plainest meaningful representation of a value.
    fn bundle(&mut self, bundle: &Bundle) {
        let plain = bundle.plain.0.trim_matches('\n');
        // `<pandas.io.formats.style.Styler at 0x7f…>` is not meaningful.
        let is_name = plain.starts_with('<') && plain.ends_with('>') && !plain.contains('\n');
        let says = !plain.trim().is_empty() && !is_name;
        if !bundle.markdown.0.trim().is_empty() {
            self.label("Output:");
            self.markdown(&bundle.markdown.0);
        } else if says && bundle.images.is_empty() {
            self.text("Output:", plain);
        } else if !bundle.html.0.trim().is_empty() {
            let nodes = nodes_of_fragment(&bundle.html.0, Some(self.url));
            if says_something(&nodes) {
                self.label("Output:");
                self.blocks.push(nodes);
            }
        } else if !bundle.latex.0.trim().is_empty() {
            self.text("Output:", &bundle.latex.0);
        } else if says || is_name && bundle.images.is_empty() {
            self.text("Output:", plain);
        }
        for image in &bundle.images {
            self.label(&format!("Output: a picture ({image}), not shown."));
        }
    }

    fn label(&mut self, text: &str) {
        self.blocks.push(vec![simple("p", text)]);
    }

    fn text(&mut self, label: &str, text: &str) {
        let text = terminal::plain(text);
        let text = text.trim_matches('\n');
        if !text.trim().is_empty() {
            self.blocks.push(vec![simple("p", label), code(without_data(text), "")]);
        }
    }
}

fn says_something(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| !node.is_white())
}

/// Returns the language of a cell that begins with a cell magic such as `%%bash`.
fn magic(source: &str) -> Option<&'static str> {
    let name = source.trim_start().strip_prefix("%%")?.split_whitespace().next()?;
    Some(match name {
        "bash" | "sh" | "script" | "!" => "bash",
        "html" | "HTML" => "html",
        "javascript" | "js" => "javascript",
        "latex" => "latex",
        "markdown" => "markdown",
        "perl" => "perl",
        "ruby" => "ruby",
        "sql" => "sql",
        "svg" | "SVG" => "xml",
        "R" => "r",
        _ => return None,
    })
}

/// Removes embedded image data: `data:image/png;base64,…`.
fn without_data(text: &str) -> String {
    const MARK: &str = ";base64,";
    let mut out = String::with_capacity(text.len().min(1024 * 1024));
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(MARK) {
        out.push_str(before);
        out.push_str(MARK);
        let is_data = |c: char| {
            c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_' | '\n' | '\r' | '%')
        };
        let left = after.trim_start_matches(is_data);
        let length = after.len() - left.len();
        if length >= SHORTEST_DATA {
            out.push('…');
            rest = left;
        } else {
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// Closes an unclosed code block, so that the following content is not part of it.
fn closed(text: &str) -> String {
    let mut open: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'));
        let Some(mark) = mark else { continue };
        let run = line.len() - line.trim_start_matches(mark).len();
        let Some(fence) = line.get(..run).filter(|fence| fence.len() >= 3) else { continue };
        open = match open {
            None => Some(fence),
            Some(fence) if line.starts_with(fence) && line.len() == run => None,
            same => same,
        };
    }
    match open {
        Some(fence) => format!("{text}\n{fence}"),
        None => text.to_owned(),
    }
}
