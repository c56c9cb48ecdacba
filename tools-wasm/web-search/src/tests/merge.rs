use proptest::prelude::*;

use super::fake::{Server, gives};
use super::*;
use crate::merge::{Page, merge};

fn merged(lists: &[(&str, Vec<Hit>)]) -> Vec<Page> {
    merge(lists.iter().map(|(name, hits)| (engine(name), hits.as_slice())).collect())
}

fn urls(pages: &[Page]) -> Vec<&str> {
    pages.iter().map(|page| page.url.as_str()).collect()
}

fn list(hosts: &[&str]) -> Vec<Hit> {
    hosts.iter().map(|host| hit(&format!("https://{host}.example/"), host, "")).collect()
}

#[test]
fn engines_of_one_index_have_one_voice() {
    let pages = merged(&[
        ("duckduckgo", list(&["a", "b"])),
        ("bing", list(&["a", "b"])),
        ("yahoo", list(&["a", "b"])),
        ("brave", list(&["b"])),
        ("mojeek", list(&["c"])),
    ]);
    // b is second in one index and first in another; a and c are first in one index.
    assert_eq!(urls(&pages), ["https://b.example/", "https://a.example/", "https://c.example/"]);
    assert_eq!(pages[1].engines, ["duckduckgo", "bing", "yahoo"]);
    assert!((pages[1].score - pages[2].score).abs() < 1e-12);
}

#[test]
fn the_best_rank_within_an_index_counts() {
    let pages = merged(&[("duckduckgo", list(&["a", "b", "c"])), ("yahoo", list(&["c"]))]);
    assert_eq!(urls(&pages), ["https://c.example/", "https://a.example/", "https://b.example/"]);
    assert!((pages[0].score - 1.0 / 61.0).abs() < 1e-12);
}

#[test]
fn a_page_is_the_same_whatever_brought_people_there() {
    let pages = merged(&[
        ("brave", vec![hit("http://Sea.example/a/?utm_source=x&id=1#top", "First", "short")]),
        ("mojeek", vec![hit("https://sea.example/a?id=1&fbclid=2", "Second", "a longer one")]),
        ("yep", vec![hit("https://sea.example/a?id=2", "Another", "")]),
    ]);
    assert_eq!(pages.len(), 2);
    assert_eq!(pages[0].url, "https://sea.example/a?id=1", "https is preferred, and what tracks is left out");
    assert_eq!(pages[0].title, "First", "of two first ranks the table's first engine counts");
    assert_eq!(pages[0].snippet, "a longer one");
    assert_eq!(pages[0].engines, ["brave", "mojeek"]);
}

#[test]
fn a_page_that_an_engine_lists_twice_counts_once() {
    let pages = merged(&[("brave", list(&["a", "a", "b"]))]);
    assert_eq!(urls(&pages), ["https://a.example/", "https://b.example/"]);
    assert_eq!(pages[0].engines, ["brave"]);
    assert!((pages[0].score - 1.0 / 61.0).abs() < 1e-12);
}

/// Generates several engines with several pages each, from a few hosts so that they overlap.
fn lists() -> impl Strategy<Value = Vec<(&'static str, Vec<Hit>)>> {
    let address = (0..6u8, any::<bool>(), 0..3u8).prop_map(|(host, secure, tail)| {
        let scheme = if secure { "https" } else { "http" };
        let tail = ["", "?utm_source=x", "#top"][usize::from(tail)];
        format!("{scheme}://h{host}.example/{tail}")
    });
    let hit =
        (address, "[a-z]{0,6}", "[a-z ]{0,9}").prop_map(|(url, title, snippet)| hit(&url, &title, &snippet));
    let hits = proptest::collection::vec(hit, 0..8);
    proptest::collection::vec(hits, 11).prop_map(|lists| OPEN.into_iter().zip(lists).collect())
}

proptest! {
    #[test]
    fn the_order_of_the_lists_does_not_matter((lists, shuffled) in lists().prop_flat_map(|lists| {
        (Just(lists.clone()), Just(lists).prop_shuffle())
    })) {
        prop_assert_eq!(merged(&lists), merged(&shuffled));
    }

    #[test]
    fn pages_are_distinct_and_sorted(lists in lists()) {
        let pages = merged(&lists);
        prop_assert!(pages.windows(2).all(|pair| pair[0].score >= pair[1].score));
        let mut ids: Vec<String> = pages.iter().map(|page| crate::identity::certain(&page.url)).collect();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), pages.len());
    }
}

proptest! {
    // Each case is two searches of eleven pages each.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_order_of_the_answers_does_not_matter(delays in proptest::collection::vec(0..3_000u64, 11)) {
        let results = |delay: &dyn Fn(usize) -> u64| {
            let script = |name: &str, request: &_| {
                let at = OPEN.iter().position(|open| *open == name).expect("known");
                (delay(at), gives(name, request, "normal"))
            };
            let output = Server::new().search("tide", &script).expect("succeeds");
            (output.text, data(output.structured.as_deref())["results"].clone())
        };
        prop_assert_eq!(results(&|at| delays[at]), results(&|_| 1));
    }
}
