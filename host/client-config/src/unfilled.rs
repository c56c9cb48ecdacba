//! Detects unfilled placeholders. A client passes `${user_config.folder}`, as written in its manifest, for a
//! field that the user left empty. Such a value counts as unset.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Returns `true` if the value is a placeholder.
fn is_unfilled(value: &OsStr) -> bool {
    let name = value.to_str().and_then(|value| value.strip_prefix("${user_config.")?.strip_suffix('}'));
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

/// Returns an environment variable, if it is set.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !is_unfilled(value))
}

/// Returns all environment variables that are set.
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os().filter(|(_, value)| !is_unfilled(value))
}

/// Returns an argument, if it is given.
pub fn argument(path: Option<PathBuf>) -> Option<PathBuf> {
    path.filter(|path| !is_unfilled(path.as_os_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_a_field_alone_is_unfilled() {
        for value in ["${user_config.workspace}", "${user_config.a_1}"] {
            assert!(is_unfilled(value.as_ref()), "{value}");
        }
        for value in [
            "",
            "/a",
            "${user_config.}",
            "${user_config.a}/b",
            "${user_config.a-b}",
            "${HOME}",
            "x${user_config.a}",
        ] {
            assert!(!is_unfilled(value.as_ref()), "{value}");
        }
    }
}
