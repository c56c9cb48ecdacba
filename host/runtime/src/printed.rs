//! Converts the output of a program to the text of a result. Output that is not UTF-8 is shown lossily or as
//! base64.
//!
//! Invariant: the text does not exceed the maximum size of a result, and it names the omitted parts of the
//! output.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use scorpiox_command_output::{human_bytes, is_binary, whole_end, whole_start};
use scorpiox_wasi::Printed;

use super::limits::OUTPUT_LIMIT;

/// Bytes reserved for notes about the output; less than the smallest `output_kib`.
const NOTE_BYTES: usize = 400;
/// Percentage of invalid UTF-8 bytes above which the rest is not readable either.
const MOST_ODD_PERCENT: usize = 10;

/// Returns the output as text of at most `most` bytes.
pub(super) fn shown(printed: &Printed, most: usize) -> String {
    let Printed { head, total, .. } = printed;
    let is_whole = printed.missing() == 0;
    if is_whole
        && *total <= most as u64
        && let Ok(text) = std::str::from_utf8(head)
    {
        return text.to_owned();
    }
    let (first, last) = ends(printed, usize::MAX);
    let odd = odd(first) + odd(last);
    let is_odd = odd * 100 > (first.len() + last.len()) * MOST_ODD_PERCENT;
    if odd > 0 && (is_odd || is_binary(first)) {
        return encoded(printed, most);
    }
    text(printed, most)
}

/// Renders output that is mostly text.
fn text(printed: &Printed, most: usize) -> String {
    let room = most.saturating_sub(NOTE_BYTES);
    let (first, last) = ends(printed, usize::MAX);
    let grows = growth(first) + growth(last);
    let is_whole = printed.missing() == 0 && first.len() + grows <= room;
    // Omitted bytes take their share of the growth with them, so that no second pass is needed.
    let keep = room.saturating_sub(grows).max(room / 3);
    let (first, last) = if is_whole { (first, last) } else { ends(printed, keep) };
    let mut text = String::from_utf8_lossy(first).into_owned();
    if !is_whole {
        let missing = printed.total - (first.len() + last.len()) as u64;
        let _ = write!(text, "\n\n[… {} left out …]\n\n", human_bytes(missing));
        text.push_str(&String::from_utf8_lossy(last));
        let (total, most) = (human_bytes(printed.total), human_bytes(most as u64));
        let _ = write!(
            text,
            "\n\n[The program printed {total}; a result has at most {most}: {OUTPUT_LIMIT} says so.]"
        );
    }
    match odd(first) + odd(last) {
        0 => {}
        1 => text.push_str("\n\n[1 byte of it is not UTF-8, and stands as �.]"),
        odd => _ = write!(text, "\n\n[{} of it are not UTF-8, and stand as �.]", human_bytes(odd as u64)),
    }
    text
}

/// Renders binary output.
fn encoded(printed: &Printed, most: usize) -> String {
    let room = most.saturating_sub(NOTE_BYTES) / 4 * 3;
    let Printed { head, total, .. } = printed;
    let bytes = human_bytes(*total);
    if printed.missing() == 0 && head.len() <= room {
        return format!(
            "[The program printed {bytes} that are not UTF-8; in base64:]\n{}",
            STANDARD.encode(head)
        );
    }
    let first = &head[..head.len().min(room)];
    format!(
        "[The program printed {bytes} that are not UTF-8; the first {} in base64, since {OUTPUT_LIMIT} leaves room for \
         {}:]\n{}",
        human_bytes(first.len() as u64),
        human_bytes(most as u64),
        STANDARD.encode(first)
    )
}

/// Returns the beginning and the end of the output, together at most `keep` bytes, without split code points.
/// Output that fits completely is returned as the beginning.
fn ends(printed: &Printed, keep: usize) -> (&[u8], &[u8]) {
    let Printed { head, tail, .. } = printed;
    let is_whole = printed.missing() == 0;
    if is_whole && head.len() <= keep {
        return (head, &[]);
    }
    let first = &head[..head.len().min(keep / 3)];
    let last = if is_whole { &head[first.len()..] } else { tail };
    let last = &last[last.len() - last.len().min(keep - keep / 3)..];
    (&first[..whole_end(first)], &last[whole_start(last)..])
}

/// Returns the number of bytes that are not valid UTF-8.
fn odd(bytes: &[u8]) -> usize {
    bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum()
}

/// Returns the number of bytes added when `�` replaces invalid UTF-8.
fn growth(bytes: &[u8]) -> usize {
    let more = |length: usize| if length == 0 { 0 } else { '\u{fffd}'.len_utf8() - length };
    bytes.utf8_chunks().map(|chunk| more(chunk.invalid().len())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 4096;

    fn whole(bytes: &[u8]) -> Printed {
        Printed { head: bytes.to_vec(), tail: Vec::new(), total: bytes.len() as u64 }
    }

    /// Returns the output as a sink would capture it.
    fn kept(bytes: &[u8]) -> Printed {
        if bytes.len() <= MOST {
            return whole(bytes);
        }
        let (head, tail) = (&bytes[..MOST / 3], &bytes[bytes.len() - (MOST - MOST / 3)..]);
        Printed { head: head.to_vec(), tail: tail.to_vec(), total: bytes.len() as u64 }
    }

    #[test]
    fn a_text_that_fits_is_given_as_it_is() {
        let full = "ä".repeat(MOST / 2);
        for text in ["", "Grüße\n", "a\0b", &full] {
            assert_eq!(shown(&kept(text.as_bytes()), MOST), text);
        }
    }

    #[test]
    fn of_a_longer_text_both_ends_are_kept_and_the_limit_is_named() {
        let text = format!("BEGIN{}END", "日本".repeat(10_000));
        let cut = shown(&kept(text.as_bytes()), MOST);
        assert!(cut.len() <= MOST && cut.len() > MOST - NOTE_BYTES, "{}", cut.len());
        assert!(cut.starts_with("BEGIN日本") && !cut.contains('�'), "{cut}");
        assert!(
            cut.contains("日本END\n\n[The program printed 60,008 bytes; a result has at most 4,096 bytes: "),
            "{cut}"
        );
        assert!(cut.contains("`output_kib` of [limits] in plugin.toml"), "{cut}");
        let shown = cut.matches(['日', '本']).count() * 3 + "BEGINEND".len();
        assert!(
            cut.contains(&format!("[… {} left out …]", human_bytes((text.len() - shown) as u64))),
            "{cut}"
        );
    }

    #[test]
    fn a_few_odd_bytes_in_a_text_are_counted() {
        let one = [b"a line of Latin-1: Gr".as_slice(), b"\xfc", b"n\n"].concat();
        let text = shown(&whole(&one), MOST);
        assert_eq!(text, "a line of Latin-1: Gr�n\n\n\n[1 byte of it is not UTF-8, and stands as �.]");
        let two = [one.clone(), one].concat();
        assert!(shown(&whole(&two), MOST).ends_with("[2 bytes of it are not UTF-8, and stand as �.]"));
    }

    #[test]
    fn other_bytes_are_given_in_base64() {
        let all: Vec<u8> = (0..=255).collect();
        for bytes in [&all[..], b"\x89PNG\r\n\x1a\n and a text behind it that is long enough", b"Gr\xfc\xdfe"]
        {
            let text = shown(&whole(bytes), MOST);
            let (said, encoded) = text.split_once('\n').expect("two lines");
            let count = human_bytes(bytes.len() as u64);
            assert_eq!(said, format!("[The program printed {count} that are not UTF-8; in base64:]"));
            assert_eq!(STANDARD.decode(encoded).expect("base64"), bytes);
        }
    }

    #[test]
    fn of_other_bytes_the_beginning_is_kept() {
        for length in [MOST - 1000, MOST, 100_000] {
            let bytes: Vec<u8> = (0x80..=0xff_u8).cycle().take(length).collect();
            let text = shown(&kept(&bytes), MOST);
            assert!(text.len() <= MOST, "{}", text.len());
            let (said, encoded) = text.split_once('\n').expect("two lines");
            let first = STANDARD.decode(encoded).expect("base64");
            assert!(first.len() > 1000 && bytes.starts_with(&first), "{length}");
            let expected = format!(
                "[The program printed {} that are not UTF-8; the first {} in base64, since `output_kib`",
                human_bytes(length as u64),
                human_bytes(first.len() as u64)
            );
            assert!(said.starts_with(&expected), "{said}");
        }
    }

    #[test]
    fn nothing_is_longer_than_a_result_may_be() {
        let odd = [&b"a text of nineteen "[..], b"\xff"].concat();
        for times in [1, 50, 180, 200, 205, 1000] {
            for most in [1024, MOST] {
                let bytes = odd.repeat(times);
                let text = shown(&kept(&bytes), most);
                assert!(text.len() <= most, "{times} {most}: {}", text.len());
                assert!(text.contains("not UTF-8, and stand"), "{text}");
            }
        }
    }
}
