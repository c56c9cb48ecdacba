//! The output of a command that is waited for.

use std::fmt::{self, Write as _};

use crate::clean::{clean, is_binary, summary};
use crate::human_bytes;
use crate::ring::complete;
use crate::spill::{FullOutput, Spill, SpillPlace};

/// Bytes looked at for the newest line.
const LINE_BYTES: usize = 4 * 1024;
/// Longest newest line, in characters.
const LINE_CHARS: usize = 200;

/// The first and the last bytes, the number of all, and all of them in a file.
pub struct Transcript {
    head: Vec<u8>,
    /// Bytes that are shown from the beginning: a third of all that are shown.
    head_bytes: usize,
    tail: Tail,
    total: u64,
    place: SpillPlace,
    spill: Option<Result<Spill, String>>,
}

/// What is left of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The beginning and the end, clean, with a line between that says what was left out.
    pub text: String,
    /// Bytes that were printed.
    pub total_bytes: u64,
    /// Bytes that are not in the text.
    pub truncated_bytes: u64,
    /// Where all of it is, when it is not all in the text.
    pub full_output: Option<FullOutput>,
    /// Whether the text is a summary of what is none.
    pub binary: bool,
}

/// The last bytes.
struct Tail {
    ring: Vec<u8>,
    /// How many there may be.
    most: usize,
    /// Where the oldest byte is, once the ring is full.
    start: usize,
}

impl Transcript {
    /// An empty one, which shows `shown` bytes and whose file would be at `place`.
    pub fn new(place: SpillPlace, shown: usize) -> Self {
        let head_bytes = shown / 3;
        let tail = Tail { ring: Vec::new(), most: (shown - head_bytes).max(1), start: 0 };
        Self { head: Vec::new(), head_bytes, tail, total: 0, place, spill: None }
    }

    /// More output.
    pub fn push(&mut self, bytes: &[u8]) {
        let before = self.total;
        self.total += bytes.len() as u64;
        let shown = (self.head_bytes + self.tail.most) as u64;
        if self.total > shown && before <= shown && self.spill.is_none() {
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
        let to_head = bytes.len().min(self.head_bytes - self.head.len());
        self.head.extend_from_slice(&bytes[..to_head]);
        self.tail.push(&bytes[to_head..]);
    }

    /// Bytes so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The newest line that has something in it, clean and shortened.
    pub fn newest_line(&self) -> Option<String> {
        let end = if self.tail.ring.is_empty() { self.head.clone() } else { self.tail.ordered() };
        newest_line(&end)
    }

    /// What is left of an output that goes on elsewhere, and its last bytes, if those are the beginning
    /// of something: they belong to what follows.
    pub fn hand_over(mut self) -> (Finished, Vec<u8>) {
        let mut tail = self.tail.ordered();
        let last = if tail.is_empty() { &mut self.head } else { &mut tail };
        let open = last.split_off(complete(last));
        self.total -= open.len() as u64;
        self.tail = Tail { ring: tail, start: 0, ..self.tail };
        (self.finish(), open)
    }

    /// What is left in the end.
    pub fn finish(self) -> Finished {
        let Self { head, tail, total, spill, .. } = self;
        let mut tail = tail.ordered();
        let omitted = total - (head.len() + tail.len()) as u64;
        let (full_output, problem) = match spill {
            Some(Ok(spill)) => spill.finish(),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        if is_binary(&head) {
            let text = summary(&head, total);
            return Finished { text, total_bytes: total, truncated_bytes: total, full_output, binary: true };
        }
        if omitted == 0 {
            let mut all = head;
            all.append(&mut tail);
            let text = clean(&all).text;
            return Finished { text, total_bytes: total, truncated_bytes: 0, full_output, binary: false };
        }
        let head_end = whole_end(&head);
        let tail_start = whole_start(&tail);
        let truncated = omitted + (head.len() - head_end) as u64 + tail_start as u64;
        let mut text = clean(&head[..head_end]).text;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let _ = writeln!(text, "[… {} left out …]", human_bytes(truncated));
        text.push_str(&clean(&tail[tail_start..]).text);
        if let Some(problem) = problem {
            let _ = write!(text, "\n[the whole output could not be kept: {problem}]");
        }
        Finished { text, total_bytes: total, truncated_bytes: truncated, full_output, binary: false }
    }
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

/// The newest line of some bytes.
pub(crate) fn newest_line(bytes: &[u8]) -> Option<String> {
    let end = &bytes[bytes.len().saturating_sub(LINE_BYTES)..];
    let text = clean(&end[whole_start(end)..]).text;
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(LINE_CHARS).collect())
}

/// The end without a code point that is cut.
pub(crate) fn whole_end(bytes: &[u8]) -> usize {
    let Some(last) = bytes.iter().rposition(|byte| byte & 0xc0 != 0x80) else { return bytes.len() };
    let length = match bytes[last] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return bytes.len(),
    };
    if bytes.len() - last < length { last } else { bytes.len() }
}

/// The beginning without the rest of a code point that was cut.
pub(crate) fn whole_start(bytes: &[u8]) -> usize {
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    rest.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes that are shown.
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
        }
    }

    #[test]
    fn the_first_third_and_the_last_two_thirds_are_shown() {
        let all = [vec![b'a'; 20_000], vec![b'z'; 20_000]].concat();
        let shown = finished(&[&all]).text;
        let count = |c| shown.matches(c).count();
        // The line between has no such letters.
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
