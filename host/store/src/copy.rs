//! Copies a workspace between stores of any kind.

use scorpiox_executor::Cancel;

use crate::{Entry, MAX_SCAN_ENTRIES, Message, Mode, Order, Store, StoreError, Timer, Transaction};

/// Contents of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Contents {
    /// Number of namespaces.
    pub namespaces: u64,
    /// Number of keys.
    pub entries: u64,
    /// Total size of keys and values, in bytes.
    pub bytes: u64,
    /// Number of armed timers.
    pub timers: u64,
    /// Number of pending messages.
    pub messages: u64,
}

impl Contents {
    /// Counts the contents of a workspace. Reads all of it.
    ///
    /// # Errors
    ///
    /// Fails if the store fails.
    pub fn of(store: &dyn Store) -> Result<Self, StoreError> {
        let mut transaction = begin(store, Mode::ReadFirst)?;
        let mut contents = Self::default();
        for namespace in transaction.namespaces()? {
            contents.namespaces += 1;
            let mut pages = Pages::of(&namespace);
            while let Some(page) = pages.next(&mut *transaction)? {
                contents.entries += page.len() as u64;
                contents.bytes +=
                    page.iter().map(|entry| (entry.key.len() + entry.value.len()) as u64).sum::<u64>();
            }
            contents.timers += transaction.timers(&namespace)?.len() as u64;
            contents.messages += transaction.messages(&namespace, u32::MAX)?.len() as u64;
        }
        Ok(contents)
    }
}

/// Copies a workspace to an empty one, and compares both row by row. Messages get new sequence numbers in the
/// same order. If a row is damaged, nothing is copied.
///
/// # Errors
///
/// Fails with [`StoreError::Other`] if the target is not empty or differs from the source after the copy, and
/// if either store fails. After an error nothing is stored, unless the comparison failed.
pub fn copy(from: &dyn Store, to: &dyn Store) -> Result<Contents, StoreError> {
    let mut source = begin(from, Mode::ReadFirst)?;
    let damaged = source.damaged()?;
    if !damaged.is_empty() {
        return Err(StoreError::Other(format!(
            "{} has what cannot be read, and would be lost: {}; nothing was copied",
            from.location(),
            damaged.join(", ")
        )));
    }
    let mut target = begin(to, Mode::Write)?;
    if !target.namespaces()?.is_empty() {
        return Err(StoreError::Other(format!(
            "{} has something already; nothing was copied",
            to.location()
        )));
    }
    let mut messages = Vec::new();
    let mut contents = Contents::default();
    for namespace in source.namespaces()? {
        contents.namespaces += 1;
        let mut pages = Pages::of(&namespace);
        while let Some(page) = pages.next(&mut *source)? {
            for Entry { key, value } in page {
                contents.entries += 1;
                contents.bytes += (key.len() + value.len()) as u64;
                target.set(&namespace, &key, &value, u64::MAX)?;
            }
        }
        for Timer { id, due, .. } in source.timers(&namespace)? {
            contents.timers += 1;
            target.arm(&namespace, id, due)?;
        }
        let own = source.messages(&namespace, u32::MAX)?;
        messages.extend(own.into_iter().map(|message| (message.sequence, namespace.clone(), message)));
    }
    messages.sort_by_key(|(sequence, ..)| *sequence);
    for (_, namespace, Message { timer, fired_at, text, .. }) in messages {
        contents.messages += 1;
        target.add_message(&namespace, timer, fired_at, &text)?;
    }
    target.commit()?;
    match difference(from, to)? {
        None => Ok(contents),
        Some(what) => Err(StoreError::Other(format!(
            "{} has something else than {} after it was copied ({what}); does a server still use them?",
            to.location(),
            from.location()
        ))),
    }
}

/// Returns a description of the first difference, or `None` if the contents are equal.
///
/// # Errors
///
/// Fails if either store fails.
pub fn difference(one: &dyn Store, other: &dyn Store) -> Result<Option<String>, StoreError> {
    let (mut one, mut other) = (begin(one, Mode::ReadFirst)?, begin(other, Mode::ReadFirst)?);
    let namespaces = one.namespaces()?;
    if namespaces != other.namespaces()? {
        return Ok(Some("namespaces".to_owned()));
    }
    for namespace in namespaces {
        let (mut pages, mut other_pages) = (Pages::of(&namespace), Pages::of(&namespace));
        loop {
            let (page, other_page) = (pages.next(&mut *one)?, other_pages.next(&mut *other)?);
            if page != other_page {
                return Ok(Some(format!("keys of {namespace}")));
            }
            if page.is_none() {
                break;
            }
        }
        if one.timers(&namespace)? != other.timers(&namespace)? {
            return Ok(Some(format!("timers of {namespace}")));
        }
        let told = |messages: Vec<Message>| {
            messages
                .into_iter()
                .map(|message| (message.timer, message.fired_at, message.text))
                .collect::<Vec<_>>()
        };
        if told(one.messages(&namespace, u32::MAX)?) != told(other.messages(&namespace, u32::MAX)?) {
            return Ok(Some(format!("messages of {namespace}")));
        }
    }
    Ok(None)
}

/// Iterator over the entries of a namespace in batches.
struct Pages<'a> {
    namespace: &'a str,
    last: Option<String>,
}

impl<'a> Pages<'a> {
    fn of(namespace: &'a str) -> Self {
        Self { namespace, last: None }
    }

    fn next(&mut self, transaction: &mut dyn Transaction) -> Result<Option<Vec<Entry>>, StoreError> {
        let page =
            transaction.scan(self.namespace, "", self.last.as_deref(), MAX_SCAN_ENTRIES, Order::Ascending)?;
        self.last = page.last().map(|entry| entry.key.clone());
        Ok((!page.is_empty()).then_some(page))
    }
}

fn begin(store: &dyn Store, mode: Mode) -> Result<Box<dyn Transaction>, StoreError> {
    store.begin(mode, &Cancel::default(), &mut || {})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;

    fn filled() -> MemoryStore {
        let store = MemoryStore::new();
        let mut transaction = begin(&store, Mode::Write).expect("a writer");
        for number in 0..2500 {
            transaction.set("many", &format!("{number:05}"), b"v", u64::MAX).expect("set");
        }
        transaction.set("one", "k\0", &[0, 255], u64::MAX).expect("set");
        transaction.arm("timed", 7, 5).expect("arm");
        for (namespace, text) in [("one", "1"), ("timed", "2"), ("one", "3")] {
            transaction.add_message(namespace, 1, 2, text).expect("add");
        }
        transaction.commit().expect("commit");
        store
    }

    #[test]
    fn all_is_copied_once_and_in_its_order() {
        let (from, to) = (filled(), MemoryStore::new());
        let expected = Contents { namespaces: 3, entries: 2501, bytes: 2500 * 6 + 4, timers: 1, messages: 3 };
        assert_eq!((copy(&from, &to), Contents::of(&to)), (Ok(expected), Ok(expected)));
        assert_eq!(difference(&from, &to), Ok(None));
        let taken = begin(&to, Mode::Write).expect("a writer").take_messages(9, &|_| 1).expect("taken");
        assert_eq!(taken.into_iter().map(|message| message.text).collect::<Vec<_>>(), ["1", "2", "3"]);
        let again = copy(&from, &to).expect_err("it has something").to_string();
        assert!(again.contains("has something already"), "{again}");
    }

    #[test]
    fn each_difference_is_found() {
        type Change = fn(&mut dyn Transaction);
        let changes: [(&str, Change); 5] = [
            ("keys of many", |t| t.set("many", "02499", b"w", u64::MAX).expect("set")),
            ("keys of many", |t| t.delete("many", "02499").expect("delete")),
            ("timers of timed", |t| t.arm("timed", 7, 6).expect("arm")),
            ("messages of one", |t| {
                t.add_message("one", 1, 2, "4").expect("add");
            }),
            ("namespaces", |t| t.set("new", "k", b"v", u64::MAX).expect("set")),
        ];
        for (what, change) in changes {
            let (one, other) = (filled(), filled());
            let mut transaction = begin(&other, Mode::Write).expect("a writer");
            change(&mut *transaction);
            transaction.commit().expect("commit");
            assert_eq!(difference(&one, &other), Ok(Some(what.to_owned())));
        }
    }
}
