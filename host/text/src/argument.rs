//! Arguments in commands that a person is told to run.

/// Maximum length of a value, in bytes.
const MAX_BYTES: usize = 500;

/// Returns a value as one argument of a shell, or `None` if it is no plain text: values come from models and pages,
/// and a person may copy the command.
///
/// Bash, PowerShell and others read the result alike. Only letters, digits, spaces and a few marks of ASCII count as
/// plain: no quotation marks, and nothing that looks like another character or that a shell expands. A value that
/// begins with a hyphen would be an option, and nobody reads a very long one.
pub fn argument(value: &str) -> Option<String> {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"./_-+:".contains(&byte);
    let is_plain = |byte: u8| is_bare(byte) || b" []*,=%~()#&?@".contains(&byte);
    let has_length = (1..=MAX_BYTES).contains(&value.len());
    if !has_length || value.starts_with('-') || value.trim() != value || !value.bytes().all(is_plain) {
        return None;
    }
    // A tilde in quotation marks would not be the home folder.
    let in_home = value.starts_with("~/") && value.bytes().skip(1).all(is_bare);
    let is_bare = in_home || value.bytes().all(is_bare);
    Some(if is_bare { value.to_owned() } else { format!("'{value}'") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_are_one_argument() {
        for (value, shown) in [
            ("example.com:443", "example.com:443"),
            ("[::1]:80", "'[::1]:80'"),
            ("/srv/a b", "'/srv/a b'"),
            ("~/notes", "~/notes"),
            ("**/*.pem", "'**/*.pem'"),
            ("weather.now", "weather.now"),
            ("@tmp", "'@tmp'"),
        ] {
            assert_eq!(argument(value).as_deref(), Some(shown), "{value}");
        }
    }

    #[test]
    fn values_that_deceive_or_that_a_shell_reads_are_no_arguments() {
        for value in [
            "",
            " a",
            "a ",
            "-x",
            "--profile=open",
            "a'b",
            "a\"b",
            "a`id`",
            "$(id)",
            "$HOME",
            "a\\b",
            "a;b",
            "a|b",
            "a<b",
            "a!b",
            "a\nb",
            "a\tb",
            "a\u{1b}[0m",
            "p\u{430}ypal.com",
            "a\u{202e}b",
            "a\u{200b}b",
            "\u{fe}",
            &"a".repeat(501),
        ] {
            assert_eq!(argument(value), None, "{value:?}");
        }
    }
}
