//! Changes of the text of a manifest that leave the rest of it as the author wrote it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Manifest, ManifestError, explained, wrong};
use crate::name::PluginName;

impl Manifest {
    /// Adds comments to the text of a manifest, unless it already has some.
    pub fn with_comments(text: &str, comments: &BTreeMap<String, String>) -> Result<String, ManifestError> {
        if comments.is_empty() || !Self::parse(text)?.comments.is_empty() {
            return Ok(text.to_owned());
        }
        let table = toml::to_string(&BTreeMap::from([("comments", comments)]))
            .map_err(|error| ManifestError::Toml(error.to_string()))?;
        let text = format!("{text}\n# Of the types beside it, when it was installed.\n{table}");
        Self::parse(&text).map(|_| text)
    }

    /// Sets `max_tools` in the text of a manifest.
    pub fn with_max_tools(text: &str, max_tools: usize) -> Result<String, ManifestError> {
        #[derive(Deserialize)]
        struct Limited {
            max_tools: Option<toml::Spanned<usize>>,
        }
        Self::parse(text)?;
        let limited: Limited =
            toml::from_str(text).map_err(|error| ManifestError::Toml(explained(&error, text)))?;
        let mut text = text.to_owned();
        match limited.max_tools {
            Some(known) => text.replace_range(known.span(), &max_tools.to_string()),
            None => text.insert_str(0, &format!("max_tools = {max_tools}\n")),
        }
        Self::parse(&text).map(|_| text)
    }

    /// Replaces the name in the text of a manifest.
    pub fn with_name(text: &str, name: &PluginName) -> Result<String, ManifestError> {
        #[derive(Deserialize)]
        struct Named {
            name: toml::Spanned<String>,
        }
        Self::parse(text)?;
        let named: Named =
            toml::from_str(text).map_err(|error| ManifestError::Toml(explained(&error, text)))?;
        let mut text = text.to_owned();
        // A valid name needs no escaping.
        text.replace_range(named.name.span(), &format!("\"{name}\""));
        let is_it = Self::parse(&text)?.name == *name;
        if is_it {
            Ok(text)
        } else {
            Err(wrong(format!("its name cannot be made {name}"), "change it there"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{USUAL_TOOLS, WHOLE, error};
    use super::*;

    #[test]
    fn comments_are_added_once_and_can_be_read_again() {
        let first = BTreeMap::from([("sums.add".to_owned(), "Adds \"two\".\n\nAnd more.".to_owned())]);
        let text = Manifest::with_comments(WHOLE, &first).expect("a manifest");
        assert!(text.starts_with(WHOLE));
        let manifest = Manifest::parse(&text).expect("a manifest");
        assert_eq!(manifest.comments, first);
        let again = BTreeMap::from([("sums.add".to_owned(), "Something else.".to_owned())]);
        assert_eq!(Manifest::with_comments(&text, &again).expect("a manifest"), text);
        let hidden = BTreeMap::from([("a".to_owned(), "\u{202e}".to_owned())]);
        let error = Manifest::with_comments(WHOLE, &hidden).expect_err("an error").to_string();
        assert!(error.contains("comments.a has the character"), "{error}");
    }

    #[test]
    fn more_tools_than_usual_are_a_number_in_the_manifest() {
        assert_eq!(Manifest::parse(WHOLE).expect("a manifest").tool_limit(), USUAL_TOOLS);
        let raised = Manifest::with_max_tools(WHOLE, 95).expect("a manifest");
        assert!(raised.ends_with(WHOLE));
        let manifest = Manifest::parse(&raised).expect("a manifest");
        assert_eq!(manifest.tool_limit(), 95);
        let again = Manifest::with_max_tools(&raised, 100).expect("a manifest");
        assert_eq!(again, raised.replace("95", "100"));
        for number in [0, 257] {
            let error = Manifest::with_max_tools(WHOLE, number).expect_err("an error").to_string();
            assert_eq!(error, format!("plugin.toml: max_tools = {number}; write 1 to 256"));
        }
        let names: Vec<_> = (0..65).map(|n| format!("\"f{n}\"")).collect();
        let select = format!("name = \"a\"\ncomponent = \"a.wasm\"\nselect = [{}]\n", names.join(", "));
        assert!(
            error(&select)
                .contains("select has 65 names; name 1 to 64 functions, or up to 256 with max_tools")
        );
        assert!(Manifest::parse(&format!("max_tools = 65\n{select}")).is_ok());
    }

    #[test]
    fn another_name_takes_the_place_of_its_own_alone() {
        let name = PluginName::try_from("other".to_owned()).expect("a name");
        for text in [
            WHOLE.to_owned(),
            WHOLE.replace("name = \"weather\"", "name='weather' # name = \"weather\""),
            WHOLE.replace("name = \"weather\"", "\"name\" = \"\"\"weather\"\"\""),
        ] {
            let renamed = Manifest::with_name(&text, &name).expect("a manifest");
            let expected = Manifest { name: name.clone(), ..Manifest::parse(&text).expect("a manifest") };
            assert_eq!(Manifest::parse(&renamed).expect("a manifest"), expected);
            assert!(renamed.contains("description = \"The weather of a place.\""), "{renamed}");
        }
        assert!(Manifest::with_name("name = 1", &name).is_err());
    }
}
