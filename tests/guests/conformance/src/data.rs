//! Images and audio.

use crate::scorpiox::tool::contents::Media;

/// Image of a single red pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// Audio of zero duration.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

pub fn picture() -> Media {
    Media { data: decoded(PNG), mime_type: "image/png".to_owned() }
}

pub fn sound() -> Media {
    Media { data: decoded(WAV), mime_type: "audio/wav".to_owned() }
}

/// Decodes base64.
fn decoded(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().fold(0_u32, |bits, letter| bits << 6 | u32::from(value(*letter)));
        let bits = bits << (6 * (4 - four.len()));
        let [_, whole @ ..] = bits.to_be_bytes();
        bytes.extend_from_slice(&whole[..four.len() - 1]);
    }
    bytes
}
