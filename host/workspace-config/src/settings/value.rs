//! Parsers for values. Errors describe the accepted values and complete the sentence "the value must be".

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum length of a model name, in characters.
const MAX_MODEL_CHARS: usize = 200;
/// Maximum length of a profile name, in bytes.
const MAX_PROFILE_BYTES: usize = 64;
/// Maximum length of a prefix, in bytes. Together with the longest tool name, it stays within the limits of
/// clients.
const MAX_PREFIX_BYTES: usize = 24;
/// Maximum answer time, in seconds; longer than any client waits.
const MAX_SECONDS: u64 = 600;
/// Maximum number of skill folders. Each is read when the catalog is built.
const MAX_SKILL_FOLDERS: usize = 64;

type Parsed<T> = Result<T, &'static str>;

pub(crate) fn switch(text: &str) -> Parsed<bool> {
    let is_one_of = |words: [&str; 4]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_one_of(["true", "1", "yes", "on"]) {
        Ok(true)
    } else if is_one_of(["false", "0", "no", "off"]) {
        Ok(false)
    } else {
        Err("true or false")
    }
}

pub(crate) fn model(text: &str) -> Parsed<String> {
    let name = text.trim();
    if (1..=MAX_MODEL_CHARS).contains(&name.chars().count()) && !name.contains(char::is_control) {
        Ok(name.to_owned())
    } else {
        Err("the name of a model, 1 to 200 characters without control characters")
    }
}

/// Parses the name of a profile, which becomes a file name; `None` for no profile.
pub(crate) fn profile(text: &str) -> Parsed<Option<String>> {
    let is_safe = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    match text {
        "" => Ok(None),
        name if name.len() <= MAX_PROFILE_BYTES && name.bytes().all(is_safe) => Ok(Some(name.to_owned())),
        _ => Err("the name of a profile: A-Z, a-z, 0-9, _ and -, at most 64 characters"),
    }
}

/// Parses the prefix of tool names; `None` for no prefix.
pub(crate) fn prefix(text: &str) -> Parsed<Option<String>> {
    let is_safe = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    match text {
        "" => Ok(None),
        prefix if prefix.len() <= MAX_PREFIX_BYTES && prefix.bytes().all(is_safe) => {
            Ok(Some(prefix.to_owned()))
        }
        _ => Err("what tool names begin with: A-Z, a-z, 0-9, _ and -, at most 24 characters"),
    }
}

/// Parses a time in whole seconds; `None` for 0, which means no limit.
pub(crate) fn seconds(text: &str) -> Parsed<Option<Duration>> {
    match text.parse() {
        Ok(0) => Ok(None),
        Ok(seconds @ 1..=MAX_SECONDS) => Ok(Some(Duration::from_secs(seconds))),
        _ => Err("whole seconds, 1 to 600, or 0 for no bound"),
    }
}

/// Parses comma-separated paths. Relative paths are resolved against `base`, the folder of the file that
/// contains them. The environment has no base.
pub(crate) fn folders(text: &str, base: Option<&Path>, home: Option<&Path>) -> Parsed<Vec<PathBuf>> {
    if text.contains(char::is_control) {
        return Err("paths without control characters");
    }
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    let folders: Vec<_> = items.map(|item| folder(item, base, home)).collect::<Parsed<_>>()?;
    if folders.len() > MAX_SKILL_FOLDERS { Err("at most 64 paths") } else { Ok(folders) }
}

fn folder(item: &str, base: Option<&Path>, home: Option<&Path>) -> Parsed<PathBuf> {
    if let Some(rest) = item.strip_prefix('~') {
        let rest = match rest.strip_prefix(std::path::is_separator) {
            Some(rest) => rest.trim_start_matches(std::path::is_separator),
            None if rest.is_empty() => "",
            None => return Err("a list of paths in which ~ stands only before /, for your own home folder"),
        };
        return home
            .map(|home| home.join(rest))
            .ok_or("a list of paths without ~, since no home folder is known");
    }
    match base {
        Some(base) => Ok(base.join(item)),
        None if Path::new(item).is_absolute() => Ok(item.into()),
        None => Err("a list of absolute paths or paths that start with ~/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_has_four_words_for_each_side() {
        for text in ["true", "TRUE", "1", "Yes", "on"] {
            assert_eq!(switch(text), Ok(true), "{text}");
        }
        for text in ["false", "False", "0", "NO", "off"] {
            assert_eq!(switch(text), Ok(false), "{text}");
        }
        for text in ["", "maybe", "2", "tru", "on "] {
            assert!(switch(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_model_is_short_and_printable() {
        assert_eq!(model(" claude-opus "), Ok("claude-opus".into()));
        assert_eq!(model(&"é".repeat(200)).map(|name| name.chars().count()), Ok(200));
        for text in ["", "  ", "a\u{7}b", &"x".repeat(201)] {
            assert!(model(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_prefix_is_what_names_may_begin_with() {
        assert_eq!(prefix("scorpiox_"), Ok(Some("scorpiox_".into())));
        assert_eq!(prefix(""), Ok(None));
        for text in ["a b", "é_", "a.b", &"x".repeat(25)] {
            assert!(prefix(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn seconds_are_whole_and_not_endless() {
        assert_eq!(seconds("50"), Ok(Some(Duration::from_secs(50))));
        assert_eq!(seconds("0"), Ok(None));
        for text in ["", "-1", "1.5", "601", "50s"] {
            assert!(seconds(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_profile_is_a_plain_file_name() {
        assert_eq!(profile("Work-2_b"), Ok(Some("Work-2_b".into())));
        assert_eq!(profile(""), Ok(None));
        for text in ["../x", "a/b", "a\\b", ".", "a.txt", "C:", "é", "a b", &"x".repeat(65)] {
            assert!(profile(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn folders_are_taken_from_home_and_from_the_folder_of_the_file() {
        let (base, home) = (Path::new("/cfg"), Path::new("/home/me"));
        let absolute = if cfg!(windows) { "C:\\x" } else { "/x" };
        assert_eq!(
            folders(&format!("~/a, b ,,{absolute},~"), Some(base), Some(home)),
            Ok(vec![home.join("a"), base.join("b"), absolute.into(), home.to_owned()])
        );
        assert_eq!(folders("", Some(base), Some(home)), Ok(Vec::new()));
        assert_eq!(folders("~//etc", Some(base), Some(home)), Ok(vec![home.join("etc")]));
    }

    #[test]
    fn folders_that_cannot_be_resolved_are_refused() {
        let (base, home) = (Some(Path::new("/cfg")), Some(Path::new("/home/me")));
        assert!(folders("~/a", base, None).is_err(), "no home");
        assert!(folders("~other/a", base, home).is_err(), "another user's home");
        assert!(folders("a", None, home).is_err(), "relative to nothing");
        assert!(folders("a\0b", base, home).is_err(), "control character");
        assert!(folders(&"a,".repeat(65), base, home).is_err(), "too many");
    }
}
