//! Where bytes can be parted without cutting a code point or an escape sequence.

/// The end without a code point that is cut.
pub fn whole_end(bytes: &[u8]) -> usize {
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
pub fn whole_start(bytes: &[u8]) -> usize {
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    rest.min(bytes.len())
}

/// The end of what is complete: no cut code point, no escape sequence that goes on.
pub(crate) fn complete(bytes: &[u8]) -> usize {
    const LONGEST_SEQUENCE: usize = 64;
    let end = whole_end(bytes);
    let recent = end.saturating_sub(LONGEST_SEQUENCE);
    let Some(escape) = bytes[recent..end].iter().rposition(|byte| *byte == 0x1b) else { return end };
    let sequence = &bytes[recent + escape + 1..end];
    let is_open = match sequence.split_first() {
        None => true,
        Some((b'[', rest)) => !rest.iter().any(|byte| matches!(byte, 0x40..=0x7e)),
        Some((b']', rest)) => !rest.contains(&0x07) && !rest.contains(&b'\n'),
        Some(_) => false,
    };
    if is_open { recent + escape } else { end }
}
