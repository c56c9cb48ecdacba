//! PDF: files that other programs created from our texts (`tests/data/pdf`) are read in order. Small files
//! test each feature.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::fake::{Fake, data};
use crate::files::{at, file, order, with_objects};
use scorpiox_processor_time::Stopwatch;
use serde_json::json;

const URL: &str = "https://example.org/x.pdf";

fn read(body: Vec<u8>) -> String {
    read_as(body, "markdown")
}

fn read_as(body: Vec<u8>, format: &str) -> String {
    let mut web = Fake::new("application/pdf", body).at(URL);
    web.room = 10_000_000;
    web.call(&json!({"url": URL, "format": format})).expect("a text").text
}

fn without_marks(text: &str) -> String {
    let is_text = |line: &&str| !line.starts_with("[PDF page ") && !line.starts_with("Note: ");
    text.lines().filter(is_text).collect::<Vec<_>>().join("\n")
}

#[test]
fn files_of_other_programs_are_read_in_order_with_their_headings_and_tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pdf");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|kind| kind != "pdf") {
            continue;
        }
        count += 1;
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let expected = std::fs::read_to_string(path.with_extension("md")).expect("what is expected");
        let got = without_marks(&read(std::fs::read(&path).expect("a file")));
        // Formulas have no single correct reading; a book has its table of contents before its text.
        let least = match name.as_str() {
            "maths" => 0.8,
            "book" => 0.9,
            _ => 0.975,
        };
        let order = order(&expected, &got);
        assert!(order >= least, "{name}: {order}\n{got}");
        let heading = |line: &&str| line.starts_with('#');
        let title = |line: &str| line.trim_start_matches('#').trim().to_owned();
        let found: Vec<String> = got.lines().filter(heading).map(title).collect();
        for wanted in expected.lines().filter(heading).map(title) {
            assert!(found.contains(&wanted), "{name}: {wanted:?} is no heading of {found:?}");
        }
        for row in expected.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---")) {
            assert!(got.lines().any(|line| line == row), "{name}: no row {row}\n{got}");
        }
    }
    assert!(count >= 20, "{count} files");
}

#[test]
fn columns_that_are_drawn_line_by_line_are_read_one_after_the_other() {
    let mut page = at(100, 700, "B", 18, "A title that reaches over both of the columns");
    for n in 0..12 {
        page += &at(50, 650 - 12 * n, "F", 10, &format!("left line {n} with words that fill its column up"));
        page += &at(320, 650 - 12 * n, "F", 10, &format!("right line {n} with words that fill its column"));
    }
    let text = read(file(&[&page]));
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    assert!(text.starts_with("# A title"), "{text}");
    assert!(place("left line 0") < place("left line 11") && place("left line 11") < place("right line 0"));
    assert!(text.contains("column up left line 1 with"), "{text}");
}

#[test]
fn the_lower_part_may_be_drawn_first() {
    let page = at(50, 100, "F", 10, "the end.") + &at(50, 700, "F", 10, "the beginning,");
    assert_eq!(read(file(&[&page])), "the beginning,\n\nthe end.");
}

#[test]
fn cells_that_lie_below_each_other_are_a_table_and_stay_in_their_rows() {
    let mut page = at(50, 760, "F", 10, "A sentence before the table.");
    for (n, row) in
        [["Name", "Size", "Since"], ["Oak|e", "12 m", "1911"], ["Ash", "9 m", ""], ["Elm", "17 m", "2003"]]
            .iter()
            .enumerate()
    {
        for (x, cell) in [50, 200, 300].into_iter().zip(row) {
            page += &at(x, 700 - 14 * i32::try_from(n).expect("small"), "F", 10, cell);
        }
    }
    let table = "| Name | Size | Since |\n| --- | --- | --- |\n| Oak\\|e | 12 m | 1911 |\n| Ash | 9 m |  |\n| Elm | 17 m | 2003 |";
    assert_eq!(read(file(&[&page])), format!("A sentence before the table.\n\n{table}"));
    let html = read_as(file(&[&page]), "html");
    assert!(html.contains("<th>Size</th>") && html.contains("<td>12 m</td>"), "{html}");
    let text = read_as(file(&[&page]), "text");
    assert!(text.contains("Ash | 9 m |") && !text.contains("---"), "{text}");
}

#[test]
fn a_hyphen_at_the_end_of_a_line_goes_unless_the_word_has_it() {
    let lines = [
        "A well-known word and a normal one that are both so unlucky to be broken: a nor-",
        "mal word is joined again as if nothing had been, and it was the same for a well-",
        "known one, which keeps its hyphen.",
    ];
    let page = lines
        .iter()
        .zip([700, 688, 676])
        .fold(String::new(), |page, (line, y)| page + &at(50, y, "F", 10, line));
    let text = read(file(&[&page]));
    assert!(text.contains("a normal word is joined") && text.contains("for a well-known one"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn code_keeps_its_lines_and_indentation() {
    let lines = [(50, "fn main\\(\\) {"), (74, "let a = 1;"), (50, "}")];
    let page = lines
        .iter()
        .zip([700, 688, 676])
        .fold(at(50, 730, "F", 10, "The program:"), |page, ((x, line), y)| page + &at(*x, y, "C", 10, line));
    assert_eq!(read(file(&[&page])), "The program:\n\n```\nfn main() {\n    let a = 1;\n}\n```");
}

#[test]
fn what_repeats_at_the_edges_of_pages_is_left_out_and_said() {
    let page = |n: usize| {
        at(50, 780, "F", 8, "The head of all pages")
            + &at(50, 700, "F", 10, &format!("The text of page {n}, which is its own."))
            + &at(300, 20, "F", 8, &n.to_string())
    };
    let pages: Vec<String> = (1..=4).map(page).collect();
    let text = read(file(&pages.iter().map(String::as_str).collect::<Vec<_>>()));
    assert!(
        text.starts_with("[PDF page 1]\n\nThe text of page 1, which is its own.\n\n[PDF page 2]"),
        "{text}"
    );
    assert!(text.ends_with("Note: Running headers, footers and page numbers are left out."), "{text}");
    assert!(!text.contains("The head"));
    let single = read(file(&[&pages[0]]));
    assert!(single.contains("The head of all pages"), "{single}");
}

#[test]
fn a_long_file_has_an_outline_of_its_headings() {
    let pages: Vec<String> = (1..=9)
        .map(|n| {
            let lines = (0..50).fold(String::new(), |page, y| {
                page + &at(50, 700 - 12 * y, "F", 10, "Words that fill a line of the chapter.")
            });
            at(50, 750, "B", 16, &format!("Chapter {n} of it")) + &lines
        })
        .collect();
    let body = file(&pages.iter().map(String::as_str).collect::<Vec<_>>());
    let output = Fake::new("application/pdf", body).call(&json!({"url": URL})).expect("a text");
    assert!(output.text.contains("Outline:\n- Chapter 1 of it (page 1)\n"), "{}", output.text);
    assert_eq!(data(&output)["pages"], 2);
}

#[test]
fn turned_text_is_read_like_any_other() {
    let mut page = String::new();
    for n in 0..12 {
        for (y, side) in [(50, "left"), (400, "right")] {
            let text = format!("{side} line {n} with words that fill its column up");
            let _ = write!(page, "BT /F 10 Tf 0 1 -1 0 {} {y} Tm ({text}) Tj ET ", 100 + 12 * n);
        }
    }
    let text = read(file(&[&page]));
    let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} in {text}"));
    assert!(place("left line 0") < place("left line 11") && place("left line 11") < place("right line 0"));
}

#[test]
fn notes_stand_at_the_end_of_their_page_with_their_marks() {
    let mark = |x: i32, y: i32| at(x, y, "F", 6, "1");
    let mut page = at(50, 700, "F", 10, "A sentence with a note")
        + &mark(151, 704)
        + &at(157, 700, "F", 10, "in the middle of it.");
    page += &(at(
        50,
        600,
        "F",
        10,
        "More text that is much longer than the note below it, so that its size is the usual one.",
    ));
    page += &(mark(50, 83) + &at(54, 80, "F", 8, "The note."));
    let text = read(file(&[&page]));
    assert!(text.starts_with("A sentence with a note[^1] in the middle of it."), "{text}");
    assert!(text.ends_with("[^1]: The note."), "{text}");
}

#[test]
fn links_are_kept_but_only_to_the_web() {
    let link = |y: i32, address: &str| {
        format!("<</Subtype/Link/Rect[45 {} 200 {}]/A<</S/URI/URI({address})>>>>", y - 4, y + 12)
    };
    let entries =
        format!("/Annots[{}{}]", link(700, "https://example.com/a"), link(600, "javascript:alert\\(1\\)"));
    let page = at(50, 700, "F", 10, "the office") + &at(50, 600, "F", 10, "a trap");
    let text = read(with_objects(&[&page], &entries, ""));
    assert_eq!(text, "[the office](https://example.com/a)\n\na trap");
}

#[test]
fn text_that_is_markup_is_escaped() {
    let page =
        at(50, 700, "F", 10, "# no heading") + &at(50, 600, "F", 10, "[a]\\(https://example.com\\) <b>");
    assert_eq!(read(file(&[&page])), "\\# no heading\n\n\\[a\\](https://example.com) \\<b>");
}

#[test]
fn encrypted_files_are_read_if_they_need_no_password() {
    let bytes = |name: &str| {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).expect("a file")
    };
    let text = read(bytes("open-without-password.pdf"));
    assert!(text.contains("# Report of a reading") && text.contains("Fennick"), "{text}");
    let refused = Fake::new("application/pdf", bytes("locked.pdf")).refused(&json!({"url": URL}));
    assert!(refused.contains("encrypted and needs a password"), "{refused}");
}

/// Pseudorandom numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> i32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i32::try_from((self.0 >> 33) % most).expect("small")
    }
}

#[test]
fn no_word_is_lost_or_said_twice_wherever_it_stands() {
    for seed in 0..400 {
        let mut numbers = Numbers(seed);
        // From a few words at arbitrary positions to hundreds on a grid, in rows and in columns.
        let (across, down) = (1 + numbers.below(60), 1 + numbers.below(90));
        let count = 1 + numbers.below(250);
        let mut page = String::new();
        for n in 0..count {
            let (x, y) = (20 + numbers.below(560) / across * across, 20 + numbers.below(760) / down * down);
            let size = if numbers.below(10) == 0 { 5 + numbers.below(20) } else { 10 };
            let font = ["F", "F", "F", "B", "C"][usize::try_from(numbers.below(5)).expect("small")];
            page += &at(x, y, font, size, &format!("q{n:03}z"));
        }
        let rules = "50 400 500 1 re f ".repeat(usize::try_from(numbers.below(3)).expect("small"));
        let text = read(file(&[&(rules + &page)]));
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        for n in 0..count {
            assert_eq!(text.matches(&format!("q{n:03}z")).count(), 1, "word {n} of page {seed}: {text}");
        }
    }
}

#[test]
fn real_files_that_are_cut_or_changed_end_soon() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pdf");
    for entry in std::fs::read_dir(&folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|kind| kind == "pdf") {
            let whole = std::fs::read(&path).expect("a file");
            let mut numbers = Numbers(whole.len() as u64);
            for part in 1..8 {
                survives("cut", whole[..whole.len() * part / 8].to_vec());
                let mut changed = whole.clone();
                for _ in 0..20 * part {
                    let at = usize::try_from(numbers.below(whole.len() as u64)).expect("small");
                    changed[at] =
                        changed[at].wrapping_add(1 + u8::try_from(numbers.below(200)).expect("a byte"));
                }
                survives("changed", changed);
            }
        }
    }
}

/// Asserts that reading ends soon, with a text or an error.
fn survives(name: &str, body: Vec<u8>) {
    /// Maximum processor time with little optimization.
    const LIMIT: Duration = Duration::from_secs(40);
    let stopwatch = Stopwatch::start();
    let result = Fake::new("application/pdf", body).call(&json!({"url": URL}));
    if let Ok(output) = result {
        assert!(output.text.chars().count() < 110_000, "{name}");
    }
    let took = stopwatch.elapsed();
    assert!(took < LIMIT, "{name} took {took:?}");
}

#[test]
fn a_million_characters_at_one_place_and_all_over_a_page() {
    let one = format!("BT /F 10 Tf {} ET", "1 0 0 1 50 700 Tm (a) Tj ".repeat(400_000));
    survives("one place", file(&[&one]));
    let mut all = String::from("BT /F 2 Tf ");
    for n in 0..300_000_u64 {
        let (x, y) = (n * 7919 % 6000, n * 104_729 % 8000);
        let _ = write!(all, "1 0 0 1 {}.{} {}.{} Tm (ab) Tj ", x / 10, x % 10, y / 10, y % 10);
    }
    survives("everywhere", file(&[&all]));
    let grid = (0..150_000).fold(String::from("BT /F 4 Tf "), |page, n| {
        page + &format!("1 0 0 1 {} {} Tm (cell) Tj ", n % 40 * 15, n / 40)
    });
    survives("a table without end", file(&[&grid]));
}

#[test]
fn numbers_that_are_none_and_fonts_without_size() {
    let numbers =
        ["0", "-1", "1e38", "99999999999999999999999999999999999999", "-0.0000001", "NaN", "2147483648"];
    let mut page = String::new();
    for one in numbers {
        for two in numbers {
            let _ = write!(
                page,
                "BT /F {one} Tf {two} 0 0 {one} {two} {one} Tm {two} Tc {one} Tw {two} Tz (text here) Tj [(a) {one} (b) {two}] TJ ET {one} {two} {two} {one} re f {one} {two} m {two} {one} l S "
            );
        }
    }
    survives("numbers", file(&[&page, &at(50, 50, "F", 10, "end")]));
}

#[test]
fn forms_within_themselves_and_many_times() {
    let content = "q /X Do /X Do /X Do /X Do BT /F 10 Tf 50 700 Td (x) Tj ET Q";
    let form = format!(
        "1000 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources<</XObject<</X 1000 0 R>>>>/Length {}>>stream\n{content}\nendstream endobj",
        content.len()
    );
    let shared = format!("1001 0 obj({})endobj\n", "note ".repeat(200_000));
    let notes = "<</Type/Annot/Subtype/Text/Rect[0 0 9 9]/Contents 1001 0 R>>".repeat(2000);
    survives("notes", with_objects(&[""], &format!("/Annots[{notes}]"), &shared));
    let fields = "<</Type/Annot/Subtype/Widget/FT/Tx/Rect[0 0 90 9]/V 1001 0 R>>".repeat(2000);
    survives("fields", with_objects(&[""], &format!("/Annots[{fields}]"), &shared));
    let marks = "/Span<</ActualText 1001 0 R>>BDC (x) Tj ".repeat(50_000);
    survives("marks", with_objects(&[&format!("BT /F 12 Tf {marks} ET")], "", &shared));
    survives("forms", with_objects(&["/X Do ".repeat(1000).as_str()], "", &form));
}

#[test]
fn floods_of_lines_links_hyphens_and_states() {
    let rules = "50 700 500 0.5 re f 50 700 m 500 700 l S ".repeat(100_000);
    let table =
        (0..400).fold(String::new(), |page, n| page + &at(50 + n % 2 * 100, 700 - n / 2 * 3, "F", 3, "cell"));
    survives("rules", file(&[&(rules + &table)]));
    let dots = "50 700 3 3 re f ".repeat(50_000) + &at(60, 699, "F", 10, "item");
    survives("dots", file(&[&dots]));
    let hyphens = (0..60_000)
        .fold(String::from("BT /F 1 Tf 1 0 0 1 50 700 Tm "), |page, _| page + "(aaaa-) Tj 0 -1.2 Td ");
    survives("hyphens", file(&[&(hyphens + "ET")]));
    let link = "<</Subtype/Link/Rect[0 0 600 800]/A<</S/URI/URI(https://example.com)>>>>".repeat(20_000);
    survives(
        "links",
        with_objects(&[&at(50, 700, "F", 10, "a").repeat(20_000)], &format!("/Annots[{link}]"), ""),
    );
    survives("states", file(&[&"q ".repeat(500_000)]));
}

#[test]
fn what_unpacks_to_gigabytes_is_left_out_and_said() {
    let pack = |bytes: &[u8]| {
        let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(bytes).expect("packed");
        packer.finish().expect("packed")
    };
    let bomb = pack(&b"BT /F 10 Tf (a) Tj ET ".repeat(8_000_000));
    let twice = pack(&pack(&vec![b' '; 50_000_000]));
    let page = at(50, 700, "F", 10, "What can be read.");
    for (filter, content) in [("/FlateDecode", bomb), ("[/FlateDecode/FlateDecode]", twice)] {
        let mut form = format!("1000 0 obj<</Subtype/Form/Filter{filter}/Length {}>>stream\n", content.len())
            .into_bytes();
        form.extend(&content);
        form.extend(b"\nendstream endobj\n");
        let mut body = form;
        body.splice(0..0, *b"%PDF-1.4\n");
        body.extend(&file(&[&(page.clone() + "/X Do")])[9..]);
        let text = read(body);
        assert!(text.starts_with("What can be read."), "{text}");
        assert!(text.contains("One page of the PDF could only be read in part"), "{text}");
    }
}

#[test]
fn thousands_of_pages_and_an_outline_in_a_circle() {
    let page = at(50, 700, "F", 10, "A page among many others.");
    let text = read(file(&vec![page.as_str(); 3200]));
    assert!(text.contains("[PDF page 3000]") && !text.contains("[PDF page 3001]"));
    assert!(text.contains("Only 3000 of the PDF's 3200 pages were read."), "{}", &text[text.len() - 200..]);
    let mut circle = String::from_utf8(file(&[&page]))
        .expect("text")
        .replace("/Type/Catalog", "/Type/Catalog/Outlines 1001 0 R");
    circle = circle.replace("5 0 obj", "1001 0 obj<</First 1002 0 R>>endobj 1002 0 obj<</Title(A)/First 1002 0 R/Next 1002 0 R>>endobj\n5 0 obj");
    survives("outline", circle.into_bytes());
}

#[test]
fn damaged_files_are_read_as_far_as_they_go() {
    let page = at(50, 700, "F", 10, "What is left of it.");
    let whole = file(&[&page, &page]);
    for step in 1..40 {
        survives("cut", whole[..whole.len() * step / 40].to_vec());
        let mut flipped = whole.clone();
        for at in (step..flipped.len()).step_by(97) {
            flipped[at] ^= 0x15;
        }
        survives("flipped", flipped);
    }
    let mut wrong = whole;
    wrong.truncate(wrong.len() - 5);
    wrong.extend(b"startxref\n99999\n%%EOF");
    assert!(read(wrong).contains("What is left of it."));
}
