//! Reads the rows of a copy and strips the prefixes that log servers add.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use crate::read::MAX_LINE_BYTES;

/// Beginning of every audit line.
const BEGIN: &[u8] = b"{\"time\":\"";

/// Passes each non-empty row and its number to `take`. Rows are truncated to `MAX_LINE_BYTES`.
pub fn each(path: &Path, mut take: impl FnMut(&[u8], u64)) -> io::Result<()> {
    let mut rows = BufReader::new(File::open(path)?);
    let (mut line, mut row) = (Vec::new(), 0);
    while {
        line.clear();
        rows.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? > 0
    } {
        row += 1;
        if line.len() as u64 == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
            // Longer than any audit line.
            rows.skip_until(b'\n')?;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if !text.trim_ascii().is_empty() {
            let begin = text.windows(BEGIN.len()).position(|bytes| bytes == BEGIN).unwrap_or(0);
            take(&text[begin..], row);
        }
    }
    Ok(())
}
