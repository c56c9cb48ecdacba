//! Result of a call: the requested page, its metadata, and how to continue reading.

use scorpiox_tool_kit::{Failure, Output};
use serde::Serialize;

use crate::ask::{Ask, Format};
use crate::load::Loaded;
use crate::pages::Pages;
use crate::status;

/// The result as data; see `output-schema.json`. The content is only in the text.
#[derive(Serialize)]
struct Data<'a> {
    url: &'a str,
    final_url: &'a str,
    status: u16,
    content_type: &'a str,
    title: Option<&'a str>,
    byline: Option<&'a str>,
    published: Option<&'a str>,
    format: &'a str,
    page: usize,
    pages: usize,
    total_characters: usize,
    rendered: bool,
    notes: &'a [String],
}

/// Characters of a result that are reserved for notes, in addition to the URLs in them.
const NOTE_CHARS: usize = 900;
/// Maximum share of a result for the outline.
const OUTLINE_PART: usize = 12;
/// Minimum length of a page, in characters, even if the result has less room.
const MIN_PAGE_CHARS: usize = 1000;

pub(crate) fn output(ask: &Ask, loaded: &Loaded, room: usize) -> Result<Output, Failure> {
    let document = &loaded.document;
    let whole = document.text();
    let outline_chars = room / OUTLINE_PART;
    let addresses = ask.address.len() + loaded.final_url.as_str().len();
    let beside = NOTE_CHARS + outline_chars + addresses;
    let pages = Pages::of(&whole, ask.format, room.saturating_sub(beside).max(MIN_PAGE_CHARS));
    let page = pages.page(ask.page).ok_or_else(|| {
        let count = pages.count();
        let has = if count == 1 { "only 1 page".to_owned() } else { format!("{count} pages") };
        Failure::InvalidInput(format!(
            "Page {} does not exist: {} has {has} ({} characters).",
            ask.page,
            if ask.file.is_some() { &ask.address } else { ask.url.as_str() },
            grouped(pages.total_chars)
        ))
    })?;
    let mut text = String::with_capacity(page.len() + 512);
    if loaded.status >= 400 {
        text.push_str(&status::line(loaded.status));
        text.push_str("\n\n");
    }
    text.push_str(&page);
    if loaded.final_url != ask.url && loaded.final_url != ask.url_for_browser {
        text.push_str("\n\nNote: The page came from ");
        text.push_str(loaded.final_url.as_str());
    }
    for note in &document.notes {
        text.push_str("\n\nNote: ");
        text.push_str(note);
    }
    if pages.count() > 1 {
        text.push_str("\n\n");
        // In code and other text, a line that begins with `#` is not a heading.
        let has_headings = loaded.is_markup && ask.format == Format::Markdown && ask.page == 1;
        if let Some(outline) = has_headings.then(|| pages.outline(outline_chars)).flatten() {
            text.push_str("Outline:\n");
            text.push_str(&outline);
            text.push_str("\n\n");
        }
        text.push_str(&position(ask, &pages));
    }
    let is_file = ask.file.is_some();
    let data = Data {
        url: if is_file { &ask.address } else { ask.url_for_browser.as_str() },
        final_url: if is_file { &ask.address } else { loaded.final_url.as_str() },
        status: loaded.status,
        content_type: &loaded.content_type,
        title: document.title.as_deref(),
        byline: document.byline.as_deref(),
        published: document.published.as_deref(),
        format: ask.format.name(),
        page: ask.page,
        pages: pages.count(),
        total_characters: pages.total_chars,
        rendered: loaded.rendered,
        notes: &document.notes,
    };
    Ok(Output::with_data(text, &data))
}

fn position(ask: &Ask, pages: &Pages<'_>) -> String {
    let at =
        format!("Page {} of {} (of {} characters).", ask.page, pages.count(), grouped(pages.total_chars));
    if ask.page < pages.count() {
        format!("{at} Go on with {}", ask.url_of_page(ask.page + 1))
    } else {
        format!("{at} This is the last page.")
    }
}

/// Formats 362411 as `362,411`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
