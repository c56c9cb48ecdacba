//! Formats results: lines for the model, and the same as data.

use scorpiox_tool_kit::{Client, Output};
use serde::Serialize;

use crate::model::{Meta, StepId, Task, TaskId};
use crate::steps::Step;

/// Maximum length of a name or step in a list, in characters.
pub(crate) const SHORT_CHARS: usize = 120;

/// Arguments of a call that a result suggests.
#[derive(Serialize)]
pub(crate) struct Call<'a> {
    action: &'a str,
    query: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(action: &'a str, query: &'a str) -> Self {
        Self { action, query, task_id: None, text: None }
    }

    pub(crate) fn task(self, id: TaskId) -> Self {
        Self { task_id: Some(id), ..self }
    }

    pub(crate) fn text(self, text: String) -> Self {
        Self { text: Some(text), ..self }
    }

    /// Returns the arguments as JSON.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn sentence(&self, client: &impl Client) -> String {
        sentence(client, &self.json())
    }
}

/// Returns the line that suggests the call for the next page.
pub(crate) fn more(client: &impl Client, arguments: &str) -> String {
    format!("More: {}", sentence(client, arguments))
}

fn sentence(client: &impl Client, arguments: &str) -> String {
    format!("call {} with {arguments}", client.tool_name("TaskManager"))
}

/// Formats a text for lists: shortened and on one line.
pub(crate) fn short(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if let Some((end, _)) = line.char_indices().nth(SHORT_CHARS - 1)
        && line[end..].chars().nth(1).is_some()
    {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Formats `1 task`, `2 tasks`.
pub(crate) fn count(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Formats `2/5 steps`, `no steps`, `done`.
pub(crate) fn progress(task: &Task) -> String {
    if task.completed.is_some() {
        "done".to_owned()
    } else if task.steps_total == 0 {
        "no steps".to_owned()
    } else {
        format!("{}/{}", task.steps_done, count(task.steps_total, "step"))
    }
}

/// Formats `#3 Write docs (2/5 steps)`.
pub(crate) fn title(task: &Task) -> String {
    format!("#{} {} ({})", task.id.0, short(&task.name), progress(task))
}

/// Formats a task in a list.
pub(crate) fn task_line(task: &Task, meta: &Meta) -> String {
    if task.is_current(meta) {
        format!("* {} ← current", title(task))
    } else {
        format!("  {}", title(task))
    }
}

/// Formats `3 tasks, 2 open.`
pub(crate) fn headline(meta: &Meta) -> String {
    format!("{}, {} open.", count(meta.count(), "task"), meta.open)
}

/// Describes the next step of a task.
pub(crate) fn next_step(client: &impl Client, task: &Task, open: Option<&Step>) -> String {
    match open {
        Some(step) => format!(" Next open step {}: {}", step.id.0, short(&step.text)),
        None if task.completed.is_some() || task.steps_total == 0 => String::new(),
        None => {
            format!(" All its steps are done. To complete the task, {}", completing(task.id).sentence(client))
        }
    }
}

/// Returns the call that completes a task.
pub(crate) fn completing(id: TaskId) -> Call<'static> {
    Call::new("complete", "").task(id)
}

#[derive(Serialize)]
struct Data<'a> {
    current_task_id: Option<TaskId>,
    tasks: Vec<TaskData<'a>>,
    steps: Vec<StepData<'a>>,
    total_tasks: u32,
    open_tasks: u32,
    next: Option<String>,
}

#[derive(Serialize)]
struct TaskData<'a> {
    id: TaskId,
    name: &'a str,
    current: bool,
    completed: bool,
    steps_total: u32,
    steps_done: u32,
}

#[derive(Serialize)]
struct StepData<'a> {
    id: StepId,
    task_id: TaskId,
    text: &'a str,
    done: bool,
}

/// Creates a result: the text, and its tasks and steps as data. `next` has the arguments of the call that
/// returns the next page.
pub(crate) fn output(
    text: impl Into<String>,
    meta: &Meta,
    tasks: &[Task],
    steps: &[Step],
    next: Option<String>,
) -> Output {
    let task_data = |task| task_data(task, meta);
    let data = Data {
        current_task_id: meta.current,
        tasks: tasks.iter().map(task_data).collect(),
        steps: steps.iter().map(step_data).collect(),
        total_tasks: meta.count(),
        open_tasks: meta.open,
        next,
    };
    Output::with_data(text, &data)
}

fn task_data<'a>(task: &'a Task, meta: &Meta) -> TaskData<'a> {
    TaskData {
        id: task.id,
        name: &task.name,
        current: task.is_current(meta),
        completed: task.completed.is_some(),
        steps_total: task.steps_total,
        steps_done: task.steps_done,
    }
}

fn step_data(step: &Step) -> StepData<'_> {
    StepData { id: step.id, task_id: step.task, text: &step.text, done: step.done }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_stay_and_long_ones_end_in_an_ellipsis() {
        assert_eq!(short(" a\n\tb  c "), "a b c");
        let fits = "é".repeat(SHORT_CHARS);
        assert_eq!(short(&fits), fits);
        let cut = short(&"é".repeat(SHORT_CHARS + 1));
        assert_eq!(cut.chars().count(), SHORT_CHARS);
        assert!(cut.ends_with("é…"));
    }
}
