//! Result of reading: the text in the requested format, and metadata.

/// A page that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// Title; for an article also its first heading.
    pub title: Option<String>,
    /// Author.
    pub byline: Option<String>,
    /// Date of publication, in the page's own format.
    pub published: Option<String>,
    /// Lines above the content: title, author, date, URL. Empty unless the source is a web page.
    pub head: String,
    /// The content.
    pub body: String,
    /// Notes for the user about the conversion.
    pub notes: Vec<String>,
}

impl Document {
    /// Returns head and body.
    pub fn text(&self) -> String {
        match (self.head.is_empty(), self.body.is_empty()) {
            (true, _) => self.body.clone(),
            (false, true) => self.head.clone(),
            (false, false) => format!("{}\n\n{}", self.head, self.body),
        }
    }

    /// Creates a document that has only content.
    pub(crate) fn of_body(body: String) -> Self {
        Self { body, ..Self::default() }
    }
}
