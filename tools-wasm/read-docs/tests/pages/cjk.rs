//! PDF: Chinese, Japanese and Korean fonts with the encodings that readers have to know, and no map to Unicode.

use crate::fake::Fake;
use crate::files::with_objects;
use serde_json::json;

const URL: &str = "https://example.org/x.pdf";

/// Reads a page with these codes in a font of this encoding and character collection.
fn read(encoding: &str, ordering: &str, codes: &str) -> String {
    let font = format!(
        "1000 0 obj<</Type/Font/Subtype/Type0/BaseFont/Some-Font/Encoding/{encoding}/DescendantFonts[1001 0 R]>>endobj\n\
         1001 0 obj<</Type/Font/Subtype/CIDFontType0/BaseFont/Some-Font/DW 1000/CIDSystemInfo<</Registry(Adobe)/Ordering({ordering})\
         /Supplement 2>>/FontDescriptor<</Type/FontDescriptor/FontName/Some-Font/Flags 4>>>>endobj\n"
    );
    let entries = "/Resources<</Font<</F 1000 0 R>>>>";
    let body = with_objects(&[&format!("BT /F 12 Tf 50 700 Td <{codes}> Tj ET")], entries, &font);
    Fake::new("application/pdf", body)
        .at(URL)
        .call(&json!({"url": URL}))
        .map_or_else(|error| format!("{error:?}"), |output| output.text)
}

#[test]
fn fonts_with_predefined_encodings_are_read() {
    for (encoding, ordering, codes, expected) in [
        ("GBK-EUC-H", "GB1", "D6D0CEC4B5B5B0B8", "中文档案"),
        ("GBKp-EUC-H", "GB1", "41D6D0", "A中"),
        ("UniGB-UCS2-H", "GB1", "4E2D65876863", "中文档"),
        ("UniGB-UTF16-H", "GB1", "4E2D6587", "中文"),
        ("90ms-RKSJ-H", "Japan1", "93FA967B8CEA", "日本語"),
        ("UniJIS-UCS2-H", "Japan1", "65E5672C8A9E", "日本語"),
        ("EUC-H", "Japan1", "C6FCCBDCB8EC", "日本語"),
        ("ETen-B5-H", "CNS1", "A4A4A4E5", "中文"),
        ("KSCms-UHC-H", "Korea1", "C7D1B1B9BEEE", "한국어"),
        ("UniKS-UCS2-H", "Korea1", "D55CAD6DC5B4", "한국어"),
    ] {
        let text = read(encoding, ordering, codes);
        assert!(text.contains(expected), "{encoding}: {text}");
    }
    // Codes that no known encoding has give no wrong text.
    let unknown = read("CNS-EUC-H", "CNS1", "C4E3C4E5");
    assert!(!unknown.chars().any(|c| ('\u{3040}'..='\u{30ff}').contains(&c)), "{unknown}");
}
