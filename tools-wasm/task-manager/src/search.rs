//! Finding tasks, newest first, with bounded work.
//!
//! Each word of a name and of the steps is a posting under the task's id; a query is
//! an intersection of lists of postings, which `walk` goes through.
//!
//! A word of the query stands for the indexed words that begin with it; past
//! [`MAX_ENDINGS`] of them the rest are left out, and [`Filter::notes`] says so.

use scorpiox_tool_kit::{Client, Failure, Order, Store, StoreError, args};

use crate::model::{Meta, Scope, State, Task, TaskId, padded, tasks_prefix};
use crate::walk::{FIRST_PAGE, Found, List, Walk};
use crate::words::{MAX_WORDS, words};

/// Words of a query.
pub(crate) const MAX_QUERY_WORDS: usize = 16;
/// Indexed words that one word of a query stands for.
pub(crate) const MAX_ENDINGS: usize = 16;
/// Most tasks on a page that a caller sees, and fewest.
const PAGE_TASKS: std::ops::RangeInclusive<usize> = 3..=20;
/// Characters of a result that are kept free for what stands around the tasks of a page.
const AROUND_CHARS: usize = 1500;
/// What a task takes of a result, with one of the steps that may be listed below the current one.
const TASK_CHARS: usize = 310;
/// Tasks that are read at once where all are shown: the page, the current task, which
/// may have come first already, and one that tells whether there is more.
const UNFILTERED_PAGE: u32 = 22;

/// Where a word of a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Name,
    /// In the steps and not in the name.
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

/// Makes a new task findable by the words of its name.
pub(crate) fn index_name(store: &mut impl Store, task: &Task) -> Result<(), StoreError> {
    post(store, task, &words(&task.name, MAX_WORDS), Place::Name)
}

/// Makes a task findable by the words of a step.
pub(crate) fn index_step(store: &mut impl Store, task: &Task, text: &str) -> Result<(), StoreError> {
    let in_name = words(&task.name, MAX_WORDS);
    let mut fresh = words(text, MAX_WORDS);
    fresh.retain(|word| !in_name.contains(word));
    post(store, task, &fresh, Place::Steps)
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

/// One word of a query.
struct Term {
    word: String,
    /// The indexed words that begin with it.
    endings: Vec<String>,
    /// More indexed words begin with it.
    more: bool,
}

impl Filter {
    /// Looks the words of `query` up. A query without any word filters nothing.
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

    /// There is no word to search for.
    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// What is left out, as sentences.
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

    /// Whether a task has every word.
    pub(crate) fn matches(&self, store: &mut impl Store, id: TaskId) -> Result<bool, StoreError> {
        for term in &self.terms {
            if !term.matches(store, id)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The tasks of `scope` that match, from the newest up to the id `at_most` on.
    pub(crate) fn walk(&self, scope: Scope, at_most: u32) -> Walk {
        self.walk_through(&Place::BOTH, scope, at_most)
    }

    /// The tasks that have every word in the name.
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
            // '0' follows '/', and no letter or digit of a word lies between them.
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

/// One page of tasks.
pub(crate) struct Page {
    /// The current task first, where it belongs to the first page; then newest first.
    pub tasks: Vec<Task>,
    /// Ids under this one are on further pages.
    pub before: Option<u32>,
    /// The page is short because the budget was spent.
    pub stopped: bool,
}

/// Tasks on a page of a result that this client shows whole.
pub(crate) fn page_tasks(client: &impl Client) -> usize {
    let fit = client.room().saturating_sub(AROUND_CHARS) / TASK_CHARS;
    fit.clamp(*PAGE_TASKS.start(), *PAGE_TASKS.end())
}

/// The tasks of `scope` that match; ids under `before` only, where a page came already.
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

/// The current task, if it is in scope and matches.
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
