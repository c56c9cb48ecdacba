use super::*;

fn bench_with(tasks: usize) -> Bench {
    let mut bench = Bench::default();
    for n in 1..=tasks {
        bench.create(&format!("Task number {n}"));
    }
    bench
}

#[test]
fn following_the_hints_visits_every_task_once() {
    let mut bench = bench_with(250);
    bench.ok(&json!({"action": "switch", "query": "", "task_id": 100}));
    let pages = follow(&mut bench, &json!({"action": "list", "query": ""}), "tasks");
    assert!(pages[..12].iter().all(|page| page.len() == 20));
    assert_eq!(pages.len(), 13);
    let mut expected: Vec<u64> = (1..=250).rev().filter(|id| *id != 100).collect();
    expected.insert(0, 100);
    assert_eq!(pages.concat(), expected);
}

#[test]
fn a_page_ends_with_the_exact_call_that_goes_on() {
    let mut bench = bench_with(100);
    let first = bench.text(&json!({"action": "list", "query": "nUmber"}));
    assert!(
        first.starts_with("100 tasks, 100 open. Matching \"nUmber\":\n* #100 Task number 100"),
        "{first}"
    );
    assert!(first.ends_with(
        "\n  #81 Task number 81 (no steps)\nMore: call TaskManager with {\"action\":\"list\",\"query\":\"nUmber\",\"text\":\"before:81\"}"
    ));
    let second = bench.text(&json!({"action": "list", "query": "", "text": "before:81"}));
    assert!(second.starts_with("100 tasks, 100 open. Going on before #81:\n  #80 Task"), "{second}");
}

#[test]
fn hints_have_the_name_that_the_client_knows_and_tasks_have_theirs() {
    let mut bench = bench_with(20);
    bench.client.prefix = "my-";
    bench.create("call TaskManager with {");
    bench.ok(&json!({"action": "add", "query": "", "text": "TaskManager"}));
    let listed = bench.text(&json!({"action": "list", "query": ""}));
    assert!(listed.contains("#21 call TaskManager with { ("), "{listed}");
    assert!(listed.contains("\nMore: call my-TaskManager with {\"action\":\"list\""), "{listed}");
    let done = bench.text(&json!({"action": "complete", "query": "", "step_id": 1}));
    assert!(
        done.ends_with("call my-TaskManager with {\"action\":\"complete\",\"query\":\"\",\"task_id\":21}"),
        "{done}"
    );
}

#[test]
fn no_hint_is_given_where_a_page_is_exactly_full() {
    let mut bench = bench_with(20);
    let pages = follow(&mut bench, &json!({"action": "list", "query": ""}), "tasks");
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [20]);
    bench.create("one more");
    let pages = follow(&mut bench, &json!({"action": "list", "query": ""}), "tasks");
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [20, 1]);
}

#[test]
fn pending_pages_visit_every_open_task_once() {
    let mut bench = bench_with(250);
    for id in (1..=250).filter(|id| id % 3 == 0) {
        bench.ok(&json!({"action": "complete", "query": "", "task_id": id}));
    }
    let expected: Vec<u64> = (1..=250).rev().filter(|id| id % 3 != 0).collect();
    for query in ["", "number TASK"] {
        let pages = follow(&mut bench, &json!({"action": "pending", "query": query}), "tasks");
        assert_eq!(pages.concat(), expected);
        let pages = follow(&mut bench, &json!({"action": "list", "query": query}), "tasks");
        assert_eq!(pages.concat(), (1..=250).rev().collect::<Vec<u64>>());
    }
}

#[test]
fn a_filtered_list_has_the_current_task_first_where_it_matches() {
    let mut bench = bench_with(250);
    bench.ok(&json!({"action": "switch", "query": "", "task_id": 17}));
    let pages = follow(&mut bench, &json!({"action": "list", "query": "1"}), "tasks");
    let mut expected: Vec<u64> =
        (1..=250).rev().filter(|id| *id != 17 && id.to_string().starts_with('1')).collect();
    expected.insert(0, 17);
    // More than 16 words begin with 1. The first in order are 1, 10, 100 to 109, 11, 110 to 112.
    expected.retain(|id| [1, 10, 11].contains(id) || (100..=112).contains(id));
    assert_eq!(pages.concat(), expected);
}

#[test]
fn the_steps_of_a_task_are_paged_in_their_order() {
    let mut bench = bench_with(2);
    for n in 1..=65 {
        bench.add(&format!("Step {n}"));
        bench.ok(&json!({"action": "add", "query": "", "task_id": 1, "text": "elsewhere"}));
    }
    let of_task: Vec<u64> = (1..=130).step_by(2).collect();
    for id in of_task.iter().filter(|id| *id % 3 == 0) {
        bench.ok(&json!({"action": "complete", "query": "", "step_id": id}));
    }
    let pages = follow(&mut bench, &json!({"action": "list", "query": "", "task_id": 2}), "steps");
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [20, 20, 20, 5]);
    assert_eq!(pages.concat(), of_task);
    let open: Vec<u64> = of_task.into_iter().filter(|id| id % 3 != 0).collect();
    let pages = follow(&mut bench, &json!({"action": "pending", "query": "", "task_id": 2}), "steps");
    assert_eq!(pages.concat(), open);
}

#[test]
fn pending_leads_to_the_further_open_steps_of_the_current_task() {
    let mut bench = bench_with(1);
    (0..25).for_each(|n| bench.add(&format!("Step {n}")));
    let text = bench.text(&json!({"action": "pending", "query": ""}));
    let more = "    More of its open steps: call TaskManager with ";
    let call = text.lines().find_map(|line| line.strip_prefix(more)).expect("a hint");
    let further = bench.ok(&serde_json::from_str(call).expect("JSON"));
    assert_eq!(ids(&further, "steps"), [21, 22, 23, 24, 25]);
    assert_eq!(hint(&further), None);
}

#[test]
fn a_page_is_as_long_as_the_client_shows_whole() {
    let mut bench = bench_with(1);
    for n in 1..=60 {
        bench.create(&format!("{n} {}", "n".repeat(490)));
    }
    (0..60).for_each(|n| bench.add(&format!("{n} {}", "s".repeat(490))));
    for room in [4600, 17_600] {
        bench.client.room = room;
        for (arguments, all) in [
            (json!({"action": "list", "query": ""}), 61),
            (json!({"action": "pending", "query": "n"}), 61),
            (json!({"action": "pending", "query": "", "task_id": 61}), 60),
        ] {
            let output = bench.ok(&arguments);
            let length = output.text.chars().count();
            assert!((1000..=room).contains(&length), "{room}: {arguments}: {length}");
            let member = if arguments["task_id"].is_null() { "tasks" } else { "steps" };
            let visited: usize = follow(&mut bench, &arguments, member).iter().map(Vec::len).sum();
            assert_eq!(visited, all, "{room}: {arguments}");
        }
    }
}

#[test]
fn long_steps_make_a_page_shorter() {
    let mut bench = bench_with(1);
    (0..10).for_each(|_| bench.add(&"é".repeat(4000)));
    let pages = follow(&mut bench, &json!({"action": "list", "query": "", "task_id": 1}), "steps");
    assert_eq!(pages, [vec![1, 2, 3, 4], vec![5, 6, 7, 8], vec![9, 10]]);
}
