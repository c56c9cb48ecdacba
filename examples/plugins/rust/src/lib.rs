//! Counts the words of a file that the host reads for the plugin.

use std::collections::BTreeMap;

use scorpiox::tool::files::{self, Error};

wit_bindgen::generate!({ world: "plugin", generate_all });

/// Maximum size of a file, in bytes.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// Default number of words in the result.
const TOP: u8 = 5;

struct Plugin;

impl Guest for Plugin {
    fn count(path: String, top: Option<u8>) -> Result<Tally, String> {
        let bytes = files::read(&path, MOST_BYTES).map_err(|error| sentence(&path, error))?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8 text."))?;
        Ok(tally(&text, top.unwrap_or(TOP)))
    }
}

fn tally(text: &str, top: u8) -> Tally {
    let mut times = BTreeMap::<String, u32>::new();
    let mut words = 0;
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *times.entry(word.to_lowercase()).or_default() += 1;
        words += 1;
    }
    let mut most: Vec<_> = times.into_iter().map(|(word, times)| Frequency { word, times }).collect();
    // The sort is stable, so words with the same frequency stay in alphabetical order.
    most.sort_by_key(|frequency| std::cmp::Reverse(frequency.times));
    most.truncate(top.into());
    Tally { lines: u32::try_from(text.lines().count()).unwrap_or(u32::MAX), words, most }
}

/// Returns the error for the model: the host's own sentence if there is one.
fn sentence(path: &str, error: Error) -> String {
    match error {
        Error::Denied(why) | Error::NotFound(why) | Error::Invalid(why) | Error::Failed(why) => why,
        Error::TooLarge(bytes) => format!("{path} has {bytes} bytes; at most {MOST_BYTES} are read."),
    }
}

export!(Plugin);
