//! Kinds of elements.

/// Tags that are features of a block's position.
const TOLD: [&str; 40] = [
    "a",
    "address",
    "article",
    "aside",
    "blockquote",
    "button",
    "dd",
    "details",
    "dialog",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "label",
    "li",
    "main",
    "nav",
    "noscript",
    "ol",
    "option",
    "p",
    "pre",
    "section",
    "select",
    "summary",
    "table",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
];
/// Number of these tags.
pub(crate) const COUNT: usize = TOLD.len();

/// Other tags that begin and end a block.
const BLOCKS: [&str; 15] = [
    "body", "br", "center", "dir", "div", "fieldset", "hgroup", "hr", "html", "legend", "menu", "tbody",
    "tfoot", "caption", "search",
];
/// Elements without text for readers.
const UNREAD: [&str; 13] = [
    "script", "style", "template", "head", "svg", "iframe", "object", "embed", "canvas", "math", "textarea",
    "select", "datalist",
];

/// Kind of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tag {
    /// Index in `TOLD`.
    Told(u8),
    /// Begins and ends a block.
    Block,
    /// Inline.
    Inline,
    /// Has no text for readers.
    Unread,
}

impl Tag {
    pub(crate) const A: Self = Self::named("a");
    pub(crate) const ARTICLE: Self = Self::named("article");
    pub(crate) const ASIDE: Self = Self::named("aside");
    pub(crate) const BLOCKQUOTE: Self = Self::named("blockquote");
    pub(crate) const DETAILS: Self = Self::named("details");
    pub(crate) const DL: Self = Self::named("dl");
    pub(crate) const FOOTER: Self = Self::named("footer");
    pub(crate) const H1: Self = Self::named("h1");
    pub(crate) const H4: Self = Self::named("h4");
    pub(crate) const HEADER: Self = Self::named("header");
    pub(crate) const LI: Self = Self::named("li");
    pub(crate) const MAIN: Self = Self::named("main");
    pub(crate) const NAV: Self = Self::named("nav");
    pub(crate) const OL: Self = Self::named("ol");
    pub(crate) const P: Self = Self::named("p");
    pub(crate) const PRE: Self = Self::named("pre");
    pub(crate) const TABLE: Self = Self::named("table");
    pub(crate) const TD: Self = Self::named("td");
    pub(crate) const TH: Self = Self::named("th");
    pub(crate) const TR: Self = Self::named("tr");
    pub(crate) const UL: Self = Self::named("ul");

    pub(crate) fn of(name: &str) -> Self {
        if let Ok(index) = TOLD.binary_search(&name) {
            return u8::try_from(index).map_or(Self::Inline, Self::Told);
        }
        if BLOCKS.contains(&name) {
            Self::Block
        } else if UNREAD.contains(&name) {
            Self::Unread
        } else {
            Self::Inline
        }
    }

    /// Returns the kind of a tag in `TOLD`; evaluated at compile time.
    const fn named(name: &str) -> Self {
        let mut index = 0;
        while index < COUNT {
            if is_same(TOLD[index].as_bytes(), name.as_bytes()) {
                #[expect(clippy::cast_possible_truncation, reason = "there are few")]
                return Self::Told(index as u8);
            }
            index += 1;
        }
        panic!("no kind has the name")
    }

    pub(crate) fn is_block(self) -> bool {
        const WITHIN_LINES: [Tag; 2] = [Tag::A, Tag::named("noscript")];
        match self {
            Self::Told(_) => !WITHIN_LINES.contains(&self),
            Self::Block => true,
            Self::Inline | Self::Unread => false,
        }
    }

    /// Returns `true` for `h1` to `h4`.
    pub(crate) fn is_heading(self) -> bool {
        let (Self::Told(this), Self::Told(first), Self::Told(last)) = (self, Self::H1, Self::H4) else {
            return false;
        };
        (first..=last).contains(&this)
    }

    /// Returns the tag as a feature value.
    pub(crate) fn number(self) -> f32 {
        match self {
            Self::Told(index) => f32::from(index),
            Self::Block => -1.0,
            Self::Inline | Self::Unread => -2.0,
        }
    }
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut index = 0;
    while index < one.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_name() {
        assert!(TOLD.is_sorted());
        for (index, name) in TOLD.iter().enumerate() {
            assert_eq!(Tag::of(name), Tag::Told(u8::try_from(index).expect("few")));
        }
        assert_eq!(
            (Tag::of("div"), Tag::of("span"), Tag::of("script")),
            (Tag::Block, Tag::Inline, Tag::Unread)
        );
        assert!(Tag::of("h3").is_heading() && !Tag::of("h5").is_heading() && !Tag::of("header").is_heading());
        assert!(Tag::P.is_block() && Tag::of("tr").is_block() && !Tag::A.is_block());
    }
}
