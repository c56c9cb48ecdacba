//! What was read: the text in the format that was asked for, and what is known about it.

/// A page that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Its title; for an article also its first heading.
    pub title: Option<String>,
    /// Who wrote it.
    pub byline: Option<String>,
    /// When it was published, as the page gives it.
    pub published: Option<String>,
    /// The lines above the content: title, author, date, address. Empty for what is no web page.
    pub head: String,
    /// The content.
    pub body: String,
    /// What a person should know of how it was read.
    pub notes: Vec<String>,
}

impl Document {
    /// Head and body.
    pub fn text(&self) -> String {
        match (self.head.is_empty(), self.body.is_empty()) {
            (true, _) => self.body.clone(),
            (false, true) => self.head.clone(),
            (false, false) => format!("{}\n\n{}", self.head, self.body),
        }
    }

    /// Content alone.
    pub(crate) fn of_body(body: String) -> Self {
        Self { body, ..Self::default() }
    }
}
