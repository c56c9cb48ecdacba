//! Database roles with few permissions can do little.
#![cfg(unix)]

mod common;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use scorpiox_executor::Cancel;
use scorpiox_store::{Mode, Store, StoreError};
use scorpiox_store_postgres::{Address, Database, Options};

use common::{LONG, SHORT, Session, as_role, database, name, named, role, server, to_format_1, until_heard};

const TOOL: &str = "tool";

const READS: &str = "GRANT USAGE ON SCHEMA scorpiox_code TO ROLE;
                     GRANT SELECT ON ALL TABLES IN SCHEMA scorpiox_code TO ROLE";

const WRITES: &str = "GRANT USAGE ON SCHEMA scorpiox_code TO ROLE;
                      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA scorpiox_code TO ROLE";

fn add_message(database: &Arc<Database>, text: &str) {
    let store = database.workspace(&named("w"));
    let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a writer");
    transaction.add_message(TOOL, 1, 2, text).expect("added");
    transaction.commit().expect("kept");
}

/// Starts a listening process. Returns it with the receivers of messages and texts.
fn hearing(address: &str) -> (Arc<Database>, Receiver<String>, Receiver<String>) {
    let (database, (told, messages), (passed, texts)) = (database(address), channel(), channel());
    database
        .workspace(&named("w"))
        .hear(Box::new(move |message| drop(told.send(message.text.clone()))))
        .expect("a thread");
    database.hear_passed(move |text| drop(passed.send(text.to_owned()))).expect("a thread");
    (database, messages, texts)
}

/// Starts two processes, the second of which receives messages and texts. Returns its receivers too.
fn both(address: &str) -> (Arc<Database>, Arc<Database>, Receiver<String>, Receiver<String>) {
    let one = database(address);
    add_message(&one, "before");
    let (other, messages, texts) = hearing(address);
    until_heard(&one, &texts);
    assert!(messages.try_recv().is_err(), "what was there before is not told");
    (one, other, messages, texts)
}

#[test]
fn what_servers_pass_on_and_add_comes_once_to_the_others_and_not_to_themselves() {
    let address = server().database();
    let (one, other, messages, texts) = both(&address);
    let long = "x".repeat(1024 * 1024);
    for text in ["a", "a", &long] {
        one.pass_on(text).expect("passed on");
        assert_eq!(texts.recv_timeout(LONG).as_deref(), Ok(text));
    }
    add_message(&one, "fired");
    assert_eq!(messages.recv_timeout(LONG).as_deref(), Ok("fired"));
    other.pass_on("own").expect("passed on");
    add_message(&other, "own");
    assert!(texts.recv_timeout(SHORT).is_err() && messages.recv_timeout(SHORT).is_err());
}

#[test]
fn a_role_that_may_only_read_passes_nothing_on_has_nothing_told_and_sees_no_secret() {
    let address = server().database();
    let (one, _other, messages, texts) = both(&address);
    one.secret("http", b"hidden").expect("a secret");
    let (reader, nobody) = (role(&address, "reader", READS), role(&address, "nobody", ""));
    add_message(&one, "fired");
    assert_eq!(messages.recv_timeout(LONG).as_deref(), Ok("fired"));
    one.pass_on("answer").expect("passed on");
    assert_eq!(texts.recv_timeout(LONG).as_deref(), Ok("answer"));
    // The role cannot see rows that it could replay or use as a key.
    for table in ["secret", "relay"] {
        let count = format!("SELECT count(*) FROM scorpiox_code.{table}");
        assert_eq!(as_role(&reader, &count).expect("it may read").trim(), "0", "{table}");
        assert!(as_role(&nobody, &count).is_err(), "{table}");
    }
    assert_ne!(
        server().psql(name(&address), "SELECT count(*) FROM scorpiox_code.secret").expect("one").trim(),
        "0"
    );
    let sender =
        as_role(&reader, "SELECT encode(sender, 'hex') FROM scorpiox_code.message LIMIT 1").expect("read");
    for who in [&reader, &nobody] {
        // Sends notifications with every payload on every channel name, current or former.
        let mut rings = String::new();
        for channel in ["scorpiox_code", "scorpiox_code_relay", "scorpiox_code_passed"] {
            for payload in ["", "forged", "0 1 w", "0 2 w", "0 1 1 forged", sender.trim()] {
                rings.extend(["SELECT pg_notify('", channel, "', '", payload, "');"]);
            }
        }
        for _ in 0..20 {
            as_role(who, &rings).expect("anybody may ring");
        }
        for write in [
            "INSERT INTO scorpiox_code.relay (mark, sender, content) VALUES ('m', 's', 'forged')",
            "UPDATE scorpiox_code.relay SET since = now(), mark = 'm'",
            "UPDATE scorpiox_code.message SET since = now(), mark = 'm', sender = 's'",
            "DELETE FROM scorpiox_code.relay",
            "SELECT 1 FROM scorpiox_code.workspace FOR UPDATE",
            "CREATE TABLE scorpiox_code.mine (x int)",
            "ALTER TABLE scorpiox_code.relay DISABLE ROW LEVEL SECURITY",
            "CREATE POLICY mine ON scorpiox_code.relay USING (true)",
            "SET row_security = off; SELECT content FROM scorpiox_code.relay",
        ] {
            assert!(as_role(who, write).is_err(), "{write}");
        }
    }
    assert!(texts.recv_timeout(SHORT).is_err() && messages.recv_timeout(SHORT).is_err());
    // Notifications of servers still work.
    one.pass_on("answer").expect("passed on");
    assert_eq!(texts.recv_timeout(LONG).as_deref(), Ok("answer"));
}

#[test]
fn rows_of_long_ago_act_no_more_and_go_without_later_ones() {
    let address = server().database();
    let (one, _other, _messages, texts) = both(&address);
    // More rows than one sweep removes, and a younger one that no later notification announces.
    let old = "INSERT INTO scorpiox_code.relay (mark, sender, content, since)
               SELECT ('old' || i)::bytea, 's', 'old', now() - interval '2 minutes' FROM generate_series(1, 250) AS i;
               INSERT INTO scorpiox_code.relay (mark, sender, content, since)
               VALUES ('young', 's', 'young', now() - interval '54 seconds'); NOTIFY scorpiox_code_relay";
    server().psql(name(&address), old).expect("written");
    assert!(texts.recv_timeout(SHORT).is_err());
    let count = |mark: &str| {
        let left =
            format!("SELECT count(*) FROM scorpiox_code.relay WHERE encode(mark, 'escape') LIKE '{mark}%'");
        server().psql(name(&address), &left).expect("a number").trim().to_owned()
    };
    let until_gone = |mark: &str| {
        let begin = Instant::now();
        while count(mark) != "0" {
            assert!(begin.elapsed() < LONG, "{} of {mark} are left", count(mark));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until_gone("old");
    until_gone("young");
    one.pass_on("new").expect("passed on");
    assert_eq!(texts.recv_timeout(LONG).as_deref(), Ok("new"));
    assert_ne!(count(""), "0", "what acts still stays");
}

#[test]
fn texts_and_messages_come_while_many_that_act_no_more_go() {
    let address = server().database();
    let (one, _other, messages, texts) = both(&address);
    // A sweep that sees a young row would leave old ones for a minute, however long it takes to write them.
    server().psql(name(&address), "DELETE FROM scorpiox_code.relay").expect("deleted");
    // Removing the rows takes many transactions.
    let old = "INSERT INTO scorpiox_code.relay (mark, sender, content, since)
               SELECT ('old' || i)::bytea, 's', 'old', now() - interval '2 minutes' FROM generate_series(1, 100000) AS i;
               NOTIFY scorpiox_code_relay";
    server().psql(name(&address), old).expect("written");
    let left = "SELECT count(*) FROM scorpiox_code.relay WHERE content = 'old'";
    let left =
        || server().psql(name(&address), left).expect("a count").trim().parse::<usize>().expect("a number");
    let begin = Instant::now();
    while left() == 100_000 {
        assert!(begin.elapsed() < LONG, "none goes");
        std::thread::sleep(Duration::from_millis(20));
    }
    one.pass_on("meanwhile").expect("passed on");
    add_message(&one, "fired");
    // Allows for two sweeps of a hundred rows each, and for other load on this machine.
    let soon = Duration::from_secs(5);
    assert_eq!(texts.recv_timeout(soon).as_deref(), Ok("meanwhile"));
    assert_eq!(messages.recv_timeout(soon).as_deref(), Ok("fired"));
    assert_ne!(left(), 0, "they go still");
}

#[test]
fn a_role_that_may_write_some_tables_and_is_no_server_writes_none() {
    let address = server().database();
    let (one, _other, messages, texts) = both(&address);
    one.secret("http", b"hidden").expect("a secret");
    let all = "format workspace entry usage timer message ended commit_mark relay secret";
    let some = "GRANT USAGE ON SCHEMA scorpiox_code TO ROLE";
    let given = |rights: &str, tables: &str| {
        let tables: Vec<_> = tables.split(' ').map(|table| format!("scorpiox_code.{table}")).collect();
        format!("; GRANT {rights} ON {} TO ROLE", tables.join(", "))
    };
    let others = all.replace(" secret", "");
    let roles = [
        ("inserts", some.to_owned() + &given("INSERT", all)),
        ("writes", some.to_owned() + &given("SELECT, INSERT, UPDATE, DELETE", &others)),
        (
            "both",
            some.to_owned() + &given("SELECT, INSERT, UPDATE, DELETE", &others) + &given("INSERT", "secret"),
        ),
        (
            "sees",
            some.to_owned() + &given("SELECT, INSERT, UPDATE, DELETE", &others) + &given("SELECT", "secret"),
        ),
    ];
    let inserts = [
        "format (format) VALUES (1000)",
        "workspace (id, name) OVERRIDING SYSTEM VALUE VALUES (1, 'mine')",
        "entry VALUES (1, 'n', 'k', 'v')",
        "usage VALUES (1, 'n', 9)",
        "timer VALUES (1, 'n', 1, 1)",
        "message SELECT 1, i, 'n', 1, 1, 'forged', ('m' || i)::bytea, 's' FROM generate_series(1, 9) AS i",
        "ended VALUES ('number')",
        "commit_mark VALUES ('c', 'm')",
        "relay SELECT ('m' || i)::bytea, 's', now() + interval '9 seconds', 'forged' FROM generate_series(1, 9) AS i",
        "secret VALUES ('planted', 'known')",
    ];
    for (who, rights) in roles {
        let who = role(&address, who, &rights);
        for insert in inserts {
            let refused = as_role(&who, &format!("INSERT INTO scorpiox_code.{insert}")).expect_err(insert);
            let is_refused =
                ["row-level security", "permission denied"].iter().any(|why| refused.contains(why));
            assert!(is_refused, "{who}: {insert}: {refused}");
        }
        for change in ["UPDATE scorpiox_code.workspace SET version = 0", "DELETE FROM scorpiox_code.format"] {
            drop(as_role(&who, change));
        }
        drop(as_role(&who, "SELECT pg_notify('scorpiox_code', ''), pg_notify('scorpiox_code_relay', '')"));
    }
    let kept = "SELECT count(*) FROM scorpiox_code.workspace WHERE version = 0";
    assert_eq!(server().psql(name(&address), kept).expect("a number").trim(), "0");
    assert!(texts.recv_timeout(SHORT).is_err() && messages.recv_timeout(SHORT).is_err());
    one.pass_on("text").expect("it writes still");
    assert_eq!(texts.recv_timeout(LONG).as_deref(), Ok("text"));
}

/// Taking a lock requires no write permissions.
#[test]
fn a_role_that_keeps_a_lock_is_named_and_keeps_no_migration_for_ever() {
    let address = server().database();
    add_message(&database(&address), "before");
    to_format_1(&address);
    let (nobody, reader) = (role(&address, "nobody", ""), role(&address, "reader", READS));
    let advisory = "SELECT pg_advisory_lock(7022359318401230435)";
    let table = "BEGIN; LOCK TABLE scorpiox_code.workspace IN ACCESS SHARE MODE";
    let migrate = || database(&address).migrate().map(drop);
    // The wait has the same limit for `migrate` and for `try_begin`, which otherwise has short timeouts.
    let begin = || database(&address).workspace(&named("w")).try_begin(Mode::ReadFirst).map(drop);
    let first: [&dyn Fn() -> Result<(), StoreError>; 2] = [&migrate, &begin];
    for ((who, of, lock), first) in
        [(nobody, "nobody_", advisory), (reader, "reader_", table)].into_iter().zip(first)
    {
        let mut holder = Session::open(&who);
        holder.run(lock);
        let begin = Instant::now();
        let why = first().expect_err("it has no lock").to_string();
        assert!(begin.elapsed() < LONG, "{:?}", begin.elapsed());
        let ends = why.split("SELECT pg_terminate_backend(").nth(1).and_then(|rest| rest.split(')').next());
        let pid: u32 = ends.and_then(|pid| pid.parse().ok()).unwrap_or_else(|| panic!("{why}"));
        assert!(why.contains(&format!("process {pid} of the role \"{of}")), "{why}");
        let end = format!("SELECT pg_terminate_backend({pid})");
        assert_eq!(server().psql(name(&address), &end).expect("ended").trim(), "t");
        drop(holder);
    }
    // The migration succeeds after the lock holder is terminated, as the error says.
    let begin = Instant::now();
    while database(&address).migrate() != Ok(true) {
        assert!(begin.elapsed() < LONG, "it is kept still");
    }
    assert_eq!(database(&address).migrate(), Ok(false));
}

#[test]
fn a_database_can_be_closed_to_all_who_were_given_nothing() {
    let address = server().database();
    let owner = database(&address);
    owner.migrate().expect("tables");
    let reader = role(&address, "reads", READS);
    let stranger = format!("stranger_{}", name(&address));
    server().psql("postgres", &format!("CREATE ROLE {stranger} LOGIN PASSWORD 'p'")).expect("a role");
    let stranger = address.replace("owner:pass%20word@", &format!("{stranger}:p@"));
    assert_eq!(owner.is_open_to_others(), Ok(true));
    as_role(&stranger, "SELECT 1").expect("PostgreSQL lets everybody in");
    assert_eq!(owner.close_to_others(), Ok(true));
    assert_eq!((owner.is_open_to_others(), owner.close_to_others()), (Ok(false), Ok(true)));
    assert!(as_role(&stranger, "SELECT 1").expect_err("closed").contains("permission denied for database"));
    as_role(&reader, "SELECT count(*) FROM scorpiox_code.entry").expect("it was given that");
    let other = Database::new(Address::parse(&reader).expect("an address"), Options::default());
    assert_eq!(other.close_to_others(), Ok(false), "it does not own it");
}

#[test]
fn a_role_that_writes_and_owns_nothing_does_all_that_a_server_does() {
    let address = server().database();
    database(&address).migrate().expect("tables");
    let writer = role(&address, "writes", WRITES);
    let (one, _other, messages, texts) = both(&writer);
    let secret = one.secret("http", b"hidden").expect("a secret");
    assert_eq!(database(&address).secret("http", b"other"), Ok(secret), "its owner has the same one");
    one.pass_on("answer").expect("passed on");
    assert_eq!(texts.recv_timeout(LONG).as_deref(), Ok("answer"));
    add_message(&one, "fired");
    assert_eq!(messages.recv_timeout(LONG).as_deref(), Ok("fired"));
}

#[test]
fn a_migration_gives_no_role_more_than_it_had() {
    let address = server().database();
    add_message(&database(&address), "before");
    to_format_1(&address);
    let all = role(&address, "all", WRITES);
    let partly = "GRANT USAGE ON SCHEMA scorpiox_code TO ROLE; GRANT SELECT, INSERT ON scorpiox_code.workspace TO ROLE";
    let partly = role(&address, "partly", partly);
    let nearly = format!("{WRITES}; REVOKE DELETE ON scorpiox_code.timer FROM ROLE");
    let nearly = role(&address, "nearly", &nearly);
    assert_eq!(database(&address).migrate(), Ok(true));
    for (address, has_all) in [(all, true), (partly, false), (nearly, false)] {
        let may = "SELECT has_table_privilege('scorpiox_code.relay', 'INSERT'),
                       has_table_privilege('scorpiox_code.commit_mark', 'DELETE')";
        let expected = if has_all { "t|t" } else { "f|f" };
        assert_eq!(as_role(&address, may).as_deref().map(str::trim), Ok(expected), "{address}");
    }
}

/// Some versions let every role create objects in the schema `public`.
#[test]
fn names_that_another_role_made_are_not_found() {
    let address = server().database();
    add_message(&database(&address), "before");
    let outsider = role(&address, "outsider", "GRANT CREATE, USAGE ON SCHEMA public TO ROLE");
    let kinds = [("numeric", "integer"), ("numeric", "numeric"), ("double precision", "integer")];
    for (at, (left, right)) in kinds.into_iter().enumerate() {
        let made = format!(
            "CREATE FUNCTION public.taken{at}({left}, {right}) RETURNS {left} LANGUAGE plpgsql AS
                 $$ BEGIN RAISE EXCEPTION 'it was called'; END $$;
             CREATE OPERATOR public.* (LEFTARG = {left}, RIGHTARG = {right}, FUNCTION = public.taken{at})"
        );
        as_role(&outsider, &made).expect("made");
    }
    let made = "CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'it was called'; END $$;
                CREATE FUNCTION public.taken() RETURNS timestamptz LANGUAGE sql AS 'SELECT public.now()';
                CREATE FUNCTION public.quote_ident(name) RETURNS text LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'it was called'; END $$";
    as_role(&outsider, made).expect("made");
    // Any error of a connection fails the test, and each new connection queries the clock.
    let other = database(&address);
    add_message(&other, "after");
    other.pass_on("text").expect("passed on");
}

/// Readers do not delay a migration that waits for the first lock.
#[test]
fn the_role_that_keeps_the_first_lock_is_named_before_all_who_only_read() {
    let address = server().database();
    add_message(&database(&address), "before");
    to_format_1(&address);
    let reader = role(&address, "reader", READS);
    let _readers: Vec<_> = (0..7)
        .map(|_| {
            let mut session = Session::open(&reader);
            session.run("BEGIN; LOCK TABLE scorpiox_code.workspace IN ACCESS SHARE MODE");
            session
        })
        .collect();
    // Opened last, so that its process ID is probably the highest.
    let mut holder = Session::open(&role(&address, "holder", ""));
    let pid = holder
        .run("SELECT pg_advisory_lock(7022359318401230435); SELECT pg_backend_pid()")
        .pop()
        .expect("a number");
    let why = database(&address).migrate().expect_err("it has no lock").to_string();
    assert!(why.contains(&format!("these have them: process {pid} of the role \"holder_")), "{why}");
    assert!(why.contains(&format!("SELECT pg_terminate_backend({pid});")), "{why}");
}
