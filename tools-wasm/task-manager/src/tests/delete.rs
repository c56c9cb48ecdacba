use super::*;

#[test]
fn a_step_goes_and_its_words_with_it() {
    let mut bench = Bench::default();
    bench.create("Docs");
    for text in ["Outline all", "Draft all"] {
        bench.add(text);
    }
    let output = bench.ok(&json!({"action": "delete", "query": "", "step_id": 1}));
    assert_eq!(output.text, "Step 1 is deleted: Outline all\nTask #1 Docs (0/1 step).");
    assert!(ids(&bench.ok(&json!({"action": "list", "query": "outline"})), "tasks").is_empty());
    assert_eq!(ids(&bench.ok(&json!({"action": "list", "query": "all"})), "tasks"), [1]);
    bench.not_found(&json!({"action": "delete", "query": "", "step_id": 1}));
    bench.add("Next");
    assert_eq!(ids(&bench.ok(&json!({"action": "list", "query": "", "task_id": 1})), "steps"), [2, 3]);
}

#[test]
fn a_task_goes_with_all_its_steps_and_nothing_of_it_stays() {
    let mut bench = Bench::default();
    bench.create("Keep");
    let before = bench.memory.clone();
    bench.create("Long");
    for n in 0..450 {
        bench.add(&format!("Step {n} of it"));
    }
    bench.ok(&json!({"action": "complete", "query": "", "step_id": 3}));
    bench.ok(&json!({"action": "complete", "query": "", "task_id": 2}));
    bench.ok(&json!({"action": "reopen", "query": "", "step_id": 5}));
    let output = bench.ok(&json!({"action": "delete", "query": "Long"}));
    assert_eq!(
        output.text,
        "Task #2 is deleted with its 450 steps: Long\n1 task open; pending shows what is left."
    );
    let keys = |memory: &MemoryStore| {
        let mut memory = memory.clone();
        memory.scan("", None, 10_000, Order::Ascending).expect("entries").into_iter().map(|e| e.key).collect()
    };
    let (left, expected): (Vec<String>, Vec<String>) = (keys(&bench.memory), keys(&before));
    assert_eq!(left, expected);
    assert_eq!(data(&output)["total_tasks"], 1);
    bench.create("New");
    assert_eq!(
        ids(&bench.ok(&json!({"action": "list", "query": ""})), "tasks"),
        [3, 1],
        "no id is given again"
    );
}

#[test]
fn the_current_task_is_deleted_only_by_name_or_number() {
    let mut bench = Bench::default();
    bench.create("Docs");
    let none = bench.invalid(&json!({"action": "delete", "query": ""}));
    assert!(none.starts_with("delete needs step_id (one step) or task_id"), "{none}");
    let gone = bench.ok(&json!({"action": "delete", "query": "", "task_id": 1}));
    assert_eq!(gone.text, "Task #1 is deleted: Docs\nNo task is open now.");
    assert_eq!(data(&gone)["current_task_id"], Value::Null);
    assert_eq!(
        bench.text(&json!({"action": "list", "query": ""})),
        "There are no tasks. Create one: action \"create\" with its name in text."
    );
    bench.not_found(&json!({"action": "switch", "query": "", "task_id": 1}));
}
