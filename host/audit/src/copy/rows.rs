//! The rows of a copy, without what a log server put before its lines.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use crate::read::MAX_LINE_BYTES;

/// What each line begins with.
const BEGIN: &[u8] = b"{\"time\":\"";

/// Gives each row that is not empty, with its number. What is too long for a line is cut.
pub fn each(path: &Path, mut take: impl FnMut(&[u8], u64)) -> io::Result<()> {
    let mut rows = BufReader::new(File::open(path)?);
    let (mut line, mut row) = (Vec::new(), 0);
    while {
        line.clear();
        rows.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? > 0
    } {
        row += 1;
        if line.len() as u64 == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
            // Longer than any line.
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
