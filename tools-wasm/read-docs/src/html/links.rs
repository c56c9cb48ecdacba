//! Resolves the URLs in a page.

use std::cell::Cell;

use url::Url;

/// Maximum total growth of a page's URLs, in bytes. A page with 10,000 links needs half a megabyte. Beyond
/// the limit, URLs stay relative.
const MAX_GROWTH: usize = 8 * 1024 * 1024;

/// Resolver for the URLs of a page.
pub(crate) struct Links {
    base: Option<Url>,
    growth_left: Cell<usize>,
}

impl Links {
    /// Creates a resolver relative to the page's URL, or to its `<base>`.
    pub(crate) fn of_page(url: &Url, base: Option<&str>) -> Self {
        let base = base.and_then(|base| url.join(base).ok()).filter(|base| !base.cannot_be_a_base());
        Self { base: Some(base.unwrap_or_else(|| url.clone())), growth_left: Cell::new(MAX_GROWTH) }
    }

    /// Creates a resolver that leaves URLs unchanged.
    pub(super) fn as_they_are() -> Self {
        Self { base: None, growth_left: Cell::new(0) }
    }

    /// Resolves a URL. Returns `None` if it runs a script or contains data.
    pub(crate) fn resolve(&self, address: &str) -> Option<String> {
        let address = address.trim();
        let scheme = address.split(':').next().unwrap_or_default();
        if ["javascript", "data", "vbscript", "blob", "about"].iter().any(|s| s.eq_ignore_ascii_case(scheme))
        {
            return None;
        }
        let Some(base) = &self.base else { return Some(address.to_owned()) };
        let absolute = base.join(address).map_or_else(|_| address.to_owned(), String::from);
        let growth = absolute.len().saturating_sub(address.len());
        match self.growth_left.get().checked_sub(growth) {
            Some(left) => {
                self.growth_left.set(left);
                Some(absolute)
            }
            None => Some(address.to_owned()),
        }
    }

    /// Returns `true` if URLs are made absolute.
    pub(super) fn is_absolute(&self) -> bool {
        self.base.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_absolute_and_scripts_are_none() {
        let url = Url::parse("https://example.org/a/b?q#f").expect("a URL");
        let links = Links::of_page(&url, None);
        let cases = [
            ("c", Some("https://example.org/a/c")),
            ("/c d", Some("https://example.org/c%20d")),
            ("//other.org/x", Some("https://other.org/x")),
            ("#part", Some("https://example.org/a/b?q#part")),
            ("mailto:a@b.c", Some("mailto:a@b.c")),
            ("JavaScript:void(0)", None),
            ("data:image/png;base64,xx", None),
        ];
        for (given, wanted) in cases {
            assert_eq!(links.resolve(given).as_deref(), wanted, "{given}");
        }
        let based = Links::of_page(&url, Some("/docs/"));
        assert_eq!(based.resolve("x").as_deref(), Some("https://example.org/docs/x"));
    }
}
