//! Finds cut points that do not split a code point or an escape sequence.

/// Returns the end of `bytes` without a trailing incomplete code point.
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

/// Returns the start of `bytes` after the remainder of a split code point.
pub fn whole_start(bytes: &[u8]) -> usize {
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    rest.min(bytes.len())
}

/// Returns the end of `bytes` without a trailing incomplete code point or escape sequence.
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
