//! Action `switch`: selects the current task.

use scorpiox_tool_kit::{Args, Client, Failure, Order, Output, Store, StoreError, args};

use crate::model::{Meta, Scope, Task, TaskId, id_in_key, padded};
use crate::render::{self, Call, short};
use crate::search::{Filter, MAX_QUERY_WORDS};
use crate::walk::{BUDGET, Found, Walk};
use crate::words::{MAX_KEY_CHARS, cut, folded, words};
use crate::{input, steps};

/// Maximum number of other matches of an ambiguous query in the result.
const MAX_OTHERS: usize = 5;
/// The selected task, the other matches, and one more that shows if there are more.
const ENOUGH: usize = MAX_OTHERS + 2;
/// Maximum number of matching names that are read; the newest are used.
const MAX_NAMES: u32 = 100;

/// Adds a new task's name to the index.
pub(crate) fn index_name(store: &mut impl Store, task: &Task) -> Result<(), StoreError> {
    store.set(&name_entry(task), b"")
}

/// Removes the entry of [`index_name`].
pub(crate) fn unindex_name(store: &mut impl Store, task: &Task) -> Result<(), StoreError> {
    store.delete(&name_entry(task))
}

fn name_entry(task: &Task) -> String {
    format!("{}\t{}", name_key(&folded(&task.name)), padded(task.id.0.into()))
}

/// Returns the prefix of keys of names that begin with `folded`. A folded name contains no tab, and a tab
/// sorts before all its characters.
fn name_key(folded: &str) -> String {
    format!("n/{}", cut(folded, MAX_KEY_CHARS))
}

pub(crate) fn switch(
    store: &mut impl Store,
    client: &impl Client,
    args: &Args<'_>,
) -> Result<Output, Failure> {
    let number = input::task_id(args)?;
    let query = input::query(args)?;
    let mut meta = Meta::load(store)?;
    let mut found = match number {
        Some(number) => vec![Task::find(store, number)?],
        None if query.is_empty() => {
            return Err(Failure::InvalidInput(
                "switch needs task_id, or query with a task's name or words of it; list shows the tasks."
                    .to_owned(),
            ));
        }
        None => best(store, &meta, &query)?,
    };
    // Prefers the newest open task among equally good matches.
    if let Some(open) = found.iter().position(|task| task.completed.is_none()) {
        found[..=open].rotate_right(1);
    }
    let (task, others) = found.split_first().ok_or_else(|| no_match(&meta, &query))?;
    if task.completed.is_some() {
        return Err(completed(client, task));
    }
    let said = if meta.current == Some(task.id) { "was current already" } else { "is current now" };
    if meta.current.replace(task.id) != Some(task.id) {
        meta.save(store)?;
    }
    let open = steps::first_open(store, task)?;
    let next = render::next_step(client, task, open.as_ref());
    let mut lines = vec![format!("Task {} {said}.{next}", render::title(task))];
    lines.extend(ambiguity(others));
    let named = &found[..found.len().min(1 + MAX_OTHERS)];
    let open: Vec<_> = open.into_iter().collect();
    Ok(render::output(lines.join("\n"), &meta, named, &open, None))
}

fn completed(client: &impl Client, task: &Task) -> Failure {
    Failure::InvalidInput(format!(
        "Task {} is completed, so it cannot be current. To open it again and make it current, {}",
        render::title(task),
        Call::new("reopen", "").task(task.id).sentence(client)
    ))
}

fn ambiguity(others: &[Task]) -> Vec<String> {
    if others.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["The query matches these as well (choose with task_id):".to_owned()];
    lines
        .extend(others.iter().take(MAX_OTHERS).map(|task| format!("  #{} {}", task.id.0, short(&task.name))));
    if others.len() > MAX_OTHERS {
        lines.push("  and more; list with this query shows them.".to_owned());
    }
    lines
}

pub(crate) fn no_match(meta: &Meta, query: &str) -> Failure {
    let query = args::shown(query);
    Failure::NotFound(if meta.count() == 0 {
        format!(
            "No task matches {query:?}: there are no tasks yet. Create one: action \"create\" with its name in text."
        )
    } else {
        format!("No task matches {query:?}; list shows the tasks that exist.")
    })
}

/// Returns the best matches of `query`, all equally good, newest first: by ID, else by name, else by the
/// beginning of the name, else by words in the name, else by words anywhere.
pub(crate) fn best(store: &mut impl Store, meta: &Meta, query: &str) -> Result<Vec<Task>, Failure> {
    if let Some(task) = by_number(store, query)? {
        return Ok(vec![task]);
    }
    let name = folded(query);
    let exact = format!("{}\t", name_key(&name));
    let mut found = by_name(store, &exact, |known| known == name)?;
    if found.is_empty() {
        found = by_name(store, &name_key(&name), |known| known.starts_with(&name))?;
    }
    if found.is_empty() {
        found = by_words(store, meta, query)?;
    }
    Ok(found)
}

/// Interprets `12` and `#12` as IDs if the task exists.
fn by_number(store: &mut impl Store, query: &str) -> Result<Option<Task>, StoreError> {
    let digits = query.strip_prefix('#').unwrap_or(query);
    match digits.parse() {
        Ok(id) if digits.bytes().all(|b| b.is_ascii_digit()) => Task::load(store, TaskId(id)),
        _ => Ok(None),
    }
}

/// Returns the newest tasks under a prefix of name keys whose folded name satisfies `fits`. Keys contain only
/// the beginning of a long name.
fn by_name(
    store: &mut impl Store,
    prefix: &str,
    fits: impl Fn(&str) -> bool,
) -> Result<Vec<Task>, StoreError> {
    let entries = store.scan(prefix, None, MAX_NAMES, Order::Descending)?;
    let ids: Result<Vec<u32>, StoreError> = entries.iter().map(|entry| id_in_key(&entry.key)).collect();
    let mut ids = ids?;
    ids.sort_unstable_by(|a, b| b.cmp(a));
    let mut found = Vec::new();
    for id in ids {
        let task = Task::known(store, TaskId(id))?;
        if fits(&folded(&task.name)) {
            found.push(task);
        }
        if found.len() == ENOUGH {
            break;
        }
    }
    Ok(found)
}

/// Returns tasks with all words in the name, or else with all words anywhere.
fn by_words(store: &mut impl Store, meta: &Meta, query: &str) -> Result<Vec<Task>, Failure> {
    let searchable = 1..=MAX_QUERY_WORDS;
    if !searchable.contains(&words(query, MAX_QUERY_WORDS + 1).len()) {
        return Ok(Vec::new());
    }
    let filter = Filter::read(store, query)?;
    let mut found = Vec::new();
    let in_name = filter.walk_names(Scope::All, meta.tasks);
    let mut stopped = collect(store, in_name, &mut found)?;
    if found.is_empty() {
        stopped = collect(store, filter.walk(Scope::All, meta.tasks), &mut found)?;
    }
    match stopped {
        Some(before) if found.is_empty() => Err(not_yet(query, before)),
        _ => Ok(found),
    }
}

/// Collects up to `ENOUGH` tasks from a walk. Returns the position if the budget was spent.
fn collect(store: &mut impl Store, mut walk: Walk, found: &mut Vec<Task>) -> Result<Option<u32>, StoreError> {
    while found.len() < ENOUGH {
        match walk.next(store)? {
            Found::Task(task) => found.push(task),
            Found::End => return Ok(None),
            Found::Stopped(before) => return Ok(Some(before)),
        }
    }
    Ok(None)
}

fn not_yet(query: &str, before: u32) -> Failure {
    Failure::NotFound(format!(
        "No task from #{before} up matches {:?}; the search stopped after reading {BUDGET} entries. Use rarer words, or find it with list and this query and switch by task_id.",
        args::shown(query)
    ))
}
