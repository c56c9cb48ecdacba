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

/// Where in a tag the parser is, as HTML's own rules have it.
#[derive(Clone, Copy)]
enum State {
    /// In the name of the tag, or in a value without quotes, which white space ends.
    Word {
        is_name: bool,
    },
    /// Where an attribute may begin.
    Between,
    AttributeName,
    AfterAttributeName,
    BeforeValue,
    Quoted(u8),
    AfterQuoted,
}

fn scan(bytes: &[u8], start: usize) -> Tag {
    let mut attributes = 0;
    let mut cut = None;
    let mut at = start;
    let mut state = State::Word { is_name: true };
    while let Some(&byte) = bytes.get(at) {
        let is_space = byte.is_ascii_whitespace();
        let next = match (state, byte) {
            (State::Quoted(quote), _) if byte == quote => State::AfterQuoted,
            // In a value a slash is one of its characters.
            (State::Quoted(_), _) | (State::Word { is_name: false }, b'/') => state,
            (_, b'>') => break,
            (State::BeforeValue, _) if is_space => state,
            (State::BeforeValue, b'"' | b'\'') => State::Quoted(byte),
            (State::BeforeValue, _) => State::Word { is_name: false },
            (State::AttributeName | State::AfterAttributeName, b'=') => State::BeforeValue,
            (State::AttributeName | State::AfterAttributeName, _) if is_space => State::AfterAttributeName,
            (_, b'/') => State::Between,
            (_, _) if is_space => State::Between,
            (State::Word { .. } | State::AttributeName, _) => state,
            (State::Between | State::AfterAttributeName | State::AfterQuoted, _) => {
                attributes += 1;
                if attributes > MAX_ATTRIBUTES && cut.is_none() {
                    cut = Some(at);
                }
                State::AttributeName
            }
        };
        state = next;
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
    fn attributes_are_counted_however_they_are_parted() {
        for (tag, piece) in [
            ("<p ", "a='' "),
            ("<p ", "a=''"),
            ("<p ", "a=\"x y\""),
            ("<p/", "a/"),
            ("<p ", "a = b "),
            ("<p ", "a b= "),
            ("<p ", "=x "),
            // The quote belongs to a value that a space ends.
            ("<p x=y=' ", "a "),
            ("<p x=y/=\" ", "a\n"),
        ] {
            let flood = format!("{tag}{}>text", piece.repeat(5000));
            let tamed = attributes(&flood);
            assert!(tamed.len() < 6000 && tamed.ends_with(">text"), "{tag}{piece}: {}", tamed.len());
        }
        for value in ["'x y z' ", "\"a='b' c\"", "1/2/3/4", "a=b=c=d"] {
            let long = format!("<p {}>", format!("a={value} ").repeat(200));
            assert!(matches!(attributes(&long), Cow::Borrowed(_)), "{value}");
        }
        let long = format!("<p a={}>", "x/y='z'".repeat(5000));
        assert!(matches!(attributes(&long), Cow::Borrowed(_)), "one value");
    }

    #[test]
    fn what_never_ends_is_walked_once() {
        for piece in ["<a x='", "<a ", "<a =", "<a x=\"'"] {
            assert!(attributes(&piece.repeat(200_000)).len() <= piece.len() * 200_000);
        }
    }
}
