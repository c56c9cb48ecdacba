//! Applies `plugin.toml` to a component's functions: which become tools, their names, and their descriptions.

use scorpiox_plugin::{Manifest, ToolNote};
use serde_json::{Value, json};

use super::describe::Undescribed;

/// Maximum number of names in an error.
const MAX_KNOWN: usize = 32;

/// Returns the tool name of a function, or why it does not become a tool.
pub(super) fn chosen<'a>(manifest: &'a Manifest, function: &'a str) -> Result<&'a str, &'static str> {
    let note = manifest.tools.get(function);
    if note.is_some_and(|note| note.skip) {
        return Err("plugin.toml skips it");
    }
    if manifest.select.as_ref().is_some_and(|select| !select.iter().any(|name| name == function)) {
        return Err("`select` of plugin.toml does not have it");
    }
    Ok(note.and_then(|note| note.rename.as_deref()).unwrap_or(function))
}

/// Selects between exports of the same program or service for several WASI releases. The newest becomes the
/// tool; an older one does if `select` names it.
pub(super) fn newest(manifest: &Manifest, is_older: bool) -> Result<(), &'static str> {
    if is_older && manifest.select.is_none() {
        return Err("the component has the same for a newer WASI; `select` in plugin.toml can name this one");
    }
    Ok(())
}

/// Checks that each function named in the manifest exists and, unless it is skipped, can be a tool. `refused`
/// has the functions that cannot, with the reasons.
pub(super) fn check_names(
    manifest: &Manifest,
    functions: &[String],
    refused: &[(String, String)],
) -> Result<(), Undescribed> {
    let noted = manifest.tools.iter().map(|(name, note)| (format!("[tools.{name}]"), name, note.skip));
    let selected = manifest.select.iter().flatten().map(|name| (format!("{name:?} in select"), name, false));
    for (what, name, skips) in selected.chain(noted) {
        let refusal = refused.iter().find(|(refused, _)| refused == name);
        match refusal {
            Some(_) if skips => {}
            Some((_, why)) => {
                return Err(Undescribed::CannotBeTool { what, name: name.clone(), why: why.clone() });
            }
            None if functions.contains(name) => {}
            None => return Err(Undescribed::NoSuchTool { what, known: known(name, functions) }),
        }
    }
    Ok(())
}

/// Lists the existing functions, with the closest match first.
fn known(written: &str, functions: &[String]) -> String {
    let meant = scorpiox_text::nearest(written, functions.iter().map(String::as_str));
    let list = meant.map_or("its".to_owned(), |name| format!("did you mean {name}? Its"));
    let shown = functions.iter().take(MAX_KNOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = match functions.len().saturating_sub(MAX_KNOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{list} functions: {shown}{more}")
}

/// Applies the manifest's notes on a function to its definition.
pub(super) fn note(definition: &mut Value, manifest: &Manifest, function: &str) {
    let Some(note) = manifest.tools.get(function) else { return };
    let ToolNote { title, description, rename, skip: _, image, read_only, destructive, idempotent } = note;
    if let Some(rename) = rename {
        if definition["title"] == definition["name"] {
            definition["title"] = json!(rename);
        }
        definition["name"] = json!(rename);
        definition[FUNCTION] = json!(function);
    }
    if let Some(title) = title {
        definition["title"] = json!(title);
    }
    if let Some(description) = description {
        definition["description"] = json!(description);
    }
    if let Some(image) = image {
        definition[IMAGE] = json!(image);
        // An image is content and never structured.
        definition["output_schema"] = Value::Null;
    }
    let reaches_out = manifest.capabilities.web.is_some() || manifest.capabilities.shell.is_some();
    definition["hints"] = json!({
        "read_only": read_only, "destructive": destructive, "idempotent": idempotent, "open_world": reaches_out
    });
}

/// Member of a definition with the function's own name, if the tool is renamed.
pub(super) const FUNCTION: &str = "function";
/// Member of a definition with the type of the image that the function returns.
pub(super) const IMAGE: &str = "image";

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(more: &str) -> Manifest {
        Manifest::parse(&format!("name = \"a\"\ncomponent = \"a.wasm\"\n{more}")).expect("a manifest")
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_function_is_a_tool_unless_it_is_skipped_or_not_selected() {
        let manifest = manifest(
            "select = [\"one\", \"two\"]\n[tools.one]\nrename = \"first\"\n[tools.four]\nskip = true",
        );
        assert_eq!(chosen(&manifest, "one"), Ok("first"));
        assert_eq!(chosen(&manifest, "two"), Ok("two"));
        assert_eq!(chosen(&manifest, "three"), Err("`select` of plugin.toml does not have it"));
        assert_eq!(chosen(&manifest, "four"), Err("plugin.toml skips it"));
    }

    #[test]
    fn names_that_are_not_there_are_errors_with_those_that_are() {
        let (functions, refused) = (names(&["divide", "echo.text"]), [("take".to_owned(), "why".to_owned())]);
        let error = |more: &str| {
            check_names(&manifest(more), &functions, &refused).expect_err("an error").to_string()
        };
        assert_eq!(
            error("select = [\"dvide\"]"),
            "plugin.toml has \"dvide\" in select, and the component has no such function; did you mean divide? \
             Its functions: divide, echo.text"
        );
        let unlike = error("[tools.multiply]\ntitle = \"x\"");
        assert!(unlike.ends_with("has no such function; its functions: divide, echo.text"), "{unlike}");
        assert_eq!(
            error("[tools.take]\ntitle = \"x\""),
            "plugin.toml has [tools.take], but take cannot be a tool: why"
        );
        assert!(error("select = [\"take\"]").contains("take cannot be a tool"));
        assert!(check_names(&manifest("[tools.take]\nskip = true"), &functions, &refused).is_ok());
        let many: Vec<_> = (0..40).map(|n| format!("f{n}")).collect();
        let error =
            check_names(&manifest("select = [\"zzzzzz\"]"), &many, &[]).expect_err("an error").to_string();
        assert!(error.ends_with("f31 and 8 more"), "{error}");
    }
}
