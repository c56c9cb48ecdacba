use super::*;

fn bench_with(names: &[&str]) -> Bench {
    let mut bench = Bench::default();
    for name in names {
        bench.create(name);
    }
    bench
}

#[track_caller]
fn switched(bench: &mut Bench, query: &str) -> u64 {
    data(&bench.ok(&json!({"action": "switch", "query": query})))["current_task_id"].as_u64().expect("id")
}

#[test]
fn an_id_makes_that_task_current() {
    let mut bench = bench_with(&["Docs", "Ship"]);
    bench.ok(&json!({"action": "add", "query": "", "task_id": 1, "text": "Outline"}));
    let output = bench.ok(&json!({"action": "switch", "query": "ship", "task_id": 1}));
    assert_eq!(output.text, "Task #1 Docs (0/1 step) is current now. Next open step 1: Outline");
    assert_eq!(ids(&output, "steps"), [1]);
    bench.reset();
    let again = bench.text(&json!({"action": "switch", "query": "", "task_id": 1}));
    assert_eq!(again, "Task #1 Docs (0/1 step) was current already. Next open step 1: Outline");
    assert_eq!(bench.memory.writes, 0);
}

#[test]
fn a_number_in_the_query_is_an_id_where_it_exists() {
    let mut bench = bench_with(&["Docs", "Ship", "12", "Release 12"]);
    assert_eq!(switched(&mut bench, "2"), 2);
    assert_eq!(switched(&mut bench, "#1"), 1);
    assert_eq!(switched(&mut bench, "#3"), 3);
    assert_eq!(switched(&mut bench, "12"), 3, "there is no task 12, but a name");
    assert_eq!(switched(&mut bench, "#12"), 4, "a word of the newest name that has it");
}

#[test]
fn the_best_match_is_taken() {
    let mut bench = bench_with(&["Docs", "Docs for the API", "Write docs", "Ship"]);
    bench.add("Publish docs, then announce");
    assert_eq!(switched(&mut bench, " DOCS "), 1, "the exact name");
    assert_eq!(switched(&mut bench, "docs  FOR"), 2, "the beginning of a name");
    assert_eq!(switched(&mut bench, "docs write"), 3, "all words in the name");
    assert_eq!(switched(&mut bench, "docs ship"), 4, "words in name and steps");
    assert_eq!(switched(&mut bench, "announce"), 4, "words in the steps");
}

#[test]
fn words_in_the_name_win_over_words_in_newer_steps() {
    let mut bench = bench_with(&["Write docs"]);
    for n in 0..30 {
        bench.create(&format!("Other {n}"));
        bench.add("docs again");
    }
    assert_eq!(switched(&mut bench, "docs"), 1);
    assert_eq!(switched(&mut bench, "again"), 31, "the newest");
}

#[test]
fn several_equal_matches_are_named() {
    let mut bench = bench_with(&["Docs", "docs", "DOCS two"]);
    let output = bench.ok(&json!({"action": "switch", "query": "docs"}));
    assert_eq!(
        output.text,
        "Task #2 docs (no steps) is current now.\nThe query matches these as well (choose with task_id):\n  #1 Docs"
    );
    assert_eq!(ids(&output, "tasks"), [2, 1]);
    for n in 0..6 {
        bench.create(&format!("Ship {n}"));
    }
    let five = bench.ok(&json!({"action": "switch", "query": "ship"}));
    assert_eq!(ids(&five, "tasks"), [9, 8, 7, 6, 5, 4]);
    assert!(five.text.ends_with("\n  #5 Ship 1\n  #4 Ship 0"), "{}", five.text);
    bench.create("Ship 7");
    let many = bench.ok(&json!({"action": "switch", "query": "ship"}));
    assert_eq!(ids(&many, "tasks"), [10, 9, 8, 7, 6, 5]);
    assert!(
        many.text.ends_with("\n  #5 Ship 1\n  and more; list with this query shows them."),
        "{}",
        many.text
    );
}

#[test]
fn long_names_that_begin_alike_are_told_apart() {
    let common = "x".repeat(120);
    let (one, two) = (format!("{common} one"), format!("{common} two"));
    let mut bench = bench_with(&[&one, &two, &common]);
    assert_eq!(switched(&mut bench, &one), 1);
    assert_eq!(switched(&mut bench, &two.to_uppercase()), 2);
    assert_eq!(switched(&mut bench, &common), 3);
    assert_eq!(switched(&mut bench, &format!("{common} t")), 2);
}

#[test]
fn a_name_without_any_word_is_found_by_itself() {
    let mut bench = bench_with(&["???", "!", "Docs"]);
    assert_eq!(switched(&mut bench, "???"), 1);
    assert_eq!(switched(&mut bench, "?"), 1);
}

#[test]
fn a_search_that_stopped_says_so() {
    let mut bench = bench_with(&["x foo bar"]);
    for n in 0..3000 {
        bench.create(if n % 2 == 0 { "x foo" } else { "x bar" });
    }
    let text = bench.not_found(&json!({"action": "switch", "query": "foo bar"}));
    assert!(text.starts_with("No task from #"), "{text}");
    assert!(
        text.ends_with(" up matches \"foo bar\"; the search stopped after reading 2000 entries. Use rarer words, or find it with list and this query and switch by task_id."),
        "{text}"
    );
}
