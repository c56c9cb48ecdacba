//! Words of a command.

use std::borrow::Cow;

/// Character that stands for any text in a word. No command has it, because bash drops it.
pub(crate) const ANY: char = '\0';

/// Number of words that a word becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Count {
    /// One.
    #[default]
    One,
    /// At least one, and all of them like the text.
    Alike,
    /// At least one, of any text.
    Some,
    /// Any number, of any text.
    Any,
}

/// A word of a command, without quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// Text, with [`ANY`] for parts that are not known.
    pub(crate) text: String,
    pub(crate) count: Count,
    /// Length of the beginning that has neither quotes nor expansions, if the rest has any.
    pub(crate) plain: Option<usize>,
    /// `true` for an assignment that becomes several words where assignments have no meaning.
    pub(crate) splits: bool,
    /// Characters that `text` has lost, without quotes: bash may evaluate them.
    lost: String,
    /// Length of the beginning of the text that is also in `lost`.
    noted: usize,
}

impl Word {
    /// Returns a word without quotes.
    pub(crate) fn of(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// Returns any number of words.
    pub(crate) fn any_number() -> Self {
        Self { text: ANY.to_string(), count: Count::Any, plain: Some(0), ..Self::default() }
    }

    /// Returns the text, if all of it is known.
    pub fn text(&self) -> Option<&str> {
        (self.count == Count::One && !self.text.contains(ANY)).then_some(&self.text)
    }

    /// Returns the word for a message.
    pub fn shown(&self) -> Cow<'_, str> {
        self.text().map_or_else(|| Cow::Owned(self.text.replace(ANY, "…")), Cow::Borrowed)
    }

    /// Puts any text in the place of a mark.
    pub(crate) fn replace(&mut self, mark: &str) {
        self.text = self.text.replace(mark, &ANY.to_string());
    }

    /// Returns `true` if nothing of the word is known to be there.
    pub(crate) fn may_vanish(&self) -> bool {
        self.text.is_empty() || self.count == Count::Any
    }

    /// Makes the word unknown as a whole. In the value of an assignment, nothing is split.
    pub(crate) fn widen(&mut self, count: Count) {
        self.end_plain();
        if self.assigned().is_some() {
            self.text.push(ANY);
            self.splits = true;
        } else {
            self.spread(count);
        }
    }

    /// Makes the word unknown as a whole. Its text so far is kept for [`Self::written`].
    pub(crate) fn spread(&mut self, count: Count) {
        self.loses("");
        *self = Self { count, lost: std::mem::take(&mut self.lost), ..Self::any_number() };
    }

    /// Keeps a part that the text does not have.
    pub(crate) fn loses(&mut self, part: &str) {
        self.lost.push_str(self.text.get(self.noted..).unwrap_or_default());
        self.lost.push_str(part);
        self.noted = self.text.len();
    }

    /// Returns all that the word has in its text, without quotes, even if it is unknown as a whole.
    pub(crate) fn written(&self) -> Cow<'_, str> {
        if self.lost.is_empty() {
            return Cow::Borrowed(&self.text);
        }
        Cow::Owned(format!("{}{}", self.lost, self.text.get(self.noted..).unwrap_or_default()))
    }

    /// Marks the end of the plain beginning.
    pub(crate) fn end_plain(&mut self) {
        self.plain.get_or_insert(self.text.len());
    }

    /// Returns the name that the word assigns to, if it is an assignment.
    pub(crate) fn assigned(&self) -> Option<&str> {
        let plain = &self.text[..self.plain.unwrap_or(self.text.len())];
        let (name, _) = plain.split_once('=')?;
        let name = name.strip_suffix('+').unwrap_or(name);
        let name = name.strip_suffix("[]").unwrap_or(name);
        is_name(name).then_some(name)
    }
}

/// Returns `true` for the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
