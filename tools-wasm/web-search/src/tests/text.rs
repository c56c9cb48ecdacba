use proptest::prelude::*;

use crate::clean::{is_hidden, text};
use crate::markup::plain;

#[test]
fn control_characters_escapes_and_hidden_text_are_dropped() {
    assert_eq!(text("  a\t\n b\u{a0}c ", 99), "a b c");
    assert_eq!(text("\u{1b}[31;1mred\u{1b}[0m \u{1b}c plain\u{7}\u{0}", 99), "red c plain");
    assert_eq!(text("safe\u{202e}gpj.exe\u{2066}x\u{2069}\u{200f}", 99), "safegpj.exex");
    assert_eq!(text("a\u{200b}b\u{feff}c\u{ad}d\u{e0041}\u{e007f}e", 99), "abcde");
    assert_eq!(text("नमस्\u{200d}ते 👩\u{200d}💻", 99), "नमस्\u{200d}ते 👩\u{200d}💻");
    assert_eq!(text("\u{1b}[9999", 99), "[9999", "an escape that does not end is text");
}

#[test]
fn long_texts_are_cut() {
    assert_eq!(text("abcdef", 6), "abcdef");
    assert_eq!(text("abcdefg", 6), "abcde…");
    assert_eq!(text("abcde fg", 6), "abcde…");
    assert_eq!(text("éé éé éé", 6), "éé éé…");
}

#[test]
fn tags_and_entities_are_taken_out_but_not_what_looks_like_them() {
    assert_eq!(plain("no markup"), "no markup");
    assert_eq!(plain("<b>Tide</b>s &amp; the &#x27;moon&#39; &hellip;"), "Tides & the 'moon' …");
    assert_eq!(plain("Vec<T>, a < b && b > c, <3"), "Vec<T>, a < b && b > c, <3");
    assert_eq!(plain("<script>alert(1)</script>after<style>x</style>"), "after");
    assert_eq!(plain("<img src=x onerror=alert(1)>seen<!-- not -->"), "seen");
    assert_eq!(text(&plain("one<br>two<p>three"), 99), "one two three");
    assert_eq!(plain("cut off <a href='x"), "cut off <a href='x");
}

proptest! {
    #[test]
    fn cleaned_text_is_short_and_of_one_line(raw in any::<String>(), max in 1..40usize) {
        let clean = text(&raw, max);
        prop_assert!(clean.chars().count() <= max);
        prop_assert!(!clean.chars().any(|c| is_hidden(c) || (c.is_whitespace() && c != ' ')));
        prop_assert_eq!(text(&clean, max), clean);
    }

    #[test]
    fn any_text_survives_having_its_tags_taken_out(raw in "[<>/a-z &;#'\"=!-]{0,60}") {
        plain(&raw);
    }
}
