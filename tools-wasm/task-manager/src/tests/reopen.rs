use super::*;

fn completed() -> Bench {
    let mut bench = Bench::default();
    bench.create("Docs");
    for text in ["Outline", "Draft", "Review"] {
        bench.add(text);
    }
    bench.ok(&json!({"action": "complete", "query": "", "step_id": 2}));
    bench.ok(&json!({"action": "complete", "query": "", "task_id": 1}));
    bench
}

#[test]
fn a_completed_task_opens_and_is_current_and_its_steps_stay_done() {
    let mut bench = completed();
    bench.create("Ship");
    let output = bench.ok(&json!({"action": "reopen", "query": "", "task_id": 1}));
    assert_eq!(
        output.text,
        "Task #1 Docs (3/3 steps) is open again, and current. All its steps are done. To complete the task, call TaskManager with {\"action\":\"complete\",\"query\":\"\",\"task_id\":1}"
    );
    assert_eq!((&data(&output)["current_task_id"], &data(&output)["open_tasks"]), (&json!(1), &json!(2)));
    bench.reset();
    let again = bench.text(&json!({"action": "reopen", "query": "docs"}));
    assert!(again.starts_with("Task #1 Docs (3/3 steps) is open already."), "{again}");
    assert_eq!(bench.memory.writes, 0);
}

#[test]
fn steps_open_again_however_they_were_done() {
    let mut bench = completed();
    let first = bench.text(&json!({"action": "reopen", "query": "", "step_id": 1}));
    assert_eq!(
        first,
        "Step 1 is open again: Outline\nThe task was completed; it is open again, and its other steps stay done.\nTask #1 Docs (2/3 steps)."
    );
    assert_eq!(
        bench.text(&json!({"action": "reopen", "query": "", "step_id": 2})),
        "Step 2 is open again: Draft\nTask #1 Docs (1/3 steps)."
    );
    assert_eq!(
        bench.text(&json!({"action": "reopen", "query": "", "step_id": 2})),
        "Step 2 is open already: Draft\nTask #1 Docs (1/3 steps)."
    );
    let open = bench.ok(&json!({"action": "pending", "query": "", "task_id": 1}));
    assert_eq!(ids(&open, "steps"), [1, 2]);
    let done = bench.text(&json!({"action": "complete", "query": "", "step_id": 1}));
    assert_eq!(done, "Step 1 is done: Outline\nTask #1 Docs (2/3 steps). Next open step 2: Draft");
    bench.ok(&json!({"action": "complete", "query": "", "task_id": 1}));
    let shown = bench.text(&json!({"action": "list", "query": "", "task_id": 1}));
    assert!(shown.ends_with("[x] 1 Outline\n[x] 2 Draft\n[x] 3 Review"), "{shown}");
}

#[test]
fn a_finished_task_is_not_the_current_one() {
    let mut bench = completed();
    let none = bench.invalid(&json!({"action": "add", "query": "", "text": "More"}));
    assert!(none.starts_with("No task is current; give the task_id"), "{none}");
    let refused = bench.invalid(&json!({"action": "switch", "query": "docs"}));
    assert_eq!(
        refused,
        "Task #1 Docs (done) is completed, so it cannot be current. To open it again and make it current, call TaskManager with {\"action\":\"reopen\",\"query\":\"\",\"task_id\":1}"
    );
    bench.create("Docs");
    bench.create("Other");
    bench.ok(&json!({"action": "complete", "query": "", "task_id": 3}));
    let switched = bench.ok(&json!({"action": "switch", "query": "docs"}));
    assert_eq!(data(&switched)["current_task_id"], 2, "of two equal names the open one");
    bench.invalid(&json!({"action": "reopen", "query": ""}));
}
