use super::*;

fn found(bench: &mut Bench, query: &str) -> Vec<u64> {
    follow(bench, &json!({"action": "list", "query": query}), "tasks").concat()
}

/// Creates tasks from #1 on with the given names and steps. None is current, so none comes first.
fn bench_with(tasks: &[(&str, &[&str])]) -> Bench {
    let mut bench = Bench::default();
    for (name, steps) in tasks {
        bench.create(name);
        for step in *steps {
            bench.add(step);
        }
    }
    bench
}

#[test]
fn every_word_must_begin_a_word_of_the_name_or_the_steps() {
    let mut bench = bench_with(&[
        ("Write the docs", &["Outline", "Draft chapter 12"]),
        ("Docker image", &["write Dockerfile"]),
        ("Ship", &[]),
    ]);
    assert_eq!(found(&mut bench, "doc"), [2, 1]);
    assert_eq!(found(&mut bench, "docs"), [1]);
    assert_eq!(found(&mut bench, "WRI doc"), [2, 1]);
    assert_eq!(found(&mut bench, "write 1 (chapter)"), [1]);
    assert_eq!(found(&mut bench, "rite"), [0; 0]);
    assert_eq!(found(&mut bench, "docs ship"), [0; 0]);
    assert_eq!(found(&mut bench, "docs docs DOCS"), [1]);
}

#[test]
fn case_and_scripts_do_not_matter() {
    let mut bench = bench_with(&[
        ("Überprüfung der Straße", &["ΟΔΟΣ τέλος"]),
        ("データベース設計", &["日本語のテスト"]),
        ("Проверить ЁЛКУ", &[]),
    ]);
    assert_eq!(found(&mut bench, "ÜBER straß"), [1]);
    assert_eq!(found(&mut bench, "οδος"), [1]);
    assert_eq!(found(&mut bench, "ёлку"), [3]);
    assert_eq!(found(&mut bench, "設計"), [2]);
    assert_eq!(found(&mut bench, "日本 設計"), [2]);
    assert_eq!(found(&mut bench, "スト"), [2]);
    assert_eq!(found(&mut bench, "語学"), [0; 0]);
}

#[test]
fn a_word_that_begins_another_does_not_hide_it() {
    let mut bench =
        bench_with(&[("a", &[]), ("a0", &[]), ("a00", &[]), ("ab", &[]), ("aé", &[]), ("a/b", &[])]);
    assert_eq!(found(&mut bench, "a"), [6, 5, 4, 3, 2, 1]);
    assert_eq!(found(&mut bench, "a0"), [3, 2]);
    assert_eq!(found(&mut bench, "b"), [6]);
}

#[test]
fn a_query_without_words_filters_nothing_and_says_so() {
    let mut bench = bench_with(&[("Docs", &[]), ("Ship", &[])]);
    assert_eq!(found(&mut bench, "*"), [2, 1]);
    let text = bench.text(&json!({"action": "list", "query": "*"}));
    assert!(
        text.ends_with("\nNote: The query \"*\" has no letters or digits, so it filters nothing."),
        "{text}"
    );
}

#[test]
fn words_beyond_the_index_limits_are_not_found() {
    let many: Vec<String> = (0..70).map(|n| format!("word{n}x")).collect();
    let mut bench = bench_with(&[("Many", &[&many.join(" ")]), (&"z".repeat(40), &[])]);
    assert_eq!(found(&mut bench, "word63x"), [1]);
    assert_eq!(found(&mut bench, "word64x"), [0; 0]);
    assert_eq!(found(&mut bench, &"z".repeat(35)), [2], "32 characters of a word count");
}

#[test]
fn a_short_beginning_of_many_words_says_that_some_are_left_out() {
    let names: Vec<String> = (0..17).map(|n| format!("ab{}", char::from(b'a' + n))).collect();
    let mut bench = Bench::default();
    for name in &names[..16] {
        bench.create(name);
    }
    assert!(!bench.text(&json!({"action": "list", "query": "ab"})).contains("Note"));
    bench.create(&names[16]);
    let text = bench.text(&json!({"action": "list", "query": "AB"}));
    assert!(text.ends_with(
        "\nNote: More than 16 different words begin with \"ab\"; only the first 16 in alphabetical order were searched. Use a longer word."
    ), "{text}");
    assert_eq!(found(&mut bench, "ab").len(), 16);
}

#[test]
fn a_search_stops_at_its_budget_and_goes_on_from_there() {
    let mut bench = Bench::default();
    bench.create("foo bar");
    for n in 0..3000 {
        bench.create(if n % 2 == 0 { "foo" } else { "bar" });
    }
    bench.reset();
    let first = bench.ok(&json!({"action": "list", "query": "foo bar"}));
    assert!(bench.memory.reads < crate::walk::BUDGET + 100, "{}", bench.memory.reads);
    assert_eq!(ids(&first, "tasks"), [0; 0]);
    assert!(first.text.starts_with("3001 tasks, 3001 open. No match yet.\nNote: The search stopped after reading 2000 entries; tasks from #"), "{}", first.text);
    let before = hint(&first).expect("more")["text"].as_str().expect("text").to_owned();
    let before: u64 = before.strip_prefix("before:").expect("cursor").parse().expect("id");
    assert!((500..2500).contains(&before), "{before}");
    assert!(first.text.contains(&format!("tasks from #{before} up are searched, older ones are not.")));
    let pages = follow(&mut bench, &json!({"action": "list", "query": "foo bar"}), "tasks");
    assert_eq!(pages.concat(), [1]);
    assert!((2..5).contains(&pages.len()), "{}", pages.len());
}

#[test]
fn a_costly_query_still_gets_further_with_every_page() {
    // 16 words with 16 endings each, in names and in steps: 512 ranges to walk.
    let mut bench = Bench::default();
    for n in 0..16 {
        let word = |w: u8| format!("{}{}", char::from(b'a' + w).to_string().repeat(2), char::from(b'a' + n));
        for _ in 0..20 {
            bench.create(&(0..16).map(word).collect::<Vec<_>>().join(" "));
        }
    }
    let query: Vec<String> = (0..16u8).map(|w| char::from(b'a' + w).to_string().repeat(2)).collect();
    let query = json!({"action": "list", "query": query.join(" ")});
    bench.reset();
    bench.ok(&query);
    assert!(bench.memory.reads < 3 * crate::walk::BUDGET, "{}", bench.memory.reads);
    assert_eq!(follow(&mut bench, &query, "tasks").concat(), (1..=320).rev().collect::<Vec<u64>>());
}
