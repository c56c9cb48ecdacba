//! Removes excess attributes from tags: the parser compares each attribute with all previous ones.

use std::borrow::Cow;

/// Maximum number of attributes of a tag. Typical pages have at most dozens.
const MAX_ATTRIBUTES: usize = 500;

/// Returns the source with at most [`MAX_ATTRIBUTES`] in each tag, including end tags.
///
/// Scripts and comments are treated like markup: a `<` before a letter in them may look like a tag with
/// hundreds of attributes. The removed text is then part of the script, but the end of the script stays.
pub(crate) fn attributes(source: &str) -> Cow<'_, str> {
    let bytes = source.as_bytes();
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    let mut counted = 0;
    while let Some(open) = find(bytes, at, b'<') {
        let is_end = bytes.get(open + 1) == Some(&b'/');
        at = open + 1 + usize::from(is_end);
        if !bytes.get(at).is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let tag = scan(bytes, at, counted);
        if let Some(cut) = tag.cut {
            out.push_str(&source[kept..cut]);
            kept = tag.end;
        }
        // If the text was a single tag and not a script, the rest belongs to the same tag.
        counted = if ends_script(bytes, tag.end) { MAX_ATTRIBUTES } else { 0 };
        at = tag.end;
    }
    if kept == 0 {
        return Cow::Borrowed(source);
    }
    out.push_str(&source[kept..]);
    Cow::Owned(out)
}

/// Returns `true` if a script or style sheet ends here.
fn ends_script(bytes: &[u8], at: usize) -> bool {
    let begins =
        |end: &[u8]| bytes[at..].get(..end.len()).is_some_and(|found| found.eq_ignore_ascii_case(end));
    begins(b"</script") || begins(b"</style")
}

/// End of a tag, and the position from which its attributes are removed.
struct Tag {
    cut: Option<usize>,
    end: usize,
}

/// Tokenizer state within a tag, according to the HTML standard.
#[derive(Clone, Copy)]
enum State {
    /// In the tag name or an unquoted value, which whitespace ends.
    Word {
        is_name: bool,
    },
    /// Before an attribute.
    Between,
    AttributeName,
    AfterAttributeName,
    BeforeValue,
    Quoted(u8),
    AfterQuoted,
}

fn scan(bytes: &[u8], start: usize, counted: usize) -> Tag {
    let mut attributes = counted;
    let mut cut = None;
    let mut at = start;
    let mut state = State::Word { is_name: true };
    while let Some(&byte) = bytes.get(at) {
        if byte == b'<' && cut.is_some() && ends_script(bytes, at) {
            break;
        }
        let is_space = byte.is_ascii_whitespace();
        let next = match (state, byte) {
            (State::Quoted(quote), _) if byte == quote => State::AfterQuoted,
            // A slash is part of a value.
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
            // The quote belongs to an unquoted value, which a space ends.
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
    fn the_end_of_a_script_stays_where_its_words_are_left_out() {
        for script in [
            format!("<script>if (a<b) {{ {} }}</script><p>text</p>", "x y ".repeat(2000)),
            format!("<script>a<b {} x='</SCRIPT><p>text</p>", "x ".repeat(2000)),
            format!("<style>a<b {}</style ><p>text</p>", "x ".repeat(2000)),
        ] {
            let tamed = attributes(&script);
            assert!(tamed.ends_with("<p>text</p>") && tamed.len() < 2000, "{tamed}");
            assert!(tamed.to_ascii_lowercase().contains("</s"), "{tamed}");
        }
        // A tag cannot use `</script` to keep more attributes.
        let flood = format!("<p {}>text", format!("{}</script ", "a ".repeat(400)).repeat(20));
        assert!(attributes(&flood).len() < 3000, "{}", attributes(&flood).len());
        let flood = format!("<p>text</p {}>", "a='' ".repeat(5000));
        assert!(attributes(&flood).len() < 3000, "an end has attributes, too");
    }

    #[test]
    fn what_never_ends_is_walked_once() {
        for piece in ["<a x='", "<a ", "<a =", "<a x=\"'"] {
            assert!(attributes(&piece.repeat(200_000)).len() <= piece.len() * 200_000);
        }
    }
}
