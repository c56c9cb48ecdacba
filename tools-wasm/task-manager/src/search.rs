//! Task search, newest first, with bounded work.
//!
//! Each word of a name and of the steps is a posting with the task's ID. A query is an intersection of
//! posting lists, which `walk` traverses.
//!
//! A word of the query matches the indexed words that begin with it, up to [`MAX_ENDINGS`]. The rest is left
//! out, which [`Filter::notes`] reports.

use scorpiox_tool_kit::{Client, Failure, Order, Store, StoreError, args};

use crate::model::{Meta, Scope, State, Task, TaskId, padded, tasks_prefix};
use crate::steps::{self, Step};
use crate::walk::{FIRST_PAGE, Found, List, Walk};
use crate::words::{MAX_WORDS, words};

/// Maximum number of words of a query.
pub(crate) const MAX_QUERY_WORDS: usize = 16;
/// Maximum number of indexed words that a word of a query matches.
pub(crate) const MAX_ENDINGS: usize = 16;
/// Minimum and maximum number of tasks on a page.
const PAGE_TASKS: std::ops::RangeInclusive<usize> = 3..=20;
/// Characters of a result that are reserved for the text around the tasks of a page.
const AROUND_CHARS: usize = 1500;
/// Length of a task in a result, in characters, with a step that may be listed below the current task.
const TASK_CHARS: usize = 310;
/// Number of tasks that are read at once without a filter: the page, the current task, which may already be
/// in front, and one more that shows if there is another page.
const UNFILTERED_PAGE: u32 = 22;

/// Position of a word in a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Name,
    /// In the steps but not in the name.
    Steps,
}

impl Place {
    const BOTH: [Self; 2] = [Self::Name, Self::Steps];

    fn letter(self) -> char {
        match self {
            Self::Name => 'n',
            Self::Steps => 's',
        }
    }
}

/// Adds the words of a new task's name to the index.
pub(crate) fn index_name(store: &mut impl Store, task: &Task) -> Result<(), StoreError> {
    post(store, task, &words(&task.name, MAX_WORDS), Place::Name)
}

/// Adds the words of a step to the index.
pub(crate) fn index_step(store: &mut impl Store, task: &Task, text: &str) -> Result<(), StoreError> {
    let in_name = words(&task.name, MAX_WORDS);
    let mut fresh = words(text, MAX_WORDS);
    fresh.retain(|word| !in_name.contains(word));
    post(store, task, &fresh, Place::Steps)
}

/// Updates the index after a task's name changes. Words of the old name that occur in its steps stay.
pub(crate) fn reindex_name(store: &mut impl Store, task: &Task, old: &str) -> Result<(), StoreError> {
    index_name(store, task)?;
    let new = words(&task.name, MAX_WORDS);
    let mut gone = words(old, MAX_WORDS);
    gone.retain(|word| !new.contains(word));
    unpost(store, task, &gone, Place::Name)?;
    let unused = steps::unused(store, task, gone.clone())?;
    gone.retain(|word| !unused.contains(word));
    post(store, task, &gone, Place::Steps)
}

/// Removes the words of a step's text from the index that neither the name nor another step contains.
pub(crate) fn unindex_step(store: &mut impl Store, task: &Task, text: &str) -> Result<(), StoreError> {
    let unused = steps::unused(store, task, words(text, MAX_WORDS))?;
    unpost(store, task, &unused, Place::Steps)
}

/// Removes the words of a task's name from the index, before the task is deleted.
pub(crate) fn unindex_name(store: &mut impl Store, task: &Task) -> Result<(), StoreError> {
    unpost(store, task, &words(&task.name, MAX_WORDS), Place::Name)
}

/// Removes the words of steps from the index, before they and all other steps of the task are deleted.
pub(crate) fn unindex_steps(store: &mut impl Store, task: &Task, steps: &[Step]) -> Result<(), StoreError> {
    steps.iter().try_for_each(|step| unpost(store, task, &words(&step.text, MAX_WORDS), Place::Steps))
}

fn unpost(store: &mut impl Store, task: &Task, words: &[String], place: Place) -> Result<(), StoreError> {
    words.iter().try_for_each(|word| store.delete(&posting(word, place, task.id)))
}

fn post(store: &mut impl Store, task: &Task, words: &[String], place: Place) -> Result<(), StoreError> {
    words.iter().try_for_each(|word| store.set(&posting(word, place, task.id), b""))
}

fn posting(word: &str, place: Place, id: TaskId) -> String {
    format!("{}{}", postings_prefix(word, place), padded(id.0.into()))
}

fn postings_prefix(word: &str, place: Place) -> String {
    format!("w/{word}/{}/", place.letter())
}

/// A query as words of the index.
pub(crate) struct Filter {
    terms: Vec<Term>,
}

/// A word of a query.
struct Term {
    word: String,
    /// Indexed words that begin with it.
    endings: Vec<String>,
    /// `true` if more indexed words begin with it.
    more: bool,
}

impl Filter {
    /// Looks up the words of `query`. A query without words matches every task.
    pub(crate) fn read(store: &mut impl Store, query: &str) -> Result<Self, Failure> {
        let words = words(query, MAX_QUERY_WORDS + 1);
        if words.len() > MAX_QUERY_WORDS {
            return Err(Failure::InvalidInput(format!(
                "query {:?} has more than {MAX_QUERY_WORDS} different words; search for fewer.",
                args::shown(query)
            )));
        }
        let terms: Result<_, StoreError> = words.into_iter().map(|word| Term::read(store, word)).collect();
        Ok(Self { terms: terms? })
    }

    /// Returns `true` if there are no words to search for.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns sentences about words that are left out.
    pub(crate) fn notes(&self) -> Vec<String> {
        let cut = self.terms.iter().filter(|term| term.more);
        cut.map(|term| {
            format!(
                "More than {MAX_ENDINGS} different words begin with {:?}; only the first {MAX_ENDINGS} in alphabetical order were searched. Use a longer word.",
                term.word
            )
        })
        .collect()
    }

    /// Returns `true` if a task contains every word.
    pub(crate) fn matches(&self, store: &mut impl Store, id: TaskId) -> Result<bool, StoreError> {
        for term in &self.terms {
            if !term.matches(store, id)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Walks through the matching tasks of `scope`, from `at_most` to smaller IDs.
    pub(crate) fn walk(&self, scope: Scope, at_most: u32) -> Walk {
        self.walk_through(&Place::BOTH, scope, at_most)
    }

    /// Walks through the tasks whose name contains every word.
    pub(crate) fn walk_names(&self, scope: Scope, at_most: u32) -> Walk {
        self.walk_through(&[Place::Name], scope, at_most)
    }

    fn walk_through(&self, places: &[Place], scope: Scope, at_most: u32) -> Walk {
        let page = if self.is_empty() { UNFILTERED_PAGE } else { FIRST_PAGE };
        let tasks = List::new(scope.states().iter().map(|state| tasks_prefix(*state)), page);
        Walk::new(self.terms.iter().map(|term| term.list(places)).collect(), tasks, at_most)
    }
}

impl Term {
    /// Skips from word to word through the index.
    fn read(store: &mut impl Store, word: String) -> Result<Self, StoreError> {
        let begin = format!("w/{word}");
        let mut term = Self { word, endings: Vec::new(), more: false };
        let mut after: Option<String> = None;
        while let Some(entry) = store.scan(&begin, after.as_deref(), 1, Order::Ascending)?.pop() {
            if term.endings.len() == MAX_ENDINGS {
                term.more = true;
                break;
            }
            let ending = entry.key.split('/').nth(1).unwrap_or_default();
            // `0` follows `/`, and no character of a word is between them.
            after = Some(format!("w/{ending}0"));
            term.endings.push(ending.to_owned());
        }
        Ok(term)
    }

    fn matches(&self, store: &mut impl Store, id: TaskId) -> Result<bool, StoreError> {
        for (ending, place) in self.ranges(&Place::BOTH) {
            if store.get(&posting(ending, place, id))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn list(&self, places: &[Place]) -> List {
        List::new(self.ranges(places).map(|(ending, place)| postings_prefix(ending, place)), FIRST_PAGE)
    }

    fn ranges(&self, places: &[Place]) -> impl Iterator<Item = (&str, Place)> {
        self.endings.iter().flat_map(move |ending| places.iter().map(move |place| (ending.as_str(), *place)))
    }
}

/// A page of tasks.
pub(crate) struct Page {
    /// The current task first if it belongs on the first page, then newest first.
    pub tasks: Vec<Task>,
    /// Upper bound of the IDs on the following pages.
    pub before: Option<u32>,
    /// `true` if the page is short because the budget was spent.
    pub stopped: bool,
}

/// Returns the number of tasks per page that fit in a result for this client.
pub(crate) fn page_tasks(client: &impl Client) -> usize {
    let fit = client.room().saturating_sub(AROUND_CHARS) / TASK_CHARS;
    fit.clamp(*PAGE_TASKS.start(), *PAGE_TASKS.end())
}

/// Returns the matching tasks of `scope`. A following page has only IDs below `before`.
pub(crate) fn page(
    store: &mut impl Store,
    client: &impl Client,
    meta: &Meta,
    filter: &Filter,
    (scope, before): (Scope, Option<u32>),
) -> Result<Page, StoreError> {
    let most = page_tasks(client);
    let mut page = Page { tasks: Vec::new(), before: None, stopped: false };
    if before.is_none() {
        page.tasks.extend(current(store, meta, filter, scope)?);
    }
    let at_most = before.map_or(meta.tasks, |id| id.saturating_sub(1).min(meta.tasks));
    let mut walk = filter.walk(scope, at_most);
    loop {
        match walk.next(store)? {
            Found::End => return Ok(page),
            Found::Stopped(id) => return Ok(Page { before: Some(id), stopped: true, ..page }),
            Found::Task(task) if Some(task.id) == meta.current => {}
            Found::Task(task) if page.tasks.len() >= most => {
                return Ok(Page { before: Some(task.id.0 + 1), ..page });
            }
            Found::Task(task) => page.tasks.push(task),
        }
    }
}

/// Returns the current task if it is in scope and matches.
fn current(
    store: &mut impl Store,
    meta: &Meta,
    filter: &Filter,
    scope: Scope,
) -> Result<Option<Task>, StoreError> {
    let Some(id) = meta.current else { return Ok(None) };
    let task = Task::known(store, id)?;
    let shown = (scope == Scope::All || task.state() == State::Open) && filter.matches(store, id)?;
    Ok(shown.then_some(task))
}
