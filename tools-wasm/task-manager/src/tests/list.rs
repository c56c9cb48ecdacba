use super::*;

fn list(bench: &mut Bench, query: &str) -> String {
    bench.text(&json!({"action": "list", "query": query}))
}

fn pending(bench: &mut Bench, query: &str) -> String {
    bench.text(&json!({"action": "pending", "query": query}))
}

/// Creates the tasks #1 Plan, #2 Ship (completed) and #3 Write docs (current, one of three steps done).
fn three() -> Bench {
    let mut bench = Bench::default();
    bench.create("Plan");
    bench.create("Ship");
    bench.ok(&json!({"action": "complete", "query": "", "task_id": 2}));
    bench.create("Write docs");
    for text in ["Outline", "Draft\nit", "Review"] {
        bench.add(text);
    }
    bench.ok(&json!({"action": "complete", "query": "", "step_id": 1}));
    bench
}

#[test]
fn list_shows_the_current_task_first_and_then_the_newest() {
    let mut bench = three();
    assert_eq!(
        list(&mut bench, ""),
        "3 tasks, 2 open.\n* #3 Write docs (1/3 steps) ← current\n  #2 Ship (done)\n  #1 Plan (no steps)"
    );
    bench.ok(&json!({"action": "switch", "query": "", "task_id": 1}));
    let output = bench.ok(&json!({"action": "list", "query": ""}));
    assert_eq!(ids(&output, "tasks"), [1, 3, 2]);
    assert_eq!(data(&output)["steps"], json!([]));
}

#[test]
fn pending_shows_open_tasks_and_the_open_steps_of_the_current_one() {
    let mut bench = three();
    let output = bench.ok(&json!({"action": "pending", "query": ""}));
    assert_eq!(
        output.text,
        "3 tasks, 2 open.\n* #3 Write docs (1/3 steps) ← current\n    [ ] 2 Draft it\n    [ ] 3 Review\n  #1 Plan (no steps)"
    );
    assert_eq!(ids(&output, "tasks"), [3, 1]);
    assert_eq!(
        data(&output)["steps"],
        json!([
            {"id": 2, "task_id": 3, "text": "Draft\nit", "done": false},
            {"id": 3, "task_id": 3, "text": "Review", "done": false}
        ])
    );
}

#[test]
fn pending_says_when_only_the_task_itself_is_left_to_complete() {
    let mut bench = three();
    for id in [2, 3] {
        bench.ok(&json!({"action": "complete", "query": "", "step_id": id}));
    }
    let advice = "All its steps are done. To complete the task, call TaskManager with {\"action\":\"complete\",\"query\":\"\",\"task_id\":3}";
    assert_eq!(
        pending(&mut bench, ""),
        format!(
            "3 tasks, 2 open.\n* #3 Write docs (3/3 steps) ← current\n    {advice}\n  #1 Plan (no steps)"
        )
    );
    assert_eq!(
        bench.text(&json!({"action": "pending", "query": "", "task_id": 3})),
        format!("Task #3 (current, 3/3 steps): Write docs\nNo open steps. {advice}")
    );
}

#[test]
fn empty_lists_say_why_they_are_empty() {
    let mut bench = Bench::default();
    let none = "There are no tasks. Create one: action \"create\" with its name in text.";
    assert_eq!(list(&mut bench, ""), none);
    assert_eq!(pending(&mut bench, "docs"), none);
    bench.create("Ship");
    assert_eq!(list(&mut bench, "docs"), "1 task, 1 open. No task matches \"docs\".");
    bench.ok(&json!({"action": "complete", "query": "", "task_id": 1}));
    assert_eq!(pending(&mut bench, ""), "1 task, 0 open. Nothing is pending.");
    assert_eq!(pending(&mut bench, "ship"), "1 task, 0 open. No open task matches \"ship\".");
    let older = json!({"action": "list", "query": "", "text": "before:1"});
    assert_eq!(bench.text(&older), "1 task, 0 open. There is no task before #1.");
    let older = json!({"action": "list", "query": "ship", "text": "before:1"});
    assert_eq!(bench.text(&older), "1 task, 0 open. No task before #1 matches \"ship\".");
}

#[test]
fn one_task_is_shown_in_full() {
    let mut bench = Bench::default();
    let (name, text) = (format!("Long {}", "x".repeat(200)), format!("{}\nsecond line", "y".repeat(200)));
    bench.create(&name);
    bench.add(&text);
    bench.create("Other");
    let shown = bench.text(&json!({"action": "list", "query": "", "task_id": 1}));
    assert_eq!(shown, format!("Task #1 (0/1 step): {name}\n[ ] 1 {}\n    second line", "y".repeat(200)));
    assert_eq!(
        bench.text(&json!({"action": "list", "query": "", "task_id": 2})),
        "Task #2 (current, no steps): Other\nNo steps. Action \"add\" with this task_id and text adds one."
    );
    assert_eq!(
        bench.text(&json!({"action": "list", "query": "", "task_id": 1, "text": "after:1"})),
        format!("Task #1 (0/1 step): {name}\nNo steps after 1.")
    );
    let noted = bench.text(&json!({"action": "pending", "query": "docs", "task_id": 2}));
    assert_eq!(
        noted,
        "Task #2 (current, no steps): Other\nNo open steps. Action \"add\" with this task_id and text adds one.\nNote: the query \"docs\" was not used, because task_id names one task."
    );
}

#[test]
fn pending_of_one_task_shows_its_open_steps_alone() {
    let mut bench = three();
    assert_eq!(
        bench.text(&json!({"action": "pending", "query": "", "task_id": 3})),
        "Task #3 (current, 1/3 steps): Write docs\n[ ] 2 Draft\n    it\n[ ] 3 Review"
    );
    bench.ok(&json!({"action": "complete", "query": "", "task_id": 3}));
    assert_eq!(
        bench.text(&json!({"action": "pending", "query": "", "task_id": 3})),
        "Task #3 (done 2026-11-20T22:40:32Z, 3 steps): Write docs\nNo open steps."
    );
}

#[test]
fn long_names_are_shortened_in_lists_and_whole_in_the_data() {
    let mut bench = Bench::default();
    let name = "語".repeat(500);
    bench.create(&name);
    let output = bench.ok(&json!({"action": "list", "query": ""}));
    assert_eq!(output.text, format!("1 task, 1 open.\n* #1 {}… (no steps) ← current", "語".repeat(119)));
    assert_eq!(data(&output)["tasks"][0]["name"], name);
}
