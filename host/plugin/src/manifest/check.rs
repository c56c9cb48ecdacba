//! Checks of the values of a manifest.

use scorpiox_text::is_deceptive;

use super::{Manifest, ManifestError, wrong};
use crate::asks::{Asks, Root, WORKSPACE};

const MAX_VERSION_CHARS: usize = 40;
/// Maximum length of a description, or of a value in `config`.
pub(super) const MAX_TEXT_CHARS: usize = 2000;
/// Maximum length of the reason for a capability.
pub(super) const MAX_WHY_CHARS: usize = 500;
/// Maximum length of a path, host, profile or variable name.
pub(super) const MAX_VALUE_CHARS: usize = 500;
/// Maximum number of values in `config`.
const MAX_CONFIG: usize = 64;
/// Maximum number of readable directories, writable directories, hosts or variables. The user reviews each of
/// them.
const MAX_LIST: usize = 32;

impl Manifest {
    pub(super) fn check(&self) -> Result<(), ManifestError> {
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
        self.check_reasons()?;
        for ask in self.capabilities.lines() {
            let name = ask.name;
            for value in ask.details.iter().flat_map(|(_, values)| values) {
                single(&format!("capabilities.{name}"), value, MAX_VALUE_CHARS)?;
            }
            plain(&format!("capabilities.{name}.why"), ask.why, MAX_WHY_CHARS)?;
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

    /// Names all capabilities without a reason at once.
    fn check_reasons(&self) -> Result<(), ManifestError> {
        let asks = self.capabilities.lines();
        let silent = asks.iter().filter(|ask| ask.why.trim().is_empty());
        let silent: Vec<_> = silent.map(|ask| format!("capabilities.{}.why", ask.name)).collect();
        let is = match silent.len() {
            0 => return Ok(()),
            1 => "is",
            _ => "are",
        };
        Err(wrong(format!("{} {is} empty", silent.join(", ")), "say what for: the user decides by it"))
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
        if web.as_ref().is_some_and(|web| web.hosts.is_empty()) {
            return Err(wrong("capabilities.web names no host", "list them: hosts = [\"api.example.com\"]"));
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
pub(super) fn single(name: &str, text: &str, most: usize) -> Result<(), ManifestError> {
    if text.contains('\n') {
        return Err(wrong(format!("{name} is {text:?}"), "write it on one line"));
    }
    plain(name, text, most)
}

/// Rejects characters that control the terminal or hide text. Users base their decisions on these texts.
pub(super) fn plain(name: &str, text: &str, most: usize) -> Result<(), ManifestError> {
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
    use super::super::error;
    use super::*;

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
        assert_eq!(
            error(&with("[capabilities.files]\nread = \"workspace\"\nwhy = \"x\"")),
            "plugin.toml cannot be used: line 4: read = \"workspace\": it has to be a list, such as [\"…\"]; it is the string \
             \"workspace\""
        );
        assert_eq!(
            error(&with("[capabilities.env]\nnames = [\"A\"]")),
            "plugin.toml cannot be used: line 3: [capabilities.env]: missing field `why`"
        );
        for (line, expected) in [
            ("[limits]\nmemory_mib = 1000", "plugin.toml: limits.memory_mib = 1000; write 1 to 256"),
            ("[limits]\ncalls = 0", "plugin.toml: limits.calls = 0; write 1 to 16"),
            (
                "[capabilities.clock]\nwhy = \" \"",
                "plugin.toml: capabilities.clock.why is empty; say what for: the user decides by it",
            ),
            (
                "[capabilities.store]\nwhy = \"\"\n[capabilities.ask]\nwhy = \"\"",
                "plugin.toml: capabilities.store.why, capabilities.ask.why are empty; say what for: the user decides by it",
            ),
            (
                "[capabilities.web]\nhosts = []\nwhy = \"x\"",
                "plugin.toml: capabilities.web names no host; list them: hosts = [\"api.example.com\"]",
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
    fn a_component_lies_beside_its_manifest() {
        for path in ["../a.wasm", "/etc/passwd", "", ".hidden", "a/b.wasm", "a\\\\b.wasm"] {
            let text = format!("name = \"a\"\ncomponent = \"{path}\"");
            assert!(error(&text).contains("write the name of a file beside plugin.toml"), "{path}");
        }
    }
}
