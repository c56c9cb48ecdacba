//! Which characters deceive who reads them.
//!
//! There are three rules, for three situations. Text that is shown to a person who only answers it keeps
//! what scripts and emoji need: [`is_shown`] takes the rest out. Text that somebody decides by, and
//! names, must be exactly what it looks like: [`is_deceptive`] refuses it whole. Text that a model
//! reads keeps what a person would see of it: [`readable`] takes the rest out. Of names of files
//! [`folded`] says which are one.

mod name;
mod readable;

pub use name::folded;
pub use readable::readable;

/// Whether a character may be shown. Joiners may: Persian words and families of emoji fall apart
/// without them.
pub fn is_shown(c: char) -> bool {
    !c.is_control() && !hides(c)
}

/// Whether a text with this character can look like another text: control characters but line
/// feeds, what [`is_shown`] hides, and what is honest only in running text. Joiners are of that
/// kind: between Latin letters they cannot be seen, so that two names would look the same. So are
/// soft hyphens, and separators of lines that many programs do not break at.
pub fn is_deceptive(c: char) -> bool {
    let in_running_text = matches!(
        c,
        '\u{ad}' | '\u{180e}' | '\u{200c}' | '\u{200d}' | '\u{2028}' | '\u{2029}'
        // Not assigned, and among those that take no room.
        | '\u{2065}'
    );
    (c.is_control() && c != '\n') || hides(c) || in_running_text
}

/// What turns text around or takes no room, and is never needed.
fn hides(c: char) -> bool {
    matches!(
        c,
        // Bidi controls.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // What has no width at all, but for the joiners.
        | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
        // Annotations and tags.
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_shown_is_deceptive_but_for_line_feeds() {
        for c in ('\0'..=char::MAX).filter(|c| !is_shown(*c)) {
            assert!(is_deceptive(c) || c == '\n', "{}", c.escape_unicode());
        }
    }

    #[test]
    fn joiners_are_shown_and_deceive_in_names() {
        for c in ['\u{200c}', '\u{200d}', '\u{ad}'] {
            assert!(is_shown(c) && is_deceptive(c), "{}", c.escape_unicode());
        }
        for c in ['a', 'ü', '世', '🦀', ' ', 'م'] {
            assert!(is_shown(c) && !is_deceptive(c), "{c}");
        }
    }
}
