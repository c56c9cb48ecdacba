//! Tests of `[store]`.

use super::*;
use crate::render;

fn read(text: &str) -> Policy {
    parse(&format!("version = 1\n[store]\n{text}")).unwrap()
}

#[test]
fn without_a_table_what_is_kept_is_in_files() {
    assert_eq!(Policy::builtin().store.database, None);
    let files = read("kind = \"sqlite\"");
    assert!(files.store.database.is_none() && render(&files).contains("[store]"));
    assert!(!render(&Policy::builtin()).contains("[store]"));
}

#[test]
fn a_database_is_read_and_shown_as_it_is_written() {
    let policy = read(
        "kind = \"postgres\"\naddress = \"postgres://me@db.example.com:6432/state?sslrootcert=/etc/ca.pem\"\n\
         password_file = \"~/key\"\nconnections = 4\nmigrate = false",
    );
    let database = policy.store.database.as_ref().unwrap();
    assert_eq!(database.address.value, "postgres://me@db.example.com:6432/state?sslrootcert=/etc/ca.pem");
    assert_eq!(database.password_file.as_ref().unwrap().value, "~/key");
    assert_eq!((database.connections.value, database.migrate.value), (4, false));
    assert_eq!(
        parse(&render(&policy)).unwrap().store.database.unwrap().address.value,
        database.address.value
    );
    let plain = read("kind = \"postgres\"\naddress = \"postgresql://localhost/state\"");
    let plain = plain.store.database.unwrap();
    assert_eq!((plain.connections.value, plain.migrate.value, plain.password_file), (16, true, None));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, why) in [
        ("", "line 2: [store] has no `kind`"),
        ("kind = \"mysql\"", "line 3: `kind` in [store] is \"mysql\""),
        ("kind = \"postgres\"", "[store] has no `address`; write `address = \"postgres://"),
        ("kind = \"sqlite\"\nconnections = 3", "`connections` in [store] is for a database"),
        (
            "kind = \"postgres\"\naddress = \"db.example.com\"",
            "line 4: `address` in [store] is \"db.example.com\"",
        ),
        (
            "kind = \"postgres\"\naddress = \"postgres://me:hidden@db/s\"",
            "has a password in it; write it into a file",
        ),
        ("kind = \"postgres\"\naddress = \"postgres://db/s?password=hidden\"", "has a password in it"),
        (
            "kind = \"postgres\"\naddress = \"postgres://db/s\"\nconnections = 1",
            "line 5: `connections` in [store]",
        ),
        (
            "kind = \"postgres\"\naddress = \"postgres://db/s\"\npassword_file = \"key\"",
            "`password_file` in [store] is \"key\"",
        ),
    ] {
        let told = parse(&format!("version = 1\n[store]\n{text}")).unwrap_err().to_string();
        assert!(told.contains(why) && !told.contains("hidden"), "{text}: {told}");
    }
}
