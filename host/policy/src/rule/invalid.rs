//! Validation errors of single values, worded for the author of the file.

/// Maximum length of quoted input in a message, in characters.
const MAX_SHOWN_CHARS: usize = 60;

/// An invalid value, without the line that contains it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {fix}")]
pub struct Invalid {
    /// Mistake, with the value.
    pub what: String,
    /// Suggested replacement.
    pub fix: String,
}

impl Invalid {
    /// Creates an error from the mistake and the suggested replacement.
    pub fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

/// Returns the start of `text`, with control characters escaped for the terminal.
pub fn shorten(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(MAX_SHOWN_CHARS).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Returns an address without what may be a secret: credentials, path, query and parameters. Errors of the policy reach
/// logs and clients.
pub fn shorten_address(text: &str) -> String {
    let is_of_parameters = |c: char| c == ';' || c == '=' || c.is_whitespace();
    let scheme = text.split_once("://").filter(|(scheme, _)| !scheme.contains(is_of_parameters));
    let (scheme, rest) =
        scheme.map_or((String::new(), text), |(scheme, rest)| (format!("{scheme}://"), rest));
    let (before, host) = match rest.rsplit_once('@') {
        // It may be the `@` of a password that is a parameter.
        Some((before, _)) if before.contains(is_of_parameters) => return shorten(&format!("{scheme}…")),
        Some((_, host)) => ("…@", host),
        None => ("", rest),
    };
    let end = host.find(|c| "/?#".contains(c) || is_of_parameters(c)).unwrap_or(host.len());
    let after = if end < host.len() { "/…" } else { "" };
    shorten(&format!("{scheme}{before}{}{after}", &host[..end]))
}

/// Returns "did you mean `x`? " if a known name is similar, followed by the list of known names.
pub fn suggest(written: &str, kind: &str, known: &[&str]) -> String {
    let hint = scorpiox_text::nearest(written, known.iter().copied())
        .map(|name| format!("did you mean `{name}`? "))
        .unwrap_or_default();
    let list: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("{hint}known {kind} are {}", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_far_from_all_gets_the_list_without_a_guess() {
        assert_eq!(suggest("zzz", "keys", &["read", "write"]), "known keys are `read`, `write`");
    }

    #[test]
    fn an_address_in_a_message_shows_no_secret() {
        for (address, shown) in [
            ("mysql://u:secret@h.example.com:1/d?password=secret", "mysql://…@h.example.com:1/…"),
            ("http://u:se/cr@et@h:1?key=secret", "http://…@h:1/…"),
            ("https://h/v1/logs/secret", "https://h/…"),
            ("collector:4318", "collector:4318"),
            ("u:secret@h", "…@h"),
            ("host=db user=u password=secret", "host/…"),
            ("password=se://cr@et host=db", "…"),
            ("jdbc:postgresql://h;password=secret", "jdbc:postgresql://h/…"),
            ("jdbc:postgresql://h;password=sec@ret", "jdbc:postgresql://…"),
            ("db password:secret", "db/…"),
        ] {
            assert_eq!(shorten_address(address), shown);
        }
    }

    #[test]
    fn text_in_a_message_is_cut_and_escaped() {
        assert_eq!(shorten("a\u{1b}[0m\n"), "a\\u{1b}[0m\\n");
        assert_eq!(shorten(&"x".repeat(100)).chars().count(), MAX_SHOWN_CHARS + 1);
    }
}
