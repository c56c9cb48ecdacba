//! Contents produced by components, and the check whether clients can receive them.

use scorpiox_plugin::ImageType;

pub use super::attachments::wit_contents::{Body, Media, ResourceContents, RichContent};

/// Maximum length of a URI in characters.
pub const MAX_URI_CHARS: usize = 2048;
/// Maximum length of a media type in characters.
const MAX_MEDIA_TYPE_CHARS: usize = 127;
/// Maximum number of leading bytes of an invalid image that an error shows.
const SHOWN_BYTES: usize = 8;

/// Returns the size of a content in bytes.
pub fn bytes(content: &RichContent) -> usize {
    match content {
        RichContent::Text(text) => text.len(),
        RichContent::Image(media) | RichContent::Audio(media) => media.data.len() + media.mime_type.len(),
        RichContent::Resource(resource) => resource_bytes(resource),
    }
}

/// Returns the size of a resource's contents in bytes.
pub fn resource_bytes(resource: &ResourceContents) -> usize {
    let body = match &resource.body {
        Body::Text(text) => text.len(),
        Body::Bytes(bytes) => bytes.len(),
    };
    body + resource.uri.len() + resource.mime_type.as_ref().map_or(0, String::len)
}

/// Checks that clients can receive a content; fails with the reason.
pub fn check(content: &RichContent) -> Result<(), String> {
    match content {
        RichContent::Text(_) => Ok(()),
        RichContent::Image(media) => check_image(media),
        RichContent::Audio(media) => {
            if is_media_type(&media.mime_type) && media.mime_type.starts_with("audio/") {
                Ok(())
            } else {
                Err(format!("{} is no media type of a sound", shown(&media.mime_type)))
            }
        }
        RichContent::Resource(resource) => check_resource(resource),
    }
}

/// Checks that clients can receive the contents of a resource; fails with the reason.
pub fn check_resource(resource: &ResourceContents) -> Result<(), String> {
    check_uri(&resource.uri)?;
    match &resource.mime_type {
        Some(kind) if !is_media_type(kind) => Err(format!("{} is no media type", shown(kind))),
        _ => Ok(()),
    }
}

/// Checks that an image has one of the types that models accept.
fn check_image(media: &Media) -> Result<(), String> {
    let kinds = [ImageType::Png, ImageType::Jpeg, ImageType::Gif, ImageType::Webp];
    let Some(kind) = kinds.into_iter().find(|kind| kind.name() == media.mime_type) else {
        let names = kinds.map(ImageType::name).join(", ");
        return Err(format!("{} is none of {names}", shown(&media.mime_type)));
    };
    if kind.begins(&media.data) {
        return Ok(());
    }
    let begin: Vec<_> = media.data.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x}")).collect();
    Err(format!("{} bytes are no {}; they begin with: {}", media.data.len(), kind.name(), begin.join(" ")))
}

/// Checks that a URI has a scheme, does not exceed the maximum length, and contains no deceptive characters.
pub fn check_uri(uri: &str) -> Result<(), String> {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
    let mut letters = scheme.bytes();
    let is_scheme = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    if !is_scheme {
        return Err(format!("{} is no address: it has no scheme, as in notes://today", shown(uri)));
    }
    if uri.chars().count() > MAX_URI_CHARS {
        return Err(format!("{} is longer than {MAX_URI_CHARS} characters", shown(uri)));
    }
    match uri.chars().find(|c| c.is_whitespace() || scorpiox_text::is_deceptive(*c)) {
        Some(found) => Err(format!("{} has the character {}", shown(uri), found.escape_unicode())),
        None => Ok(()),
    }
}

/// Returns `true` if the text is a media type, such as `text/plain; charset=utf-8`.
pub fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b))
    };
    let (kind, parameters) = text.split_once(';').unwrap_or((text, ""));
    let names_both = kind.trim_end().split_once('/').is_some_and(|(a, b)| is_token(a) && is_token(b));
    let is_printed = parameters.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    names_both && is_printed && text.len() <= MAX_MEDIA_TYPE_CHARS
}

/// Returns the beginning of a text, for errors.
fn shown(text: &str) -> String {
    let begin: String = text.chars().take(60).collect();
    format!("{:?}", begin.escape_debug().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn media(data: &[u8], mime_type: &str) -> Media {
        Media { data: data.to_vec(), mime_type: mime_type.to_owned() }
    }

    #[test]
    fn images_are_what_they_say() {
        let image = |data: &[u8], kind: &str| check(&RichContent::Image(media(data, kind)));
        assert_eq!(image(b"\x89PNG\r\n\x1a\n0", "image/png"), Ok(()));
        let error = image(b"\0\x01text", "image/png").expect_err("refused");
        assert_eq!(error, "6 bytes are no image/png; they begin with: 00 01 74 65 78 74");
        assert!(image(b"<svg>", "image/svg+xml").expect_err("refused").contains("is none of image/png"));
        assert!(check(&RichContent::Audio(media(b"RIFF", "audio/wav"))).is_ok());
        assert!(check(&RichContent::Audio(media(b"RIFF", "text/html"))).is_err());
    }

    #[test]
    fn addresses_have_a_scheme_and_hide_nothing() {
        for good in ["notes://today", "a:b", "test://template/{id}/data", "x+y-z.1:"] {
            assert_eq!(check_uri(good), Ok(()), "{good}");
        }
        for bad in ["", "today", "://a", "1a:b", "a b:c", "a:b c", "a:\u{202e}b", "a:\nb", "ä:b"] {
            assert!(check_uri(bad).is_err(), "{bad}");
        }
        assert!(check_uri(&format!("a:{}", "x".repeat(2048))).is_err());
    }

    #[test]
    fn media_types_have_two_parts() {
        for good in ["text/plain", "text/plain; charset=utf-8", "application/vnd.a+json"] {
            assert!(is_media_type(good), "{good}");
        }
        for bad in ["", "text", "text/", "/plain", "text/pl ain", "text/plain;\n", "a/b/c"] {
            assert!(!is_media_type(bad), "{bad}");
        }
    }
}
