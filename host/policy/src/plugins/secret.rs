//! `[plugins.secrets.NAME]`: locations of a plugin's secrets, for servers without a user to set them.

use std::fmt;

/// Location of a secret. It is read on each call, so that a changed secret takes effect immediately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretFrom {
    /// File, with a path that is absolute or begins with `~/`.
    File(String),
    /// Environment variable of the server.
    Variable(String),
}

impl fmt::Display for SecretFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file {path}"),
            Self::Variable(name) => write!(f, "variable {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{Policy, render};

    fn read(text: &str) -> Result<Policy, String> {
        Policy::parse(&format!("version = 1\n{text}"), Path::new("policy.toml"))
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_secret_is_in_a_file_or_in_a_variable() {
        let text = "[plugins.secrets.\"weather\"]\n\"KEY\" = { file = \"~/key\" }\n\"UNITS\" = { variable = \"UNITS_KEY\" }\n";
        let policy = read(text).unwrap();
        let places: Vec<_> = policy.plugins.secrets.values().map(|from| from.value.to_string()).collect();
        assert_eq!(places, ["file ~/key", "variable UNITS_KEY"]);
        let shown = render(&policy);
        assert_eq!(
            read(shown.trim_start_matches("version = 1")).unwrap().plugins.secrets.len(),
            2,
            "{shown}"
        );
        for (secret, expected) in [
            ("{}", "[plugins.secrets.a.KEY] says nothing of where it is; write `{ file = "),
            ("{ file = \"/k\", variable = \"K\" }", "[plugins.secrets.a.KEY] is in two places"),
            (
                "{ file = \"key\" }",
                "`file` in [plugins.secrets.a.KEY] is \"key\"; write a path that begins with / or ~/",
            ),
            ("{ variable = \"A-B\" }", "is \"A-B\"; write the name of a variable"),
            ("\"plain\"", "KEY"),
        ] {
            let error = read(&format!("[plugins.secrets.a]\nKEY = {secret}\n")).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
