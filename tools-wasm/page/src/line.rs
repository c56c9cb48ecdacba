//! Formats external text for display on one line.
//!
//! Control characters, terminal escapes, invisible characters and characters that change the text direction
//! are dropped, because they can hide or disguise text.

/// Returns the text on one line, with whitespace collapsed, of at most `max` characters.
pub fn text(raw: &str, max: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    let mut space = false;
    let mut characters = raw.chars();
    while let Some(c) = characters.next() {
        if c == '\u{1b}' {
            skip_escape(&mut characters);
            continue;
        }
        if c.is_whitespace() {
            space = true;
            continue;
        }
        if is_hidden(c) {
            continue;
        }
        let wanted = 1 + usize::from(space && length > 0);
        if length + wanted > max {
            cut(&mut out, length, max);
            return out;
        }
        if space && length > 0 {
            out.push(' ');
        }
        out.push(c);
        length += wanted;
        space = false;
    }
    out
}

/// Adds an ellipsis to a text that is cut.
fn cut(out: &mut String, length: usize, max: usize) {
    if length >= max {
        out.pop();
    }
    while out.ends_with(' ') {
        out.pop();
    }
    out.push('…');
}

/// Returns the complete text on one line.
pub fn whole(raw: &str) -> String {
    text(raw, usize::MAX)
}

/// Skips the characters after ESC: `[`, parameters and a final letter, or a single character.
fn skip_escape(characters: &mut std::str::Chars<'_>) {
    const MAX_PARAMETERS: usize = 32;
    let mut ahead = characters.clone();
    if ahead.next() != Some('[') {
        return;
    }
    let end = ahead.by_ref().take(MAX_PARAMETERS).find(|c| ('\u{40}'..='\u{7e}').contains(c));
    if end.is_some() {
        *characters = ahead;
    }
}

/// Returns `true` for characters that are invisible or change the display of other characters.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            // Zero-width space, direction marks, line separators. The joiners between them are part of
            // scripts and emoji.
            | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            // Tags and other variation selectors can encode invisible text.
            | '\u{e0000}'..='\u{e0fff}')
}
