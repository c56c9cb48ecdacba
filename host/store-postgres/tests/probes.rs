//! A server that cannot write is not ready.
#![cfg(unix)]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;
use scorpiox_store::{Mode, Store as _, StoreError};
use scorpiox_store_postgres::Database;

use common::{LONG, database, name, named, role, server};

const WRITES: &str = "GRANT USAGE ON SCHEMA scorpiox_code TO ROLE;
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA scorpiox_code TO ROLE";

/// Waits until a probe succeeds or fails, because its outcome is reused for a moment.
fn until(database: &Arc<Database>, is_ready: bool) -> Result<(), StoreError> {
    let (store, begun) = (database.workspace(&named("w")), Instant::now());
    loop {
        let answer = store.answers();
        if answer.is_ok() == is_ready {
            return answer;
        }
        assert!(begun.elapsed() < LONG, "{answer:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_role_that_may_not_write_each_table_is_not_ready() {
    let address = server().database();
    database(&address).migrate().expect("tables");
    let own = role(&address, "server", WRITES);
    let user = own.split("//").nth(1).and_then(|rest| rest.split(':').next()).expect("a name");
    let one = database(&own);
    until(&one, true).expect("it may write");
    for (right, table) in [("INSERT", "entry"), ("UPDATE", "workspace"), ("DELETE", "relay")] {
        let sql = |what: &str, to: &str| format!("{what} {right} ON scorpiox_code.{table} {to} {user}");
        server().psql(name(&address), &sql("REVOKE", "FROM")).expect("revoked");
        let why = until(&one, false).expect_err("it may not write").to_string();
        assert!(why.contains(&format!("lacks {right} on scorpiox_code.{table}; grant it")), "{why}");
        server().psql(name(&address), &sql("GRANT", "TO")).expect("granted");
        until(&one, true).expect("it may write");
    }
}

#[test]
fn a_database_that_takes_no_writes_is_not_ready() {
    let address = server().database();
    database(&address).migrate().expect("tables");
    let read_only = format!("ALTER DATABASE \"{}\" SET default_transaction_read_only = on", name(&address));
    server().psql(name(&address), &read_only).expect("set");
    let why = until(&database(&address), false).expect_err("it is read-only").to_string();
    assert!(why.contains("takes no writes: it is a standby, or was set to be read only"), "{why}");
}

/// A probe writes nothing, so it cannot know what a constraint or a policy of somebody else refuses.
#[test]
fn a_server_whose_writes_a_rule_of_the_tables_refuses_is_not_ready() {
    for rule in [
        "ALTER TABLE scorpiox_code.entry ADD CONSTRAINT strange CHECK (false) NOT VALID",
        "ALTER TABLE scorpiox_code.entry ADD COLUMN strange text NOT NULL",
        "CREATE POLICY strange ON scorpiox_code.workspace AS RESTRICTIVE USING (false)",
    ] {
        let address = server().database();
        database(&address).migrate().expect("tables");
        let own = role(&address, "server", WRITES);
        server().psql(name(&address), rule).expect("a rule");
        let one = database(&own);
        until(&one, true).expect("nothing was written yet");
        let store = one.workspace(&named("w"));
        let written = store.begin(Mode::Write, &Cancel::default(), &mut || ()).and_then(|mut open| {
            open.set("tool", "k", b"v", u64::MAX)?;
            open.commit()
        });
        let refused = written.expect_err("refused");
        assert!(matches!(refused, StoreError::Barred(_)), "{rule}: {refused:?}");
        assert_eq!(store.answers(), Err(refused));
    }
}
