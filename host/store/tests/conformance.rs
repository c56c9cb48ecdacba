//! Both implementations conform to the trait documentation.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use scorpiox_store::{Durability, MemoryStore, SqliteStore, Store};
use scorpiox_store_conformance::{self as conformance, Fixture};

mod sqlite {
    use super::{Arc, Durability, Fixture, SqliteStore, Store};

    fn fixture(durability: Durability) -> impl Fixture {
        let folder = tempfile::tempdir().expect("a folder");
        move |workspace: &str| -> Arc<dyn Store> {
            Arc::new(SqliteStore::new(folder.path().join(workspace).with_extension("db"), durability))
        }
    }

    scorpiox_store_conformance::conformance_tests!(fixture(Durability::Process));

    mod durable {
        use super::{Durability, fixture};

        scorpiox_store_conformance::conformance_tests!(fixture(Durability::Power));
    }
}

mod memory {
    use super::{Arc, Fixture, HashMap, MemoryStore, Mutex, Store};

    fn fixture() -> impl Fixture {
        let opened = Mutex::new(HashMap::<String, MemoryStore>::new());
        move |workspace: &str| -> Arc<dyn Store> {
            let mut opened = opened.lock();
            Arc::new(opened.entry(workspace.to_owned()).or_default().clone())
        }
    }

    scorpiox_store_conformance::conformance_tests!(fixture());
}

#[test]
fn no_two_cases_have_the_same_name() {
    let mut names: Vec<_> = conformance::names().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() == count && count > 70, "{count} cases, {} names", names.len());
}
