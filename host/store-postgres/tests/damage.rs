//! Rows written by other programs affect nothing but themselves, and are not deleted.
#![cfg(unix)]

mod common;

use scorpiox_executor::Cancel;
use scorpiox_store::{Contents, MemoryStore, Mode, Order, Store, Timer, Transaction, copy};

use common::{database, name, named, server};

const TOOL: &str = "tool";

fn begin(store: &dyn Store, mode: Mode) -> Box<dyn Transaction> {
    store.begin(mode, &Cancel::default(), &mut || ()).expect("a transaction")
}

#[test]
fn damaged_rows_are_left_out_told_of_and_kept() {
    let address = server().database();
    let database = database(&address);
    let store = database.workspace(&named("w"));
    let mut transaction = begin(&store, Mode::Write);
    transaction.arm(TOOL, 7, 1000).expect("armed");
    for text in ["first", "second"] {
        transaction.add_message(TOOL, 1, 2, text).expect("added");
    }
    transaction.set(TOOL, "b", b"v", u64::MAX).expect("set");
    transaction.commit().expect("kept");
    let of = "FROM scorpiox_code.workspace";
    let damage = format!(
        "INSERT INTO scorpiox_code.timer SELECT id, '\\xff', n, 1 {of}, generate_series(1, 40) AS n;
         INSERT INTO scorpiox_code.timer SELECT id, 'tool', -1, 2 {of};
         INSERT INTO scorpiox_code.timer SELECT id, 'tool', 4294967296, 3 {of};
         INSERT INTO scorpiox_code.timer SELECT id, 'tool', 8, -5 {of};
         UPDATE scorpiox_code.message SET text = '\\xff' WHERE sequence = 1;
         INSERT INTO scorpiox_code.entry SELECT id, 'tool', '\\x61ff', '' {of};
         INSERT INTO scorpiox_code.entry SELECT id, '\\xfe', 'k', '' {of};
         INSERT INTO scorpiox_code.usage SELECT id, '\\xfe', 7 {of}"
    );
    server().psql(name(&address), &damage).expect("written");
    let rows =
        "SELECT (SELECT count(*) FROM scorpiox_code.timer) + (SELECT count(*) FROM scorpiox_code.message)
                + (SELECT count(*) FROM scorpiox_code.entry) + (SELECT count(*) FROM scorpiox_code.usage)";
    let count =
        || server().psql(name(&address), rows).expect("a number").trim().parse::<u32>().expect("a number");
    let before = count();
    let whole = Timer { namespace: TOOL.to_owned(), id: 7, due: 1000 };
    let mut transaction = begin(&store, Mode::Write);
    assert_eq!(transaction.next_timer(), Ok(Some(whole.clone())));
    assert_eq!(transaction.timers(TOOL), Ok(vec![whole]));
    let scanned = transaction.scan(TOOL, "", None, 10, Order::Ascending).expect("entries");
    assert_eq!(scanned.iter().map(|entry| &*entry.key).collect::<Vec<_>>(), ["b"]);
    assert_eq!(transaction.namespaces(), Ok(vec![TOOL.to_owned()]));
    assert_eq!(transaction.messages(TOOL, 9).expect("messages").len(), 1);
    let taken = transaction.take_messages(9, &|_| 1).expect("messages");
    assert_eq!(taken.iter().map(|message| &*message.text).collect::<Vec<_>>(), ["second"]);
    transaction.disarm(TOOL, 7).expect("disarmed");
    assert_eq!(transaction.next_timer(), Ok(None));
    assert_eq!(transaction.damaged().expect("read").len(), 40 + 3 + 1 + 2 + 1);
    transaction.commit().expect("kept");
    assert_eq!(count(), before - 2, "the timer and the message that were whole");
    assert_eq!(Contents::of(&store).expect("read").entries, 1);
    assert_eq!(database.miscounted().expect("read").len(), 2);
    let refused = copy(&store, &MemoryStore::new()).expect_err("it would be lost").to_string();
    assert!(refused.contains("nothing was copied") && refused.contains("xff"), "{refused}");
}
