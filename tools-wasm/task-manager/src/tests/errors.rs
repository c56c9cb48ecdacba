use super::*;

#[test]
fn an_unknown_action_names_the_known_ones() {
    let mut bench = Bench::default();
    let known = "use create, add, complete, list, pending, switch, rename, reopen or delete.";
    assert_eq!(bench.invalid(&json!({"query": ""})), format!("action is missing; {known}"));
    assert_eq!(bench.invalid(&json!({"action": " "})), format!("action is missing; {known}"));
    assert_eq!(bench.invalid(&json!({"action": "List"})), format!("action \"List\" is unknown; {known}"));
    assert_eq!(bench.invalid(&json!({"action": 5})), "action must be a string, but was 5.");
    assert!(bench.invalid(&json!([])).starts_with("The arguments are not usable"));
}

#[test]
fn missing_and_too_long_texts_are_refused_with_their_limit() {
    let mut bench = Bench::default();
    assert_eq!(
        bench.invalid(&json!({"action": "create", "query": " ", "text": "\u{7}"})),
        "text is missing; create needs the name of the task."
    );
    assert_eq!(
        bench.invalid(&json!({"action": "add", "query": ""})),
        "text is missing; add needs what the step is."
    );
    let begins = |text: &str| format!("{:?}", format!("{}…", &text[..60]));
    let long = "n".repeat(501);
    let shown = begins(&long);
    assert_eq!(
        bench.invalid(&json!({"action": "create", "query": "", "text": long})),
        format!("text has 501 characters; a task's name has at most 500. Shorten it: {shown}")
    );
    assert_eq!(
        bench.invalid(&json!({"action": "create", "query": long})),
        format!("query has 501 characters; a task's name has at most 500. Shorten it: {shown}")
    );
    assert_eq!(
        bench.invalid(&json!({"action": "list", "query": long})),
        format!("query has 501 characters; a query has at most 500. Shorten it: {shown}")
    );
    assert_eq!(
        bench.invalid(&json!({"action": "add", "query": "", "text": "n".repeat(4001)})),
        format!("text has 4001 characters; a step has at most 4000. Shorten it: {shown}")
    );
}

#[test]
fn a_step_needs_a_task() {
    let mut bench = Bench::default();
    assert_eq!(
        bench.invalid(&json!({"action": "add", "query": "", "text": "x"})),
        "There is no task to add a step to; create one first: action \"create\" with its name in text."
    );
}

#[test]
fn ids_that_do_not_exist_say_where_to_find_those_that_do() {
    let mut bench = Bench::default();
    bench.create("Docs");
    bench.add("Outline");
    for id in [0, -1, 2, i64::from(u32::MAX) + 2] {
        let task = format!("Task {id} does not exist; list shows the tasks that do.");
        for action in ["complete", "list", "pending", "switch"] {
            assert_eq!(bench.not_found(&json!({"action": action, "query": "", "task_id": id})), task);
        }
        assert_eq!(bench.not_found(&json!({"action": "add", "query": "", "text": "x", "task_id": id})), task);
        assert_eq!(
            bench.not_found(&json!({"action": "complete", "query": "", "step_id": id})),
            format!(
                "Step {id} does not exist; pending shows the open steps of the current task, and list with a task_id every step of that task."
            )
        );
    }
    assert_eq!(
        bench.invalid(&json!({"action": "complete", "query": "", "task_id": "one"})),
        "task_id must be an integer, but was \"one\"."
    );
    assert_eq!(
        bench.invalid(&json!({"action": "complete", "query": "", "step_id": 1.5})),
        "step_id must be an integer, but was 1.5."
    );
}

#[test]
fn complete_says_which_ids_it_takes() {
    let mut bench = Bench::default();
    assert_eq!(
        bench.invalid(&json!({"action": "complete", "query": "docs", "text": "docs"})),
        "complete needs step_id (one step) or task_id (a whole task with all its steps); pending shows the ids."
    );
    bench.create("Docs");
    bench.add("Outline");
    bench.create("Ship");
    assert_eq!(
        bench.invalid(&json!({"action": "complete", "query": "", "task_id": 2, "step_id": 1})),
        "Step 1 belongs to task 1, not to task 2. Nothing was changed; leave task_id out, or check step_id."
    );
}

#[test]
fn switch_says_what_it_takes_and_that_nothing_matches() {
    let mut bench = Bench::default();
    assert_eq!(
        bench.invalid(&json!({"action": "switch", "query": " "})),
        "switch needs task_id, or query with a task's name or words of it; list shows the tasks."
    );
    assert_eq!(
        bench.not_found(&json!({"action": "switch", "query": "docs"})),
        "No task matches \"docs\": there are no tasks yet. Create one: action \"create\" with its name in text."
    );
    bench.create("Ship");
    for query in ["docs", "7", "#7", "!?", "a b c d e f g h i j k l m n o p q"] {
        assert_eq!(
            bench.not_found(&json!({"action": "switch", "query": query})),
            format!("No task matches {query:?}; list shows the tasks that exist.")
        );
    }
}

#[test]
fn a_bad_cursor_says_what_a_good_one_looks_like() {
    let mut bench = Bench::default();
    bench.create("Docs");
    for text in [
        "next",
        "before:",
        "before:x",
        "before:-1",
        "before:+1",
        "before:1 2",
        "after:3",
        "before:99999999999",
    ] {
        assert_eq!(
            bench.invalid(&json!({"action": "list", "query": "", "text": text})),
            format!(
                "text {text:?} is not a place to go on from; lists of tasks go on from \"before:<id>\" as a page before gave it. Leave text out for the first page."
            )
        );
    }
    assert_eq!(
        bench.invalid(&json!({"action": "pending", "query": "", "task_id": 1, "text": "before:3"})),
        "text \"before:3\" is not a place to go on from; the steps of one task go on from \"after:<id>\" as a page before gave it. Leave text out for the first page."
    );
}

#[test]
fn a_query_has_a_limit_of_words() {
    let mut bench = Bench::default();
    bench.create("Docs");
    let words = "a b c d e f g h i j k l m n o p";
    assert!(bench.ok(&json!({"action": "list", "query": words})).text.contains("No task matches"));
    assert_eq!(
        bench.invalid(&json!({"action": "list", "query": format!("{words} q")})),
        format!("query \"{words} q\" has more than 16 different words; search for fewer.")
    );
}

#[test]
fn a_damaged_record_is_reported_and_not_repaired_silently() {
    let mut bench = Bench::default();
    bench.create("Docs");
    bench.memory.set("t/o/0000000001", b"{").expect("set");
    let Failure::Failed(text) = bench.failure(&json!({"action": "list", "query": ""})) else { panic!() };
    assert!(
        text.starts_with("The store cannot be used now: the record at \"t/o/0000000001\" is damaged"),
        "{text}"
    );
    bench.memory.delete("t/o/0000000001").expect("delete");
    let Failure::Failed(text) = bench.failure(&json!({"action": "list", "query": ""})) else { panic!() };
    assert_eq!(text, "The store cannot be used now: the record of task 1 is missing. Nothing was changed.");
}
