//! Arguments as people see them before they decide.

use scorpiox_text::line::escaped_json;
use serde_json::{Map, Value, json};

/// Maximum length of the shown arguments, in characters. A person approves only what is shown completely.
pub const MAX_SHOWN_CHARS: usize = 1500;
/// Maximum length of arguments that may be shown, in bytes: JSON takes up to twelve for a character.
const MAX_BYTES: usize = 12 * MAX_SHOWN_CHARS + 2;
/// Maximum number of blanks in a row, plus one.
const MAX_BLANKS: usize = 32;

/// Returns the arguments, one on each line, without characters that hide or reorder others.
///
/// # Errors
///
/// Fails if the arguments cannot be shown completely, with the reason as the end of a sentence.
pub fn shown(arguments: &str) -> Result<String, String> {
    if arguments.len() > MAX_BYTES {
        return Err(too_long(arguments.chars().count()));
    }
    let members: Map<String, Value> =
        serde_json::from_str(arguments).map_err(|_| "its arguments are no JSON object".to_owned())?;
    let lines: Vec<_> = members.iter().map(|(key, value)| line(key, value)).collect();
    let shown = if lines.is_empty() { "no arguments".to_owned() } else { lines.join("\n") };
    if shown.contains(&" ".repeat(MAX_BLANKS)) {
        return Err(format!("its arguments have {MAX_BLANKS} blanks in a row, which would hide the rest"));
    }
    let chars = shown.chars().count();
    if chars > MAX_SHOWN_CHARS {
        return Err(too_long(chars));
    }
    Ok(shown)
}

fn too_long(chars: usize) -> String {
    format!(
        "its arguments have {chars} characters, but at most {MAX_SHOWN_CHARS} can be shown to the person; make the call \
         smaller"
    )
}

/// Returns `false` for characters that many fonts show as nothing: all blanks but the space, characters for private use
/// or without a meaning, and outside of the usual planes, everything but emoji and ideographs.
fn has_glyph(c: char) -> bool {
    let is_usual = matches!(c, '\0'..='\u{ffff}' | '\u{1f000}'..='\u{1faff}' | '\u{20000}'..='\u{3ffff}');
    // The standard library knows the characters of Unicode. Marks count after a letter.
    let is_printed = || String::from_iter(['a', c]).escape_debug().eq(['a', c]);
    is_usual && (matches!(c, ' '..='~') || is_printed())
}

/// Returns an argument on one line.
fn line(key: &str, value: &Value) -> String {
    let member = json!({ key: value }).to_string();
    let line = escaped_json(&member);
    let line = line.strip_prefix('{').and_then(|line| line.strip_suffix('}')).unwrap_or(&line);
    line.chars().fold(String::new(), |mut shown, c| {
        if has_glyph(c) {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
        shown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_may_be_seen_as_nothing_are_escaped() {
        let given = json!({"x": "a\u{1d159}\u{13441}é漢😀"}).to_string();
        assert_eq!(shown(&given).as_deref(), Ok(r#""x":"a\u{1d159}\u{13441}é漢😀""#));
    }

    #[test]
    fn of_all_blanks_only_spaces_are_shown_as_they_are_and_so_they_can_be_counted() {
        for c in ('\0'..=char::MAX).filter(|c| c.is_whitespace() && *c != ' ') {
            let given = json!({ "x": format!("a{}", [' ', c].iter().cycle().take(900).collect::<String>()) });
            let shown = shown(&given.to_string());
            assert!(shown.is_err() || shown.is_ok_and(|shown| !shown.contains(c)), "{}", c.escape_unicode());
            let given = json!({ "x": format!("a{c}b"), (c.to_string()): 1 }).to_string();
            let shown = super::shown(&given).expect("shown");
            assert!(!shown.replace('\n', "").contains(c), "{}", c.escape_unicode());
        }
        for blank in
            ['\u{3000}', '\u{e000}', '\u{f8ff}', '\u{378}', '\u{fdd0}', '\u{1faff}', '\u{3fffd}', '\u{2800}']
        {
            assert!(
                !shown(&json!({ "x": blank }).to_string()).expect("shown").contains(blank),
                "{}",
                blank.escape_unicode()
            );
        }
        let words = "naïve e\u{301} 漢字、かな 한글 हिन्दी ไทย עברית ✓ 🦀 €";
        assert_eq!(shown(&json!({ "x": words }).to_string()), Ok(format!("\"x\":\"{words}\"")));
    }

    #[test]
    fn arguments_that_would_hide_something_are_not_shown() {
        let blanks = json!({"x": " ".repeat(40)}).to_string();
        let long = json!({"x": "y".repeat(2000)}).to_string();
        assert!(shown(&blanks).is_err() && shown(&long).is_err() && shown("[").is_err());
        assert_eq!(shown("{}").as_deref(), Ok("no arguments"));
        // Every character may be written in twelve bytes.
        let most = format!(r#"{{"x":"{}"}}"#, r"\ud83d\ude00".repeat(MAX_SHOWN_CHARS - 6));
        assert_eq!(shown(&most).map(|shown| shown.chars().count()), Ok(MAX_SHOWN_CHARS));
        let begun = std::time::Instant::now();
        let long = json!({"x": "\u{3000}".repeat(8 << 20)}).to_string();
        assert!(shown(&long).is_err_and(|why| why.contains("have 8388616 characters")), "{:?}", shown(&long));
        assert!(begun.elapsed().as_secs() < 10);
    }
}
