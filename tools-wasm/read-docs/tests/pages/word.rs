//! Word documents with parts that the programs of the test files do not write.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};

use crate::fake::Fake;

pub const WORD: &str = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/// Creates an archive like a Word document.
pub fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut archive = ZipArchiveWriter::new(&mut out);
    for (name, content) in parts {
        let (mut entry, config) =
            archive.new_file(name).compression_method(CompressionMethod::DEFLATE).start().expect("an entry");
        let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::fast()));
        writer.write_all(content).expect("content");
        let (encoder, descriptor) = writer.finish().expect("an end");
        encoder.finish().expect("an end");
        entry.finish(descriptor).expect("an end");
    }
    archive.finish().expect("an archive");
    out
}

/// Creates a document with this content of its body.
pub fn word(text: &str) -> Vec<u8> {
    let document = format!("<w:document xmlns:w='x' xmlns:r='r'><w:body>{text}</w:body></w:document>");
    archive(&[("word/document.xml", document.as_bytes())])
}

#[test]
fn equations_are_tex() {
    let half = "<m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>";
    let text = |text: &str| format!("<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>");
    let within = format!(
        "<w:p>{}<m:oMath>{half}<m:r><w:rPr><w:b/></w:rPr><m:t>+1</m:t></m:r></m:oMath>{}</w:p>",
        text("It is "),
        text(", said she.")
    );
    let alone = format!("<w:p><m:oMathPara><m:oMathParaPr/><m:oMath>{half}</m:oMath></m:oMathPara></w:p>");
    let removed = format!("<w:p>{}<w:del><m:oMath>{half}</m:oMath></w:del></w:p>", text("Nothing"));
    let read = Fake::new(WORD, word(&(within + &alone + &removed))).read().text;
    assert!(read.contains("It is $\\frac{a}{2}+1$, said she."), "{read}");
    assert!(read.contains("$$\n\\frac{a}{2}\n$$"), "{read}");
    assert!(read.contains("Nothing") && read.matches("frac").count() == 2, "{read}");
}

#[test]
fn included_files_are_part_of_the_text() {
    let relation = |id: &str, target: &str| {
        format!("<Relationship Id='{id}' Type='http://x/relationships/aFChunk' Target='{target}'/>")
    };
    let relations = [("a", "part.htm"), ("b", "/word/deep/other.txt"), ("c", "more.rtf"), ("d", "none.html")]
        .map(|(id, target)| relation(id, target))
        .concat();
    let body = ["a", "b", "c", "d", "a"].map(|id| format!("<w:altChunk r:id='{id}'/>")).concat();
    let document = format!(
        "<w:document xmlns:w='x' xmlns:r='r'><w:body><w:p><w:r><w:t>Before.</w:t></w:r></w:p>{body}</w:body></w:document>"
    );
    let file = archive(&[
        ("word/document.xml", document.as_bytes()),
        ("word/_rels/document.xml.rels", format!("<Relationships>{relations}</Relationships>").as_bytes()),
        (
            "word/part.htm",
            b"<html><head><title>T</title></head><body><h2>Part</h2><p>Of <b>HTML</b>.</p></body></html>",
        ),
        ("word/deep/other.txt", b"Plain text."),
        ("word/more.rtf", b"{\\rtf1 secret}"),
    ]);
    let read = Fake::new(WORD, file).read().text;
    for piece in ["Before.", "## Part\n\nOf **HTML**.", "Plain text."] {
        assert!(read.contains(piece), "{piece}: {read}");
    }
    // Of a kind that is not read, missing, and included again: one note for all.
    assert_eq!(read.matches("included file that was not read").count(), 1, "{read}");
    assert!(!read.contains("rtf1"), "{read}");
}
