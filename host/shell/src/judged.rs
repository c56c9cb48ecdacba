//! Judges the repositories that a command leaves behind.

use std::mem;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use scorpiox_git::{Leads, Traps, User, may_start_later, starts_programs, traps};
use scorpiox_sandbox::{Grounds, Outcome, Repository, Tier, Trap, TrapKind};

use crate::{MAX_NOTES, Started, gone, starts};

/// Time limit for judging the repositories of one command. Moves are blocked during that time. Repositories
/// left over are reported without being judged.
const JUDGE_TIME: Duration = Duration::from_secs(1);
/// Minimum interval between two searches while a command runs.
const WATCH_TIME: Duration = Duration::from_secs(1);
/// Maximum number of reported repositories.
const MAX_REPOSITORIES: usize = 32;
/// Maximum number of reported traps.
const MAX_TRAPS: usize = 16;

/// Traps that were found while a command ran, and at its end.
#[derive(Debug, Default)]
pub(super) struct FoundTraps {
    found: Vec<Trap>,
    /// Number of further ones, and of repositories that were not looked at completely.
    others: u32,
    /// Time of the next search while the command runs.
    next: Option<Instant>,
}

impl Started {
    /// Returns the outcome, reduced to those new repositories that start programs, and notes about
    /// repositories that are no longer where they were when the command ended.
    pub(super) fn judged(&mut self, mut outcome: Outcome) -> (Outcome, Vec<String>) {
        let mut moved = Vec::new();
        if !outcome.names.repositories.is_empty() {
            let leads = Leads::of(&User::of_process(self.operator.site().home.as_deref()));
            // Moves are blocked during the check. Anything swapped in earlier has another identity.
            let unmoved = starts::begin(&self.operator.site().own_home, &self.cell.plan.areas);
            let begun = Instant::now();
            let sees = |path: &Path| self.sees_all_of(path);
            outcome.names.repositories.retain(|Repository { path, identity, grounds }| {
                let path = path.as_path();
                let is_there = gone::identity_of(path) == Some(*identity);
                let is_unknown = || unmoved.is_err() || begun.elapsed() > JUDGE_TIME;
                // The command that moved it away meanwhile finds it, too.
                if *grounds == Grounds::Harmless {
                    return is_there && (is_unknown() || may_start_later(path));
                }
                moved.extend(gone::note(path, *identity));
                *grounds == Grounds::MadeByAnother
                    || !is_there
                    || is_unknown()
                    || starts_programs(path, &leads, &sees)
            });
        }
        let names = &mut outcome.names;
        let more = names.repositories.len().saturating_sub(MAX_REPOSITORIES);
        names.repositories.truncate(MAX_REPOSITORIES);
        names.repositories_others =
            names.repositories_others.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
        self.find_traps(true);
        outcome.names.traps = mem::take(&mut self.traps.found);
        outcome.names.traps_others = self.traps.others;
        moved.truncate(MAX_NOTES);
        (outcome, moved)
    }

    /// Looks for traps while the command runs, which can put a file back before it ends. Takes a small part of the time.
    pub(super) fn watch_traps(&mut self) {
        let begun = Instant::now();
        // Most commands have ended by then.
        if *self.traps.next.get_or_insert(begun + WATCH_TIME) <= begun {
            self.find_traps(false);
            self.traps.next = Some(Instant::now() + WATCH_TIME.max(20 * begun.elapsed()));
        }
    }

    /// Adds the traps in files that changed since the command started, in repositories that were there before. The others
    /// are judged as a whole.
    ///
    /// While a command runs, operations of git are usually unfinished, and are none of them.
    fn find_traps(&mut self, is_over: bool) {
        if self.tier == Tier::None {
            return;
        }
        let until = Instant::now() + JUDGE_TIME;
        let areas = &self.cell.plan.areas;
        let mut others = 0_u32;
        let may_change =
            |path: &&PathBuf| areas.iter().any(|area| area.write && path.starts_with(&area.path));
        for folder in self.repositories.iter().filter(may_change) {
            let Traps { found, is_cut } = traps(folder, Some(self.begun), until);
            // It was moved: commands cannot remove all of a repository that was there before.
            let is_cut = is_cut || folder.symlink_metadata().is_err();
            others = others.saturating_add(u32::from(is_cut));
            for trap in found.into_iter().map(reported) {
                if !is_over && matches!(trap.kind, TrapKind::Operation | TrapKind::Unknown) {
                    continue;
                }
                if self.traps.found.iter().any(|known| (&known.path, known.kind) == (&trap.path, trap.kind)) {
                    continue;
                }
                if self.traps.found.len() < MAX_TRAPS {
                    self.traps.found.push(trap);
                } else {
                    others = others.saturating_add(1);
                }
            }
        }
        if is_over {
            self.traps.others = others;
        }
    }
}

fn reported(trap: scorpiox_git::Trap) -> Trap {
    let kind = match trap.kind {
        scorpiox_git::TrapKind::Index => TrapKind::Index,
        scorpiox_git::TrapKind::Reference => TrapKind::Reference,
        scorpiox_git::TrapKind::Resolutions => TrapKind::Resolutions,
        scorpiox_git::TrapKind::WorkTree => TrapKind::WorkTree,
        scorpiox_git::TrapKind::Operation => TrapKind::Operation,
        scorpiox_git::TrapKind::Unknown => TrapKind::Unknown,
        scorpiox_git::TrapKind::Replacement => TrapKind::Replacement,
    };
    Trap { path: trap.path.into(), kind, text: trap.text }
}
