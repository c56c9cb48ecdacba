//! Tests every engine's parser on its pages.

use super::*;
use crate::engine::Answer;
use crate::outcome::Outcome;
use crate::verdict;

/// URL, title, snippet.
type Expected = (&'static str, &'static str, &'static str);

/// Engine, status of its refusal, and the results of its normal page.
#[rustfmt::skip]
const EXPECTED: [(&str, u16, &[Expected]); 17] = [
    ("duckduckgo", 202, &[
        ("https://tides.example.com/tables?port=brest&utm_source=ddg", "Tide tables for Brest & around", "High and low water, tide by tide."),
        ("https://sea.example.org/how-tides-work", "How tides work", "The moon pulls, the sea follows."),
        ("http://harbour.example.net/", "Harbour office", ""),
    ]),
    ("brave", 200, &[
        ("https://sea.example.org/how-tides-work?utm_campaign=b#moon", "How tides work", "Twice a day the sea rises: the moon and the sun pull at it, and the shape of the coast does the rest."),
        ("https://almanac.example.com/2026/tides/", "Tides 2026 · Almanac", "All ports, the whole year."),
    ]),
    ("startpage", 200, &[
        ("https://almanac.example.com/2026/tides", "Tides 2026 · Almanac", "High & low water of all ports, day by day, for the whole year 2026."),
        ("https://tides.example.com/tables?port=brest&gclid=1", "Tide tables for Brest", ""),
    ]),
    ("bing", 200, &[
        ("http://sea.example.org/how-tides-work/", "How tides work", "The moon pulls."),
        ("https://tides.example.com/tables?port=brest", "Tide tables for Brest", "3 days ago · Brest, Le Conquet, Ouessant."),
    ]),
    ("mojeek", 403, &[
        ("http://www.tides.example.com/tables?port=brest", "Brest — tide tables", "Tide tables, Brest, by the hydrographic office."),
        ("https://simple.example.net/moon.html", "The moon <and> the sea", "My notes."),
    ]),
    ("qwant", 403, &[
        ("https://sea.example.org/how-tides-work", "How tides work", "The moon pulls, the sea follows."),
        ("https://code.example.org/tides", "Vec<T> of tides", "A library & its documentation."),
    ]),
    ("yahoo", 999, &[
        ("https://tides.example.com/tables?port=brest", "Tide tables for Brest", "Brest, Le Conquet."),
        ("https://harbour.example.net/", "Harbour office", "Opening hours and tides."),
    ]),
    ("yep", 403, &[
        ("https://almanac.example.com/2026/tides", "Tides 2026", "Ports of the Atlantic's coast."),
        ("https://sea.example.org/how-tides-work?fbclid=9", "How tides work", ""),
    ]),
    ("mwmbl", 429, &[
        ("https://simple.example.net/moon.html", "The moon <and> the sea", "My notes about tides"),
        ("https://tides.example.com/tables?port=brest", "Brest", ""),
    ]),
    ("wikipedia", 429, &[
        ("https://en.wikipedia.org/wiki/Tide", "Tide", "Rise and fall of the sea: Tides are the rise and fall of sea levels & more"),
        ("https://en.wikipedia.org/wiki/Tide_(brand)/K%C3%B6ln", "Tide (brand)/Köln", ""),
    ]),
    ("wiby", 403, &[
        ("http://simple.example.net/moon.html", "The moon and the sea", "Notes by a fisherman \"of the old kind\"."),
        ("http://old.example.org/~anne/tides.htm", "Anne's tide page", "Under construction since 1998."),
    ]),
    ("brave-api", 429, &[("https://sea.example.org/how-tides-work", "How tides work", "The moon pulls.")]),
    ("tavily", 429, &[("https://almanac.example.com/2026/tides", "Tides 2026", "All ports, the whole year.")]),
    ("exa", 429, &[
        ("https://sea.example.org/how-tides-work", "How tides work", "The moon pulls. … The sea follows."),
        ("https://harbour.example.net/", "https://harbour.example.net/", "Harbour office"),
    ]),
    ("kagi", 429, &[("https://sea.example.org/how-tides-work", "How tides work", "The moon pulls.")]),
    ("google", 429, &[("https://tides.example.com/tables?port=brest", "Tide tables for Brest", "Brest, Le Conquet.")]),
    ("searxng", 403, &[("https://sea.example.org/how-tides-work", "How tides work", "The moon pulls.")]),
];

#[test]
fn every_engine_reads_its_results_and_skips_advertisements() {
    for (name, _, expected) in EXPECTED {
        let expected = expected.iter().map(|(url, title, snippet)| Hit {
            url: (*url).to_owned(),
            title: (*title).to_owned(),
            snippet: (*snippet).to_owned(),
        });
        let answer = (engine(name).read)(&response(200, page(name, "normal")));
        assert_eq!(answer, Answer::Hits(expected.collect()), "{name}");
    }
}

#[test]
fn every_engine_knows_its_empty_page() {
    for (name, ..) in EXPECTED {
        let answer = verdict::of(engine(name), &response(200, page(name, "empty")));
        assert_eq!(answer, Outcome::Empty, "{name}");
    }
}

#[test]
fn every_engine_knows_its_refusal() {
    const CAPTCHAS: [&str; 6] = ["duckduckgo", "brave", "startpage", "bing", "qwant", "yep"];
    for (name, status, _) in EXPECTED {
        let outcome = verdict::of(engine(name), &response(status, page(name, "blocked")));
        let expected = if CAPTCHAS.contains(&name) { Outcome::Captcha } else { Outcome::Refused(status) };
        assert_eq!(outcome, expected, "{name}");
    }
}

#[test]
fn a_page_without_results_that_does_not_say_so_is_a_failure_never_empty() {
    let pages: [&[u8]; 7] = [
        b"",
        b"<html><body>Welcome</body></html>",
        b"{}",
        b"null",
        b"{\"results\":7}",
        b"[1,2]",
        b"\xff\xfe",
    ];
    for (name, ..) in EXPECTED {
        for page in pages {
            let outcome = verdict::of(engine(name), &response(200, page));
            assert!(matches!(outcome, Outcome::Failed(_)), "{name}: {outcome:?}");
        }
    }
}

#[test]
fn results_without_a_usable_address_are_a_failure() {
    let page = r#"{"results":[{"url":"javascript:alert(1)","title":"x"}]}"#;
    let outcome = verdict::of(engine("tavily"), &response(200, page));
    assert_eq!(outcome, Outcome::Failed("none of its 1 results has a usable address".to_owned()));
}

#[test]
fn statuses_other_than_success_are_never_read_as_results() {
    for status in [202, 204, 301, 400, 404, 500, 503] {
        let outcome = verdict::of(engine("bing"), &response(status, page("bing", "normal")));
        let expected =
            if status == 202 { Outcome::Refused(202) } else { Outcome::Failed(format!("HTTP {status}")) };
        assert_eq!(outcome, expected);
    }
}

#[test]
fn a_challenge_is_known_by_its_header_and_its_address_too() {
    let mut by_header = response(403, "");
    by_header.headers.push(("cf-mitigated".to_owned(), "challenge".to_owned()));
    assert_eq!(verdict::of(engine("yep"), &by_header), Outcome::Captcha);
    let mut by_address = response(200, "<p>hello</p>");
    by_address.url = "https://www.startpage.com/sp/captcha?x=1".to_owned();
    assert_eq!(verdict::of(engine("startpage"), &by_address), Outcome::Captcha);
}

#[test]
fn a_result_about_captchas_is_no_challenge() {
    let page = "<ol><li class='b_algo'><h2><a href='https://a.example/'>g-recaptcha</a></h2><p>captcha</p></li></ol><div class='g-recaptcha'></div>";
    assert!(matches!(verdict::of(engine("bing"), &response(200, page)), Outcome::Hits(_)));
}

#[test]
fn kagi_is_read_in_both_versions() {
    let old = (engine("kagi").read)(&response(200, page("kagi", "normal")));
    assert_eq!((engine("kagi").read)(&response(200, page("kagi", "normal-1"))), old);
}
