//! Text next to the image, and the same as data.

use std::fmt::Write as _;

use scorpiox_tool_kit::{Image, Output};
use serde::Serialize;

use crate::format::Format;

/// Report about the file, the sent image, and the changes.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub path: String,
    pub format: Format,
    pub width: u32,
    pub height: u32,
    pub bytes: usize,
    pub sent: Sent,
    pub notes: Vec<String>,
}

/// The image in the result.
#[derive(Debug, Serialize)]
pub(crate) struct Sent {
    pub mime_type: &'static str,
    pub width: u32,
    pub height: u32,
    pub bytes: usize,
}

impl Report {
    /// Returns the result of the call.
    pub(crate) fn output(&self, data: Vec<u8>) -> Output {
        let mut output = Output::with_data(self.text(), self);
        output.images.push(Image { data, mime_type: self.sent.mime_type.to_owned() });
        output
    }

    fn text(&self) -> String {
        let Self { path, format, width, height, bytes, sent, notes } = self;
        let mut text = format!("{path}: {format}, {width} × {height} pixels, {} bytes.", grouped(*bytes));
        if notes.is_empty() {
            text.push_str("\nSent untouched.");
            return text;
        }
        let kind = sent.mime_type.trim_start_matches("image/").to_uppercase();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\nSent as {kind}, {} × {} pixels, {} bytes. {}",
            sent.width,
            sent.height,
            grouped(sent.bytes),
            notes.join(" ")
        );
        text
    }
}

/// Formats a number as `1,234,567`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_grouped() {
        let grouped = [0, 999, 1000, 1_234_567].map(super::grouped);
        assert_eq!(grouped, ["0", "999", "1,000", "1,234,567"]);
    }
}
