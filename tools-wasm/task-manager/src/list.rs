//! Actions `list` and `pending`: pages of tasks.

use scorpiox_tool_kit::{Args, Client, Failure, Output, Store, StoreError, args};

use crate::model::{Meta, Scope, StepId, Task};
use crate::render::{self, Call};
use crate::search::{self, Filter, Page};
use crate::steps::{self, Most, Step};
use crate::walk::BUDGET;
use crate::{input, show};

/// Requested tasks.
struct Request {
    scope: Scope,
    query: String,
    /// Upper bound of IDs: the cursor of another page.
    before: Option<u32>,
}

pub(crate) fn list(
    store: &mut impl Store,
    client: &impl Client,
    args: &Args<'_>,
    scope: Scope,
) -> Result<Output, Failure> {
    let query = input::query(args)?;
    if let Some(number) = input::task_id(args)? {
        return show::show(store, client, args, scope, number, &query);
    }
    let before = input::cursor(args, "before", "lists of tasks")?;
    let request = Request { scope, query, before };
    let meta = Meta::load(store)?;
    if meta.count() == 0 {
        let text = "There are no tasks. Create one: action \"create\" with its name in text.";
        return Ok(render::output(text, &meta, &[], &[], None));
    }
    let filter = Filter::read(store, &request.query)?;
    let page = search::page(store, client, &meta, &filter, (scope, before))?;
    let next = page.before.map(|id| Call::new(scope.action(), &request.query).text(format!("before:{id}")));
    let next = next.map(|call| call.json());
    let mut lines = vec![render::headline(&meta) + &opening(&request, &filter, &page)];
    let steps = task_lines(store, client, (&meta, scope), &page.tasks, &mut lines)?;
    lines.extend(notes(&request, &filter, &page));
    lines.extend(next.as_deref().map(|next| render::more(client, next)));
    Ok(render::output(lines.join("\n"), &meta, &page.tasks, &steps, next))
}

/// Formats a line for each task, and the open steps of the current task if they were requested. Returns these
/// steps.
fn task_lines(
    store: &mut impl Store,
    client: &impl Client,
    (meta, scope): (&Meta, Scope),
    tasks: &[Task],
    lines: &mut Vec<String>,
) -> Result<Vec<Step>, StoreError> {
    let mut shown = Vec::new();
    for task in tasks {
        lines.push(render::task_line(task, meta));
        if scope == Scope::Open && task.is_current(meta) {
            shown = open_steps(store, client, task, lines)?;
        }
    }
    Ok(shown)
}

fn open_steps(
    store: &mut impl Store,
    client: &impl Client,
    task: &Task,
    lines: &mut Vec<String>,
) -> Result<Vec<Step>, StoreError> {
    if task.steps_done == task.steps_total {
        let advice = render::next_step(client, task, None);
        lines.extend((!advice.is_empty()).then(|| format!("   {advice}")));
        return Ok(Vec::new());
    }
    let page =
        steps::page(store, task, Scope::Open, StepId(0), Most::of(client, search::page_tasks(client)))?;
    let line = |step: &Step| format!("    [ ] {} {}", step.id.0, render::short(&step.text));
    lines.extend(page.steps.iter().map(line));
    if let Some(after) = page.after {
        let call = show::further(Scope::Open, task.id, after);
        lines.push(format!("    More of its open steps: {}", call.sentence(client)));
    }
    Ok(page.steps)
}

/// Continues the headline: describes the listed tasks, or says that there are none.
fn opening(request: &Request, filter: &Filter, page: &Page) -> String {
    let what = if request.scope == Scope::Open { "open task" } else { "task" };
    let older = request.before.map(|id| format!(" before #{id}")).unwrap_or_default();
    let query = args::shown(&request.query);
    match (page.tasks.is_empty(), filter.is_empty()) {
        (true, _) if page.stopped => format!(" No match{older} yet."),
        (true, false) => format!(" No {what}{older} matches {query:?}."),
        (true, true) if request.before.is_none() => " Nothing is pending.".to_owned(),
        (true, true) => format!(" There is no {what}{older}."),
        (false, false) => format!(" Matching {query:?}{older}:"),
        (false, true) if request.before.is_some() => format!(" Going on{older}:"),
        (false, true) => String::new(),
    }
}

/// Returns notes about the search.
fn notes(request: &Request, filter: &Filter, page: &Page) -> Vec<String> {
    let mut notes = filter.notes();
    if filter.is_empty() && !request.query.is_empty() {
        notes.push(format!(
            "The query {:?} has no letters or digits, so it filters nothing.",
            args::shown(&request.query)
        ));
    }
    if let (true, Some(before)) = (page.stopped, page.before) {
        notes.push(format!(
            "The search stopped after reading {BUDGET} entries; tasks from #{before} up are searched, older ones are not."
        ));
    }
    notes.iter().map(|note| format!("Note: {note}")).collect()
}
