//! Walks through lists of tasks in descending order, with bounded work.
//!
//! Every listing is an intersection of lists of task IDs in descending order: the tasks of a scope, and for
//! each word of a query the tasks that contain it. Each list is a union of key ranges, read in small pages.
//! The walk asks every list for its largest ID up to a target. The lowest answer is the next target, and a
//! task matches if all answers agree. An unfiltered listing is the same walk with a single list.

use std::collections::VecDeque;

use scorpiox_tool_kit::{Order, Store, StoreError};

use crate::model::{Task, id_in_key, padded};

/// Number of entries after which a walk stops and returns its position: a few milliseconds. The current round
/// is completed first. Since a page is at most twice as large as the previous one, this reads at most the
/// same number of entries again, plus the first page of each range.
pub(crate) const BUDGET: usize = 2000;

/// Number of entries in the first page of a list from which entries may be skipped. Pages grow up to
/// [`LARGEST_PAGE`] while nothing is skipped, and are reset after a skip.
pub(crate) const FIRST_PAGE: u32 = 4;
const LARGEST_PAGE: u32 = 64;

/// Next result of a walk.
#[derive(Debug)]
pub(crate) enum Found {
    Task(Task),
    /// No task is left.
    End,
    /// The budget is spent; tasks with IDs below this one are not checked yet.
    Stopped(u32),
}

/// A walk through the matching tasks, newest first.
pub(crate) struct Walk {
    terms: Vec<List>,
    tasks: List,
    /// All tasks with larger IDs have been decided.
    target: u32,
    spent: usize,
}

impl Walk {
    /// Creates a walk through the tasks that are in every list, from `at_most` to smaller IDs.
    pub(crate) fn new(terms: Vec<List>, tasks: List, at_most: u32) -> Self {
        Self { terms, tasks, target: at_most, spent: 0 }
    }

    pub(crate) fn next(&mut self, store: &mut impl Store) -> Result<Found, StoreError> {
        while self.target > 0 {
            // The budget is never spent before the first round, and each round lowers the target, so a walk
            // that is resumed here makes progress.
            if self.spent >= BUDGET {
                return Ok(Found::Stopped(self.target + 1));
            }
            let met = self.meet(store)?;
            let at_target = met == Some(self.target);
            self.target = if at_target { self.target - 1 } else { met.unwrap_or(0) };
            if at_target {
                return self.tasks.task().map(Found::Task);
            }
        }
        Ok(Found::End)
    }

    /// Returns the target if every list contains it, else a smaller ID that may be the next match, or `None`
    /// if a list is exhausted.
    fn meet(&mut self, store: &mut impl Store) -> Result<Option<u32>, StoreError> {
        for list in self.terms.iter_mut().chain([&mut self.tasks]) {
            let largest = list.seek(store, self.target, &mut self.spent)?;
            if largest != Some(self.target) {
                return Ok(largest);
            }
        }
        Ok(Some(self.target))
    }
}

/// A union of key ranges.
pub(crate) struct List {
    cursors: Vec<Cursor>,
}

impl List {
    /// Creates a list of the ranges under `prefixes`, with a first page of `first_page` entries.
    pub(crate) fn new(prefixes: impl Iterator<Item = String>, first_page: u32) -> Self {
        Self { cursors: prefixes.map(|prefix| Cursor::new(prefix, first_page)).collect() }
    }

    /// Returns the largest ID up to `target`.
    fn seek(
        &mut self,
        store: &mut impl Store,
        target: u32,
        spent: &mut usize,
    ) -> Result<Option<u32>, StoreError> {
        let mut largest = None;
        for cursor in &mut self.cursors {
            largest = largest.max(cursor.seek(store, target, spent)?);
        }
        Ok(largest)
    }

    /// Returns the task with the ID from the last `seek`.
    fn task(&self) -> Result<Task, StoreError> {
        let heads = self.cursors.iter().filter_map(|cursor| cursor.heads.front());
        let head = heads.max_by_key(|head| head.id);
        let head = head.ok_or_else(|| StoreError::Unavailable("a walk lost its place".to_owned()))?;
        Task::decode(&head.key, &head.value)
    }
}

/// An entry that was read but not passed yet.
struct Head {
    id: u32,
    key: String,
    value: Vec<u8>,
}

/// Entries under a prefix, largest ID first, read in pages.
struct Cursor {
    prefix: String,
    first_page: u32,
    /// Number of entries in the next page.
    page: u32,
    heads: VecDeque<Head>,
    /// `true` if no entries follow `heads`.
    at_end: bool,
}

impl Cursor {
    fn new(prefix: String, first_page: u32) -> Self {
        Self { prefix, first_page, page: first_page, heads: VecDeque::new(), at_end: false }
    }

    /// Returns the largest ID up to `target`. Targets must be descending.
    fn seek(
        &mut self,
        store: &mut impl Store,
        target: u32,
        spent: &mut usize,
    ) -> Result<Option<u32>, StoreError> {
        let passed = self.heads.iter().take_while(|head| head.id > target).count();
        self.heads.drain(..passed);
        if passed > 1 {
            self.page = self.first_page;
        }
        if self.heads.is_empty() && !self.at_end {
            *spent += self.fetch(store, target)?;
        }
        Ok(self.heads.front().map(|head| head.id))
    }

    /// Reads a page and returns its cost. An empty page costs one.
    fn fetch(&mut self, store: &mut impl Store, target: u32) -> Result<usize, StoreError> {
        let after = format!("{}{}", self.prefix, padded(u64::from(target) + 1));
        let entries = store.scan(&self.prefix, Some(&after), self.page, Order::Descending)?;
        self.at_end = entries.len() < self.page as usize;
        self.page = (self.page * 2).min(LARGEST_PAGE);
        let cost = entries.len().max(1);
        for entry in entries {
            self.heads.push_back(Head { id: id_in_key(&entry.key)?, key: entry.key, value: entry.value });
        }
        Ok(cost)
    }
}
