//! Markup that pages rarely have, and that browsers show.

use read_docs::{Format, convert_fragment};
use serde_json::json;

use crate::fake::Fake;

fn markdown(body: &str) -> String {
    convert_fragment(body, Format::Markdown)
}

#[test]
fn items_have_the_numbers_that_browsers_show() {
    for (list, expected) in [
        ("<ol><li>a<li value=5>b<li>c</ol>", "1. a\n5. b\n6. c"),
        ("<ol reversed><li>a<li>b<li>c</ol>", "3. a\n2. b\n1. c"),
        ("<ol reversed start=10><li>a<li>b</ol>", "10. a\n9. b"),
        ("<ol start=3><li>a<li value=x>b</ol>", "3. a\n4. b"),
        ("<ul><li value=7>a</ul>", "- a"),
    ] {
        assert!(markdown(list).contains(expected), "{list}: {}", markdown(list));
    }
    let html = convert_fragment("<ol reversed><li value=9>a</ol><data value=3>x</data>", Format::Html);
    assert!(
        html.contains("<ol reversed=\"\">") && html.contains("<li value=\"9\">") && !html.contains('3'),
        "{html}"
    );
}

/// Elements of components: the template is shown, with the element's own content in the slots.
#[test]
fn declarative_shadow_roots_are_shown_with_their_slots() {
    let card = "<x-card><template shadowrootmode=open><style>p{}</style><h2><slot name=title>No title</slot></h2>\
        <p>Before <slot></slot> after.</p><footer><slot name=none>Fallback.</slot></footer></template>\
        <span slot=title>The title</span> the body <b slot=unknown>not shown</b></x-card>";
    let text = markdown(card);
    for piece in ["## The title", "Before the body after.", "Fallback."] {
        assert!(text.contains(piece), "{piece}: {text}");
    }
    assert!(!text.contains("not shown") && !text.contains("No title"), "{text}");
    let two = "<x-a><template shadowrootmode=open><p>One <slot></slot></p></template><template shadowrootmode=open>Two</template><p>own</p></x-a>";
    assert!(
        markdown(two).contains("One") && markdown(two).contains("own") && !markdown(two).contains("Two"),
        "{}",
        markdown(two)
    );
    let nested = "<x-a><template shadowrootmode=open><x-b><template shadowrootmode=closed><p>Inner <slot></slot></p></template><slot></slot></x-b></template>text</x-a>";
    assert!(markdown(nested).contains("Inner text"), "{}", markdown(nested));
    assert_eq!(markdown("<p>a<template><p>not shown</p></template>b</p>").trim(), "ab");
}

#[test]
fn a_page_that_only_sends_browsers_on_says_where() {
    for meta in [
        "<meta http-equiv=refresh content='0; url=/new/place'>",
        "<META HTTP-EQUIV='Refresh' CONTENT=\"0;URL='/new/place'\">",
        "<meta http-equiv=refresh content='5, /new/place'>",
    ] {
        let refused = Fake::html(meta).refused(&json!({"url": "https://example.org/docs/page"}));
        assert!(refused.contains("on to https://example.org/new/place"), "{meta}: {refused}");
    }
    // A page that loads itself again, one with a text, and another scheme.
    let again = Fake::html("<meta http-equiv=refresh content=30>")
        .refused(&json!({"url": "https://example.org/docs/page"}));
    assert!(again.contains("gave nothing to read"), "{again}");
    let text = Fake::html("<meta http-equiv=refresh content='9; url=/x'><p>Some words to read.").read().text;
    assert!(text.contains("Some words"), "{text}");
    let slow = Fake::html("<meta http-equiv=refresh content='1800; url=/logout'>")
        .refused(&json!({"url": "https://example.org/docs/page"}));
    assert!(!slow.contains("logout"), "{slow}");
    let script = Fake::html("<meta http-equiv=refresh content='0; url=javascript:x()'>");
    assert!(
        { script }.refused(&json!({"url": "https://example.org/docs/page"})).contains("gave nothing to read")
    );
}

#[test]
fn a_header_that_came_twice_is_understood() {
    let page = Fake::new(
        "text/html; charset=iso-8859-1, text/html; charset=iso-8859-1",
        b"<p>caf\xe9 and more".to_vec(),
    )
    .read();
    assert!(page.text.contains("café"), "{}", page.text);
}

#[test]
fn feeds_with_values_of_another_kind_are_feeds() {
    let feed = json!({
        "version": "https://jsonfeed.org/version/1.1",
        "title": null,
        "description": 7,
        "authors": null,
        "author": "Ana",
        "items": [
            {"id": 1, "title": 1984, "content_text": "A text.", "attachments": null, "authors": [null, {"name": "Bea"}]},
            null,
            {"id": "2", "title": "Two", "content_html": null, "summary": "Short.", "tags": 3},
        ],
    });
    let text = Fake::new("application/feed+json", feed.to_string()).read().text;
    for piece in ["1984", "A text.", "Bea", "Two", "Short."] {
        assert!(text.contains(piece), "{piece}: {text}");
    }
    assert!(!text.contains("\"items\""), "{text}");
}
