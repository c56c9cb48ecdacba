use proptest::prelude::*;

use super::*;
use crate::snippet::{same_text, same_title, text, title};

#[test]
fn snippets_lose_what_engines_add() {
    let cases = [
        // Cuts.
        ("... the tide is high ...", "… the tide is high …", "the tide is high …"),
        ("the tide…... is high....", "", "the tide… is high…"),
        // Dates stay, once and in one form.
        ("May 6, 2024 — The tide is high.", "", "May 6, 2024 · The tide is high."),
        ("6 May 2024 · The tide is high.", "", "6 May 2024 · The tide is high."),
        ("2 days ago - The tide is high.", "", "2 days ago · The tide is high."),
        ("2024-05-06: The tide is high.", "", "2024-05-06 · The tide is high."),
        ("May 6, 2024 ... The tide is high.", "", "May 6, 2024 · The tide is high."),
        ("May 6, 2024 · May 6, 2024 — The tide is high.", "", "May 6, 2024 · The tide is high."),
        ("May 6, 2024 was a windy day.", "", "May 6, 2024 was a windy day."),
        ("3 days later - it rained.", "", "3 days later - it rained."),
        ("1.2.3 - Fixes a bug.", "", "1.2.3 - Fixes a bug."),
        // Duplicates.
        ("The tide is high today. The tide is high today.", "", "The tide is high today."),
        ("The tide is high today.The tide is high today.", "", "The tide is high today."),
        ("no no", "", "no no"),
        // Title and URL at the beginning.
        ("Tides of the Sea - The tide is high today.", "Tides of the Sea", "The tide is high today."),
        ("Tides of the Sea. They are high today.", "Tides of the Sea", "They are high today."),
        ("Tides of the Sea are high today.", "Tides of the Sea", "Tides of the Sea are high today."),
        ("Tides of the Sea", "Tides of the Sea", "Tides of the Sea"),
        ("https://a.example › docs › tides The tide is high.", "", "The tide is high."),
        ("https://a.example is where the tide is.", "", "https://a.example is where the tide is."),
        ("", "", ""),
    ];
    for (given, over, wanted) in cases {
        // The second value is a title, or the snippet as it appears on an engine's page.
        assert_eq!(text(given, over), wanted, "{given}");
    }
    let shown = hit("https://a.example/", "<b>", "a\u{200b}b\u{7}  c\n...").snippet;
    assert_eq!(shown, "ab c …");
}

#[test]
fn titles_name_their_site_once() {
    let cases = [
        ("Tides - Sea - Sea", "Tides - Sea"),
        ("Tides | Sea | SEA", "Tides | Sea"),
        ("Tides of the Sea Tides of the Sea", "Tides of the Sea"),
        ("Tides - Low - Sea", "Tides - Low - Sea"),
        ("A | B | A", "A | B | A"),
        ("Tides ...", "Tides …"),
        ("C - C++ - Wiki", "C - C++ - Wiki"),
    ];
    for (given, wanted) in cases {
        assert_eq!(title(given), wanted);
    }
}

#[test]
fn titles_are_the_same_when_one_was_cut_or_names_the_site() {
    for (one, other) in [
        ("Tides of the North Sea", "tides of the north sea"),
        ("Tides of the North Sea", "Tides of the North Sea - Example"),
        ("Tides of the Nor…", "Tides of the North Sea | Example"),
        ("Tides: high & low", "Tides - high, low"),
    ] {
        assert!(same_title(one, other) && same_title(other, one), "{one} {other}");
    }
    for (one, other) in [
        ("", ""),
        ("Tides", "Tides - Example"),
        ("Tides of the North Sea", "Tides of the North Sea in winter"),
        ("Tides of the North Sea", "Tides of the South Sea"),
        ("Home", "Homepage"),
        ("Ti…", "Tides"),
    ] {
        assert!(!same_title(one, other) && !same_title(other, one), "{one} {other}");
    }
    let long = "The tide table shows when the sea is high and low.";
    assert!(same_text(long, "May 6, 2024 · The tide table shows when the sea i…"));
    assert!(!same_text(long, "The tide table") && !same_text("", ""));
}

proptest! {
    #[test]
    fn cleaning_twice_is_cleaning_once_and_never_panics(line in any::<String>(), over in any::<String>()) {
        let once = text(&line, &over);
        prop_assert!(once.chars().count() <= line.chars().count() + 3);
        title(&line);
        same_title(&line, &over);
        same_text(&line, &over);
    }

    #[test]
    fn what_looks_like_engines_text_never_panics(line in "(([A-Z][a-z]{2} |[0-9]{1,4}|, | - |…|\\.\\.\\.| ago|days| › |https://a|·|é){0,12})") {
        let line = crate::clean::whole(&line);
        let clean = text(&line, "May");
        prop_assert_eq!(title(&title(&line)), title(&line), "{}", clean);
    }
}
