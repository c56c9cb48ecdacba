//! Hints in the classes and the ID of an element.

/// Kinds of names, each with the words that indicate it. A word may indicate several kinds.
const KINDS: [&str; 31] = [
    "nav navbar navigation menu menus submenu topnav sitenav dropdown megamenu",
    "sidebar side aside rail widget widgets toc tableofcontents",
    "footer foot copyright bottom colophon",
    "header head masthead banner top topbar hero",
    "comment comments discuss disqus reply replies respond",
    "share sharing social follow facebook twitter like",
    "related recommend recommended recommendations more also similar suggestions suggested popular trending latest recent",
    "breadcrumb breadcrumbs crumb crumbs",
    "cookie cookies consent gdpr privacy",
    "modal popup overlay lightbox dialog drawer offcanvas tooltip toast",
    "ad ads advert advertisement sponsor sponsored promo promotion",
    "newsletter subscribe subscription signup cta",
    "meta byline author authors date time datetime published timestamp info infos posted",
    "tag tags category categories label labels topic topics",
    "pagination pager paging prev next previous",
    "search filter filters sort facet facets",
    "login signin account user profile avatar member",
    "content contents body text richtext rte prose markdown copy",
    "article post entry story single blog",
    "description desc details detail summary excerpt overview about",
    "product products item items card cards grid tile list listing listings",
    "price cart buy shop basket checkout wishlist stock quantity qty",
    "review reviews rating ratings testimonial testimonials",
    "title heading headline subtitle",
    "hidden hide invisible sronly screenreader visuallyhidden collapse collapsed",
    "message messages thread topic postbody postcontent cooked",
    "signature sig quote avatar userinfo usertitle",
    "code highlight codehilite sourcecode",
    "caption credit figcaption gallery image img photo",
    "language languages lang locale country currency",
    "button btn link links action actions toolbar tools",
];
/// Two more kinds, after the `KINDS`.
const MORE: [&str; 2] = ["tab tabs accordion panel faq", "note notice alert warning tip message"];
/// Number of kinds.
pub(crate) const COUNT: usize = KINDS.len() + MORE.len();

/// ARIA roles and their kinds.
const ROLES: [(&str, u32); 8] = [
    ("navigation", 0),
    ("banner", 3),
    ("contentinfo", 2),
    ("complementary", 1),
    ("main", 17),
    ("search", 15),
    ("menu", 0),
    ("dialog", 9),
];
/// Length of the longest word that is looked up.
const LONGEST: usize = 16;

/// A set of kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Marks(u64);

impl Marks {
    pub(crate) fn has(self, kind: usize) -> bool {
        self.0 >> kind & 1 == 1
    }

    pub(crate) fn is_comment(self) -> bool {
        const COMMENTS: usize = 4;
        self.has(COMMENTS)
    }

    /// Returns `true` for tabs, and for parts of a page that open and close.
    pub(crate) fn unfolds(self) -> bool {
        const UNFOLDING: usize = KINDS.len();
        self.has(UNFOLDING)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The vocabulary, sorted for fast lookup.
pub(crate) struct Vocabulary(Vec<(&'static str, u64)>);

impl Vocabulary {
    pub(crate) fn new() -> Self {
        let mut all: Vec<(&str, u64)> = Vec::new();
        for (kind, names) in KINDS.iter().chain(&MORE).enumerate() {
            all.extend(names.split(' ').map(|name| (name, 1 << kind)));
        }
        all.sort_unstable();
        all.dedup_by(|(name, more), (kept, kinds)| {
            let is_same = name == kept;
            *kinds |= if is_same { *more } else { 0 };
            is_same
        });
        Self(all)
    }

    /// Returns the kinds that names such as `post-body siteNav` and a role indicate.
    pub(crate) fn marks(&self, names: &[&str], role: &str) -> Marks {
        let mut kinds = ROLES.iter().find(|(name, _)| *name == role).map_or(0, |(_, kind)| 1 << kind);
        for name in names {
            for word in parts(name) {
                kinds |= self.look_up(word);
            }
        }
        Marks(kinds)
    }

    fn look_up(&self, word: &str) -> u64 {
        let mut lower = [0; LONGEST];
        let Some(lower) = lower.get_mut(..word.len()) else { return 0 };
        lower.copy_from_slice(word.as_bytes());
        lower.make_ascii_lowercase();
        let found = self.0.binary_search_by(|(name, _)| name.as_bytes().cmp(lower));
        found.map_or(0, |index| self.0[index].1)
    }
}

/// Splits a name into words: `postBody`, `post-body` and `POST_body2` have two.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let start = rest.find(|c: char| c.is_ascii_alphabetic())?;
        rest = &rest[start..];
        let bytes = rest.as_bytes();
        let upper = bytes.iter().take_while(|b| b.is_ascii_uppercase()).count();
        let lower = |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_lowercase()).count();
        // In `HTMLBody`, the last capital begins the next word.
        let end = match upper {
            0 | 1 => lower(upper),
            _ if lower(upper) > upper => upper - 1,
            _ => upper,
        };
        let (word, tail) = rest.split_at(end);
        rest = tail;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_where_people_join_words() {
        let all = |name| parts(name).collect::<Vec<_>>();
        assert_eq!(all("post-body siteNav"), ["post", "body", "site", "Nav"]);
        assert_eq!(all("HTMLBody POST_body2x"), ["HTML", "Body", "POST", "body", "x"]);
        assert_eq!(all("Ünlü 日本 7"), ["nl"]);
    }

    #[test]
    fn words_stand_for_kinds() {
        let vocabulary = Vocabulary::new();
        let marks = vocabulary.marks(&["mainNav", "topic"], "");
        assert!(marks.has(0) && marks.has(13) && marks.has(25) && !marks.has(1), "{marks:?}");
        assert!(vocabulary.marks(&[], "navigation").has(0));
        assert!(vocabulary.marks(&["nothing known"], "").is_empty());
        assert!(vocabulary.marks(&["comment-list"], "").is_comment());
        assert!(vocabulary.marks(&["note"], "").has(COUNT - 1));
    }
}
