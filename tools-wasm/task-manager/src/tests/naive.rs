//! Random operations, compared with a model that keeps everything in vectors.

use super::*;
use proptest::prelude::*;

const WORDS: [&str; 12] =
    ["Write", "docs", "DOC", "writer", "été", "Été2", "日本", "本語", "API", "12", "a/b", "ship-it"];
const QUERIES: [&str; 12] =
    ["", "w", "writ", "DOCS", "doc", "é", "本", "日 語", "write doc", "b", "zzz", "ship it"];

#[derive(Debug, Clone)]
enum Action {
    Create(Vec<usize>),
    Add(Option<u64>, Vec<usize>),
    CompleteStep(u64),
    CompleteTask(u64),
    SwitchId(u64),
    SwitchQuery(usize),
}

#[derive(Debug, Default)]
struct Task {
    name: String,
    steps: Vec<(u64, String, bool)>,
    completed: bool,
}

#[derive(Debug, Default)]
struct Model {
    tasks: Vec<Task>,
    steps: u64,
    current: Option<u64>,
}

impl Model {
    fn task(&mut self, id: u64) -> Option<&mut Task> {
        self.tasks.get_mut(usize::try_from(id).ok()?.checked_sub(1)?)
    }

    /// Does the action; whether it must succeed.
    fn run(&mut self, action: &Action) -> bool {
        match action {
            Action::Create(words) => {
                self.tasks.push(Task { name: text(words), ..Task::default() });
                self.current = Some(self.tasks.len() as u64);
                true
            }
            Action::Add(task, words) => {
                let Some(id) = task.or(self.current) else { return false };
                let step = (self.steps + 1, text(words), false);
                let Some(task) = self.task(id) else { return false };
                task.completed = false;
                task.steps.push(step);
                self.steps += 1;
                true
            }
            Action::CompleteStep(id) => {
                let mut steps = self.tasks.iter_mut().flat_map(|task| &mut task.steps);
                steps.find(|step| step.0 == *id).map(|step| step.2 = true).is_some()
            }
            Action::CompleteTask(id) => self.task(*id).map(complete).is_some(),
            Action::SwitchId(id) => self.switch(self.exists(*id)),
            Action::SwitchQuery(query) => self.switch(self.best(QUERIES[*query])),
        }
    }

    fn exists(&self, id: u64) -> Option<u64> {
        (1..=self.tasks.len() as u64).contains(&id).then_some(id)
    }

    fn switch(&mut self, id: Option<u64>) -> bool {
        self.current = id.or(self.current);
        id.is_some()
    }

    /// The newest task of the best class of matches.
    fn best(&self, query: &str) -> Option<u64> {
        let query = query.to_lowercase();
        let newest = |fits: &dyn Fn(&Task) -> bool| self.tasks.iter().rposition(fits).map(|at| at as u64 + 1);
        if query.is_empty() {
            return None;
        }
        newest(&|task| task.name.to_lowercase() == query)
            .or_else(|| newest(&|task| task.name.to_lowercase().starts_with(&query)))
            .or_else(|| newest(&|task| matches(&query, &task.name)))
            .or_else(|| newest(&|task| matches(&query, &all_text(task))))
    }

    /// The ids that a list shows, in its order.
    fn listed(&self, query: &str, open_only: bool) -> Vec<u64> {
        let shown = |id: &u64| {
            let task = &self.tasks[usize::try_from(*id - 1).expect("small")];
            !(open_only && task.completed) && matches(query, &all_text(task))
        };
        let others = (1..=self.tasks.len() as u64).rev().filter(|id| Some(*id) != self.current);
        self.current.into_iter().chain(others).filter(shown).collect()
    }

    fn open(&self) -> usize {
        self.tasks.iter().filter(|task| !task.completed).count()
    }
}

fn complete(task: &mut Task) {
    task.completed = true;
    task.steps.iter_mut().for_each(|step| step.2 = true);
}

fn text(words: &[usize]) -> String {
    words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ")
}

fn all_text(task: &Task) -> String {
    let steps = task.steps.iter().map(|step| step.1.as_str());
    [task.name.as_str()].into_iter().chain(steps).collect::<Vec<_>>().join(" ")
}

fn tokens(text: &str) -> Vec<String> {
    let spaced: String = text
        .to_lowercase()
        .chars()
        .flat_map(|c| match c {
            '一'..='鿿' => vec![' ', c, ' '],
            c if c.is_alphanumeric() => vec![c],
            _ => vec![' '],
        })
        .collect();
    spaced.split_whitespace().map(str::to_owned).collect()
}

fn matches(query: &str, text: &str) -> bool {
    let words = tokens(text);
    tokens(query).iter().all(|part| words.iter().any(|word| word.starts_with(part)))
}

fn arguments(action: &Action) -> Value {
    match action {
        Action::Create(words) => json!({"action": "create", "query": "", "text": text(words)}),
        Action::Add(None, words) => json!({"action": "add", "query": "", "text": text(words)}),
        Action::Add(Some(id), words) => {
            json!({"action": "add", "query": "", "text": text(words), "task_id": id})
        }
        Action::CompleteStep(id) => json!({"action": "complete", "query": "", "step_id": id}),
        Action::CompleteTask(id) => json!({"action": "complete", "query": "", "task_id": id}),
        Action::SwitchId(id) => json!({"action": "switch", "query": "", "task_id": id}),
        Action::SwitchQuery(query) => json!({"action": "switch", "query": QUERIES[*query]}),
    }
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let words = || prop::collection::vec(0..WORDS.len(), 1..4);
    let action = prop_oneof![
        4 => words().prop_map(Action::Create),
        6 => (prop::option::of(1..30u64), words()).prop_map(|(id, words)| Action::Add(id, words)),
        3 => (1..40u64).prop_map(Action::CompleteStep),
        2 => (1..30u64).prop_map(Action::CompleteTask),
        1 => (1..30u64).prop_map(Action::SwitchId),
        2 => (0..QUERIES.len()).prop_map(Action::SwitchQuery),
    ];
    prop::collection::vec(action, 1..120)
}

fn compare(bench: &mut Bench, model: &Model) {
    for query in QUERIES {
        for (action, open_only) in [("list", false), ("pending", true)] {
            let shown = follow(bench, &json!({"action": action, "query": query}), "tasks").concat();
            assert_eq!(shown, model.listed(query, open_only), "{action} {query:?}");
        }
    }
    for (id, task) in (1u64..).zip(&model.tasks) {
        let open: Vec<u64> = task.steps.iter().filter(|step| !step.2).map(|step| step.0).collect();
        let all: Vec<u64> = task.steps.iter().map(|step| step.0).collect();
        for (action, expected) in [("list", all), ("pending", open.clone())] {
            let shown = follow(bench, &json!({"action": action, "query": "", "task_id": id}), "steps");
            assert_eq!(shown.concat(), expected);
        }
        let data = data(&bench.ok(&json!({"action": "list", "query": "", "task_id": id})));
        assert_eq!(
            data["tasks"],
            json!([{
                "id": id, "name": task.name, "current": model.current == Some(id), "completed": task.completed,
                "steps_total": task.steps.len(), "steps_done": task.steps.len() - open.len()
            }])
        );
        let first: Vec<Value> = task
            .steps
            .iter()
            .take(20)
            .map(|(step, text, done)| json!({"id": step, "task_id": id, "text": text, "done": done}))
            .collect();
        assert_eq!(data["steps"], Value::from(first));
        assert_eq!(data["total_tasks"], model.tasks.len());
        assert_eq!(data["open_tasks"], model.open());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_operations_end_in_what_the_naive_model_has(actions in actions()) {
        let mut bench = Bench::default();
        let mut model = Model::default();
        for action in &actions {
            let expected = model.run(action);
            let arguments = arguments(action);
            if expected {
                let result = data(&bench.ok(&arguments));
                prop_assert_eq!(&result["current_task_id"], &json!(model.current), "{:?}", action);
            } else {
                bench.failure(&arguments);
            }
        }
        compare(&mut bench, &model);
    }

    #[test]
    fn no_arguments_make_a_call_panic(
        action in prop::sample::select(vec!["create", "add", "complete", "list", "pending", "switch"]),
        query in any::<String>(), text in any::<String>(),
        task in any::<Option<i64>>(), step in any::<Option<i64>>(),
    ) {
        let mut bench = Bench::default();
        bench.create("Docs");
        bench.add("Outline");
        let arguments = json!({"action": action, "query": query, "text": text, "task_id": task, "step_id": step});
        if let Ok(output) = call(&mut bench, &MemoryClient::default(), NOW, &arguments.to_string()) {
            schema::assert_conforms(&data(&output));
        }
    }
}
