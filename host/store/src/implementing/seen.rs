//! Value sizes seen by a transaction.

/// Most recently read or written keys of a transaction, with the lengths of their values. A key is usually
/// read before it is written; a single statement then suffices to write it and to compute the quota change.
#[derive(Debug, Default)]
pub struct Seen {
    /// Namespace of the keys.
    namespace: String,
    keys: Vec<(String, Option<usize>)>,
}

/// Maximum number of keys.
const MAX_KEYS: usize = 8;

impl Seen {
    /// Records the length of the value at `key`, or its absence.
    pub fn note(&mut self, namespace: &str, key: &str, length: Option<usize>) {
        if self.namespace != namespace {
            *self = Self { namespace: namespace.to_owned(), keys: Vec::new() };
        }
        if let Some((_, known)) = self.keys.iter_mut().find(|(known, _)| known == key) {
            *known = length;
            return;
        }
        if self.keys.len() == MAX_KEYS {
            self.keys.remove(0);
        }
        self.keys.push((key.to_owned(), length));
    }

    /// Returns the length of the value at `key`. Returns `None` if it was not seen or is absent.
    pub fn length(&self, namespace: &str, key: &str) -> Option<usize> {
        if self.namespace != namespace {
            return None;
        }
        self.keys.iter().find(|(known, _)| known == key).and_then(|(_, length)| *length)
    }
}
