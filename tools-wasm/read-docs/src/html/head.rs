//! The lines above the content.

use url::Url;

use super::choose::About;
use crate::Format;
use crate::write::escape;

/// Title, then author, date and address.
pub(super) fn write(about: &About, url: &Url, format: Format) -> String {
    let byline = about.byline.as_deref().map(by);
    match format {
        Format::Markdown => {
            let facts = [
                byline.map(|byline| escape::text(&byline, true)),
                about.published.as_deref().map(|date| escape::text(date, true)),
                Some(format!("<{url}>")),
            ];
            let title = about.title.as_deref().map(|title| format!("# {}\n\n", escape::text(title, false)));
            title.unwrap_or_default() + &joined(facts)
        }
        Format::Text => {
            let facts = [byline, about.published.clone(), Some(url.to_string())];
            let title = about.title.as_deref().map(|title| format!("{title}\n\n"));
            title.unwrap_or_default() + &joined(facts)
        }
        Format::Html => {
            let address = escape::html_value(url.as_str());
            let link = format!("<a href=\"{address}\">{address}</a>");
            let facts =
                [byline.map(|b| escape::html(&b)), about.published.as_deref().map(escape::html), Some(link)];
            let title = about.title.as_deref().map(|title| format!("<h1>{}</h1>\n", escape::html(title)));
            format!("{}<p>{}</p>", title.unwrap_or_default(), joined(facts))
        }
    }
}

fn joined(facts: [Option<String>; 3]) -> String {
    facts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn by(byline: &str) -> String {
    let says_by = byline.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("by "));
    if says_by { byline.to_owned() } else { format!("By {byline}") }
}
