//! Lines above the content.

use scorpiox_content::LeftOut;
use url::Url;

use super::known::About;
use crate::Format;
use crate::ask::FULL_SUFFIX;
use crate::write::escape;

/// Minimum number of omitted words that is reported.
const MIN_LEFT_OUT: u32 = 20;

/// Writes the title, author, date, URL, and the amount of omitted text.
pub(super) fn write(about: &About, left_out: LeftOut, url: &Url, format: Format) -> String {
    let byline = about.byline.as_deref().map(by);
    let left_out = said(left_out);
    match format {
        Format::Markdown => {
            let facts = [
                byline.map(|byline| escape::text(&byline, true)),
                about.published.as_deref().map(|date| escape::text(date, true)),
                Some(format!("<{url}>")),
                left_out,
            ];
            let title = about.title.as_deref().map(|title| format!("# {}\n\n", escape::text(title, false)));
            title.unwrap_or_default() + &joined(facts)
        }
        Format::Text => {
            let facts = [byline, about.published.clone(), Some(url.to_string()), left_out];
            let title = about.title.as_deref().map(|title| format!("{title}\n\n"));
            title.unwrap_or_default() + &joined(facts)
        }
        Format::Html => {
            let address = escape::html_value(url.as_str());
            let link = format!("<a href=\"{address}\">{address}</a>");
            let facts = [
                byline.map(|byline| escape::html(&byline)),
                about.published.as_deref().map(escape::html),
                Some(link),
                left_out,
            ];
            let title = about.title.as_deref().map(|title| format!("<h1>{}</h1>\n", escape::html(title)));
            format!("{}<p>{}</p>", title.unwrap_or_default(), joined(facts))
        }
    }
}

fn joined(facts: [Option<String>; 4]) -> String {
    facts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Describes the omitted text, and how to read it.
fn said(left_out: LeftOut) -> Option<String> {
    let part = |words: u32, of: &str| (words >= MIN_LEFT_OUT).then(|| format!("{words} words {of}"));
    let parts = [part(left_out.others, "around the text"), part(left_out.comments, "of comments")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let has = if parts.is_empty() { return None } else { parts.join(", ") };
    Some(format!("Left out: {has}; {FULL_SUFFIX} at the end of the URL brings them"))
}

fn by(byline: &str) -> String {
    let says_by = byline.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("by "));
    if says_by { byline.to_owned() } else { format!("By {byline}") }
}
