//! Compares random operations with a model that stores everything in vectors.

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
    RenameTask(u64, Vec<usize>),
    RenameStep(u64, Vec<usize>),
    ReopenTask(u64),
    ReopenStep(u64),
    DeleteTask(u64),
    DeleteStep(u64),
}

#[derive(Debug, Default)]
struct Task {
    name: String,
    steps: Vec<(u64, String, bool)>,
    completed: bool,
    deleted: bool,
}

#[derive(Debug, Default)]
struct Model {
    tasks: Vec<Task>,
    steps: u64,
    current: Option<u64>,
}

impl Model {
    fn task(&mut self, id: u64) -> Option<&mut Task> {
        self.tasks.get_mut(usize::try_from(id).ok()?.checked_sub(1)?).filter(|task| !task.deleted)
    }

    /// Runs the action. Returns `true` if it must succeed.
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
            Action::CompleteTask(id) => {
                let found = self.task(*id).map(complete).is_some();
                self.current = self.current.filter(|current| current != id);
                found
            }
            Action::SwitchId(id) => {
                let open = self.task(*id).filter(|task| !task.completed).map(|_| *id);
                self.switch(open)
            }
            Action::RenameTask(id, words) => self.task(*id).map(|task| task.name = text(words)).is_some(),
            Action::RenameStep(id, words) => self.step(*id).map(|(_, step)| step.1 = text(words)).is_some(),
            Action::ReopenTask(id) => {
                let Some(task) = self.task(*id) else { return false };
                let was = std::mem::take(&mut task.completed);
                self.current = if was { Some(*id) } else { self.current };
                true
            }
            Action::ReopenStep(id) => {
                self.step(*id).map(|(completed, step)| *completed &= !std::mem::take(&mut step.2)).is_some()
            }
            Action::DeleteTask(id) => {
                let Some(task) = self.task(*id) else { return false };
                *task = Task { deleted: true, ..Task::default() };
                self.current = self.current.filter(|current| current != id);
                true
            }
            Action::DeleteStep(id) => {
                let found = self.step(*id).is_some();
                self.tasks.iter_mut().for_each(|task| task.steps.retain(|step| step.0 != *id));
                found
            }
            Action::SwitchQuery(query) => self.switch(self.best(QUERIES[*query])),
        }
    }

    /// Returns a step, and `true` if its task is completed.
    fn step(&mut self, id: u64) -> Option<(&mut bool, &mut (u64, String, bool))> {
        self.tasks.iter_mut().find_map(|Task { completed, steps, .. }| {
            steps.iter_mut().find(|step| step.0 == id).map(|step| (completed, step))
        })
    }

    fn existing(&self) -> impl DoubleEndedIterator<Item = (u64, &Task)> {
        (1..).zip(&self.tasks).collect::<Vec<_>>().into_iter().filter(|(_, task)| !task.deleted)
    }

    fn switch(&mut self, id: Option<u64>) -> bool {
        self.current = id.or(self.current);
        id.is_some()
    }

    /// Returns the newest open task among the seven newest of the best class of matches.
    fn best(&self, query: &str) -> Option<u64> {
        let query = query.to_lowercase();
        let class = |fits: &dyn Fn(&Task) -> bool| {
            let all: Vec<_> = self.existing().rev().filter(|(_, task)| fits(task)).take(7).collect();
            (!all.is_empty()).then_some(all)
        };
        if query.is_empty() {
            return None;
        }
        let number = query.parse().ok().and_then(|id: u64| self.existing().find(|(other, _)| *other == id));
        let best = number
            .map(|found| vec![found])
            .or_else(|| class(&|task| task.name.to_lowercase() == query))
            .or_else(|| class(&|task| task.name.to_lowercase().starts_with(&query)))
            .or_else(|| class(&|task| matches(&query, &task.name)))
            .or_else(|| class(&|task| matches(&query, &all_text(task))))?;
        best.into_iter().find(|(_, task)| !task.completed).map(|(id, _)| id)
    }

    /// Returns the IDs that a list shows, in order.
    fn listed(&self, query: &str, open_only: bool) -> Vec<u64> {
        let shown = |id: &u64| {
            let task = &self.tasks[usize::try_from(*id - 1).expect("small")];
            !(task.deleted || open_only && task.completed) && matches(query, &all_text(task))
        };
        let others = (1..=self.tasks.len() as u64).rev().filter(|id| Some(*id) != self.current);
        self.current.into_iter().chain(others).filter(shown).collect()
    }

    fn open(&self) -> usize {
        self.existing().filter(|(_, task)| !task.completed).count()
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
        Action::RenameTask(id, words) => {
            json!({"action": "rename", "query": "", "text": text(words), "task_id": id})
        }
        Action::RenameStep(id, words) => {
            json!({"action": "rename", "query": "", "text": text(words), "step_id": id})
        }
        Action::ReopenTask(id) => json!({"action": "reopen", "query": "", "task_id": id}),
        Action::ReopenStep(id) => json!({"action": "reopen", "query": "", "step_id": id}),
        Action::DeleteTask(id) => json!({"action": "delete", "query": "", "task_id": id}),
        Action::DeleteStep(id) => json!({"action": "delete", "query": "", "step_id": id}),
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
        2 => (1..30u64, words()).prop_map(|(id, words)| Action::RenameTask(id, words)),
        2 => (1..40u64, words()).prop_map(|(id, words)| Action::RenameStep(id, words)),
        1 => (1..30u64).prop_map(Action::ReopenTask),
        2 => (1..40u64).prop_map(Action::ReopenStep),
        1 => (1..30u64).prop_map(Action::DeleteTask),
        1 => (1..40u64).prop_map(Action::DeleteStep),
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
    for (id, task) in model.existing() {
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
        assert_eq!(data["total_tasks"], model.existing().count());
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
        action in prop::sample::select(vec!["create", "add", "complete", "list", "pending", "switch", "rename", "reopen", "delete"]),
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
