//! Trace context of a call as sent by its caller: W3C Trace Context, level 1.

use getrandom::fill;

/// Trace and span of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace {
    /// Trace ID, shared by all programs that work on a request.
    pub id: [u8; 16],
    /// Span ID of the caller.
    pub parent: Option<[u8; 8]>,
    /// Span ID of this call.
    pub span: [u8; 8],
    /// `true` if the caller records the trace.
    pub is_sampled: bool,
}

/// Length of version, trace ID, parent ID, and flags, separated by dashes.
const BYTES: usize = 55;

impl Trace {
    /// Parses a `traceparent` header. Returns `None` if it is invalid; the specification says to ignore it
    /// then.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let version = hex::<1>(bytes.get(..2)?)?[0];
        // A later version may append more fields after a dash.
        let is_long_enough = bytes.len() == BYTES || version > 0 && bytes.get(BYTES) == Some(&b'-');
        if version == 0xff || !is_long_enough || [2, 35, 52].iter().any(|at| bytes[*at] != b'-') {
            return None;
        }
        let (id, parent) = (hex(&bytes[3..35])?, hex(&bytes[36..52])?);
        let [flags] = hex(&bytes[53..55])?;
        let is_one = id != [0; 16] && parent != [0; 8];
        is_one.then(|| Self { id, parent: Some(parent), span: random(), is_sampled: flags & 1 == 1 })
    }

    /// Starts a new trace with this call.
    pub fn begin() -> Self {
        Self { id: random(), parent: None, span: random(), is_sampled: true }
    }

    /// Returns the trace ID in hexadecimal.
    pub fn hex_id(&self) -> [u8; 32] {
        let mut text = [0; 32];
        for (two, byte) in text.chunks_exact_mut(2).zip(self.id) {
            two.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        text
    }
}

fn digit(value: u8) -> u8 {
    b"0123456789abcdef"[usize::from(value)]
}

/// Accepts only lower case, as the specification requires.
fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let value = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if text.len() != 2 * N {
        return None;
    }
    for (byte, two) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = value(two[0])? << 4 | value(two[1])?;
    }
    Some(bytes)
}

/// Generates an ID. All zeros is an invalid ID and is replaced.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Without random numbers, IDs are not unique, but the call can proceed.
    let _ = fill(&mut bytes);
    if bytes == [0; N] {
        bytes[N - 1] = 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_to_the_letter() {
        let trace = Trace::parse(GOOD).unwrap();
        assert_eq!(trace.hex_id(), *b"4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(trace.parent, Some([0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7]));
        assert!(trace.is_sampled && Some(trace.span) != trace.parent);
        assert!(!Trace::parse(&GOOD.replace("-01", "-00")).unwrap().is_sampled);
        let later = GOOD.replacen("00", "cc", 1);
        assert!(Trace::parse(&later).is_some() && Trace::parse(&format!("{later}-more")).is_some());
        let zeros = |range: std::ops::Range<usize>| {
            let mut text = GOOD.to_owned();
            text.replace_range(range.clone(), &"0".repeat(range.len()));
            text
        };
        for bad in [
            String::new(),
            GOOD.replacen("00", "ff", 1),
            format!("{GOOD}-more"),
            format!("{later}more"),
            GOOD.to_uppercase(),
            GOOD[..54].to_owned(),
            GOOD.replace('-', "_"),
            zeros(3..35),
            zeros(36..52),
            "é".repeat(28),
        ] {
            assert_eq!(Trace::parse(&bad), None, "{bad}");
        }
    }

    #[test]
    fn what_begins_here_has_ids_of_its_own() {
        let (one, other) = (Trace::begin(), Trace::begin());
        assert!(one.id != other.id && one.span != other.span && one.parent.is_none());
    }
}
