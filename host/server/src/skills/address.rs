//! Files of skills as resources: `skill://<name>/<path>`.

use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use scorpiox_runtime::bindings::skill_reader::exports::scorpiox::tool::skill_catalogue::Skill;
use serde_json::Value;

const SCHEME: &str = "skill://";

/// Escaped characters of a path: all except RFC 3986's unreserved characters and `/`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Returns the URI of a skill's file.
pub fn uri(skill: &str, path: &str) -> String {
    format!("{SCHEME}{skill}/{}", utf8_percent_encode(path, ESCAPED))
}

/// Returns the skill's name and the decoded path below it.
pub fn split(uri: &str) -> Option<(String, String)> {
    let rest = uri.strip_prefix(SCHEME)?;
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = percent_decode_str(path).decode_utf8().ok()?;
    Some((name.to_owned(), path.into_owned()))
}

/// Returns `true` if clients of the skills extension accept the front matter: its name is valid and equal to
/// the last part of the skill's path.
pub fn is_servable(skill: &Skill) -> bool {
    let Ok(front_matter) = serde_json::from_str::<Value>(&skill.front_matter) else { return false };
    let name = front_matter["name"].as_str().unwrap_or_default();
    let valid = (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    valid && name == skill.name && front_matter["description"].is_string()
}

/// Guesses the MIME type of a file by its name.
pub fn mime_type(path: &str) -> &'static str {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "js" | "cjs" | "mjs" => "text/javascript",
        "ts" => "text/x-typescript",
        "py" => "text/x-python",
        "sh" => "text/x-shellscript",
        "yaml" | "yml" => "application/yaml",
        "csv" => "text/csv",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "wasm" => "application/wasm",
        "txt" | "dot" | "" => "text/plain",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_split_and_decoded() {
        let split = |uri| split(uri).expect("a skill's address");
        assert_eq!(split("skill://tdd/SKILL.md"), ("tdd".to_owned(), "SKILL.md".to_owned()));
        assert_eq!(split("skill://tdd/a%20b/c.md"), ("tdd".to_owned(), "a b/c.md".to_owned()));
        assert_eq!(split("skill://tdd"), ("tdd".to_owned(), String::new()));
        assert!(super::split("file:///etc/passwd").is_none());
    }
}
