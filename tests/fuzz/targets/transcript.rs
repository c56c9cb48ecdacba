//! Fuzzes command output: the chunking does not affect the result, and no terminal control characters remain.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scorpiox_command_output::{Cursor, Ring, SpillPlace, Transcript, clean};

fuzz_target!(|pieces: Vec<Vec<u8>>| {
    let whole = pieces.concat();
    let mut by_pieces = Transcript::new(SpillPlace::none(), 18_000);
    let mut ring = Ring::new();
    for piece in &pieces {
        by_pieces.push(piece);
        ring.push(piece);
    }
    let mut at_once = Transcript::new(SpillPlace::none(), 18_000);
    at_once.push(&whole);
    let newest = by_pieces.newest_line();
    assert_eq!(newest, at_once.newest_line());
    let finished = by_pieces.finish();
    assert_eq!(finished, at_once.finish());
    assert_eq!(finished.total_bytes, whole.len() as u64);
    let mut cursor = Cursor::default();
    let read = ring.read(&mut cursor, 1 << 20, true);
    for text in [&finished.text, &clean(&whole).text, &read.text, &newest.unwrap_or_default()] {
        let is_strange = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(!text.chars().any(is_strange), "{text:?}");
    }
});
