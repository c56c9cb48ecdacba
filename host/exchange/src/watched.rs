//! Resources that a client subscribed to.

use std::collections::BTreeSet;

use parking_lot::Mutex;

/// Maximum number of subscribed resources.
const MAX_WATCHED: usize = 256;

/// URIs of the subscribed resources.
#[derive(Debug, Default)]
pub struct Watched(Mutex<BTreeSet<String>>);

impl Watched {
    /// Adds a URI. Fails if there are too many.
    pub fn add(&self, uri: String) -> Result<(), String> {
        let mut watched = self.0.lock();
        if watched.len() >= MAX_WATCHED && !watched.contains(&uri) {
            return Err(format!("at most {MAX_WATCHED} resources can be subscribed to"));
        }
        watched.insert(uri);
        Ok(())
    }

    /// Removes a URI.
    pub fn remove(&self, uri: &str) {
        self.0.lock().remove(uri);
    }

    /// Returns `true` if a URI is subscribed.
    pub fn contains(&self, uri: &str) -> bool {
        self.0.lock().contains(uri)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_an_end_to_what_is_watched() {
        let watched = Watched::default();
        (0..MAX_WATCHED).for_each(|number| watched.add(format!("a:{number}")).expect("room"));
        assert!(watched.add("a:0".to_owned()).is_ok() && watched.add("b:0".to_owned()).is_err());
        watched.remove("a:0");
        assert!(!watched.contains("a:0") && watched.add("b:0".to_owned()).is_ok() && watched.contains("b:0"));
    }
}
