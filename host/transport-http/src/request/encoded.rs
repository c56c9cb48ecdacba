//! Header values that repeat values of the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;

const BEGIN: &str = "=?base64?";
const END: &str = "?=";

/// Error for a header that occurs twice or cannot be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unusable;

/// Returns the value of a header, decoded if it is base64; `None` if the header is missing.
pub(crate) fn value(headers: &HeaderMap, name: &str) -> Result<Option<String>, Unusable> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(Unusable);
    }
    decoded(value.to_str().map_err(|_| Unusable)?.trim_matches([' ', '\t'])).map(Some)
}

fn decoded(value: &str) -> Result<String, Unusable> {
    let Some(encoded) = value.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END)) else {
        return Ok(value.to_owned());
    };
    let bytes = STANDARD.decode(encoded).map_err(|_| Unusable)?;
    String::from_utf8(bytes).map_err(|_| Unusable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_base64_are_decoded_and_others_are_as_they_are() {
        for (value, wanted) in [
            ("us-west1", "us-west1"),
            ("=?base64?SGVsbG8sIOS4lueVjA==?=", "Hello, 世界"),
            ("=?base64?IHBhZGRlZCA=?=", " padded "),
            ("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?literal?="),
            ("=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="),
            ("=?base64?", "=?base64?"),
            ("=?base64??=", ""),
        ] {
            assert_eq!(decoded(value).as_deref(), Ok(wanted), "{value}");
        }
        for value in ["=?base64?!!?=", "=?base64?/w==?=", "=?base64?SGVsbG8?="] {
            assert_eq!(decoded(value), Err(Unusable), "{value}");
        }
    }

    #[test]
    fn a_header_that_comes_twice_is_unusable() {
        let mut headers = HeaderMap::new();
        assert_eq!(value(&headers, "mcp-name"), Ok(None));
        headers.append("mcp-name", "a".parse().expect("a value"));
        assert_eq!(value(&headers, "mcp-name"), Ok(Some("a".to_owned())));
        headers.append("mcp-name", "a".parse().expect("a value"));
        assert_eq!(value(&headers, "mcp-name"), Err(Unusable));
    }
}
