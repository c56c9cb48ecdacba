//! PDF: characters as high as several lines of the text.

use crate::fake::Fake;
use crate::files::{at, file};
use serde_json::json;

const URL: &str = "https://example.org/x.pdf";

/// Reads a page, with all of its white space as single spaces.
fn read(content: &str) -> String {
    let mut web = Fake::new("application/pdf", file(&[content])).at(URL);
    web.room = 100_000;
    let text = web.call(&json!({"url": URL})).expect("a text").text;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn lines(x: i32, y: i32, step: i32, size: i32, lines: &[&str]) -> String {
    let mut y = y + step;
    lines.iter().fold(String::new(), |all, line| {
        y -= step;
        all + &at(x, y, "F", size, line)
    })
}

const FIRST: [&str; 3] = [
    "his report defines the measures and the terms that",
    "are used in it, and then says how they were taken, by",
    "whom, and when, so that others can repeat them and",
];
const REST: [&str; 2] = [
    "judge for themselves what they are worth in the end, and",
    "where more of them would be needed to be sure of it.",
];

#[test]
fn an_initial_begins_its_first_line() {
    for (y, size, count, x) in [(700, 32, 2, 94), (686, 46, 3, 102)] {
        let (beside, below) = FIRST.split_at(count);
        let below: Vec<&str> = below.iter().chain(&REST).copied().collect();
        let page =
            at(72, y, "F", size, "T") + &lines(x, 714, 14, 11, beside) + &lines(72, y - 14, 14, 11, &below);
        let text = read(&page);
        let expected = format!("T{} {}", FIRST.join(" "), REST.join(" "));
        assert!(text.contains(&expected), "{text}");
    }
    // A word of a single letter stands apart.
    let page = at(72, 700, "F", 32, "A")
        + &lines(101, 714, 14, 11, &["report of the year has", "many pages, which are"]);
    let text = read(&(page + &lines(72, 686, 14, 11, &["numbered from the first"])));
    assert!(text.contains("A report of the year has many pages, which are numbered"), "{text}");
}

#[test]
fn an_initial_of_a_column_leaves_the_other_alone() {
    let page = at(54, 699, "F", 36, "T")
        + &lines(
            78,
            714,
            12,
            10,
            &["HIS document is a template for the", "authors of papers. They may use it to"],
        )
        + &lines(
            54,
            690,
            12,
            10,
            &["write their own papers, and send them", "to the editors, who read them."],
        )
        + &lines(
            320,
            714,
            12,
            10,
            &[
                "The second column begins here and has",
                "its own lines, which have nothing to do",
                "with those of the first one, of course.",
                "It goes on for some lines.",
            ],
        );
    let text = read(&page);
    let expected = "THIS document is a template for the authors of papers. They may use it to write their own papers, and send them to the editors, who read them.";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("its own lines, which have nothing to do with those of the first one"), "{text}");
}

#[test]
fn a_large_quotation_mark_mixes_no_lines() {
    let page = at(72, 690, "F", 60, "\\223")
        + &lines(
            110,
            712,
            14,
            11,
            &["We never saw it coming, and nobody told us", "that it would be like this when it came."],
        )
        + &lines(72, 670, 14, 11, &["Said the man who was there on that day, in the evening."]);
    let text = read(&page);
    assert!(
        text.contains("“We never saw it coming, and nobody told us that it would be like this when it came."),
        "{text}"
    );
    assert!(text.contains("Said the man who was there on that day"), "{text}");
}

#[test]
fn a_watermark_is_no_part_of_the_lines_before_it() {
    let body: Vec<String> =
        (1..=6).map(|n| format!("Line {n} of the text of this page here, which is long.")).collect();
    let body: Vec<&str> = body.iter().map(String::as_str).collect();
    let text = read(&(at(150, 660, "F", 120, "DRAFT") + &lines(72, 740, 14, 11, &body)));
    assert!(text.contains(&body.join(" ")), "{text}");
    assert!(text.ends_with("DRAFT") && !text.contains("# DRAFT"), "{text}");
}

#[test]
fn headings_and_signs_beside_lines_stay_where_they_are() {
    // A heading of one column beside the lines of the other.
    let left: Vec<&str> = vec![
        "The text of this column is long enough",
        "to be one, and has some more lines that",
        "say nothing, and then it ends here.",
    ];
    let right: Vec<&str> = vec![
        "The other column has its own text here,",
        "of the same length, line for line, and",
        "it goes on below the heading beside it,",
        "without any heading of its own, to the",
        "end of the page.",
    ];
    let page =
        at(54, 700, "B", 22, "Results") + &lines(54, 680, 12, 10, &left) + &lines(320, 712, 12, 10, &right);
    let text = read(&page);
    assert!(text.contains("Results The text of this column is long enough to be one"), "{text}");
    // A parenthesis around two lines is no initial.
    let page = at(72, 700, "F", 30, "\\(") + &lines(90, 712, 14, 10, &["a b c d", "e f g h"]);
    assert!(!read(&page).contains("(a b c d"), "{}", read(&page));
}
