//! Assigns the lines of a copy to chains.
//!
//! Lines linked by their hashes form a run. Runs of the same user and machine are joined where their numbers
//! leave room, and the joint is a break of the chain. A run that still has no beginning becomes a chain that
//! starts too late. A wrong guess in joining runs changes the description of a break, but never hides one.

use std::collections::HashMap;

use super::{Begins, Breaks, Chain, LineHash, Seen};
use crate::chain::Hash;
use crate::verify::{Broken, Place};

/// Sequence of lines, each linked to the next by its hash.
struct Run {
    /// Indices of the lines, in order.
    lines: Vec<usize>,
    /// `true` if the run starts after a line that already has a successor.
    is_fork: bool,
}

/// Sorts lines with distinct hashes into chains.
pub(super) fn chains(
    seen: &[Seen],
    by_hash: &HashMap<[u8; 32], usize>,
    owners: &[String],
    name: &str,
    from: &[LineHash],
) -> Vec<Chain> {
    let mut sorting = Sorting { seen, owners, name, found: Vec::new() };
    let mut rest = Vec::new();
    for run in runs(seen, by_hash) {
        let Some(first) = run.lines.first().and_then(|at| seen.get(*at)) else { continue };
        let said = from.iter().find(|hash| hash.0 == first.link.previous);
        if first.link.number == 1 && first.link.previous == Hash::NONE {
            sorting.begin(&run, Begins::First);
        } else if let (Some(said), false) = (said, run.is_fork) {
            sorting.begin(&run, Begins::AsSaid(*said));
        } else {
            rest.push(run);
        }
    }
    for run in rest {
        sorting.put(&run);
    }
    sorting.found.sort_by_key(|found| found.first_row);
    sorting.found.into_iter().map(|found| found.chain).collect()
}

/// Returns all runs, lowest numbers first. Of two successors of a line, the one with the longer run continues
/// it.
fn runs(seen: &[Seen], by_hash: &HashMap<[u8; 32], usize>) -> Vec<Run> {
    let before = |line: &Seen| {
        let at = *by_hash.get(&line.link.previous.bytes())?;
        (seen.get(at)?.link.number.checked_add(1) == Some(line.link.number)).then_some(at)
    };
    let mut order: Vec<usize> = (0..seen.len()).collect();
    order.sort_by_key(|at| (seen[*at].link.number, seen[*at].row));
    // For each line: the length of its longest continuation, and the next line in it.
    let mut follow: Vec<(u64, Option<usize>)> = vec![(0, None); seen.len()];
    for at in order.iter().rev() {
        let length = follow[*at].0 + 1;
        if let Some(before) = before(&seen[*at])
            && length >= follow[before].0
        {
            follow[before] = (length, Some(*at));
        }
    }
    let mut runs = Vec::new();
    for at in order {
        let before = before(&seen[at]);
        if before.is_some_and(|before| follow[before].1 == Some(at)) {
            continue;
        }
        let lines = std::iter::successors(Some(at), |at| follow[*at].1).collect();
        runs.push(Run { lines, is_fork: before.is_some() });
    }
    runs
}

struct Sorting<'a> {
    seen: &'a [Seen],
    owners: &'a [String],
    name: &'a str,
    found: Vec<Found>,
}

/// Chain under construction.
struct Found {
    first_row: u64,
    last_row: u64,
    /// Index of the owner.
    owner: usize,
    chain: Chain,
}

impl<'a> Sorting<'a> {
    fn place(&self, row: u64) -> Place {
        Place { file: self.name.to_owned(), row }
    }

    /// Starts a chain with this run.
    fn begin(&mut self, run: &Run, begins: Begins) {
        let (Some(first), Some(last)) = self.ends(run) else { return };
        let chain = Chain {
            owner: self.owners.get(first.owner).cloned().unwrap_or_default(),
            lines: run.lines.len() as u64,
            numbers: (first.link.number, last.link.number),
            times: (first.time.clone(), last.time.clone()),
            begins,
            last: LineHash(last.hash),
            breaks: Breaks::default(),
        };
        self.found.push(Found { first_row: first.row, last_row: last.row, owner: first.owner, chain });
    }

    fn ends(&self, run: &Run) -> (Option<&'a Seen>, Option<&'a Seen>) {
        let seen = self.seen;
        let line = |at: Option<&usize>| at.and_then(|at| seen.get(*at));
        (line(run.lines.first()), line(run.lines.last()))
    }

    /// Joins the run to a chain that broke off, or starts a new chain.
    fn put(&mut self, run: &Run) {
        let (Some(first), Some(last)) = self.ends(run) else { return };
        let (number, place) = (first.link.number, self.place(first.row));
        if run.is_fork {
            return self.put_fork(run, first.owner, number);
        }
        let is_anew = first.link.previous == Hash::NONE;
        let has_room = |found: &&mut Found| found.owner == first.owner && found.chain.numbers.1 < number;
        let broken_off = self.found.iter_mut().filter(has_room).max_by_key(|found| found.chain.numbers.1);
        let Some(found) = broken_off else {
            if !is_anew {
                return self.begin(run, Begins::Later(LineHash(first.link.previous), place));
            }
            self.begin(run, Begins::First);
            if let Some(found) = self.found.last_mut() {
                found.chain.breaks.add(place, Broken::BegunAnew(number));
            }
            return;
        };
        let before = found.chain.numbers.1;
        if is_anew {
            found.chain.breaks.add(place, Broken::BegunAnew(number));
        } else if before + 1 < number {
            found.chain.breaks.add(place, Broken::Missing(before + 1, number - 1));
        } else {
            found.chain.breaks.add(Place { row: found.last_row, ..place }, Broken::Changed(before));
        }
        found.chain.lines += run.lines.len() as u64;
        found.chain.numbers.1 = last.link.number;
        found.chain.times.1.clone_from(&last.time);
        found.chain.last = LineHash(last.hash);
        found.last_row = last.row;
    }

    /// Reports lines with duplicate numbers: they follow a line that already has a successor.
    fn put_fork(&mut self, run: &Run, owner: usize, number: u64) {
        let has = |found: &&mut Found| {
            let (from, to) = found.chain.numbers;
            (from..=to).contains(&number.saturating_sub(1))
        };
        let Some(found) = self.found.iter_mut().filter(has).max_by_key(|found| found.owner == owner) else {
            return;
        };
        for line in run.lines.iter().filter_map(|at| self.seen.get(*at)) {
            let place = Place { file: self.name.to_owned(), row: line.row };
            found.chain.breaks.add(place, Broken::Twice(line.link.number));
        }
    }
}
