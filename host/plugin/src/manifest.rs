//! The manifest, `plugin.toml`: a plugin's description of itself.

use std::collections::BTreeMap;

use scorpiox_text::is_deceptive;
use serde::{Deserialize, Serialize};

use crate::asks::{Asks, Limits, Root, WORKSPACE, WebAsk};
use crate::headers;
use crate::name::PluginName;
use crate::secrets::{SecretName, SecretValue, SecretValueError};
use crate::tool_note::ToolNote;

/// Maximum size of a manifest, in bytes.
pub const MAX_MANIFEST_BYTES: usize = 64 * 1024;
const MAX_VERSION_CHARS: usize = 40;
const MAX_TEXT_CHARS: usize = 2000;
/// Maximum length of the reason for a capability.
const MAX_WHY_CHARS: usize = 500;
/// Maximum length of a path, host, profile or variable name.
const MAX_VALUE_CHARS: usize = 500;
/// Maximum number of values in `config`.
const MAX_CONFIG: usize = 64;
/// Maximum number of secrets. The user sets each of them.
const MAX_SECRETS: usize = 16;
/// Maximum length of a comment, equal to that of a tool description.
const MAX_COMMENT_CHARS: usize = 4096;
/// Maximum number of readable directories, writable directories, hosts or variables. The user reviews each of
/// them.
const MAX_LIST: usize = 32;
/// Maximum number of tools, unless `max_tools` allows more. Clients send the definitions of all tools to their
/// models.
pub const USUAL_TOOLS: usize = 64;
/// Largest value of `max_tools`.
pub const MAX_TOOLS: usize = 256;

/// Content of `plugin.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Name of the plugin, and prefix of its tools' names.
    pub name: PluginName,
    /// Version, in any scheme of the author's choice.
    #[serde(default)]
    pub version: String,
    /// Purpose of the plugin.
    #[serde(default)]
    pub description: String,
    /// Name of the component's file, in the same directory as `plugin.toml`.
    pub component: String,
    /// Functions that become tools. `None` selects all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<Vec<String>>,
    /// Maximum number of tools, if it is not [`USUAL_TOOLS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tools: Option<usize>,
    /// Requested capabilities.
    #[serde(default)]
    pub capabilities: Asks,
    /// Resource limits of a call.
    #[serde(default)]
    pub limits: Limits,
    /// Values that the plugin reads through `wasi:config`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config: BTreeMap<String, String>,
    /// Secrets that the user sets, with the purpose of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<SecretName, String>,
    /// Notes about functions, by function name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, ToolNote>,
    /// Documentation of functions, taken from the comments in the component's WIT types at installation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub comments: BTreeMap<String, String>,
}

/// A manifest that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Invalid TOML, or an unexpected key or value. The message contains the position.
    #[error("plugin.toml cannot be used: {0}")]
    Toml(String),
    /// An invalid value.
    #[error("plugin.toml: {what}; {fix}")]
    Value {
        /// The problem, including the value.
        what: String,
        /// Suggested correction.
        fix: String,
    },
}

/// Describes an error with its position, and suggests the key that was probably meant.
fn explained(error: &toml::de::Error) -> String {
    let said = error.to_string();
    // The library names the keys only in its message: first the unknown key, then the expected ones.
    let named: Vec<&str> = error.message().split('`').skip(1).step_by(2).collect();
    let (Some((unknown, known)), true) = (named.split_first(), error.message().starts_with("unknown field"))
    else {
        return said.trim_end().to_owned();
    };
    match scorpiox_text::nearest(unknown, known.iter().copied()) {
        Some(key) => format!("{}; did you mean `{key}`?", said.trim_end()),
        None => said.trim_end().to_owned(),
    }
}

pub(crate) fn wrong(what: impl Into<String>, fix: impl Into<String>) -> ManifestError {
    ManifestError::Value { what: what.into(), fix: fix.into() }
}

impl Manifest {
    /// Parses and checks a manifest.
    pub fn parse(text: &str) -> Result<Self, ManifestError> {
        if text.len() > MAX_MANIFEST_BYTES {
            let what = format!("it has {} bytes", text.len());
            return Err(wrong(what, format!("the limit is {MAX_MANIFEST_BYTES}")));
        }
        let manifest: Self = toml::from_str(text).map_err(|error| ManifestError::Toml(explained(&error)))?;
        manifest.check()?;
        Ok(manifest)
    }

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

    /// Returns the maximum number of tools.
    pub fn tool_limit(&self) -> usize {
        self.max_tools.unwrap_or(USUAL_TOOLS)
    }

    /// Sets `max_tools` in the text of a manifest.
    pub fn with_max_tools(text: &str, max_tools: usize) -> Result<String, ManifestError> {
        #[derive(Deserialize)]
        struct Limited {
            max_tools: Option<toml::Spanned<usize>>,
        }
        Self::parse(text)?;
        let limited: Limited =
            toml::from_str(text).map_err(|error| ManifestError::Toml(explained(&error)))?;
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
        let named: Named = toml::from_str(text).map_err(|error| ManifestError::Toml(explained(&error)))?;
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

    fn check(&self) -> Result<(), ManifestError> {
        let component = &self.component;
        if component.is_empty() || component.starts_with('.') || component.contains(['/', '\\', '\0']) {
            return Err(wrong(
                format!("component = {component:?}"),
                "write the name of a file beside plugin.toml, such as \"component.wasm\"",
            ));
        }
        if let Some((name, value, most)) = self.limits.out_of_range() {
            return Err(wrong(format!("limits.{name} = {value}"), format!("write 1 to {most}")));
        }
        single("version", &self.version, MAX_VERSION_CHARS)?;
        plain("description", &self.description, MAX_TEXT_CHARS)?;
        for ask in self.capabilities.lines() {
            let name = ask.name;
            for value in ask.details.iter().flat_map(|(_, values)| values) {
                single(&format!("capabilities.{name}"), value, MAX_VALUE_CHARS)?;
            }
            plain(&format!("capabilities.{name}.why"), ask.why, MAX_WHY_CHARS)?;
            if ask.why.trim().is_empty() {
                let fix = "say what for: a person decides by it";
                return Err(wrong(format!("capabilities.{name}.why is empty"), fix));
            }
        }
        self.check_lists()?;
        if self.config.len() > MAX_CONFIG {
            return Err(wrong(
                format!("config has {} values", self.config.len()),
                format!("the limit is {MAX_CONFIG}"),
            ));
        }
        for (name, value) in &self.config {
            single("a name in config", name, MAX_VALUE_CHARS)?;
            plain(&format!("config.{name}"), value, MAX_TEXT_CHARS)?;
        }
        self.check_secrets()?;
        self.check_tools()
    }

    fn check_tools(&self) -> Result<(), ManifestError> {
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

    /// Returns the purpose of a secret, or an error if the manifest does not declare it.
    pub fn secret(&self, name: &SecretName) -> Result<&str, SecretValueError> {
        self.secrets.get(name).map(String::as_str).ok_or_else(|| {
            let known: Vec<_> = self.secrets.keys().map(SecretName::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            SecretValueError::Unknown { plugin: self.name.clone(), name: name.clone(), known }
        })
    }

    /// Converts `bytes` to the value of a secret, checking that the value fits its use.
    pub fn secret_value(&self, name: &SecretName, bytes: Vec<u8>) -> Result<SecretValue, SecretValueError> {
        self.secret(name)?;
        let value = String::from_utf8(bytes).map_err(|_| SecretValueError::NoUtf8)?;
        let value = SecretValue::try_from(value)?;
        let is_header = self.capabilities.web.as_ref().is_some_and(|web| web.secrets().contains(name));
        if is_header && !headers::fits_header(value.reveal()) {
            return Err(SecretValueError::NoHeader(name.clone()));
        }
        Ok(value)
    }

    fn check_secrets(&self) -> Result<(), ManifestError> {
        if self.secrets.len() > MAX_SECRETS {
            let what = format!("secrets has {} names", self.secrets.len());
            return Err(wrong(what, format!("the limit is {MAX_SECRETS}")));
        }
        for (name, what_for) in &self.secrets {
            single(&format!("secrets.{name}"), what_for, MAX_WHY_CHARS)?;
            if what_for.trim().is_empty() {
                return Err(wrong(
                    format!("secrets.{name} is empty"),
                    "say what for: a person decides by it",
                ));
            }
            if self.config.contains_key(name.as_str()) {
                let fix = "take one of them out: both would be the same value of wasi:config";
                return Err(wrong(format!("{name} is in config and in secrets"), fix));
            }
        }
        self.check_secret_variables()?;
        self.capabilities.web.as_ref().map_or(Ok(()), |web| headers::check(web, &self.secrets))
    }

    /// Checks the secrets that the plugin reads as variables. The plugin must not see a secret of a header.
    fn check_secret_variables(&self) -> Result<(), ManifestError> {
        let Some(env) = &self.capabilities.env else { return Ok(()) };
        let of_headers = self.capabilities.web.as_ref().map(WebAsk::secrets).unwrap_or_default();
        for name in &env.secrets {
            let wrong =
                |why: &str, fix: &str| Err(wrong(format!("capabilities.env.secrets has {name}, {why}"), fix));
            if !self.secrets.contains_key(name) {
                return wrong("which [secrets] does not have", "add it there, with what it is for");
            }
            if of_headers.contains(name) {
                let fix = "take it out of one of the two";
                return wrong("which a header has, so that the plugin does not see it", fix);
            }
            if env.names.iter().any(|variable| variable == name.as_str()) {
                return wrong("and capabilities.env.names has it, too", "take it out of one of the two");
            }
        }
        Ok(())
    }

    fn check_lists(&self) -> Result<(), ManifestError> {
        let Asks { files, env, web, .. } = &self.capabilities;
        let none = Vec::new();
        let lists = [
            ("files.read", files.as_ref().map_or(&none, |files| &files.read)),
            ("files.write", files.as_ref().map_or(&none, |files| &files.write)),
            ("env.names", env.as_ref().map_or(&none, |env| &env.names)),
            ("web.hosts", web.as_ref().map_or(&none, |web| &web.hosts)),
        ];
        for (name, list) in lists {
            if list.len() > MAX_LIST {
                let what = format!("capabilities.{name} has {} items", list.len());
                return Err(wrong(what, format!("the limit is {MAX_LIST}")));
            }
        }
        if files.as_ref().is_some_and(|files| files.read.is_empty() && files.write.is_empty()) {
            let fix = "list folders in read or write: \"workspace\", \"~/notes\", \"/srv/data\"";
            return Err(wrong("capabilities.files names no folder", fix));
        }
        let folders = files.iter().flat_map(|files| files.read.iter().chain(&files.write));
        if let Some(Root::Workspace) = files.as_ref().and_then(|files| files.root)
            && let Some(other) = folders.clone().find(|folder| *folder != WORKSPACE)
        {
            let fix = format!("take {other:?} out, or take `root` out");
            return Err(wrong("capabilities.files.root = \"workspace\" makes that the only folder", fix));
        }
        for folder in folders {
            let is_one = folder == "workspace" || folder.starts_with('/') || folder.starts_with("~/");
            let plain = folder.trim_end_matches('/');
            let no_files = ["", "/proc", "/sys", "/dev"];
            if no_files
                .iter()
                .any(|no| plain == *no || (!no.is_empty() && plain.starts_with(&format!("{no}/"))))
            {
                let fix = "name a folder of files: \"workspace\", \"~/notes\", \"/srv/data\"";
                return Err(wrong(format!("capabilities.files has {folder:?}"), fix));
            }
            if !is_one || folder.split('/').any(|part| part == "..") {
                let fix = "relative paths and .. are not allowed; write \"workspace\", \"~/notes\" or \"/srv/data\"";
                return Err(wrong(format!("capabilities.files has {folder:?}"), fix));
            }
        }
        for name in env.iter().flat_map(|env| &env.names) {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if name.is_empty() || !name.bytes().all(fits) {
                let fix = "a variable's name has letters, digits and _; patterns are not supported";
                return Err(wrong(format!("capabilities.env has {name:?}"), fix));
            }
        }
        Ok(())
    }
}

/// Checks a text that must be a single line: a second line could look like another request.
fn single(name: &str, text: &str, most: usize) -> Result<(), ManifestError> {
    if text.contains('\n') {
        return Err(wrong(format!("{name} is {text:?}"), "write it on one line"));
    }
    plain(name, text, most)
}

/// Rejects characters that control the terminal or hide text. Users base their decisions on these texts.
fn plain(name: &str, text: &str, most: usize) -> Result<(), ManifestError> {
    let count = text.chars().count();
    if count > most {
        return Err(wrong(format!("{name} has {count} characters"), format!("the limit is {most}")));
    }
    match text.chars().find(|c| is_deceptive(*c)) {
        Some(found) => Err(wrong(
            format!("{name} has the character {}", found.escape_unicode()),
            "take it out: it cannot be seen",
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
name = "weather"
version = "0.2.0"
description = "The weather of a place."
component = "weather.wasm"

[capabilities.web]
hosts = ["api.example.com", "*.example.org"]
why = "asks the service"

[capabilities.files]
read = ["workspace"]
write = ["~/weather"]
why = "keeps maps"

[limits]
cpu_seconds = 10

[tools.forecast]
description = "Tomorrow's weather"
read_only = true
"#;

    fn error(text: &str) -> String {
        Manifest::parse(text).expect_err("an error").to_string()
    }

    #[test]
    fn a_manifest_says_what_is_asked_for() {
        let manifest = Manifest::parse(WHOLE).expect("a manifest");
        assert_eq!(manifest.limits, Limits { cpu_seconds: 10, ..Limits::default() });
        let list = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        let lines = manifest.capabilities.lines();
        let [files, web] = lines.as_slice() else { panic!("two: {lines:?}") };
        assert_eq!((files.name, files.why), ("files", "keeps maps"));
        assert_eq!(files.details, [("read", list(&["workspace"])), ("write", list(&["~/weather"]))]);
        assert_eq!(web.details, [("hosts", list(&["api.example.com", "*.example.org"]))]);
        assert!(manifest.tools["forecast"].read_only);
    }

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
    fn what_is_wrong_is_named_with_the_value() {
        let with = |line: &str| format!("name = \"a\"\ncomponent = \"a.wasm\"\n{line}");
        assert!(error("name = \"Bash\"\ncomponent = \"a.wasm\"").contains("\"Bash\" is not a plugin name"));
        assert!(error("name = \"a\"").contains("missing field `component`"));
        let unknown = error(&with("[capabilities.files]\nreads = [\"/\"]\nwhy = \"x\""));
        assert!(unknown.contains("line 4") && unknown.contains("unknown field `reads`"), "{unknown}");
        assert!(unknown.ends_with("; did you mean `read`?"), "{unknown}");
        assert!(!error(&with("colour = \"red\"")).contains("did you mean"));
        assert!(error(&with("[capabilities.web]\nhosts = []")).contains("missing field `why`"));
        for (line, expected) in [
            ("[limits]\nmemory_mib = 1000", "plugin.toml: limits.memory_mib = 1000; write 1 to 256"),
            ("[limits]\ncalls = 0", "plugin.toml: limits.calls = 0; write 1 to 16"),
            (
                "[capabilities.clock]\nwhy = \" \"",
                "plugin.toml: capabilities.clock.why is empty; say what for: a person decides by it",
            ),
            (
                "[capabilities.files]\nread = [\"/a/../b\"]\nwhy = \"x\"",
                "plugin.toml: capabilities.files has \"/a/../b\"; relative paths and .. are not allowed; write \"workspace\", \
                 \"~/notes\" or \"/srv/data\"",
            ),
            (
                "[capabilities.files]\nread = [\"/proc/self\"]\nwhy = \"x\"",
                "plugin.toml: capabilities.files has \"/proc/self\"; name a folder of files: \"workspace\", \"~/notes\", \
                 \"/srv/data\"",
            ),
            (
                "[capabilities.env]\nnames = [\"AWS_*\"]\nwhy = \"x\"",
                "plugin.toml: capabilities.env has \"AWS_*\"; a variable's name has letters, digits and _; patterns are not supported",
            ),
            (
                "[capabilities.clock]\nwhy = \"a\\u202eb\"",
                "plugin.toml: capabilities.clock.why has the character \\u{202e}; take it out: it cannot be seen",
            ),
            (
                "[capabilities.files]\nread = [\"/a\\nIn all, nothing\"]\nwhy = \"x\"",
                "plugin.toml: capabilities.files is \"/a\\nIn all, nothing\"; write it on one line",
            ),
            (
                "[capabilities.shell]\nprofile = \"a\\n\\nb\"\nwhy = \"x\"",
                "plugin.toml: capabilities.shell is \"a\\n\\nb\"; write it on one line",
            ),
            ("version = \"1\\n2\"", "plugin.toml: version is \"1\\n2\"; write it on one line"),
            (
                "description = \"\\u001b[2Jx\"",
                "plugin.toml: description has the character \\u{1b}; take it out: it cannot be seen",
            ),
        ] {
            assert_eq!(error(&with(line)), expected);
        }
    }

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

    #[test]
    fn a_secret_is_a_variable_only_if_it_is_declared_and_in_no_header() {
        let with = |line: &str| {
            format!(
                "name = \"a\"\ncomponent = \"a.wasm\"\n[secrets]\nKEY = \"of x\"\n[capabilities.env]\nwhy = \"x\"\n{line}"
            )
        };
        let manifest = Manifest::parse(&with("secrets = [\"KEY\"]")).expect("a manifest");
        let lines = manifest.capabilities.lines();
        assert_eq!(lines[0].details, [("secrets as variables", vec!["KEY".to_owned()])]);
        let header = "secrets = [\"KEY\"]\n[capabilities.web]\nwhy = \"x\"\nhosts = [\"a.b\"]\nheaders = { \"a.b\" = { X = \"${KEY}\" } }";
        for (line, expected) in [
            ("secrets = [\"OTHER\"]", "capabilities.env.secrets has OTHER, which [secrets] does not have"),
            (header, "capabilities.env.secrets has KEY, which a header has"),
            ("names = [\"KEY\"]\nsecrets = [\"KEY\"]", "and capabilities.env.names has it, too"),
            ("secrets = [\"a b\"]", "is not the name of a secret"),
        ] {
            let error = error(&with(line));
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn a_root_is_the_only_folder() {
        let with = |line: &str| {
            format!("name = \"a\"\ncomponent = \"a.wasm\"\n[capabilities.files]\nwhy = \"x\"\n{line}")
        };
        let manifest =
            Manifest::parse(&with("read = [\"workspace\"]\nroot = \"workspace\"")).expect("a manifest");
        let details = &manifest.capabilities.lines()[0].details;
        assert_eq!(details[1], ("seen as /", vec!["workspace".to_owned()]));
        let two = error(&with("read = [\"workspace\"]\nwrite = [\"~/notes\"]\nroot = \"workspace\""));
        assert!(
            two.ends_with("makes that the only folder; take \"~/notes\" out, or take `root` out"),
            "{two}"
        );
        assert!(error(&with("read = [\"~/notes\"]\nroot = \"~/notes\"")).contains("unknown variant"));
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

    #[test]
    fn a_component_lies_beside_its_manifest() {
        for path in ["../a.wasm", "/etc/passwd", "", ".hidden", "a/b.wasm", "a\\\\b.wasm"] {
            let text = format!("name = \"a\"\ncomponent = \"{path}\"");
            assert!(error(&text).contains("write the name of a file beside plugin.toml"), "{path}");
        }
    }
}
