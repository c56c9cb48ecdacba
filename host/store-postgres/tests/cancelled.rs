//! Transactions with a statement that another connection cancels.
#![cfg(unix)]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::{database, name, server};

/// Number of cancelled `BEGIN` statements.
const MANY: usize = 30;

#[test]
fn nothing_is_written_where_the_beginning_of_a_transaction_is_cancelled() {
    let address = server().database();
    let owner = database(&address);
    owner.migrate().expect("tables");
    server().psql(name(&address), "CREATE TABLE public.enough ()").expect("made");
    let is_over = AtomicBool::new(false);
    let cancels = "DO $$ DECLARE since timestamptz := clock_timestamp(); BEGIN
                       WHILE NOT EXISTS (SELECT FROM public.enough) AND clock_timestamp() < since + interval '60 s' LOOP
                           PERFORM pg_cancel_backend(pid) FROM pg_stat_activity
                               WHERE datname = current_database() AND application_name = 'scorpiox-code';
                           PERFORM pg_stat_clear_snapshot(); PERFORM pg_sleep(0.0005);
                       END LOOP;
                   END $$";
    let mut refused = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            let cancelled = server().psql(name(&address), cancels);
            is_over.store(true, Ordering::Release);
            cancelled.expect("cancelled");
        });
        for number in 0.. {
            if is_over.load(Ordering::Acquire) {
                break;
            }
            let key = format!("k{number}");
            if owner.secret(&key, b"value").is_err() {
                refused.push(key);
            }
            if refused.len() == MANY {
                server().psql(name(&address), "INSERT INTO public.enough DEFAULT VALUES").expect("told");
            }
        }
    });
    assert!(refused.len() >= MANY, "{}", refused.len());
    let there = server().psql(name(&address), "SELECT name FROM scorpiox_code.secret").expect("names");
    let kept: Vec<_> = refused.iter().filter(|key| there.lines().any(|line| line == key.as_str())).collect();
    assert!(kept.is_empty(), "refused, and there: {kept:?} of {}", refused.len());
    assert_eq!(owner.secret("after", b"value"), Ok(b"value".to_vec()));
}
