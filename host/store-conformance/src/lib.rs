//! Conformance tests for implementations of [`Store`] in any crate.
//!
//! Each case checks a sentence or two of the documentation of [`Store`], [`Transaction`], and
//! [`Changes`](scorpiox_store::Changes), using only these traits. Tests for a single implementation, such as
//! for damaged files or lost connections, belong to its own crate.
//!
//! A crate with an implementation calls [`conformance_tests`] in one of its tests, with an expression that
//! creates a [`Fixture`]: see `tests/conformance.rs` of `scorpiox-store`.

mod agreement;
mod begin;
mod changes;
mod conflict;
mod forget;
mod isolation;
mod keys;
mod messages;
mod quota;
mod scan;
mod timers;

use std::sync::Arc;

use scorpiox_executor::Cancel;

use scorpiox_store::{Message, Mode, Order, Store, Transaction};

pub use agreement::{Opened, agrees_with_the_model};

/// Source of the stores for one test.
pub trait Fixture: Sync {
    /// Opens the workspace of that name anew, as another process would. All workspaces of a new fixture are
    /// unused.
    fn open(&self, workspace: &str) -> Arc<dyn Store>;
}

impl<F: Fn(&str) -> Arc<dyn Store> + Sync> Fixture for F {
    fn open(&self, workspace: &str) -> Arc<dyn Store> {
        self(workspace)
    }
}

/// Name and function of a case.
type Case = (&'static str, fn(&dyn Fixture));

/// All cases.
const CASES: &[Case] = crate::conformance_tests!(@cases table);

/// Returns the names of all cases, for running them without [`conformance_tests`].
pub fn names() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(name, _)| *name)
}

/// Runs a case.
///
/// # Panics
///
/// Panics if the implementation does not conform, or if the case does not exist.
pub fn run(name: &str, fixture: &dyn Fixture) {
    let case = CASES.iter().find(|(known, _)| *known == name);
    let (_, case) = case.unwrap_or_else(|| panic!("there is no case {name:?}"));
    case(fixture);
}

/// Generates a test for each case, in modules by topic. The argument is an expression that creates a new
/// [`Fixture`].
#[macro_export]
macro_rules! conformance_tests {
    ($fixture:expr) => { $crate::conformance_tests! { @cases tests $fixture } };
    (@cases $how:ident $($fixture:expr)?) => {
        $crate::conformance_tests! { @$how [$($fixture)?]
            begin {
                a_workspace_that_was_never_used_is_absent_and_looking_at_it_creates_nothing
                a_workspace_exists_after_its_first_commit
                workspaces_share_nothing
                waiting_for_a_writer_ends_with_a_cancel_and_is_told_once
                waiting_for_a_writer_ends_when_that_does
                a_cancel_is_not_looked_at_where_there_is_no_wait
                try_begin_does_not_wait
                what_was_committed_is_there_when_it_is_opened_again
            }
            keys {
                a_key_has_the_value_that_was_set_last
                values_are_any_bytes
                keys_are_any_text
                limits_are_kept_and_what_is_over_them_is_not_written
                deleting_takes_a_key_away_and_an_absent_one_is_no_error
                namespaces_do_not_see_each_other
                one_transaction_may_use_several_namespaces
                a_counter_is_decimal_text
                what_is_no_counter_or_overflows_is_an_error
            }
            scan {
                keys_come_in_the_order_of_their_bytes
                a_prefix_is_text_and_no_pattern
                a_scan_starts_strictly_after_a_key
                a_scan_gives_at_most_its_limit
                a_scan_ends_with_the_entry_that_reaches_its_bytes
                a_scan_sees_what_the_transaction_wrote
            }
            isolation {
                a_transaction_reads_its_own_writes
                nobody_sees_what_is_not_committed
                a_commit_keeps_all_kinds_of_writes
                a_drop_without_a_commit_leaves_nothing
                what_was_read_does_not_change
                a_snapshot_is_taken_at_the_first_operation
                a_write_transaction_sees_all_that_was_committed_before_it
                a_reader_neither_waits_nor_keeps_a_writer_waiting
                many_writers_lose_nothing
            }
            conflict {
                each_write_after_each_change_is_a_conflict
                each_write_beside_a_writer_is_a_conflict
                who_starts_again_as_a_writer_does_not_conflict
                a_first_operation_that_writes_has_no_change_before_it
                what_only_reads_does_not_conflict
                taking_nothing_away_is_no_write
                a_rollback_is_no_change
                a_commit_of_reads_is_no_change
                the_writer_is_free_after_its_end
            }
            quota {
                what_fills_a_quota_exactly_fits
                keys_and_values_count_and_nothing_else
                replacing_counts_the_difference
                what_was_committed_before_counts
                what_was_rolled_back_does_not_count
                deleting_frees_at_once
                who_stays_over_a_quota_keeps_nothing
                who_is_within_a_quota_again_may_commit
                a_lowered_quota_still_lets_change_and_shrink
                each_namespace_has_a_quota_of_its_own
            }
            timers {
                the_timer_that_is_due_first_comes_first
                of_those_due_at_once_the_namespace_and_then_the_id_decides
                arming_again_replaces_the_due_time
                disarming_is_idempotent_and_of_one_namespace
                a_timer_is_postponed_only_if_it_is_the_one_that_was_seen
                due_times_are_any_number
                a_timer_is_fired_once
                timers_of_a_namespace_come_by_their_ids
            }
            messages {
                a_message_is_what_was_added
                messages_are_of_a_namespace_and_come_oldest_first
                messages_of_all_namespaces_are_taken_oldest_first_and_once
                what_a_rollback_took_is_still_there
                sequence_numbers_rise_and_are_not_used_again
                only_messages_that_there_is_room_for_are_taken
                one_that_fits_nowhere_comes_alone
                the_oldest_are_dropped
            }
            forget {
                all_of_a_namespace_is_deleted_and_nothing_else
                forgetting_says_whether_there_was_anything
                forgetting_frees_the_quota
                what_was_forgotten_can_be_set_again
                a_namespace_is_there_as_long_as_it_has_something
            }
            changes {
                a_commit_of_another_is_told
                a_commit_of_the_same_store_is_told
                the_first_commit_of_a_workspace_is_told
                several_commits_are_told_at_least_once
                without_changes_nothing_is_told_for_ever
                what_was_told_is_seen
                a_wait_ends_with_a_change
                a_wait_ends_with_a_cancel
            }
        }
    };
    (@tests [$fixture:expr] $($subject:ident { $($case:ident)+ })+) => {
        $(mod $subject {
            #[allow(unused_imports)]
            use super::*;
            $(#[test]
            fn $case() {
                $crate::run(concat!(stringify!($subject), "::", stringify!($case)), &$fixture);
            })+
        })+
    };
    (@table [] $($subject:ident { $($case:ident)+ })+) => {
        &[$($((concat!(stringify!($subject), "::", stringify!($case)), $subject::$case)),+),+]
    };
}

/// Namespace for cases that need only one.
const TOOL: &str = "tool";
/// Unlimited quota.
const ANY: u64 = u64::MAX;

fn begin(store: &Arc<dyn Store>, mode: Mode) -> Box<dyn Transaction> {
    store.begin(mode, &Cancel::default(), &mut || {}).expect("a transaction")
}

fn read(store: &Arc<dyn Store>) -> Box<dyn Transaction> {
    begin(store, Mode::ReadFirst)
}

fn write(store: &Arc<dyn Store>) -> Box<dyn Transaction> {
    begin(store, Mode::Write)
}

fn put(transaction: &mut Box<dyn Transaction>, key: &str, value: &[u8]) {
    transaction.set(TOOL, key, value, ANY).expect("set");
}

/// Stores a value in a separate transaction.
fn commit_value(store: &Arc<dyn Store>, key: &str, value: &[u8]) {
    let mut transaction = write(store);
    put(&mut transaction, key, value);
    transaction.commit().expect("commit");
}

fn value(transaction: &mut Box<dyn Transaction>, key: &str) -> Option<Vec<u8>> {
    transaction.get(TOOL, key).expect("get")
}

/// Returns the keys found by a scan.
fn keys_of(
    transaction: &mut Box<dyn Transaction>,
    prefix: &str,
    after: Option<&str>,
    limit: u32,
    order: Order,
) -> Vec<String> {
    let found = transaction.scan(TOOL, prefix, after, limit, order).expect("scan");
    found.into_iter().map(|entry| entry.key).collect()
}

fn add(transaction: &mut Box<dyn Transaction>, text: &str) -> u64 {
    transaction.add_message(TOOL, 1, 0, text).expect("add")
}

/// Takes messages with a total text length of at most `room` bytes, and returns their texts.
fn take(transaction: &mut Box<dyn Transaction>, room: usize) -> Vec<String> {
    let cost = |message: &Message| message.text.len();
    let taken = transaction.take_messages(room, &cost).expect("take");
    taken.into_iter().map(|message| message.text).collect()
}
