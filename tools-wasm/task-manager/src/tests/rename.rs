use super::*;

fn bench() -> Bench {
    let mut bench = Bench::default();
    bench.create("Write docs");
    bench.add("Outline the docs");
    bench
}

#[test]
fn a_task_gets_a_new_name_and_is_found_by_it() {
    let mut bench = bench();
    bench.create("Other");
    let output = bench.ok(&json!({"action": "rename", "query": "", "task_id": 1, "text": "Publish guide"}));
    assert_eq!(output.text, "Task #1 is renamed: Publish guide\nIt was: Write docs");
    assert_eq!(data(&output)["current_task_id"], 2, "renaming makes nothing current");
    assert_eq!(ids(&bench.ok(&json!({"action": "list", "query": "guide"})), "tasks"), [1]);
    assert!(ids(&bench.ok(&json!({"action": "list", "query": "write"})), "tasks").is_empty());
    let by_step = bench.ok(&json!({"action": "list", "query": "docs"}));
    assert_eq!(ids(&by_step, "tasks"), [1], "a step has that word of the old name");
}

#[test]
fn the_current_task_or_the_only_match_is_renamed() {
    let mut bench = bench();
    bench.text(&json!({"action": "rename", "query": "", "text": "Docs"}));
    bench.create("Ship");
    let text = bench.text(&json!({"action": "rename", "query": "docs", "text": "Manual"}));
    assert_eq!(text, "Task #1 is renamed: Manual\nIt was: Docs");
    bench.create("Manual of style");
    bench.create("Manual of sites");
    let text = bench.invalid(&json!({"action": "rename", "query": "manual of", "text": "Style"}));
    assert_eq!(
        text,
        "The query matches several tasks; nothing was changed. Choose one with task_id:\n  #4 Manual of sites\n  #3 Manual of style"
    );
}

#[test]
fn a_step_gets_a_new_text() {
    let mut bench = bench();
    let output = bench.ok(&json!({"action": "rename", "query": "", "step_id": 1, "text": "Draft"}));
    assert_eq!(
        output.text,
        "Step 1 is changed: Draft\nIt was: Outline the docs\nTask #1 Write docs (0/1 step)."
    );
    assert_eq!(data(&output)["steps"][0]["text"], "Draft");
    assert!(ids(&bench.ok(&json!({"action": "list", "query": "outline"})), "tasks").is_empty());
    assert_eq!(ids(&bench.ok(&json!({"action": "list", "query": "draft"})), "tasks"), [1]);
    let wrong = json!({"action": "rename", "query": "", "step_id": 1, "task_id": 7, "text": "x"});
    assert!(bench.invalid(&wrong).starts_with("Step 1 belongs to task 1, not to task 7."));
}

#[test]
fn the_same_name_changes_nothing_and_no_name_is_refused() {
    let mut bench = bench();
    bench.reset();
    let same = bench.text(&json!({"action": "rename", "query": "", "text": " Write docs "}));
    assert_eq!((same.as_str(), bench.memory.writes), ("Task #1 already has that name: Write docs", 0));
    let none = bench.invalid(&json!({"action": "rename", "query": "Docs", "task_id": 1}));
    assert_eq!(none, "text is missing; rename needs the new words in it.");
    bench.not_found(&json!({"action": "rename", "query": "", "task_id": 9, "text": "x"}));
}

#[test]
fn a_word_of_another_step_stays_findable() {
    let mut bench = bench();
    bench.add("Check the outline");
    bench.ok(&json!({"action": "rename", "query": "", "step_id": 1, "text": "Draft"}));
    assert_eq!(ids(&bench.ok(&json!({"action": "list", "query": "outline"})), "tasks"), [1]);
}
