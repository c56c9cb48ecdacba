//! Files that the calls of a workspace and principal read before, for rules with `after`.
//!
//! Invariant: what was read stays known until a person clears it. A call that reads is kept before it reads.

use scorpiox_executor::Cancel;
use scorpiox_policy::{FirstRead, ReadBefore};
use scorpiox_store::{MAX_SCAN_ENTRIES, Mode, Order, StoreError, Transaction};
use scorpiox_text::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::requests::Requests;
use crate::scan::scan;

/// Store namespace.
const NAMESPACE: &str = "read-before";
/// Store quota. There are at most a few thousand globs in a policy.
const QUOTA: u64 = 16 << 20;

/// Workspace and principal whose calls read files. Over stdio, there is no principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// Path of the workspace.
    pub workspace: String,
    /// Unique key of the principal.
    pub principal: Option<String>,
}

/// A glob with the first call that read its files, as the store keeps it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    glob: String,
    tool: String,
    at: u64,
}

impl Reader {
    /// Returns the beginning of the keys of this reader. All parts have a fixed length.
    fn beginning(&self) -> String {
        let principal = self.principal.as_deref().unwrap_or_default();
        let of = if self.principal.is_some() { "principal" } else { "person" };
        format!("{}{}/", everyone(&self.workspace), digest(&format!("{of}/{principal}")))
    }
}

impl Requests {
    /// Returns the globs whose files were read.
    ///
    /// # Errors
    ///
    /// Fails if the store fails. It is unknown then what was read.
    pub fn read_before(&self, reader: &Reader) -> Result<ReadBefore, StoreError> {
        if self.store().is_absent()? {
            return Ok(ReadBefore::default());
        }
        let mut transaction = self.store().begin(Mode::ReadFirst, &Cancel::default(), &mut || ())?;
        all(&mut *transaction, &reader.beginning())
    }

    /// Keeps globs whose files a call of a tool is about to read, and returns those that are new.
    ///
    /// # Errors
    ///
    /// Fails if the store fails. The call must not read them then.
    pub fn reads(&self, reader: &Reader, globs: &[&str], tool: &str) -> Result<Vec<String>, StoreError> {
        let known = self.read_before(reader)?;
        let mut new: Vec<_> = globs.iter().filter(|glob| !known.0.contains_key(**glob)).collect();
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let at = self.now();
        let mut transaction = self.store().begin(Mode::Write, &Cancel::default(), &mut || ())?;
        // Another server may have kept them meanwhile.
        let known = all(&mut *transaction, &reader.beginning())?;
        new.retain(|glob| !known.0.contains_key(**glob));
        for glob in &new {
            let kept = Kept { glob: (**glob).to_owned(), tool: tool.to_owned(), at };
            let value = serde_json::to_vec(&kept).map_err(|error| StoreError::Other(error.to_string()))?;
            transaction.set(NAMESPACE, &format!("{}{}", reader.beginning(), digest(glob)), &value, QUOTA)?;
        }
        transaction.commit()?;
        Ok(new.into_iter().map(|glob| (*glob).to_owned()).collect())
    }

    /// Forgets everything that a reader read, and returns it.
    ///
    /// # Errors
    ///
    /// Fails if the store fails. Nothing is forgotten then.
    pub fn forget_reads(&self, reader: &Reader) -> Result<ReadBefore, StoreError> {
        self.forget_below(&reader.beginning())
    }

    /// Forgets everything that was read in a workspace, by whomever, and returns it.
    ///
    /// # Errors
    ///
    /// Fails if the store fails. Nothing is forgotten then.
    pub fn forget_all_reads(&self, workspace: &str) -> Result<ReadBefore, StoreError> {
        self.forget_below(&everyone(workspace))
    }

    fn forget_below(&self, beginning: &str) -> Result<ReadBefore, StoreError> {
        if self.store().is_absent()? {
            return Ok(ReadBefore::default());
        }
        let mut transaction = self.store().begin(Mode::Write, &Cancel::default(), &mut || ())?;
        let mut known = ReadBefore::default();
        loop {
            let page = transaction.scan(NAMESPACE, beginning, None, MAX_SCAN_ENTRIES, Order::Ascending)?;
            if page.is_empty() {
                break;
            }
            for entry in page {
                transaction.delete(NAMESPACE, &entry.key)?;
                // A damaged entry is forgotten, too.
                if let Ok(Kept { glob, tool, at }) = serde_json::from_slice(&entry.value) {
                    known.0.insert(glob, FirstRead { tool, at: Some(at), is_unsandboxed: false });
                }
            }
        }
        transaction.commit()?;
        Ok(known)
    }
}

fn all(transaction: &mut dyn Transaction, beginning: &str) -> Result<ReadBefore, StoreError> {
    let mut found = ReadBefore::default();
    scan(transaction, NAMESPACE, beginning, |entry| {
        // A damaged entry could be about any glob.
        let kept: Kept = serde_json::from_slice(&entry.value).map_err(|error| {
            StoreError::Other(format!("the value at {:?} of {NAMESPACE} is damaged ({error})", entry.key))
        })?;
        found.0.insert(kept.glob, FirstRead { tool: kept.tool, at: Some(kept.at), is_unsandboxed: false });
        Ok(())
    })?;
    Ok(found)
}

/// Returns the beginning of the keys of all readers in a workspace.
fn everyone(workspace: &str) -> String {
    format!("{}/", digest(workspace))
}

fn digest(text: &str) -> String {
    hex(&Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use scorpiox_store::{MemoryStore, Store};

    use super::*;

    fn reader(workspace: &str, principal: Option<&str>) -> Reader {
        Reader { workspace: workspace.to_owned(), principal: principal.map(str::to_owned) }
    }

    #[test]
    fn the_first_call_is_kept_for_its_workspace_and_principal_alone() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let (requests, again) = (Requests::new(Arc::clone(&store)), Requests::new(store));
        let ann = reader("/w", Some("ann"));
        assert_eq!(requests.reads(&ann, &["finance/", "hr/"], "Bash").expect("kept"), ["finance/", "hr/"]);
        assert_eq!(requests.reads(&ann, &["finance/", "x/"], "ReadDocs").expect("kept"), ["x/"]);
        let known = again.read_before(&ann).expect("read");
        let tools: Vec<_> = known.0.iter().map(|(glob, first)| format!("{glob} {}", first.tool)).collect();
        assert_eq!(tools, ["finance/ Bash", "hr/ Bash", "x/ ReadDocs"]);
        assert!(known.0.values().all(|first| first.at.is_some()));
        for other in [reader("/w", None), reader("/w", Some("bob")), reader("/v", Some("ann"))] {
            assert_eq!(again.read_before(&other).expect("read"), ReadBefore::default(), "{other:?}");
        }
    }

    #[test]
    fn a_person_clears_one_reader() {
        let requests = Requests::new(Arc::new(MemoryStore::default()));
        let (own, ann) = (reader("/w", None), reader("/w", Some("ann")));
        for reader in [&own, &ann] {
            requests.reads(reader, &["finance/"], "Bash").expect("kept");
        }
        assert_eq!(requests.forget_reads(&own).expect("cleared").0.len(), 1);
        assert_eq!(requests.read_before(&own).expect("read"), ReadBefore::default());
        assert_eq!(requests.read_before(&ann).expect("read").0.len(), 1);
        assert_eq!(requests.reads(&own, &["finance/"], "Bash").expect("kept"), ["finance/"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_store_that_cannot_be_reached_is_no_empty_one() {
        use scorpiox_store::{Durability, SqliteStore};
        // Nobody can tell if there is a file.
        let store = SqliteStore::new("/dev/null/approvals.db".into(), Durability::default());
        let (requests, own) = (Requests::new(Arc::new(store)), reader("/w", None));
        assert!(requests.read_before(&own).is_err() && requests.reads(&own, &["finance/"], "Bash").is_err());
        assert!(requests.forget_reads(&own).is_err() && requests.forget_all_reads("/w").is_err());
        assert!(requests.list().is_err() && requests.get(1).is_err() && requests.remembered().is_err());
    }

    #[test]
    fn a_damaged_entry_is_an_error() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let (requests, own) = (Requests::new(Arc::clone(&store)), reader("/w", None));
        let mut transaction = store.begin(Mode::Write, &Cancel::default(), &mut || ()).expect("a store");
        transaction.set(NAMESPACE, &format!("{}x", own.beginning()), b"{", QUOTA).expect("set");
        transaction.commit().expect("committed");
        let said = requests.read_before(&own).expect_err("damaged").to_string();
        assert!(said.contains("is damaged"), "{said}");
        assert!(requests.reads(&own, &["finance/"], "Bash").is_err());
        requests.reads(&reader("/w", Some("ann")), &["finance/"], "Bash").expect("kept");
        assert_eq!(requests.forget_all_reads("/w").expect("cleared").0.len(), 1);
        assert_eq!(requests.read_before(&own).expect("read"), ReadBefore::default());
    }
}
