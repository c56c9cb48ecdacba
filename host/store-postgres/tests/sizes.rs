//! Rows of any size are not read completely. The only test in this file, because it measures the memory of
//! its process.
#![cfg(target_os = "linux")]

mod common;

use std::sync::mpsc::channel;

use scorpiox_executor::Cancel;
use scorpiox_store::{Mode, Order, Store};

use common::{LONG, database, name, named, server, until_heard};

const TOOL: &str = "tool";
/// Size of each oversized row, and the memory limit of this process.
const ROW: &str = "100 * 1024 * 1024";
const MOST_KIB: u64 = 200 * 1024;

fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn rows_of_any_size_take_no_memory_of_servers_and_hold_up_nothing() {
    let address = server().database();
    let sql = |sql: &str| server().psql(name(&address), sql);
    let (one, other) = (database(&address), database(&address));
    one.secret("http", &[7; 32]).expect("a secret");
    let store = one.workspace(&named("w"));
    let mut open = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a writer");
    open.set(TOOL, "b", b"whole", u64::MAX).expect("set");
    open.commit().expect("kept");
    let id = sql("SELECT id FROM scorpiox_code.workspace").expect("a number").trim().to_owned();
    let long = |table: &str, columns: &str, values: &str| {
        format!(
            "INSERT INTO scorpiox_code.{table} ({columns}) SELECT {values} FROM generate_series(1, 4) AS i"
        )
    };
    let text = format!("repeat('x', {ROW})");
    let relayed = long(
        "relay",
        "mark, sender, since, content",
        &format!("('m' || i)::bytea, 's', now() + interval '5 seconds', {text}"),
    );
    let message = long(
        "message",
        "workspace, sequence, namespace, timer, fired_at, text, mark, sender, since",
        &format!(
            "{id}, i, 'tool', 1, 1, convert_to({text}, 'utf8'), ('m' || i)::bytea, 's', now() + interval '5 seconds'"
        ),
    );
    let entry = long(
        "entry",
        "workspace, namespace, key, value",
        &format!("{id}, 'tool', ('a' || i)::bytea, convert_to({text}, 'utf8')"),
    );
    let secret = long("secret", "name, value", &format!("'s' || i, convert_to({text}, 'utf8')"));
    let marked = format!("UPDATE scorpiox_code.workspace SET mark = convert_to({text}, 'utf8')");
    for (table, write) in [
        ("relay", relayed),
        ("message", message),
        ("entry", entry),
        ("secret", secret),
        ("workspace", marked),
    ] {
        let refused = sql(&write).expect_err("it is too long");
        assert!(refused.contains("\"size\""), "{refused}");
        // Simulates rows older than the constraint.
        sql(&format!("ALTER TABLE scorpiox_code.{table} DROP CONSTRAINT size")).expect("dropped");
        sql(&write).expect("written");
    }
    let listed = one.oversized().expect("read");
    for (what, count) in
        [("the secret \"s", 4), ("the mark of the workspace \"w\"", 1), ("a text between servers", 4)]
    {
        let found = listed.iter().filter(|row| row.starts_with(what) && row.contains("has 104857600 bytes"));
        assert_eq!(found.count(), count, "{what}: {listed:?}");
    }
    assert_eq!(listed.len(), 9, "{listed:?}");
    let (passed, texts) = channel();
    other.hear_passed(move |text| drop(passed.send(text.to_owned()))).expect("a thread");
    let (told, messages) = channel();
    let witness = told.clone();
    let heard = other.workspace(&named("w"));
    heard.hear(Box::new(move |message| drop(told.send(message.text.clone())))).expect("a thread");
    until_heard(&one, &texts);
    // A later message: once it arrives, the oversized ones have been processed too.
    let of_other = other.workspace(&named("witness"));
    of_other.hear(Box::new(move |message| drop(witness.send(message.text.clone())))).expect("a thread");
    let beside = one.workspace(&named("witness"));
    let mut open = beside.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a writer");
    open.add_message(TOOL, 1, 1, "witness").expect("added");
    open.commit().expect("kept");
    assert_eq!(messages.recv_timeout(LONG).as_deref(), Ok("witness"));
    let mut open = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a writer");
    let refused = open.get(TOOL, "a1").expect_err("too long").to_string();
    assert!(refused.contains("a1") && refused.contains("104857600 bytes"), "{refused}");
    drop(open);
    let mut open = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a writer");
    let scanned = open.scan(TOOL, "", None, 9, Order::Ascending).expect("entries");
    assert_eq!(scanned.iter().map(|entry| &*entry.key).collect::<Vec<_>>(), ["b"]);
    assert_eq!(open.damaged().expect("read").len(), 4 + 4);
    open.delete(TOOL, "a1").expect("deleted");
    assert_eq!(open.messages(TOOL, 9), Ok(Vec::new()));
    assert_eq!(open.take_messages(1 << 20, &|_| 1), Ok(Vec::new()));
    open.commit().expect("kept");
    assert!(one.secret("s1", &[7; 32]).expect_err("too long").to_string().contains("secret s1"));
    assert_eq!(store.is_absent(), Ok(false));
    assert!(heard.changes().is_ok() && messages.try_recv().is_err());
    assert!(peak() < MOST_KIB, "{} KiB", peak());
}
