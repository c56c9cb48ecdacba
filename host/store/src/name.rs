//! Names of workspaces, as files and rows have them.

use std::fmt::{self, Display, Formatter};

/// Longest name: the program's own have at most 57 bytes.
const MAX_BYTES: usize = 64;
/// Names that Windows takes for devices, whatever follows a dot.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The name of a workspace, by which its state is found: the name of a file without its end, and a text in a database.
///
/// Invariant: it is letters, digits, `-` and `_` of ASCII, so that it leads nowhere else as a part of a path. It is made by
/// [`parse`](Self::parse) alone, wherever a name comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceName(String);

/// The reason for which a text is no name of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not the name of a workspace, which has at most {MAX_BYTES} letters, digits, `-` and `_`; it is left as it is"
)]
pub struct NoName(String);

impl WorkspaceName {
    /// Reads a name.
    ///
    /// # Errors
    ///
    /// A text that could be something else than the name of a file in the folder of all workspaces.
    pub fn parse(text: &str) -> Result<Self, NoName> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if is_plain && (1..=MAX_BYTES).contains(&text.len()) && !is_device(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(NoName(text.chars().take(MAX_BYTES).collect()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reports whether Windows has a device of that name.
fn is_device(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let numbered = text.strip_prefix("com").or_else(|| text.strip_prefix("lpt"));
    let is_numbered =
        numbered.is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()));
    is_numbered || DEVICES.contains(&&*text)
}

impl Display for WorkspaceName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_else() {
        for good in ["usage", "shop-5c0f1f0d9ab7e2c4", "-x-5c0f1f0d9ab7e2c4", "_", "A1", "console", "com"] {
            assert_eq!(WorkspaceName::parse(good).map(|name| name.to_string()).as_deref(), Ok(good));
        }
        let long = "x".repeat(65);
        for bad in [
            "",
            ".",
            "..",
            "../../x",
            "a/b",
            "/etc/x",
            "a\\b",
            "C:x",
            "a.db",
            "a b",
            "a\0",
            "a\n",
            "é",
            "x\u{202e}",
            "CON",
            "nul",
            "Com1",
            "lpt9",
            "~",
            "a:stream",
            &long,
        ] {
            let error = WorkspaceName::parse(bad).expect_err(bad).to_string();
            assert!(error.contains("is not the name of a workspace") && !error.contains('\n'), "{error}");
        }
    }
}
