use super::*;

#[test]
fn a_created_task_is_current_and_gets_the_next_id() {
    let mut bench = Bench::default();
    let first = bench.ok(&json!({"action": "create", "query": "", "text": "Write docs"}));
    assert_eq!(
        first.text,
        "Task #1 is created and current: Write docs\nNext: action \"add\" with text adds a step to it."
    );
    assert_eq!(
        data(&first),
        json!({
            "current_task_id": 1,
            "tasks": [{"id": 1, "name": "Write docs", "current": true, "completed": false, "steps_total": 0, "steps_done": 0}],
            "steps": [], "total_tasks": 1, "open_tasks": 1, "next": null
        })
    );
    let second = bench.ok(&json!({"action": " create ", "query": "Ship", "text": " \n"}));
    assert!(second.text.starts_with("Task #2 is created and current: Ship\n"));
    assert_eq!(data(&second)["current_task_id"], 2);
}

#[test]
fn a_step_goes_to_the_current_task_or_to_the_one_named() {
    let mut bench = Bench::default();
    bench.create("Docs");
    bench.create("Ship");
    let step = bench.ok(&json!({"action": "add", "query": "", "text": "Tag"}));
    assert_eq!(step.text, "Step 1 is added to task #2 Ship (0/1 step): Tag");
    let other = bench.ok(&json!({"action": "add", "query": "Outline", "task_id": 1}));
    assert_eq!(other.text, "Step 2 is added to task #1 Docs (0/1 step): Outline");
    assert_eq!(data(&other)["steps"], json!([{"id": 2, "task_id": 1, "text": "Outline", "done": false}]));
    assert_eq!(data(&other)["current_task_id"], 2, "adding elsewhere does not switch");
}

#[test]
fn a_step_for_a_completed_task_opens_it_and_leaves_the_earlier_steps_done() {
    let mut bench = Bench::default();
    bench.create("Docs");
    bench.add("Outline");
    bench.add("Draft");
    bench.ok(&json!({"action": "complete", "query": "", "task_id": 1}));
    let again = bench.ok(&json!({"action": "add", "query": "", "task_id": 1, "text": "Review"}));
    assert_eq!(
        again.text,
        "Step 3 is added to task #1 Docs (2/3 steps): Review\nThe task was completed; it is open again, and its earlier steps stay done."
    );
    assert_eq!(data(&again)["open_tasks"], 1);
    let shown = bench.text(&json!({"action": "list", "query": "", "task_id": 1}));
    assert_eq!(shown, "Task #1 (2/3 steps): Docs\n[x] 1 Outline\n[x] 2 Draft\n[ ] 3 Review");
    let earlier = bench.text(&json!({"action": "complete", "query": "", "step_id": 1}));
    assert!(earlier.starts_with("Step 1 was already done: Outline\n"));
}

#[test]
fn a_step_for_a_completed_task_without_steps_opens_it() {
    let mut bench = Bench::default();
    bench.create("Docs");
    bench.ok(&json!({"action": "complete", "query": "", "task_id": 1}));
    let text = bench.text(&json!({"action": "add", "query": "", "task_id": 1, "text": "Review"}));
    assert_eq!(
        text,
        "Step 1 is added to task #1 Docs (0/1 step): Review\nThe task was completed; it is open again."
    );
}

#[test]
fn control_characters_are_dropped_and_line_breaks_kept() {
    let mut bench = Bench::default();
    let task =
        bench.ok(&json!({"action": "create", "query": "", "text": " \u{1b}[31mRed\u{0}\r\n\tbook \r\n"}));
    assert_eq!(data(&task)["tasks"][0]["name"], "[31mRed\n\tbook");
    assert!(task.text.starts_with("Task #1 is created and current: [31mRed book\n"));
    assert_eq!(
        bench.text(&json!({"action": "list", "query": ""})),
        "1 task, 1 open.\n* #1 [31mRed book (no steps) ← current"
    );
}

#[test]
fn the_longest_name_and_step_fit_in_any_script() {
    let mut bench = Bench::default();
    for letter in ["x", "é", "語", "𝒳", "İ"] {
        let (name, text) = (letter.repeat(500), letter.repeat(4000));
        let task = bench.ok(&json!({"action": "create", "query": "", "text": name}));
        assert_eq!(data(&task)["tasks"][0]["name"], name);
        let step = bench.ok(&json!({"action": "add", "query": "", "text": text}));
        assert_eq!(data(&step)["steps"][0]["text"], text);
        assert!(step.text.chars().count() < 320, "{}", step.text);
    }
}
