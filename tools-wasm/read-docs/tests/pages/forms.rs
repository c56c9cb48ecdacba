//! PDF: texts that were put on a finished page, such as values of form fields.

use crate::fake::Fake;
use crate::files::{at, with_objects};
use serde_json::json;

const URL: &str = "https://example.org/x.pdf";

/// Reads a page with a line of text and these annotations, whose other objects begin at 1000.
fn read(text: &str, annotations: &[&str], objects: &str) -> String {
    let page = if text.is_empty() { String::new() } else { at(50, 700, "F", 12, text) };
    let own = annotations.iter().map(|entries| {
        let place = if entries.contains("/Rect") { "" } else { "/Rect[150 695 400 715]" };
        format!("<</Type/Annot{place}{entries}>>")
    });
    let entries = format!("/Annots[{}]", own.collect::<String>());
    let body = with_objects(&[&page], &entries, objects);
    Fake::new("application/pdf", body)
        .at(URL)
        .call(&json!({"url": URL}))
        .map_or_else(|error| format!("{error:?}"), |output| output.text)
}

fn field(entries: &str) -> String {
    format!("/Subtype/Widget{entries}")
}

/// Returns an object with the operators of an appearance.
fn appearance(content: &str) -> String {
    format!(
        "1001 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 250 20]/Length {}>>stream\n{content}\nendstream endobj\n",
        content.len()
    )
}

#[test]
fn values_of_fields_stand_at_their_place() {
    for (entries, expected) in [
        ("/FT/Tx/V(SMITHSON)", "Name: SMITHSON"),
        ("/FT/Tx/DA(/F 0 Tf 0 g)/V<FEFF004D00FC006C006C00650072>", "Name: Müller"),
        ("/FT/Ch/V(a)/Opt[[(a)(Austria)][(b)(Belgium)]]", "Name: Austria"),
        ("/FT/Ch/V(AUSTRIA)/Opt[(GERMANY)(AUSTRIA)]", "Name: AUSTRIA"),
        ("/Parent<</FT/Tx/V(above)>>", "Name: above"),
        ("/FT/Btn/AS/Yes", "Name: [x]"),
        ("/FT/Btn/AS/Off", "Name: [ ]"),
        ("/FT/Btn/V/Choice", "Name: [x]"),
    ] {
        let text = read("Name:", &[&field(entries)], "").replace('\\', "");
        assert!(text.contains(expected), "{entries}: {text}");
    }
    // A hidden field, and a password.
    for entries in ["/F 2/FT/Tx/V(SECRET)", "/FT/Tx/Ff 8192/V(SECRET)"] {
        let text = read("Name:", &[&field(entries)], "");
        assert!(text.contains("Name:") && !text.contains("SECRET"), "{text}");
    }
    let alone = read("", &[&field("/FT/Tx/V(ONLYHERE)")], "");
    assert!(alone.contains("ONLYHERE"), "{alone}");
    let lines = read(
        "Address:",
        &["/Subtype/Widget/FT/Tx/Ff 4096/V(12 Long Road\r\nTown)/Rect[150 600 400 715]"],
        "",
    );
    assert!(lines.contains("12 Long Road") && lines.contains("Town"), "{lines}");
}

#[test]
fn the_look_of_a_field_counts_unless_it_is_outdated() {
    let look = appearance("/Tx BMC BT /F 12 Tf 2 4 Td (1,234.50 EUR) Tj ET EMC");
    let of = field("/FT/Tx/V(1234.50)/AP<</N 1001 0 R>>");
    let text = read("Total:", &[&of], &look);
    assert!(text.contains("Total: 1,234.50 EUR") && !text.contains("1234.50"), "{text}");
    // An appearance without text.
    let text = read("Total:", &[&of], &appearance("0 0 10 10 re f"));
    assert!(text.contains("Total: 1234.50"), "{text}");
    let states = field("/FT/Tx/AS/On/V(1)/AP<</N<</On 1001 0 R>>>>");
    let text = read("Total:", &[&states], &look);
    assert!(text.contains("1,234.50 EUR"), "{text}");
    let page = at(50, 700, "F", 12, "Total:");
    let body = with_objects(&[&page], &format!("/Annots[<</Type/Annot/Rect[150 695 400 715]{of}>>]"), &look);
    let body = String::from_utf8(body).expect("text");
    let body = body.replace("/Type/Catalog", "/Type/Catalog/AcroForm<</NeedAppearances true>>");
    let text = Fake::new("application/pdf", body).at(URL).call(&json!({"url": URL})).expect("a text").text;
    assert!(text.contains("Total: 1234.50") && !text.contains("EUR"), "{text}");
}

#[test]
fn typed_text_stamps_and_notes_are_read() {
    let text = read("Contract:", &["/Subtype/FreeText/Contents(TYPED over it)/DA(/F 12 Tf)"], "");
    assert!(text.contains("Contract: TYPED over it"), "{text}");
    let stamp = "/Subtype/Stamp/AP<</N 1001 0 R>>/Contents(not shown)";
    let text = read("Contract:", &[stamp], &appearance("BT /F 12 Tf 2 4 Td (APPROVED) Tj ET"));
    assert!(text.contains("APPROVED") && !text.contains("not shown"), "{text}");
    let text = read("Contract:", &["/Subtype/Text/Contents(Ask Ana\nabout it)"], "");
    assert!(text.contains("Contract:\n\n[note on the page: Ask Ana about it]"), "{}", text.replace('\\', ""));
    let comment =
        read("Contract:", &["/Subtype/Highlight/Contents(a comment)", "/Subtype/Popup/Contents(x)"], "");
    assert!(!comment.contains("comment"), "{comment}");
}

/// Marks of the page end with it, and annotations have layers, too.
#[test]
fn marks_and_layers_of_annotations_are_their_own() {
    let look = appearance("BT /F 12 Tf 2 4 Td (DRAWN) Tj ET");
    let page = format!("/Span<</ActualText(A)>>BDC {}", at(50, 700, "F", 12, "Name:"));
    let of = field("/FT/Tx/V(x)/AP<</N 1001 0 R>>");
    let entries = format!("/Annots[<</Type/Annot/Rect[150 600 400 620]{of}>>]");
    let read = |page: &str, entries: &str, catalog: &str, objects: &str| {
        let body = String::from_utf8(with_objects(&[page], entries, objects)).expect("text");
        let body = body.replace("/Type/Catalog", &format!("/Type/Catalog{catalog}"));
        Fake::new("application/pdf", body).at(URL).call(&json!({"url": URL})).expect("a text").text
    };
    assert!(read(&page, &entries, "", &look).contains("DRAWN"));
    let layer = "1002 0 obj<</Type/OCG/Name(a)>>endobj\n";
    let typed =
        "/Annots[<</Type/Annot/Subtype/FreeText/OC 1002 0 R/Contents(HIDDEN)/Rect[150 695 400 715]>>]";
    let shown = at(50, 700, "F", 12, "Name:");
    assert!(read(&shown, typed, "/OCProperties<</OCGs[1002 0 R]/D<<>>>>", layer).contains("HIDDEN"));
    assert!(
        !read(&shown, typed, "/OCProperties<</OCGs[1002 0 R]/D<</OFF[1002 0 R]>>>>", layer)
            .contains("HIDDEN")
    );
}

#[test]
fn a_page_without_text_is_called_scanned_if_it_has_a_picture() {
    let nothing = read("", &[], "");
    assert!(nothing.contains("no text on its 1 page.") && !nothing.contains("scanned"), "{nothing}");
    let picture = "1000 0 obj<</Type/XObject/Subtype/Image/Width 1/Height 1/BitsPerComponent 8/ColorSpace/DeviceGray/Length 1>>stream\nx\nendstream endobj\n";
    let body = with_objects(&["q 100 0 0 100 0 0 cm /X Do Q"], "", picture);
    let refused = Fake::new("application/pdf", body).refused(&json!({"url": URL}));
    assert!(refused.contains("no text on its 1 page; they are probably scanned"), "{refused}");
}
