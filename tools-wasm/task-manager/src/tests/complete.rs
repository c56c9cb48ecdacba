use super::*;

fn docs() -> Bench {
    let mut bench = Bench::default();
    bench.create("Docs");
    for text in ["Outline", "Draft", "Review"] {
        bench.add(text);
    }
    bench
}

fn step(bench: &mut Bench, id: u64) -> String {
    bench.text(&json!({"action": "complete", "query": "", "step_id": id}))
}

#[test]
fn completing_a_step_tells_the_progress_and_the_next_one() {
    let mut bench = docs();
    assert_eq!(
        step(&mut bench, 2),
        "Step 2 is done: Draft\nTask #1 Docs (1/3 steps). Next open step 1: Outline"
    );
    assert_eq!(
        step(&mut bench, 1),
        "Step 1 is done: Outline\nTask #1 Docs (2/3 steps). Next open step 3: Review"
    );
}

#[test]
fn completing_the_last_step_leaves_the_task_open_and_says_how_to_complete_it() {
    let mut bench = docs();
    step(&mut bench, 1);
    step(&mut bench, 2);
    let last = bench.ok(&json!({"action": "complete", "query": "", "step_id": 3, "task_id": 1}));
    assert_eq!(
        last.text,
        "Step 3 is done: Review\nTask #1 Docs (3/3 steps). All its steps are done. To complete the task, call TaskManager with {\"action\":\"complete\",\"query\":\"\",\"task_id\":1}"
    );
    assert_eq!(data(&last)["tasks"][0]["completed"], false);
    assert_eq!(data(&last)["open_tasks"], 1);
}

#[test]
fn completing_a_step_again_changes_nothing_and_says_so() {
    let mut bench = docs();
    step(&mut bench, 2);
    bench.reset();
    assert_eq!(
        step(&mut bench, 2),
        "Step 2 was already done: Draft\nTask #1 Docs (1/3 steps). Next open step 1: Outline"
    );
    assert_eq!(bench.memory.writes, 0);
}

#[test]
fn completing_a_task_counts_all_its_steps_as_done() {
    let mut bench = docs();
    step(&mut bench, 2);
    let done = bench.ok(&json!({"action": "complete", "query": "", "task_id": 1}));
    assert_eq!(
        done.text,
        "Task #1 is completed: Docs\n2 steps that were open count as done.\nNo task is open now."
    );
    assert_eq!(
        data(&done)["tasks"],
        json!([{"id": 1, "name": "Docs", "current": false, "completed": true, "steps_total": 3, "steps_done": 3}])
    );
    assert_eq!(step(&mut bench, 1), "Step 1 was already done: Outline\nTask #1 Docs (done).");
    let shown = bench.text(&json!({"action": "list", "query": "", "task_id": 1}));
    assert_eq!(
        shown,
        "Task #1 (done 2026-11-20T22:40:32Z, 3 steps): Docs\n[x] 1 Outline\n[x] 2 Draft\n[x] 3 Review"
    );
}

#[test]
fn completing_a_task_says_what_is_left() {
    let mut bench = docs();
    bench.create("Ship");
    bench.add("Tag");
    bench.create("Rest");
    assert_eq!(
        bench.text(&json!({"action": "complete", "query": "", "task_id": 2})),
        "Task #2 is completed: Ship\n1 step that was open counts as done.\n2 tasks open; pending shows what is left."
    );
    assert_eq!(
        bench.text(&json!({"action": "complete", "query": "", "task_id": 3})),
        "Task #3 is completed: Rest\n1 task open, and none is current: pending shows what is left, switch or create makes one current."
    );
}

#[test]
fn completing_a_task_again_changes_nothing_and_says_so() {
    let mut bench = docs();
    bench.ok(&json!({"action": "complete", "query": "", "task_id": 1}));
    bench.reset();
    let again = bench.text(&json!({"action": "complete", "query": "", "task_id": 1}));
    assert_eq!(again, "Task #1 was already completed: Docs");
    assert_eq!(bench.memory.writes, 0);
}

#[test]
fn step_ids_are_unique_in_the_workspace() {
    let mut bench = docs();
    bench.create("Ship");
    bench.add("Tag");
    assert_eq!(
        step(&mut bench, 4),
        "Step 4 is done: Tag\nTask #2 Ship (1/1 step). All its steps are done. To complete the task, call TaskManager with {\"action\":\"complete\",\"query\":\"\",\"task_id\":2}"
    );
}
