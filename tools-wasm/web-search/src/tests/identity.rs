//! Results for the same page. `pages.tsv` has pairs of URLs, the correct decision, and which of three other
//! programs treat them as equal: normalize-url 9.0 (configured to ignore the protocol and the index file),
//! url-normalize 3.1 and w3lib 2.5 (`canonicalize_url`).

use super::*;
use crate::identity::{certain, groups, is_variant, likely, shown, without_session};

struct Pair {
    verdict: &'static str,
    one: &'static str,
    other: &'static str,
    /// Programs that treat the URLs as equal.
    others: Vec<&'static str>,
}

fn pairs() -> Vec<Pair> {
    let lines = include_str!("pages.tsv").lines().filter(|line| !line.starts_with('#'));
    let pair = |line: &'static str| {
        let parts: Vec<&str> = line.split('\t').collect();
        let [verdict, one, other, others] = parts.as_slice() else { panic!("{line}") };
        Pair { verdict, one, other, others: others.split(' ').filter(|name| *name != "-").collect() }
    };
    lines.map(pair).collect()
}

/// Returns the number of pages of two results.
fn count(one: &Hit, other: &Hit) -> usize {
    let found = groups::of([one, other].into_iter());
    found.values().collect::<std::collections::BTreeSet<_>>().len()
}

const TITLE: &str = "Tides of the North Sea";
const SNIPPET: &str = "The tide table shows when the sea is high and when it is low.";

#[test]
fn each_pair_is_the_same_page_or_is_not() {
    let all = pairs();
    assert!(all.len() > 95, "{}", all.len());
    for pair in all {
        let (one, other) = (pair.one, pair.other);
        let found = match () {
            () if certain(one) == certain(other) => "same",
            () if likely(one) == likely(other) => "title",
            () if without_session(one) == without_session(other) => "session",
            () => "different",
        };
        assert_eq!(found, pair.verdict, "{one} {other}: {} {}", certain(one), certain(other));
        let pages =
            |title: &str, snippet: &str| count(&hit(one, TITLE, SNIPPET), &hit(other, title, snippet));
        let merges = (pages(TITLE, SNIPPET), pages(TITLE, "Boats"), pages("Sailing for beginners", SNIPPET));
        let wanted = match pair.verdict {
            "same" => (1, 1, 1),
            "title" => (1, 1, 2),
            "session" => (1, 2, 2),
            _ => (2, 2, 2),
        };
        assert_eq!(merges, wanted, "{one} {other}");
    }
}

/// URLs that two of the three programs treat as equal are equal here. A single program may be too aggressive:
/// w3lib drops every fragment, including routes, and sorts the values of a parameter.
#[test]
fn what_most_other_programs_find_the_same_is_the_same_here() {
    let agreed = |pair: &Pair| pair.others.len() >= 2;
    let all = pairs();
    assert!(all.iter().filter(|pair| agreed(pair)).count() >= 10);
    for pair in all.iter().filter(|pair| agreed(pair)) {
        assert_eq!(pair.verdict, "same", "{} {}", pair.one, pair.other);
    }
}

#[test]
fn the_best_spelling_is_shown() {
    let cases = [
        ("https://a.example/x?utm_source=1&id=2&fbclid=3#part", "https://a.example/x?id=2#part"),
        ("https://a.example/x?utm_source=1", "https://a.example/x"),
        ("https://a.example/x#:~:text=tide", "https://a.example/x"),
        ("https://a.example/x#part:~:text=tide", "https://a.example/x#part"),
        ("https://a.example/x#utm_source=1&utm_medium=2", "https://a.example/x"),
        ("https://a.example/x?b=2&a=1&hl=de", "https://a.example/x?b=2&a=1&hl=de"),
        ("https://a.example/x?", "https://a.example/x"),
        ("https://a.example/x?ref=main", "https://a.example/x?ref=main"),
        ("https://a.example/#/guide?a=1", "https://a.example/#/guide?a=1"),
        ("https://a.example/x?b=a%20b&PHPSESSID=1", "https://a.example/x?b=a%20b"),
    ];
    for (given, wanted) in cases {
        assert_eq!(shown(given), wanted);
    }
    assert!(is_variant("https://m.a.example/x") && !is_variant("https://www.a.example/x"));
}

#[test]
fn merging_knows_pages_for_phones_by_their_titles() {
    let found = crate::merge::merge(vec![
        (engine("brave"), &[hit("https://m.sea.example/tide", "Tides of the North Sea", "short")]),
        (
            engine("mojeek"),
            &[hit("http://www.sea.example/tide/", "Tides of the North Sea - Sea", "a longer one")],
        ),
        (engine("yep"), &[hit("https://amp.sea.example/tide?utm_source=x", "Tides of the North…", "")]),
    ]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].url, "https://m.sea.example/tide", "https before all else");
    assert_eq!(found[0].engines, ["brave", "mojeek", "yep"]);
}
