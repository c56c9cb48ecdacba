//! Checks of the tools that a manifest describes, renames or leaves out.

use super::check::{MAX_TEXT_CHARS, MAX_VALUE_CHARS, plain, single};
use super::{MAX_TOOLS, Manifest, ManifestError, wrong};

/// Maximum length of a comment, equal to that of a tool description.
const MAX_COMMENT_CHARS: usize = 4096;

impl Manifest {
    pub(super) fn check_tools(&self) -> Result<(), ManifestError> {
        for (name, note) in &self.tools {
            single("a tool's name", name, MAX_VALUE_CHARS)?;
            single(&format!("tools.{name}.title"), note.title.as_deref().unwrap_or_default(), 200)?;
            let description = note.description.as_deref().unwrap_or_default();
            plain(&format!("tools.{name}.description"), description, MAX_TEXT_CHARS)?;
            if let Some(rename) = note.rename.as_deref().filter(|rename| !self.name.fits_tool(rename)) {
                let fix = self.name.tool_name_rule();
                return Err(wrong(format!("tools.{name}.rename is {rename:?}"), fix));
            }
            if self.select.iter().flatten().any(|selected| selected == name) && note.skip {
                let fix = "take it out of one of the two";
                return Err(wrong(format!("select has {name:?}, and tools.{name}.skip leaves it out"), fix));
            }
        }
        for (name, comment) in &self.comments {
            single("a function's name", name, MAX_VALUE_CHARS)?;
            plain(&format!("comments.{name}"), comment, MAX_COMMENT_CHARS)?;
        }
        if self.max_tools.is_some_and(|most| !(1..=MAX_TOOLS).contains(&most)) {
            return Err(wrong(
                format!("max_tools = {}", self.tool_limit()),
                format!("write 1 to {MAX_TOOLS}"),
            ));
        }
        let Some(select) = &self.select else { return Ok(()) };
        let most = self.tool_limit();
        if select.is_empty() || select.len() > most {
            let fix = format!(
                "name 1 to {most} functions, or up to {MAX_TOOLS} with max_tools, or leave it out, and all become tools"
            );
            return Err(wrong(format!("select has {} names", select.len()), fix));
        }
        for (index, name) in select.iter().enumerate() {
            single("a name in select", name, MAX_VALUE_CHARS)?;
            if select[..index].contains(name) {
                return Err(wrong(format!("select has {name:?} twice"), "write it once"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::error;
    use super::*;

    #[test]
    fn tools_are_renamed_skipped_and_selected_by_names_that_clients_take() {
        let with = |line: &str| format!("name = \"a\"\ncomponent = \"a.wasm\"\n{line}");
        let text = with(
            "select = [\"one\", \"b.two\"]\n[tools.one]\nrename = \"first\"\n[tools.three]\nskip = true",
        );
        let manifest = Manifest::parse(&text).expect("a manifest");
        assert_eq!(manifest.tools["one"].rename.as_deref(), Some("first"));
        assert!(manifest.tools["three"].skip && manifest.select.expect("a list").len() == 2);
        let long = "x".repeat(63);
        for (line, expected) in [
            ("select = []", "select has 0 names; name 1 to 64 functions"),
            ("select = [\"a\", \"a\"]", "select has \"a\" twice"),
            ("select = [\"a\"]\n[tools.a]\nskip = true", "select has \"a\", and tools.a.skip leaves it out"),
            ("[tools.a]\nrename = \"a b\"", "tools.a.rename is \"a b\"; a name has 1 to 62 letters"),
            ("[tools.a]\nrename = \"\"", "tools.a.rename is \"\""),
            (&format!("[tools.a]\nrename = \"{long}\""), "so that a.NAME has at most 64"),
            ("[tools.a]\nimage = \"image/bmp\"", "expected one of `image/png`"),
        ] {
            let error = error(&with(line));
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
