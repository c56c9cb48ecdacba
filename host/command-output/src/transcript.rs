//! Output of a foreground command.

use std::fmt::{self, Write as _};

use crate::border::{complete, whole_end, whole_start};
use crate::clean::{clean, is_binary, summary};
use crate::human_bytes;
use crate::spill::{FullOutput, Spill, SpillPlace};

/// Number of bytes inspected for the newest line.
const LINE_BYTES: usize = 4 * 1024;
/// Maximum length of the newest line in characters.
const LINE_CHARS: usize = 200;

/// Maximum number of bytes per UTF-16 unit of a text.
const UNIT_BYTES: usize = 3;

/// The first and last bytes of an output, the total number, and the complete output in a file.
pub struct Transcript {
    head: Vec<u8>,
    /// UTF-16 units shown from the beginning: a third of the total.
    head_units: usize,
    /// UTF-16 units shown from the end.
    tail_units: usize,
    tail: Tail,
    total: u64,
    place: SpillPlace,
    spill: Option<Result<Spill, String>>,
}

/// Final result of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Beginning and end, cleaned, with a line in between that states the omitted amount.
    pub text: String,
    /// Number of bytes printed.
    pub total_bytes: u64,
    /// Number of bytes that are not in the text.
    pub truncated_bytes: u64,
    /// File with the complete output, if the text is incomplete.
    pub full_output: Option<FullOutput>,
    /// `true` if the text is a summary of binary output.
    pub binary: bool,
}

/// The last bytes of an output.
struct Tail {
    ring: Vec<u8>,
    /// Capacity in bytes.
    most: usize,
    /// Index of the oldest byte, once the ring is full.
    start: usize,
}

impl Transcript {
    /// Creates an empty transcript that shows `shown` UTF-16 units. `place` is used if the output is too
    /// long.
    pub fn new(place: SpillPlace, shown: usize) -> Self {
        let head_units = shown / 3;
        let tail_units = (shown - head_units).max(1);
        let tail = Tail { ring: Vec::new(), most: tail_units * UNIT_BYTES, start: 0 };
        Self { head: Vec::new(), head_units, tail_units, tail, total: 0, place, spill: None }
    }

    fn head_bytes(&self) -> usize {
        self.head_units * UNIT_BYTES
    }

    /// Appends output.
    pub fn push(&mut self, bytes: &[u8]) {
        let before = self.total;
        self.total += bytes.len() as u64;
        let kept = (self.head_bytes() + self.tail.most) as u64;
        if self.total > kept && before <= kept && self.spill.is_none() {
            self.spill = Spill::create(&self.place);
            let kept = self.tail.ordered();
            if let Some(Ok(spill)) = &mut self.spill {
                spill.write(&self.head);
                spill.write(&kept);
            }
        }
        if let Some(Ok(spill)) = &mut self.spill {
            spill.write(bytes);
        }
        let to_head = bytes.len().min(self.head_bytes() - self.head.len());
        self.head.extend_from_slice(&bytes[..to_head]);
        self.tail.push(&bytes[to_head..]);
    }

    /// Returns the total number of bytes so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the newest nonempty line, cleaned and shortened.
    pub fn newest_line(&self) -> Option<String> {
        let end = if self.tail.ring.is_empty() { self.head.clone() } else { self.tail.ordered() };
        newest_line(&end)
    }

    /// Finishes an output that continues elsewhere. Also returns the trailing bytes of an incomplete code
    /// point or escape sequence, which belong to the continuation.
    pub fn hand_over(mut self) -> (Finished, Vec<u8>) {
        let mut tail = self.tail.ordered();
        let last = if tail.is_empty() { &mut self.head } else { &mut tail };
        let open = last.split_off(complete(last));
        self.total -= open.len() as u64;
        self.tail = Tail { ring: tail, start: 0, ..self.tail };
        (self.finish(), open)
    }

    /// Finishes the output.
    pub fn finish(self) -> Finished {
        let Self { head, head_units, tail_units, tail, total, place, spill } = self;
        let tail = tail.ordered();
        let omitted = total - (head.len() + tail.len()) as u64;
        if is_binary(&head) {
            let (full_output, _) = kept(spill);
            let text = summary(&head, total);
            return Finished { text, total_bytes: total, truncated_bytes: total, full_output, binary: true };
        }
        let is_whole = omitted == 0;
        // Cut at code points if the middle is missing.
        let (head_end, tail_start) =
            if is_whole { (head.len(), 0) } else { (whole_end(&head), whole_start(&tail)) };
        let all = [&head[..head_end], &tail[tail_start..]].concat();
        if is_whole && units(&all) <= head_units + tail_units {
            let text = clean(&all).text;
            return Finished {
                text,
                total_bytes: total,
                truncated_bytes: 0,
                full_output: None,
                binary: false,
            };
        }
        let (full_output, problem) = kept(spill.or_else(|| whole_spill(&place, &all)));
        // Neither part extends across the gap.
        let (before, after) = if is_whole { (all.len(), 0) } else { (head_end, head_end) };
        let first = first_units(&all[..before], head_units);
        let last = after + last_units(&all[after..], tail_units);
        let truncated = total - (first + all.len() - last) as u64;
        let mut text = clean(&all[..first]).text;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = writeln!(text, "[… {} left out …]", human_bytes(truncated));
        text.push_str(&clean(&all[last..]).text);
        if let Some(problem) = problem {
            let _ = write!(text, "\n[the whole output could not be kept: {problem}]");
        }
        Finished { text, total_bytes: total, truncated_bytes: truncated, full_output, binary: false }
    }
}

/// Returns the file, and the error if it could not be stored.
fn kept(spill: Option<Result<Spill, String>>) -> (Option<FullOutput>, Option<String>) {
    match spill {
        Some(Ok(spill)) => spill.finish(),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    }
}

/// Creates a file with a complete output that fits in memory.
fn whole_spill(place: &SpillPlace, all: &[u8]) -> Option<Result<Spill, String>> {
    let mut spill = Spill::create(place);
    if let Some(Ok(spill)) = &mut spill {
        spill.write(all);
    }
    spill
}

/// Returns the UTF-16 units and the end offset of each character, or of the replacement for invalid bytes.
fn ends(bytes: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let lengths = bytes.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid().chars().map(|c| (c.len_utf16(), c.len_utf8()));
        let invalid = Some((1, chunk.invalid().len())).filter(|_| !chunk.invalid().is_empty());
        valid.chain(invalid)
    });
    lengths.scan(0, |end, (units, length)| {
        *end += length;
        Some((units, *end))
    })
}

fn units(bytes: &[u8]) -> usize {
    ends(bytes).map(|(units, _)| units).sum()
}

/// Returns the end offset of the first `most` units.
fn first_units(bytes: &[u8], most: usize) -> usize {
    let mut left = most;
    let fits = |&(units, _): &(usize, usize)| left.checked_sub(units).map(|rest| left = rest).is_some();
    ends(bytes).take_while(fits).last().map_or(0, |(_, end)| end)
}

/// Returns the start offset of the last `most` units.
fn last_units(bytes: &[u8], most: usize) -> usize {
    let mut more = units(bytes).saturating_sub(most);
    let left_out = |&(units, _): &(usize, usize)| {
        let is_left_out = more > 0;
        more = more.saturating_sub(units);
        is_left_out
    };
    ends(bytes).take_while(left_out).last().map_or(0, |(_, end)| end)
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transcript").field("total", &self.total).finish_non_exhaustive()
    }
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        if bytes.len() >= self.most {
            self.ring.clear();
            self.ring.extend_from_slice(&bytes[bytes.len() - self.most..]);
            self.start = 0;
            return;
        }
        let grown = bytes.len().min(self.most - self.ring.len());
        self.ring.extend_from_slice(&bytes[..grown]);
        let mut rest = &bytes[grown..];
        while !rest.is_empty() {
            let piece = rest.len().min(self.most - self.start);
            self.ring[self.start..self.start + piece].copy_from_slice(&rest[..piece]);
            self.start = (self.start + piece) % self.most;
            rest = &rest[piece..];
        }
    }

    fn ordered(&self) -> Vec<u8> {
        [&self.ring[self.start..], &self.ring[..self.start]].concat()
    }
}

/// Returns the newest nonempty line of some bytes.
pub(crate) fn newest_line(bytes: &[u8]) -> Option<String> {
    let end = &bytes[bytes.len().saturating_sub(LINE_BYTES)..];
    let text = clean(&end[whole_start(end)..]).text;
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(LINE_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Number of UTF-16 units shown.
    const SHOWN: usize = 15_000;

    fn finished(pieces: &[&[u8]]) -> Finished {
        let mut transcript = Transcript::new(SpillPlace::none(), SHOWN);
        for piece in pieces {
            transcript.push(piece);
        }
        transcript.finish()
    }

    #[test]
    fn what_fits_is_shown_whole() {
        let all = "line\n".repeat(SHOWN / 5);
        let shown = finished(&[&all.as_bytes()[..9000], &all.as_bytes()[9000..]]);
        assert_eq!(shown.text, all);
        assert_eq!((shown.truncated_bytes, shown.full_output), (0, None));
    }

    #[test]
    fn texts_of_any_language_have_the_same_room() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |all: &str| {
            let mut transcript = Transcript::new(SpillPlace::new(folder.path(), "1"), SHOWN);
            transcript.push(all.as_bytes());
            transcript.finish()
        };
        let fits = "漢".repeat(SHOWN);
        let shown = of(&fits);
        assert_eq!((shown.text, shown.truncated_bytes, shown.full_output), (fits, 0, None));
        for letter in ["x", "é", "漢"] {
            let all = letter.repeat(SHOWN + 1);
            let shown = of(&all);
            assert_eq!(shown.truncated_bytes, letter.len() as u64);
            let path = shown.full_output.expect("a file").path;
            assert_eq!(std::fs::read_to_string(&path).expect("a file"), all);
            std::fs::remove_file(path).expect("removes");
        }
        assert_eq!(of(&"漢".repeat(100_000)).text.matches('漢').count(), SHOWN);
    }

    #[test]
    fn bytes_that_are_no_text_count_as_what_stands_for_them() {
        let shown = finished(&[&b"a".repeat(9000), &b"\xe9\xa0".repeat(50_000)]);
        assert!(shown.text.encode_utf16().count() <= SHOWN + 40, "{}", shown.text.len());
    }

    #[test]
    fn the_middle_is_left_out_and_counted_exactly() {
        let all = vec![b'x'; 1_000_000];
        let shown = finished(&[&all]);
        let left_out = 1_000_000 - SHOWN as u64;
        assert_eq!(shown.truncated_bytes, left_out);
        assert!(
            shown.text.contains(&format!("\n[… {} left out …]\n", human_bytes(left_out))),
            "{}",
            shown.text.len()
        );
    }

    #[test]
    fn code_points_at_the_borders_are_left_out_whole() {
        for shift in 0..4 {
            let all = format!("{}{}", "x".repeat(shift), "😀".repeat(100_000));
            let shown = finished(&[all.as_bytes()]);
            assert!(!shown.text.contains('\u{fffd}'), "shift {shift}");
            let kept = shown.text.matches('😀').count() * 4 + shift;
            assert_eq!(shown.truncated_bytes, (all.len() - kept) as u64, "shift {shift}");
            assert!((SHOWN - 2..=SHOWN + 40).contains(&shown.text.encode_utf16().count()), "shift {shift}");
        }
    }

    #[test]
    fn the_first_third_and_the_last_two_thirds_are_shown() {
        let all = [vec![b'a'; 20_000], vec![b'z'; 20_000]].concat();
        let shown = finished(&[&all]).text;
        let count = |c| shown.matches(c).count();
        // The note in between contains neither letter.
        assert_eq!((count('a'), count('z')), (SHOWN / 3, SHOWN - SHOWN / 3));
    }

    #[test]
    fn what_begins_at_the_end_belongs_to_what_follows() {
        for before in [10, SHOWN / 3, SHOWN + 5000] {
            let mut transcript = Transcript::new(SpillPlace::none(), SHOWN);
            transcript.push(&vec![b'x'; before]);
            transcript.push(&"é".as_bytes()[..1]);
            let (shown, open) = transcript.hand_over();
            assert!(shown.text.ends_with('x'), "{before}");
            assert_eq!((shown.total_bytes, open), (before as u64, vec![0xc3]), "{before}");
        }
    }

    #[test]
    fn a_long_output_is_whole_in_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut transcript = Transcript::new(SpillPlace::new(folder.path().join("new"), "1"), SHOWN);
        let mut all = Vec::new();
        for line in 0..20_000 {
            let line = format!("line {line}\n");
            transcript.push(line.as_bytes());
            all.extend_from_slice(line.as_bytes());
        }
        assert_eq!(transcript.newest_line().as_deref(), Some("line 19999"));
        let full = transcript.finish().full_output.expect("a file");
        assert!(full.complete);
        assert_eq!(std::fs::read(full.path).expect("a file"), all);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named_and_loses_nothing_else() {
        let mut transcript = Transcript::new(SpillPlace::new("/dev/null/x", "1"), SHOWN);
        transcript.push(&vec![b'x'; 100_000]);
        let shown = transcript.finish();
        assert!(shown.text.contains("could not be kept"), "{}", shown.text.len());
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            bytes in proptest::collection::vec(any::<u8>(), 0..70_000),
            cuts in proptest::collection::vec(0_usize..70_000, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            prop_assert_eq!(finished(&pieces), finished(&[&bytes]));
        }
    }
}
