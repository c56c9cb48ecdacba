//! Formats values separated by commas, semicolons, tabs or bars as a table.

use std::collections::HashSet;

use csv::{Reader, ReaderBuilder, StringRecord};

use crate::Format;
use crate::document::Document;
use crate::kinds::{Read, Source, as_it_is};
use crate::write::escape;

/// Maximum size of the sample from which the delimiter is detected, in bytes. `SAMPLE_RECORDS` is the maximum
/// number of records.
const SAMPLE_BYTES: usize = 64 * 1024;
const SAMPLE_RECORDS: usize = 200;
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Maximum number of columns in the result.
const MAX_COLUMNS: usize = 500;
/// Maximum number of lines of a value. A longer value is the result of an unclosed quote.
const MAX_LINES_OF_VALUE: usize = 1000;

pub(crate) fn read(text: String, source: &Source<'_>) -> Read {
    let (by_mark, body) = split_mark(&text);
    let by_type = || source.content_type.ends_with("tab-separated-values").then_some(b'\t');
    let Some(delimiter) = by_mark.or_else(by_type).or_else(|| sniff(body)) else {
        // A single column needs no table.
        return as_it_is(text, source);
    };
    let quoted = Table::of(body, delimiter, true).filter(|table| !table.has_open_quote);
    let mut notes = Vec::new();
    let table = quoted.or_else(|| {
        notes.push("A quote is never closed, so quotes are shown as they are.".to_owned());
        Table::of(body, delimiter, false)
    });
    let Some(table) = table else { return as_it_is(text, source) };
    if table.width > MAX_COLUMNS {
        notes.push(format!("Rows have up to {} columns; the first {MAX_COLUMNS} are shown.", table.width));
    }
    let body = match source.format {
        Format::Markdown => table.write(&Markdown),
        Format::Text => table.write(&Plain),
        Format::Html => table.write(&Html),
    };
    Read::written(Document { body, notes, ..Document::default() })
}

/// Returns the delimiter from the `sep=` line that Excel writes at the beginning.
fn split_mark(text: &str) -> (Option<u8>, &str) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    match first.trim_end_matches('\r').strip_prefix("sep=").map(str::as_bytes) {
        Some([delimiter]) => (Some(*delimiter), rest),
        _ => (None, text),
    }
}

/// Detects the delimiter that splits most records into the same number of values.
fn sniff(text: &str) -> Option<u8> {
    let end = text.floor_char_boundary(SAMPLE_BYTES);
    let sample = text.get(..end).unwrap_or(text);
    // The last line is incomplete, unless it is the only line.
    let sample =
        if end < text.len() { sample.rsplit_once('\n').map_or(sample, |(lines, _)| lines) } else { sample };
    let score = |delimiter: u8| {
        let widths: Vec<usize> = reader(sample, delimiter, true)
            .records()
            .take(SAMPLE_RECORDS)
            .filter_map(|record| Some(record.ok()?.len()))
            .collect();
        let usual = usual(&widths)?;
        let same = widths.iter().filter(|width| **width == usual).count();
        (usual > 1)
            .then(|| (same.saturating_mul(1000).checked_div(widths.len()).unwrap_or(0), usual, delimiter))
    };
    // Ties prefer the first delimiter.
    let best =
        DELIMITERS.into_iter().rev().filter_map(score).max_by_key(|(share, width, _)| (*share / 100, *width));
    best.map(|(_, _, delimiter)| delimiter)
}

/// Returns the most frequent number.
fn usual(widths: &[usize]) -> Option<usize> {
    let count = |width: usize| widths.iter().filter(|other| **other == width).count();
    widths.iter().copied().max_by_key(|width| (count(*width), *width))
}

fn reader(text: &str, delimiter: u8, quoting: bool) -> Reader<&[u8]> {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .has_headers(false)
        .quoting(quoting)
        .from_reader(text.as_bytes())
}

/// Result of the first pass.
struct Table<'a> {
    text: &'a str,
    delimiter: u8,
    quoting: bool,
    /// Number of values in the widest row.
    width: usize,
    has_head: bool,
    has_open_quote: bool,
}

/// An output format for rows.
trait Writer {
    fn begin(&self, head: Option<&StringRecord>, width: usize, out: &mut String);
    fn row(&self, row: &StringRecord, out: &mut String);
    fn end(&self, out: &mut String);
}

impl<'a> Table<'a> {
    /// Returns `None` if there are no rows.
    fn of(text: &'a str, delimiter: u8, quoting: bool) -> Option<Self> {
        let mut reader = reader(text, delimiter, quoting);
        let mut record = StringRecord::new();
        let mut table = Self { text, delimiter, quoting, width: 0, has_head: false, has_open_quote: false };
        let mut is_first = true;
        while reader.read_record(&mut record).ok()? {
            if is_first {
                table.has_head = is_head(&record);
                is_first = false;
            }
            table.width = table.width.max(record.len());
            table.has_open_quote |=
                record.iter().any(|value| value.lines().nth(MAX_LINES_OF_VALUE).is_some());
        }
        (table.width > 0).then_some(table)
    }

    fn write(&self, writer: &impl Writer) -> String {
        let mut out = String::with_capacity(self.text.len().saturating_add(self.text.len() / 2));
        let mut reader = reader(self.text, self.delimiter, self.quoting);
        let mut record = StringRecord::new();
        let mut next = |record: &mut StringRecord| reader.read_record(record).unwrap_or(false);
        let width = self.width.min(MAX_COLUMNS);
        if self.has_head && next(&mut record) {
            writer.begin(Some(&record), width, &mut out);
        } else {
            writer.begin(None, width, &mut out);
        }
        while next(&mut record) {
            writer.row(&record, &mut out);
        }
        writer.end(&mut out);
        out.truncate(out.trim_end().len());
        out
    }
}

/// Returns `true` if a row contains column names: no value is empty, a number, or a duplicate.
fn is_head(row: &StringRecord) -> bool {
    let mut seen = HashSet::new();
    // A column of row numbers has no name.
    let named = row.iter().enumerate().filter(|(at, value)| *at > 0 || !value.trim().is_empty());
    named.map(|(_, value)| value.trim()).all(|value| {
        let is_number = value.parse::<f64>().is_ok() || value.replace(',', ".").parse::<f64>().is_ok();
        !value.is_empty() && !is_number && !is_date(value) && seen.insert(value)
    }) && !seen.is_empty()
}

/// Returns `true` for dates such as `2024-05-06` and `06.05.2024 12:30`.
fn is_date(value: &str) -> bool {
    let is_mark = |c: char| matches!(c, '-' | '/' | '.' | ':' | ' ' | 'T' | 'Z' | '+');
    value.len() >= 8
        && value.starts_with(|c: char| c.is_ascii_digit())
        && value.chars().all(|c| c.is_ascii_digit() || is_mark(c))
}

struct Markdown;

impl Markdown {
    fn push(value: &str, out: &mut String) {
        for (number, line) in value.trim().lines().map(str::trim).enumerate() {
            if number > 0 {
                out.push_str("<br>");
            }
            out.push_str(&escape::text(line, false).replace('|', "\\|"));
        }
    }
}

impl Writer for Markdown {
    fn begin(&self, head: Option<&StringRecord>, width: usize, out: &mut String) {
        out.push('|');
        for at in 0..width {
            out.push(' ');
            Self::push(head.and_then(|head| head.get(at)).unwrap_or_default(), out);
            out.push_str(" |");
        }
        out.push_str("\n|");
        for _ in 0..width {
            out.push_str(" --- |");
        }
        out.push('\n');
    }

    fn row(&self, row: &StringRecord, out: &mut String) {
        out.push('|');
        for value in row.iter().take(MAX_COLUMNS) {
            out.push(' ');
            Self::push(value, out);
            out.push_str(" |");
        }
        out.push('\n');
    }

    fn end(&self, _: &mut String) {}
}

struct Plain;

impl Writer for Plain {
    fn begin(&self, head: Option<&StringRecord>, _: usize, out: &mut String) {
        if let Some(head) = head {
            self.row(head, out);
        }
    }

    fn row(&self, row: &StringRecord, out: &mut String) {
        for (number, value) in row.iter().take(MAX_COLUMNS).enumerate() {
            if number > 0 {
                out.push_str(" | ");
            }
            for (number, line) in value.trim().lines().enumerate() {
                if number > 0 {
                    out.push(' ');
                }
                out.push_str(line.trim());
            }
        }
        out.push('\n');
    }

    fn end(&self, _: &mut String) {}
}

struct Html;

impl Html {
    fn push_row(row: &StringRecord, cell: &str, out: &mut String) {
        out.push_str("<tr>");
        for value in row.iter().take(MAX_COLUMNS) {
            for part in ["<", cell, ">", &escape::html(value.trim()), "</", cell, ">"] {
                out.push_str(part);
            }
        }
        out.push_str("</tr>\n");
    }
}

impl Writer for Html {
    fn begin(&self, head: Option<&StringRecord>, _: usize, out: &mut String) {
        out.push_str("<table>\n");
        if let Some(head) = head {
            Self::push_row(head, "th", out);
        }
    }

    fn row(&self, row: &StringRecord, out: &mut String) {
        Self::push_row(row, "td", out);
    }

    fn end(&self, out: &mut String) {
        out.push_str("</table>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_the_one_that_parts_rows_alike() {
        let cases = [
            ("a,b\n1,2\n", Some(b',')),
            ("a;b\n1,5;2,5\n3,5;4\n", Some(b';')),
            ("a\tb, c\n1\t2\n", Some(b'\t')),
            ("a|b\n1|2", Some(b'|')),
            ("name,\"text; with; these\"\nx,\"y;z\"", Some(b',')),
            ("one\ntwo\nthree", None),
            ("", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(sniff(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_head_names_columns() {
        let cases = [
            (vec!["name", "age"], true),
            (vec!["", "age"], true),
            (vec!["name", ""], false),
            (vec!["Ana", "37"], false),
            (vec!["a", "a"], false),
            (vec!["2024-05-06", "x"], false),
            (vec!["1,5", "x"], false),
        ];
        for (row, wanted) in cases {
            assert_eq!(is_head(&StringRecord::from(row.clone())), wanted, "{row:?}");
        }
    }
}
