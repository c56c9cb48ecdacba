//! PDF: layers that are off, and texts in the place of what is drawn.

use crate::fake::Fake;
use crate::files::{at, with_objects};
use serde_json::json;

const URL: &str = "https://example.org/x.pdf";

/// Reads a page with these entries and objects, of a document with the given entries of its catalog.
fn read(content: &str, entries: &str, objects: &str, catalog: &str) -> String {
    let body = String::from_utf8(with_objects(&[content], entries, objects)).expect("text");
    let body = body.replace("/Type/Catalog", &format!("/Type/Catalog{catalog}"));
    Fake::new("application/pdf", body).at(URL).call(&json!({"url": URL})).expect("a text").text
}

#[test]
fn layers_that_are_off_are_not_read() {
    let layers = "1001 0 obj<</Type/OCG/Name(a)>>endobj\n1002 0 obj<</Type/OCG/Name(b)>>endobj\n\
        1003 0 obj<</Type/OCMD/OCGs[1001 0 R 1002 0 R]/P/AllOn>>endobj\n1004 0 obj<</Type/OCMD/OCGs 1001 0 R>>endobj\n\
        1000 0 obj<</Type/XObject/Subtype/Form/OC 1001 0 R/BBox[0 0 600 800]/Length 40>>stream\nBT /F 12 Tf 50 500 Td (INFORM) Tj ET     \nendstream endobj\n";
    let entries = "/Resources<</Font<</F 5 0 R>>/XObject<</X 1000 0 R>>/Properties<</A 1001 0 R/B 1002 0 R/C 1003 0 R/D 1004 0 R>>>>";
    let part =
        |layer: &str, y: i32, text: &str| format!("/OC /{layer} BDC {} EMC\n", at(50, y, "F", 12, text));
    let content = part("A", 700, "FIRST")
        + &part("B", 680, "SECOND")
        + &part("C", 660, "BOTH")
        + &part("D", 640, "ONLYFIRST")
        + &at(50, 620, "F", 12, "ALWAYS")
        + "/X Do\n";
    let shown = |config: &str| {
        let catalog = format!("/OCProperties<</OCGs[1001 0 R 1002 0 R]/D<<{config}>>>>");
        let text = read(&content, entries, layers, &catalog);
        ["FIRST", "SECOND", "BOTH", "ONLYFIRST", "ALWAYS", "INFORM"]
            .into_iter()
            .filter(|word| text.split_whitespace().any(|found| found == *word))
            .collect::<Vec<_>>()
    };
    assert_eq!(shown(""), ["FIRST", "SECOND", "BOTH", "ONLYFIRST", "ALWAYS", "INFORM"]);
    assert_eq!(shown("/OFF[1001 0 R]"), ["SECOND", "ALWAYS"]);
    assert_eq!(shown("/BaseState/OFF/ON[1001 0 R]"), ["FIRST", "ONLYFIRST", "ALWAYS", "INFORM"]);
}

#[test]
fn a_text_counts_in_the_place_of_what_is_drawn() {
    let span = |text: &str, drawn: &str| format!("/Span<</ActualText{text}>>BDC ({drawn}) Tj EMC ");
    let content = format!(
        "BT /F 12 Tf 50 700 Td (of) Tj {}(ce work, hy) Tj {}(phen) Tj ET\n{}",
        span("(fi)", "xyz"),
        span("()", "-"),
        at(50, 680, "F", 12, "Another line.")
    );
    let text = read(&content, "", "", "");
    assert!(text.contains("office work, hyphen"), "{text}");
    let utf16 = format!("BT /F 12 Tf 50 700 Td {}(end) Tj ET", span("<FEFF4E2D6587>", "ab"));
    assert!(read(&utf16, "", "", "").contains("中文"), "{}", read(&utf16, "", "", ""));
    let spaced = format!("BT /F 12 Tf 50 700 Td (one) Tj {}(two) Tj ET", span("( )", " "));
    assert!(read(&spaced, "", "", "").contains("one two"), "{}", read(&spaced, "", "", ""));
    // An end without a beginning, and a beginning without an end.
    let broken = format!(
        "EMC EMC BT /F 12 Tf 50 700 Td /Span<</ActualText(A)>>BDC (b) Tj ET\n{}",
        at(50, 680, "F", 12, "c")
    );
    let text = read(&broken, "", "", "");
    assert!(text.trim() == "A", "{text}");
}
