//! Bounds on the number of reads and writes of a call, independent of the amount of data.

use super::*;

/// Creates tasks with ten steps each; every third task is completed.
fn bench_with(tasks: u64) -> Bench {
    let mut bench = Bench::default();
    for n in 1..=tasks {
        bench.create(&format!("Task {n} of the project"));
        (0..10).for_each(|step| bench.add(&format!("Do part {step} of it")));
        if n % 3 == 0 {
            bench.ok(&json!({"action": "complete", "query": "", "task_id": n}));
        }
    }
    bench
}

/// Returns the numbers of entries read, entries written, and store calls without those to the search indexes.
fn cost(bench: &Bench, arguments: &Value) -> (usize, usize, usize) {
    let mut bench = bench.clone();
    bench.reset();
    bench.ok(arguments);
    (bench.memory.reads, bench.memory.writes, bench.ops)
}

#[test]
fn no_action_costs_more_where_more_is_stored() {
    let (few, many) = (bench_with(100), bench_with(2000));
    for arguments in [
        json!({"action": "create", "query": "", "text": "A new task"}),
        json!({"action": "add", "query": "", "text": "A new step"}),
        json!({"action": "add", "query": "", "text": "A new step", "task_id": 3}),
        json!({"action": "complete", "query": "", "step_id": 35}),
        json!({"action": "complete", "query": "", "task_id": 50}),
        json!({"action": "list", "query": ""}),
        json!({"action": "list", "query": "", "text": "before:60"}),
        json!({"action": "list", "query": "project part"}),
        json!({"action": "list", "query": "nothing like it"}),
        json!({"action": "list", "query": "", "task_id": 50}),
        json!({"action": "pending", "query": ""}),
        json!({"action": "pending", "query": "project"}),
        json!({"action": "pending", "query": "", "task_id": 50}),
        json!({"action": "switch", "query": "", "task_id": 50}),
        json!({"action": "switch", "query": "TASK 50 of"}),
        json!({"action": "switch", "query": "project"}),
        json!({"action": "switch", "query": "part"}),
        json!({"action": "rename", "query": "", "task_id": 50, "text": "Another name"}),
        json!({"action": "rename", "query": "", "step_id": 491, "text": "Another step"}),
        json!({"action": "reopen", "query": "", "task_id": 51}),
        json!({"action": "reopen", "query": "", "step_id": 505}),
        json!({"action": "delete", "query": "", "step_id": 491}),
        json!({"action": "delete", "query": "", "task_id": 50}),
    ] {
        let (few, many) = (cost(&few, &arguments), cost(&many, &arguments));
        assert!(many.0 <= few.0 + 12, "{arguments} reads {} of many and {} of few", many.0, few.0);
        assert_eq!(many.1, few.1, "{arguments} writes");
        assert!(many.2 <= few.2 + 12, "{arguments} calls {} of many and {} of few", many.2, few.2);
    }
}

#[test]
fn store_calls_are_few() {
    let bench = bench_with(100);
    for (calls, arguments) in [
        (3, json!({"action": "create", "query": "", "text": "A new task"})),
        (6, json!({"action": "add", "query": "", "text": "A new step"})),
        (8, json!({"action": "add", "query": "", "text": "A new step", "task_id": 3})),
        (8, json!({"action": "complete", "query": "", "step_id": 35})),
        (5, json!({"action": "complete", "query": "", "task_id": 50})),
        (4, json!({"action": "list", "query": ""})),
        (4, json!({"action": "pending", "query": ""})),
        (4, json!({"action": "list", "query": "", "task_id": 50})),
        (4, json!({"action": "switch", "query": "", "task_id": 50})),
    ] {
        assert_eq!(cost(&bench, &arguments).2, calls, "{arguments}");
    }
}

#[test]
fn a_text_costs_one_index_write_for_each_new_word() {
    let mut bench = Bench::default();
    bench.reset();
    bench.create("Write the docs");
    assert_eq!(bench.index_writes, 3 + 1, "three words and the name");
    bench.reset();
    bench.add("Write, write: the outline!");
    assert_eq!(bench.index_writes, 1, "the others are in the name already");
    bench.reset();
    let many: Vec<String> = (0..500).map(|n| format!("w{n}")).collect();
    bench.add(&many.join(" "));
    assert_eq!(bench.index_writes, 64);
}

#[test]
fn the_first_page_reads_no_more_than_it_shows_of_each_kind() {
    let (reads, writes, _) = cost(&bench_with(100), &json!({"action": "list", "query": ""}));
    assert_eq!((reads, writes), (1 + 1 + 22 + 22, 0));
}

#[test]
fn what_is_done_is_not_read_to_find_what_is_open() {
    let mut bench = Bench::default();
    bench.create("The only open task");
    (0..500).for_each(|n| bench.add(&format!("Step {n}")));
    (1..500).for_each(|id| {
        bench.ok(&json!({"action": "complete", "query": "", "step_id": id}));
    });
    for n in 2..=1000 {
        bench.create(&format!("Done task {n}"));
        bench.ok(&json!({"action": "complete", "query": "", "task_id": n}));
    }
    bench.ok(&json!({"action": "switch", "query": "", "task_id": 1}));
    for query in ["", "task"] {
        let arguments = json!({"action": "pending", "query": query});
        let output = bench.ok(&arguments);
        assert_eq!((ids(&output, "tasks"), ids(&output, "steps")), (vec![1], vec![500]));
        assert!(cost(&bench, &arguments).0 < 25, "{:?}", cost(&bench, &arguments));
    }
}

#[test]
fn completing_a_task_rewrites_none_of_its_steps() {
    let mut bench = Bench::default();
    bench.create("Long");
    (0..300).for_each(|n| bench.add(&format!("Step {n}")));
    let (reads, writes, _) = cost(&bench, &json!({"action": "complete", "query": "", "task_id": 1}));
    assert_eq!((reads, writes), (2, 3));
}
