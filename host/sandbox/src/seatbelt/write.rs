//! Elements of the profile language.

use std::path::Path;

use crate::wire::Fault;

/// Returns a quoted string.
pub(super) fn quoted(text: &str) -> Result<String, Fault> {
    // The treatment of control characters by the language is undocumented.
    if let Some(odd) = text.chars().find(|c| c.is_control()) {
        let why = format!("{text:?} has the character {odd:?}; rename it");
        return Err(Fault::new("writing the command's profile", why));
    }
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

/// Returns a filter for a single path.
pub(super) fn literal(path: &Path) -> Result<String, Fault> {
    Ok(format!("(literal {})", named(path)?))
}

/// Returns a filter for a path and everything below it.
pub(super) fn subpath(path: &Path) -> Result<String, Fault> {
    Ok(format!("(subpath {})", named(path)?))
}

fn named(path: &Path) -> Result<String, Fault> {
    match path.to_str() {
        Some(text) if path.is_absolute() => quoted(text),
        _ => {
            let why = format!("{} is no absolute path in Unicode; rename it", path.display());
            Err(Fault::new("writing the command's profile", why))
        }
    }
}

/// Returns a filter for a regular expression, composed of [`any_case`] and of characters with the same
/// meaning in each dialect.
pub(super) fn regex(expression: &str) -> String {
    format!("(regex #\"{expression}\")")
}

/// Returns an expression that matches a text regardless of case. A non-ASCII character has several encodings
/// and matches any text.
pub(super) fn any_case(text: &str) -> String {
    let mut expression = String::new();
    for c in text.chars() {
        match c {
            'a'..='z' | 'A'..='Z' => {
                expression.extend(['[', c.to_ascii_lowercase(), c.to_ascii_uppercase(), ']']);
            }
            '0'..='9' | '/' | '_' | '-' | ' ' => expression.push(c),
            // These have a meaning between brackets, or end a string.
            '"' | '\\' | '^' | '[' | ']' => expression.push('.'),
            _ if c.is_ascii() => expression.extend(['[', c, ']']),
            _ => expression.push_str(".*"),
        }
    }
    expression
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_whatever_is_in_it() {
        assert_eq!(quoted(r#"a "b\c"#).expect("as it is made"), r#""a \"b\\c""#);
        let refused = quoted("a\n(allow default)").expect_err("refused");
        assert!(refused.to_string().contains("rename it"), "{refused}");
    }

    #[test]
    fn a_path_has_to_be_a_whole_one() {
        assert!(subpath(Path::new("a")).is_err());
        assert_eq!(literal(Path::new("/a b")).expect("as it is made"), "(literal \"/a b\")");
    }

    #[test]
    fn a_name_matches_in_each_case() {
        assert_eq!(any_case(".mcp-1"), "[.][mM][cC][pP]-1");
        assert_eq!(any_case("ü\"^+"), ".*..[+]");
    }
}
