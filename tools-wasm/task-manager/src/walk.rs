//! Walking down through lists of tasks, with bounded work.
//!
//! Everything that is listed is an intersection of lists of task ids in falling
//! order: the tasks of a scope, and for each word of a query the tasks that have it.
//! Each list is a union of key ranges, read in small pages. The walk asks every list
//! for its largest id up to a target; the lowest answer is the next target, and where
//! all agree is a match. So an unfiltered list is the same walk with one list.

use std::collections::VecDeque;

use scorpiox_tool_kit::{Order, Store, StoreError};

use crate::model::{Task, id_in_key, padded};

/// Entries that a walk reads before it stops and says how to go on: some
/// milliseconds. The round in which it is reached is finished first; since a page is
/// at most twice the page before it, that is at most as much again and the first page
/// of each range.
pub(crate) const BUDGET: usize = 2000;

/// Entries that are read at first where some may be skipped. Pages grow to
/// [`LARGEST_PAGE`] while nothing is skipped, and start again when something is.
pub(crate) const FIRST_PAGE: u32 = 4;
const LARGEST_PAGE: u32 = 64;

/// What a walk comes to next.
#[derive(Debug)]
pub(crate) enum Found {
    Task(Task),
    /// No task is left.
    End,
    /// The budget is spent; tasks with smaller ids than this were not looked at.
    Stopped(u32),
}

/// A walk through the tasks that match, newest first.
pub(crate) struct Walk {
    terms: Vec<List>,
    tasks: List,
    /// Every task above it has been decided.
    target: u32,
    spent: usize,
}

impl Walk {
    /// Through the tasks that are in every list, from the id `at_most` down.
    pub(crate) fn new(terms: Vec<List>, tasks: List, at_most: u32) -> Self {
        Self { terms, tasks, target: at_most, spent: 0 }
    }

    pub(crate) fn next(&mut self, store: &mut impl Store) -> Result<Found, StoreError> {
        while self.target > 0 {
            // Never before the first round, and each round lowers the target: so a walk
            // that goes on from here gets further.
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

    /// The target where every list has it, otherwise a smaller id that may be the
    /// next; none when a list is at its end.
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
    /// The ranges under `prefixes`, of which `first_page` entries are read at first.
    pub(crate) fn new(prefixes: impl Iterator<Item = String>, first_page: u32) -> Self {
        Self { cursors: prefixes.map(|prefix| Cursor::new(prefix, first_page)).collect() }
    }

    /// The largest id that is at most `target`.
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

    /// The task whose id the last `seek` gave.
    fn task(&self) -> Result<Task, StoreError> {
        let heads = self.cursors.iter().filter_map(|cursor| cursor.heads.front());
        let head = heads.max_by_key(|head| head.id);
        let head = head.ok_or_else(|| StoreError::Unavailable("a walk lost its place".to_owned()))?;
        Task::decode(&head.key, &head.value)
    }
}

/// An entry that was read and not passed yet.
struct Head {
    id: u32,
    key: String,
    value: Vec<u8>,
}

/// The entries under one prefix, largest id first, read in pages.
struct Cursor {
    prefix: String,
    first_page: u32,
    /// Entries that the next page has.
    page: u32,
    heads: VecDeque<Head>,
    /// Nothing is left behind `heads`.
    at_end: bool,
}

impl Cursor {
    fn new(prefix: String, first_page: u32) -> Self {
        Self { prefix, first_page, page: first_page, heads: VecDeque::new(), at_end: false }
    }

    /// The largest id that is at most `target`. Targets must fall.
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

    /// Reads a page and gives what it cost: an empty page costs one too.
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
