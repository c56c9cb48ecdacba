//! A store without file descriptors. The limit holds for the whole process, so this test is alone in its program.

#![cfg(unix)]

use std::fs::File;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use scorpiox_executor::Cancel;
use scorpiox_store::{Durability, Mode, SqliteStore, Store, StoreError};

#[test]
fn a_store_without_descriptors_names_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let begun = |name: &str| -> Result<(), StoreError> {
        let store = SqliteStore::new(folder.path().join(name), Durability::Process);
        let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || {})?;
        transaction.set("tests", "k", b"v", u64::MAX)?;
        transaction.commit()
    };
    begun("x.db").expect("there are descriptors");
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum }).expect("a limit");
    let mut held: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    let mut refused = 0;
    for left in 0..8 {
        for name in ["x.db", "new.db"] {
            if let Err(error) = begun(name) {
                let told = error.to_string();
                assert!(told.contains("open files") && told.contains("ulimit -n"), "{left}, {name}: {told}");
                refused += 1;
            }
        }
        held.pop();
    }
    assert!(refused >= 4, "{refused}");
    begun("x.db").expect("there are descriptors again");
}
