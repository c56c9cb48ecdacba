//! Visibility from the attributes of elements. Style sheets are not evaluated.

use std::collections::HashSet;

use dom_query::Document;

/// Visibility of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    Shown,
    /// Hidden from some readers, or until the reader searches for it or expands it.
    Hidden,
    /// Hidden from all readers.
    Off,
}

impl Sight {
    pub(crate) fn of<'a>(attribute: impl Fn(&str) -> Option<&'a str>, unfolds: bool) -> Self {
        let hidden = attribute("hidden");
        // React streams some parts of a page later, and a script moves them to their position.
        let is_sent_later = attribute("id").is_some_and(|id| id.starts_with("S:"));
        // Browsers reveal `hidden="until-found"` content during a search, so it counts as visible.
        if hidden.is_some_and(|value| value != "until-found") || attribute("style").is_some_and(hides) {
            return if unfolds || is_sent_later { Self::Hidden } else { Self::Off };
        }
        let is_hidden = hidden.is_some() || attribute("aria-hidden") == Some("true");
        if is_hidden { Self::Hidden } else { Self::Shown }
    }
}

/// Returns the IDs that links and buttons of the page refer to.
pub(crate) fn unfolded(dom: &Document) -> HashSet<String> {
    const NAMES: [&str; 4] = ["aria-controls", "data-target", "data-bs-target", "href"];
    let controls = dom.select("[aria-controls], [data-target], [data-bs-target], a[href^='#']");
    let mut all = HashSet::new();
    for control in controls.nodes() {
        for value in NAMES.iter().filter_map(|name| control.attr(name)) {
            let ids = value.split_ascii_whitespace().map(|id| id.trim_start_matches('#'));
            all.extend(ids.filter(|id| !id.is_empty()).map(str::to_owned));
        }
    }
    all
}

fn hides(style: &str) -> bool {
    let style: String = style.chars().filter(|c| !c.is_whitespace()).collect();
    let style = style.to_ascii_lowercase();
    style.contains("display:none") || style.contains("visibility:hidden")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_for_all_is_told_from_what_readers_unfold() {
        let of = |name: &'static str, value: &'static str, unfolds| {
            Sight::of(|asked: &str| (asked == name).then_some(value), unfolds)
        };
        assert_eq!(of("hidden", "", false), Sight::Off);
        assert_eq!(of("hidden", "", true), Sight::Hidden);
        let sent_later = |asked: &str| (asked == "hidden").then_some("").or((asked == "id").then_some("S:0"));
        assert_eq!(Sight::of(sent_later, false), Sight::Hidden);
        assert_eq!(of("hidden", "until-found", false), Sight::Hidden);
        assert_eq!(of("style", "color: red; DISPLAY : none", false), Sight::Off);
        assert_eq!(of("aria-hidden", "true", false), Sight::Hidden);
        assert_eq!(of("style", "display: block", false), Sight::Shown);
    }
}
