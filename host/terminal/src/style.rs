//! Styles of parts of a text, for terminals with colors.

/// Meaning of a part of a text. A meaning is never in the style alone, since pipes and some terminals have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A passed check or an allowed access.
    Good,
    /// A remark that may need attention.
    Note,
    /// A failure or a denied access.
    Bad,
    /// A heading or a name that begins an entry.
    Heading,
    /// A secondary part.
    Faint,
}

impl Style {
    /// Appends a text that is already escaped, in this style.
    pub(crate) fn paint(self, out: &mut String, text: &str) {
        let code = match self {
            Self::Good => "32",
            Self::Note => "33",
            Self::Bad => "31",
            Self::Heading => "1",
            Self::Faint => "2",
        };
        out.push_str("\u{1b}[");
        out.push_str(code);
        out.push('m');
        out.push_str(text);
        out.push_str("\u{1b}[0m");
    }
}
