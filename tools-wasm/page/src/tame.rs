//! Tags with thousands of attributes lose them: the parser compares each with all before it.

use std::borrow::Cow;

/// Attributes of one tag. Pages have dozens at most.
const MAX_ATTRIBUTES: usize = 500;

/// The source with at most [`MAX_ATTRIBUTES`] in each tag.
///
/// Scripts and comments are not told apart from markup, which does no harm: `>` always ends what
/// is left out, and only a row of hundreds of words after a `<` is touched.
pub(crate) fn attributes(source: &str) -> Cow<'_, str> {
    let bytes = source.as_bytes();
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(open) = find(bytes, at, b'<') {
        at = open + 1;
        if !bytes.get(at).is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let tag = scan(bytes, at);
        if let Some(cut) = tag.cut {
            out.push_str(&source[kept..cut]);
            kept = tag.end;
        }
        at = tag.end;
    }
    if kept == 0 {
        return Cow::Borrowed(source);
    }
    out.push_str(&source[kept..]);
    Cow::Owned(out)
}

/// A tag's end, and where its attributes become too many.
struct Tag {
    cut: Option<usize>,
    end: usize,
}

fn scan(bytes: &[u8], start: usize) -> Tag {
    let mut attributes = 0;
    let mut cut = None;
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'>' => break,
            b'=' => {
                let value = at + 1 + bytes[at + 1..].iter().take_while(|b| b.is_ascii_whitespace()).count();
                match bytes.get(value) {
                    // A quote that nothing closes is no value to skip.
                    Some(&quote @ (b'"' | b'\'')) => at = find(bytes, value + 1, quote).unwrap_or(value),
                    _ => at = value.saturating_sub(1).max(at),
                }
            }
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' | b'/' => {
                let starts_one = bytes.get(at + 1).is_some_and(|next| !next.is_ascii_whitespace());
                attributes += usize::from(starts_one);
                if attributes > MAX_ATTRIBUTES && cut.is_none() {
                    cut = Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    Tag { cut, end: at }
}

fn find(bytes: &[u8], from: usize, wanted: u8) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.iter().position(|byte| *byte == wanted).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_flood_of_attributes_is_cut() {
        let usual = "<a href='x y' title=\"<b>\">t</a> 1 < 2 <br/>";
        assert!(matches!(attributes(usual), Cow::Borrowed(_)));
        let long = format!("<path d=\"{}\"/>", "1 2 ".repeat(5000));
        assert!(matches!(attributes(&long), Cow::Borrowed(_)));
        let flood: String = (0..5000).fold("<p".to_owned(), |tag, n| tag + &format!(" a{n}")) + ">text</p>";
        let tamed = attributes(&flood);
        assert!(tamed.len() < 4000 && tamed.ends_with(">text</p>"), "{}", tamed.len());
    }

    #[test]
    fn what_never_ends_is_walked_once() {
        for piece in ["<a x='", "<a ", "<a =", "<a x=\"'"] {
            assert!(attributes(&piece.repeat(200_000)).len() <= piece.len() * 200_000);
        }
    }
}
