//! Names of files: those without special meaning, and whether there are several.

use std::ffi::OsStr;
use std::fs::Metadata;

/// Returns `true` if a file has several names, by hard links. Returns `false` on Windows, where it is unknown.
#[cfg(unix)]
pub fn has_other_names(file: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(file) > 1
}

/// Returns `true` if a file has several names, by hard links. Returns `false` on Windows, where it is unknown.
#[cfg(not(unix))]
pub fn has_other_names(_: &Metadata) -> bool {
    false
}

/// Returns `true` if a path component names the file of exactly that name. Windows has exceptions: devices
/// (`CON`, also with an extension), streams (`a:b`), names that lose their end (`a.`, `a `), and short names
/// (`PROGRA~1`).
pub fn is_plain(name: &OsStr) -> bool {
    !cfg!(windows) || name.to_str().is_some_and(is_plain_on_windows)
}

/// Device names, reserved with any extension.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

fn is_plain_on_windows(name: &str) -> bool {
    let has_forbidden = name.chars().any(|c| c.is_control() || r#"<>:"/\|?*"#.contains(c));
    let has_lost_end = name.ends_with(['.', ' ']);
    !name.is_empty() && !has_forbidden && !has_lost_end && !is_device(name) && !is_short(name)
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_uppercase();
    let numbered = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    // Superscript digits count.
    let is_numbered = numbered.is_some_and(|number| {
        matches!(number, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" | "¹" | "²" | "³")
    });
    is_numbered || DEVICES.contains(&&*stem)
}

/// Returns `true` if the name has the form of a short (8.3) name: up to eight characters with `~` and a
/// number, and an extension of up to three.
fn is_short(name: &str) -> bool {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let tail = stem.rsplit_once('~').map(|(_, number)| number);
    let is_number =
        tail.is_some_and(|tail| !tail.is_empty() && tail.bytes().all(|byte| byte.is_ascii_digit()));
    is_number && stem.chars().count() <= 8 && extension.chars().count() <= 3 && !stem.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_something_else_on_windows_are_known() {
        for name in [
            "CON",
            "con",
            "nul.txt",
            "Aux .md",
            "COM1",
            "lpt9.tar.gz",
            "com¹",
            "CONIN$",
            "a:b",
            "file::$DATA",
            "a.",
            "a ",
            "...",
            "",
            "a?",
            "a\\b",
            "a/b",
            "PROGRA~1",
            "LONGN~12",
            "abcdef~1.htm",
            "\u{1}",
        ] {
            assert!(!is_plain_on_windows(name), "{name:?}");
        }
        for name in [
            "a",
            ".env",
            "console",
            "nullable.rs",
            "COM",
            "COM10",
            "lpt",
            "a b",
            "backup~",
            "file~old",
            "résumé.pdf",
            "a-longer-name~1",
            "~1.longer",
            "CON-1",
            "한글",
        ] {
            assert!(is_plain_on_windows(name), "{name:?}");
        }
    }
}
