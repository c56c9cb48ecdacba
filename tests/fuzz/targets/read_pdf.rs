//! Fuzzes words at any position on a PDF page: no format loses a word.
//!
//! Each input line is a word, `x y size font word`, or a rectangle, `x y width height`. The size may be 0,
//! and the font is F, B (bold) or C (fixed width). Any other line is inserted into the page unchanged.

#![no_main]

use std::fmt::Write as _;

use libfuzzer_sys::fuzz_target;
use scorpiox_tool_kit::memory::{MemoryClient, MemoryFiles, MemoryWeb, Silent};
use serde_json::json;

const FORMATS: [&str; 3] = ["markdown", "text", "html"];
/// Letters that encode the number of a word, which makes words distinguishable.
const LETTERS: [char; 10] = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];

fuzz_target!(|input: &str| {
    let mut page = String::new();
    let mut words = Vec::new();
    let mut is_free = false;
    for (number, line) in input.lines().enumerate() {
        let parts: Vec<&str> = line.split(' ').collect();
        match parts.as_slice() {
            [x, y, size, font @ ("F" | "B" | "C"), _word] => {
                let [Ok(x), Ok(y), Ok(size)] = [x, y, size].map(|number| number.parse::<i16>()) else {
                    continue;
                };
                let word: String =
                    number.to_string().chars().filter_map(|digit| LETTERS.get(digit as usize - 48)).collect();
                let _ = writeln!(page, "BT /{font} {size} Tf {x} {y} Td (q{word}z) Tj ET");
                if size > 0 {
                    words.push(format!("q{word}z"));
                }
            }
            [x, y, width, height] => {
                let [Ok(x), Ok(y), Ok(width), Ok(height)] =
                    [x, y, width, height].map(|number| number.parse::<i16>())
                else {
                    continue;
                };
                let _ = writeln!(page, "{x} {y} {width} {height} re f");
            }
            _ => {
                is_free = true;
                page.push_str(line);
                page.push('\n');
            }
        }
    }
    let file = format!(
        "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1/MediaBox[0 0 600 800]\
        /Resources<</Font<</F 5 0 R/B 6 0 R/C 7 0 R>>>>>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R>>endobj\n\
        5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n6 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica-Bold>>endobj\n\
        7 0 obj<</Type/Font/Subtype/Type1/BaseFont/Courier>>endobj\n4 0 obj<</Length {}>>stream\n{page}\nendstream endobj\n\
        trailer<</Root 1 0 R>>\n%%EOF",
        page.len()
    );
    for format in FORMATS {
        let arguments = json!({ "url": "https://example.com/x.pdf", "format": format }).to_string();
        let client = MemoryClient { room: 4_000_000, prefix: "" };
        let mut server = MemoryWeb { content_type: "application/pdf", body: file.as_bytes() };
        let mut disk = MemoryFiles(file.as_bytes());
        if let Ok(output) = read_docs::call(&mut server, &mut Silent, &mut disk, &client, &arguments) {
            let text: String = output.text.chars().filter(|c| !c.is_whitespace()).collect();
            // Other lines may move or hide words.
            assert!(is_free || words.iter().all(|word| text.contains(word.as_str())), "a word is lost");
        }
    }
});
