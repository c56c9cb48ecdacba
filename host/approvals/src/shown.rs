//! Arguments as people see them before they decide.

use scorpiox_text::line::escaped_json;
use scorpiox_text::{MAX_BLANKS, has_long_blank};
use serde_json::{Map, Value, json};

/// Maximum length of the shown arguments, in characters. A person approves only what is shown completely.
pub const MAX_SHOWN_CHARS: usize = 1500;
/// Maximum length of arguments that may be shown, in bytes: JSON takes up to twelve for a character.
const MAX_BYTES: usize = 12 * MAX_SHOWN_CHARS + 2;

/// Returns the arguments, one on each line, without characters that hide or reorder others, and without blanks other
/// than spaces.
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
    let members: Vec<_> = members.iter().map(|(key, value)| json!({ key: value }).to_string()).collect();
    if members.iter().any(|member| has_long_blank(member)) {
        return Err(format!("its arguments have {MAX_BLANKS} blanks in a row, which would hide the rest"));
    }
    let lines: Vec<_> = members.iter().map(|member| line(member)).collect();
    let shown = if lines.is_empty() { "no arguments".to_owned() } else { lines.join("\n") };
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

/// Returns `false` for characters that many fonts show as nothing: outside of the usual planes, only emoji and
/// ideographs are certain to be seen.
fn has_glyph(c: char) -> bool {
    matches!(c, '\0'..='\u{ffff}' | '\u{1f000}'..='\u{1faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns an argument on one line.
fn line(member: &str) -> String {
    let line = escaped_json(member);
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
        let given = json!({"x": "a\u{1d159}\u{3000}\u{e000}\u{378}\u{10380}é漢😀"}).to_string();
        assert_eq!(shown(&given).as_deref(), Ok(r#""x":"a\ud834\udd59\u3000\ue000\u0378\u{10380}é漢😀""#));
    }

    #[test]
    fn nothing_without_ink_is_shown_but_spaces() {
        for c in ('\0'..=char::MAX).filter(|c| !scorpiox_text::has_ink(*c) && *c != ' ') {
            let shown = shown(&json!({format!("a{c}"): [format!("{c}b")]}).to_string()).expect("it is short");
            assert!(shown.chars().all(|c| c == ' ' || scorpiox_text::has_ink(c)), "{shown}");
        }
    }

    #[test]
    fn arguments_that_would_hide_something_are_not_shown() {
        for blank in [" ", "\u{3000}", " \u{3000}", "\u{a0} ", "\u{e000}", " \u{200b}\u{2800}", "\u{3164} "] {
            let why =
                shown(&json!({"x": format!("a{}b", blank.repeat(40))}).to_string()).expect_err("it hides");
            assert_eq!(why, "its arguments have 32 blanks in a row, which would hide the rest", "{blank:?}");
            assert!(shown(&json!({"x": format!("a{}b", blank.repeat(10))}).to_string()).is_ok(), "{blank:?}");
        }
        let long = json!({"x": "y".repeat(2000)}).to_string();
        assert!(shown(&long).is_err() && shown("[").is_err());
        assert_eq!(shown("{}").as_deref(), Ok("no arguments"));
    }
}
