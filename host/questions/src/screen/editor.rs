//! A single-line text editor.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use scorpiox_text::is_shown;
use unicode_segmentation::UnicodeSegmentation;

use super::wrap::width;
use crate::answers::MAX_OTHER_CHARS;
use crate::clean::clean_line;

/// Text with a cursor between two graphemes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Editor {
    text: String,
    /// Byte index on a grapheme boundary.
    cursor: usize,
}

impl Editor {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns `true` if the text has no visible content.
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Handles a key. Returns `true` if the editor uses the key.
    pub(super) fn key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char('u') if control => self.remove(0, self.cursor),
            KeyCode::Char('k') if control => self.remove(self.cursor, self.text.len()),
            KeyCode::Char('w') if control => self.remove(self.word_before(), self.cursor),
            KeyCode::Char('h') if control => self.remove(self.before(), self.cursor),
            KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => return false,
            KeyCode::Char(character) => self.insert(character.encode_utf8(&mut [0; 4])),
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            KeyCode::Backspace => self.remove(self.before(), self.cursor),
            KeyCode::Delete => self.remove(self.cursor, self.after()),
            _ => return false,
        }
        true
    }

    /// Inserts text as one line, without characters that must not be shown.
    pub(super) fn paste(&mut self, text: &str) {
        self.insert(&clean_line(text));
    }

    /// Returns the visible part of the text for this number of cells, and the cell of the cursor.
    pub(super) fn window(&self, cells: usize) -> (String, usize) {
        let mut start = 0;
        // The cursor needs a cell after the last character.
        while width(&self.text[start..self.cursor]) >= cells.max(1) {
            start = next_border(&self.text, start);
        }
        let column = width(&self.text[start..self.cursor]);
        let mut seen = String::new();
        for grapheme in self.text[start..].graphemes(true) {
            if width(&seen) + width(grapheme) > cells {
                break;
            }
            seen.push_str(grapheme);
        }
        (seen, column)
    }

    /// Inserts as much text as fits.
    fn insert(&mut self, text: &str) {
        let space = MAX_OTHER_CHARS.saturating_sub(self.text.chars().count());
        let text: String = text.chars().filter(|c| is_shown(*c)).take(space).collect();
        self.text.insert_str(self.cursor, &text);
        // The inserted text may combine with the following text.
        self.cursor = border_at_or_after(&self.text, self.cursor + text.len());
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = border_at_or_after(&self.text, from);
    }

    fn before(&self) -> usize {
        let mut borders = self.text[..self.cursor].grapheme_indices(true);
        borders.next_back().map_or(0, |(index, _)| index)
    }

    fn after(&self) -> usize {
        next_border(&self.text, self.cursor)
    }

    fn word_before(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before.rfind(' ').map_or(0, |space| space + 1)
    }
}

fn next_border(text: &str, index: usize) -> usize {
    text[index..].graphemes(true).next().map_or(text.len(), |grapheme| index + grapheme.len())
}

fn border_at_or_after(text: &str, index: usize) -> usize {
    let mut borders = text.grapheme_indices(true).map(|(border, _)| border);
    borders.find(|border| *border >= index).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn typed(editor: &mut Editor, text: &str) {
        for character in text.chars() {
            editor.key(KeyCode::Char(character).into());
        }
    }

    #[test]
    fn graphemes_are_moved_over_and_removed_as_a_whole() {
        let mut editor = Editor::default();
        typed(&mut editor, "a👨‍👩‍👧e\u{301}x");
        for key in [KeyCode::Left, KeyCode::Backspace, KeyCode::Left, KeyCode::Delete] {
            editor.key(key.into());
        }
        assert_eq!(editor.text(), "ax");
        typed(&mut editor, "字");
        assert_eq!(editor.text(), "a字x");
    }

    #[test]
    fn the_keys_of_a_shell_work() {
        let mut editor = Editor::default();
        typed(&mut editor, "one two three");
        let control = |letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
        editor.key(control('w'));
        assert_eq!(editor.text(), "one two ");
        editor.key(control('a'));
        typed(&mut editor, "x");
        editor.key(control('k'));
        assert_eq!(editor.text(), "x");
        editor.key(control('u'));
        assert_eq!(editor.text(), "");
        assert!(!editor.key(control('c')));
        assert!(!editor.key(KeyEvent::new(KeyCode::Char('x'), KeyModifiers::ALT)));
    }

    #[test]
    fn pastes_become_one_clean_line_within_the_limit() {
        let mut editor = Editor::default();
        editor.paste("a\r\nb\u{1b}[31m\tc");
        assert_eq!(editor.text(), "a b c");
        editor.paste(&"x".repeat(3000));
        assert_eq!(editor.text().chars().count(), MAX_OTHER_CHARS);
    }

    #[test]
    fn the_window_follows_the_cursor() {
        let mut editor = Editor::default();
        typed(&mut editor, "abcdef");
        assert_eq!(editor.window(10), ("abcdef".to_owned(), 6));
        assert_eq!(editor.window(4), ("def".to_owned(), 3));
        editor.key(KeyCode::Home.into());
        assert_eq!(editor.window(4), ("abcd".to_owned(), 0));
        let mut editor = Editor::default();
        typed(&mut editor, "日本語");
        assert_eq!(editor.window(5), ("本語".to_owned(), 4));
    }

    proptest! {
        #[test]
        fn no_sequence_of_keys_leaves_a_border(keys in prop::collection::vec(0usize..9, 0..60)) {
            let mut editor = Editor::default();
            for key in keys {
                match key {
                    0 => typed(&mut editor, "e"),
                    1 => typed(&mut editor, "\u{301}"),
                    2 => typed(&mut editor, "👍\u{1f3fd}"),
                    3 => typed(&mut editor, "\u{200d}"),
                    4 => { editor.key(KeyCode::Left.into()); }
                    5 => { editor.key(KeyCode::Right.into()); }
                    6 => { editor.key(KeyCode::Backspace.into()); }
                    7 => { editor.key(KeyCode::Delete.into()); }
                    _ => typed(&mut editor, " "),
                }
                let (seen, column) = editor.window(6);
                prop_assert!(width(&seen) <= 6 && column < 6);
            }
        }
    }
}
