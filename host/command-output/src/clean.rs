//! Converts terminal output to text.
//!
//! Escape sequences are removed. Carriage return, backspace and erase-line are applied as on a terminal, so
//! that a progress bar leaves its final state. Other cursor movements are ignored, because there is no
//! screen. Characters that hide or reorder text (bidi controls, byte order marks, tags) are removed too.

use vte::{Params, Parser, Perform};

/// Percentage of non-text bytes above which output counts as binary.
const MAX_ODD_PERCENT: usize = 10;
/// Number of bytes inspected for the decision.
const SAMPLE_BYTES: usize = 8 * 1024;
/// Number of bytes shown of a binary output.
const SHOWN_BYTES: usize = 16;

/// Cleaned text, or a summary of binary output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned {
    /// Text without control characters other than line feed and tab.
    pub text: String,
    /// `true` if the text is only a summary.
    pub binary: bool,
}

/// Makes bytes readable.
pub fn clean(bytes: &[u8]) -> Cleaned {
    if is_binary(bytes) {
        return Cleaned { text: summary(bytes, bytes.len() as u64), binary: true };
    }
    Cleaned { text: text(bytes), binary: false }
}

/// Returns `true` if the bytes are not text.
pub fn is_binary(bytes: &[u8]) -> bool {
    let sample = &bytes[..bytes.len().min(SAMPLE_BYTES)];
    let odd_control = |byte: &&u8| matches!(byte, 1..=6 | 14..=26 | 28..=31 | 127);
    let mut odd = sample.iter().filter(odd_control).count();
    // Some listings separate names with NUL. Those are few, with text in between.
    let nuls = sample.split(|byte| *byte == 0).count() - 1;
    if nuls * 4 > sample.len() || sample.windows(2).any(|pair| pair == [0, 0]) {
        return true;
    }
    for chunk in sample.utf8_chunks() {
        odd += chunk.invalid().len();
    }
    odd * 100 > sample.len() * MAX_ODD_PERCENT && sample.len() > SHOWN_BYTES || known_kind(bytes).is_some()
}

/// Returns the summary that replaces binary output.
pub(crate) fn summary(beginning: &[u8], total: u64) -> String {
    use std::fmt::Write;
    let mut text = format!("[binary output: {}", crate::human_bytes(total));
    if let Some(kind) = known_kind(beginning) {
        let _ = write!(text, ", looks like {kind}");
    }
    text.push_str("; begins");
    for byte in beginning.iter().take(SHOWN_BYTES) {
        let _ = write!(text, " {byte:02x}");
    }
    text.push(']');
    text
}

fn known_kind(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 11] = [
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"\xff\xd8\xff", "JPEG"),
        (b"GIF87a", "GIF"),
        (b"GIF89a", "GIF"),
        (b"PK\x03\x04", "ZIP"),
        (b"\x1f\x8b", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\x7fELF", "ELF"),
        (b"\0asm", "WebAssembly"),
        (b"SQLite format 3\0", "SQLite"),
        (b"%PDF-", "PDF"),
    ];
    KINDS.iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, kind)| *kind)
}

fn text(bytes: &[u8]) -> String {
    let mut screen = Screen::default();
    let mut parser = Parser::new();
    let bytes = String::from_utf8_lossy(bytes);
    for line in bytes.split_inclusive('\n') {
        if is_plain(line) {
            screen.text.push_str(line);
        } else {
            // A string sequence (OSC, DCS) without a terminator on its line would swallow the rest.
            screen.feed(&mut parser, line.as_bytes());
        }
    }
    screen.end_line(false);
    screen.text
}

/// Returns `true` if the line needs no processing, as most lines do. A byte that may begin a hidden character
/// counts as special without a closer check.
fn is_plain(line: &str) -> bool {
    let is_odd = |byte: u8| byte < b' ' && !matches!(byte, b'\t' | b'\n') || byte == 0x7f;
    let may_hide = |byte: u8| matches!(byte, 0xc2 | 0xe2 | 0xef | 0xf3);
    // No early exit, so that the compiler vectorizes the loop.
    !line.bytes().fold(false, |odd, byte| odd | is_odd(byte) | may_hide(byte))
}

/// The current line, and the completed lines before it.
#[derive(Default)]
struct Screen {
    text: String,
    line: Vec<char>,
    column: usize,
}

impl Screen {
    fn feed(&mut self, parser: &mut Parser, line: &[u8]) {
        let ends = line.ends_with(b"\n");
        let content = if ends { &line[..line.len() - 1] } else { line };
        parser.advance(self, content);
        if !ends {
            return;
        }
        // CAN cancels any open sequence at the end of the line.
        parser.advance(self, &[0x18]);
        self.end_line(true);
    }

    fn put(&mut self, c: char) {
        if is_hidden(c) {
            return;
        }
        match self.line.get_mut(self.column) {
            Some(place) => *place = c,
            None => self.line.push(c),
        }
        self.column += 1;
    }

    fn end_line(&mut self, with_feed: bool) {
        self.text.extend(self.line.drain(..));
        self.column = 0;
        if with_feed {
            self.text.push('\n');
        }
    }
}

/// Returns `true` for invisible characters that change how others are displayed.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}'
        | '\u{7f}'..='\u{9f}')
}

impl Perform for Screen {
    fn print(&mut self, c: char) {
        self.put(c);
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\t' => self.put('\t'),
            b'\r' => self.column = 0,
            0x08 => self.column = self.column.saturating_sub(1),
            0 => self.put('␀'),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, _intermediates: &[u8], _ignore: bool, action: char) {
        if action != 'K' {
            return;
        }
        match params.iter().next().and_then(|param| param.first()).copied().unwrap_or(0) {
            0 => self.line.truncate(self.column),
            1 => self.line.iter_mut().take(self.column + 1).for_each(|c| *c = ' '),
            _ => {
                self.line.clear();
                self.line.resize(self.column, ' ');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(bytes: &[u8]) -> String {
        clean(bytes).text
    }

    #[test]
    fn sequences_are_taken_out_and_lines_stay() {
        assert_eq!(shown(b"\x1b[1;31mred\x1b[0m\r\nnext\tx\n"), "red\nnext\tx\n");
        assert_eq!(shown(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "alink");
        assert_eq!(shown(b"a\x1b(Bb\x1bcc\x1b[?25hd\x1b[999999999Ce"), "abcde");
    }

    #[test]
    fn an_open_sequence_ends_with_its_line() {
        assert_eq!(shown(b"one\x1b]0;never closed\ntwo\n"), "one\ntwo\n");
        assert_eq!(shown(b"\x1bPq never closed\ntwo"), "\ntwo");
        assert_eq!(shown(b"cut\x1b[3"), "cut");
    }

    #[test]
    fn progress_bars_leave_their_last_state() {
        assert_eq!(shown(b"10%\r50%\r100%\ndone\n"), "100%\ndone\n");
        assert_eq!(shown(b"long text\rab\x1b[K\n"), "ab\n");
        assert_eq!(shown(b"long text\rab\n"), "abng text\n");
        assert_eq!(shown(b"abc\x1b[2K\rx\n"), "x  \n");
        assert_eq!(shown(b"N\x08NA\x08A"), "NA");
    }

    #[test]
    fn what_hides_or_reorders_is_taken_out() {
        assert_eq!(shown("a\u{202e}b\u{2066}c\u{feff}d\u{e0041}e\u{9b}31m\u{7f}f".as_bytes()), "abcde31mf");
        assert_eq!(shown("👨\u{200d}👩 ä".as_bytes()), "👨\u{200d}👩 ä");
    }

    #[test]
    fn bytes_that_are_no_text_become_replacement_characters() {
        assert_eq!(shown(b"caf\xe9 and a longer text around it"), "caf\u{fffd} and a longer text around it");
    }

    #[test]
    fn single_nuls_are_shown_and_many_are_binary() {
        assert_eq!(shown(b"HOME=/x\0PATH=/y\0"), "HOME=/x␀PATH=/y␀");
        assert!(clean(&[0; 100]).binary);
        let png = clean(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        assert!(png.binary);
        assert!(
            png.text.starts_with("[binary output: 16 bytes, looks like PNG; begins 89 50 4e 47"),
            "{}",
            png.text
        );
    }

    proptest! {
        #[test]
        fn plain_lines_are_what_the_screen_would_show(line in "[ -~\\tä日]{0,80}\n?") {
            prop_assert!(is_plain(&line));
            let mut screen = Screen::default();
            screen.feed(&mut Parser::new(), line.as_bytes());
            screen.end_line(false);
            prop_assert_eq!(screen.text, line);
        }

        #[test]
        fn whatever_comes_is_clean(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let text = shown(&bytes);
            prop_assert!(!text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        }
    }
}
