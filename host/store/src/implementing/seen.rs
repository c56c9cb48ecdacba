//! What a transaction remembers of what it read.

/// Keys that this transaction read or wrote last, with the lengths of their values. Who writes a key has mostly
/// just read it, and then one statement is enough to write it and to know what that costs of the quota.
#[derive(Debug, Default)]
pub struct Seen {
    /// Whose keys they are.
    namespace: String,
    keys: Vec<(String, Option<usize>)>,
}

/// Keys that are remembered.
const MAX_KEYS: usize = 8;

impl Seen {
    /// Remembers the length of the value at `key`, or that there is none.
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

    /// The length of the value at `key`, where it was seen; `None` also when it was absent.
    pub fn length(&self, namespace: &str, key: &str) -> Option<usize> {
        if self.namespace != namespace {
            return None;
        }
        self.keys.iter().find(|(known, _)| known == key).and_then(|(_, length)| *length)
    }
}
