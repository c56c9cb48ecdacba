//! Drafts a `plugin.toml` from the imports and exports of a component.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use scorpiox_component_abi::anatomy::Anatomy;
use scorpiox_plugin::{MANIFEST, MAX_TOOLS, Manifest, PluginName, USUAL_TOOLS};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, columns, one_line, rows, wrapped};
use scorpiox_tools::plugins::{Import, check_exports, import, own_comments, requests};

use crate::author::file::{self, name_of};
use crate::author::foreign_policy::{self, Translated};
use crate::author::tool_list::named;

/// Maximum number of displayed rows of a part of a policy.
const MAX_ROWS: usize = 4;
/// Maximum length of a name in a comment.
const MAX_NAME: usize = 200;

/// Writes a draft next to a component, or with a copy of the component to another directory. Existing files
/// are never overwritten. `policy` is a policy file of Wassette, whose permissions the draft requests.
pub fn init(path: &Path, name: Option<&PluginName>, out: Option<&Path>, policy: Option<&Path>) -> Result<()> {
    let bytes = file::read(path)?;
    let anatomy = file::anatomy(&bytes).with_context(|| path.display().to_string())?;
    let own = || {
        name_of(path).with_context(|| {
            format!("{} gives the plugin its name; give it another with --name", path.display())
        })
    };
    let name = name.cloned().map_or_else(own, Ok)?;
    check_exports(&anatomy).with_context(|| format!("{} cannot be a plugin", path.display()))?;
    let file = path.file_name().unwrap_or_default().to_str().context("the name of the file is no UTF-8")?;
    let mut translated = policy.map(foreign_policy::read).transpose()?.unwrap_or_default();
    translated.drop_unused(|ask| uses(&anatomy, ask));
    let draft = Draft::of(&anatomy, &name, file, &translated);
    let beside = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = out.unwrap_or(beside);
    if out.is_some() {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
    }
    let manifest = folder.join(MANIFEST);
    write_new(&manifest, draft.text.as_bytes())?;
    if out.is_some()
        && let Err(error) = write_new(&folder.join(file), &bytes)
    {
        // An incomplete draft would block the next attempt.
        let _ = fs::remove_file(&manifest);
        return Err(error);
    }
    let folder = folder.display();
    let missing = match draft.asks.as_slice() {
        [] => String::new(),
        asks => {
            let hosts = if draft.text.contains("\nhosts = []\n") { ", and the hosts of web" } else { "" };
            format!(" Fill in `why` of {}{hosts}: the user decides by it.", asks.join(", "))
        }
    };
    let said = format!("{} is a draft.{missing} Then: scorpiox-code plugin add {folder}", manifest.display());
    terminal::print(&Shown::text(&format!("{}\n", wrapped(&said, columns()).join("\n"))));
    if !translated.left_out.is_empty() {
        let mut text = "\nNot requested\n".to_owned();
        for line in &translated.left_out {
            rows(&mut text, "  ", line, MAX_ROWS);
        }
        terminal::print(&Shown::text(&text));
    }
    Ok(())
}

/// Returns `true` if an import of the component reaches something by this capability.
fn uses(anatomy: &Anatomy, ask: &str) -> bool {
    anatomy.imports.iter().any(|name| {
        // Settings include the granted variables.
        requests(name).contains(&ask)
            || ask == "env" && name.starts_with("wasi:config/")
            || matches!(import(name), Import::By(by) | Import::Needs(by) if by == ask)
    })
}

/// Creates a file that must not exist yet.
fn write_new(path: &PathBuf, bytes: &[u8]) -> Result<()> {
    let write = |path| -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(bytes)
    };
    write(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            anyhow!(
                "{} exists, and is not overwritten; move it away, or name another folder with --out",
                path.display()
            )
        }
        _ => anyhow!("{} cannot be written: {error}", path.display()),
    })
}

/// A manifest for the author to complete.
struct Draft {
    text: String,
    /// Capabilities that still need a reason.
    asks: Vec<&'static str>,
}

impl Draft {
    fn of(anatomy: &Anatomy, plugin: &PluginName, file: &str, policy: &Translated) -> Self {
        let mut text = format!(
            "name = \"{plugin}\"\nversion = \"0.1.0\"\ndescription = \"\"\ncomponent = {}\n",
            toml::Value::from(file)
        );
        let functions = named(anatomy).into_iter().filter(|named| named.unfit.is_none());
        let functions: Vec<String> = functions.map(|named| named.name).collect();
        if functions.len() > USUAL_TOOLS {
            let (count, most) = (functions.len(), functions.len().min(MAX_TOOLS));
            let _ = write!(
                text,
                "\n# It has {count} functions, and {USUAL_TOOLS} of them become tools: choose them, or allow more.\n\
                 # select = []\n# max_tools = {most}\n"
            );
        }
        let asks = capabilities(&mut text, anatomy, policy);
        if !policy.limits.is_empty() {
            let _ = write!(text, "\n{}", policy.limits);
        }
        tools(&mut text, &functions, plugin);
        let text = Manifest::with_comments(&filled(&text), &own_comments(anatomy))
            .ok()
            .and_then(|commented| {
                commented.strip_prefix(&filled(&text)).map(|comments| text.clone() + comments)
            })
            .unwrap_or(text);
        Self { text, asks }
    }
}

/// Fills in placeholder reasons, so that the draft can be parsed.
fn filled(text: &str) -> String {
    text.replace("\nwhy = \"\"\n", "\nwhy = \"x\"\n").replace("\nhosts = []\n", "\nhosts = [\"x.example\"]\n")
}

/// Appends the capabilities that the imports suggest and returns the required ones. A capability that the
/// component cannot run without becomes an entry. A capability becomes a comment if its import works without
/// it, but reaches nothing.
fn capabilities(text: &mut String, anatomy: &Anatomy, policy: &Translated) -> Vec<&'static str> {
    let mut found: Vec<(&'static str, bool, &str)> = Vec::new();
    for (ask, keys) in &policy.asks {
        let _ = write!(text, "\n# The policy allows it:\n[capabilities.{ask}]\n{keys}why = \"\"\n");
    }
    for name in &anatomy.imports {
        let requested = requests(name).iter().filter(|ask| !found.iter().any(|(known, ..)| known == *ask));
        let requested: Vec<_> = requested.map(|ask| (*ask, false, name.as_str())).collect();
        found.extend(requested);
        let (ask, is_needed) = match import(name) {
            Import::Needs(ask) => (ask, true),
            Import::By(ask) => (ask, false),
            Import::Free
            | Import::DraftWasi
            | Import::NewerWasi
            | Import::UnstableWasi
            | Import::Unknown
            | Import::Other => continue,
        };
        match found.iter_mut().find(|(known, ..)| *known == ask) {
            Some(known) if is_needed && !known.1 => *known = (ask, true, name),
            Some(_) => {}
            None => found.push((ask, is_needed, name)),
        }
    }
    found.retain(|(ask, ..)| !policy.asks.contains_key(ask));
    for (ask, is_needed, name) in &found {
        let name = one_line(name, MAX_NAME);
        let entry = format!("[capabilities.{ask}]\n{}why = \"\"\n", details(ask));
        if *is_needed {
            let _ = write!(text, "\n# It imports {name}, and cannot run without:\n{entry}");
        } else {
            let _ = write!(text, "\n# It imports {name}, which reaches nothing without:\n");
            text.extend(entry.lines().map(|line| format!("# {line}\n")));
        }
    }
    let needed = found.into_iter().filter(|(_, is_needed, _)| *is_needed).map(|(ask, ..)| ask);
    policy.asks.keys().copied().chain(needed).collect()
}

/// Returns the keys of a capability, with initial values.
fn details(ask: &str) -> &'static str {
    match ask {
        "files" => "read = [\"workspace\"]\n",
        "env" => "names = []\n",
        "web" => "hosts = []\n",
        "shell" => "profile = \"build\"\n",
        "sampling" => "calls = 1\ntokens = 1000\n",
        _ => "",
    }
}

/// Appends an example entry for the first function, and an entry for each function that needs another name.
fn tools(text: &mut String, functions: &[String], plugin: &PluginName) {
    if functions.is_empty() {
        return;
    }
    text.push_str(
        "\n# A table says what the types cannot say of a function; `rename`, `skip` and `description` are keys, too.\n",
    );
    for (index, name) in functions.iter().take(MAX_TOOLS).enumerate() {
        let fits = plugin.fits_tool(name);
        if index > 0 && fits {
            continue;
        }
        let rename = if fits { "" } else { "# rename = \"\"  # its own name cannot be a tool's\n" };
        let is_bare = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        let key = if is_bare { name.clone() } else { toml::Value::from(name.as_str()).to_string() };
        let _ = write!(text, "# [tools.{key}]\n{rename}# read_only = true\n");
    }
}

#[cfg(test)]
mod tests {
    use scorpiox_component_abi::anatomy::{Comment, Export, Function};

    use super::*;

    fn anatomy(imports: &[&str], functions: usize) -> Anatomy {
        let function = |n: usize| {
            let name = format!("f{n}");
            let function =
                Function { name: name.clone(), wit: "func()".to_owned(), unfit: None, gives: Vec::new() };
            Export { name, kind: "func".to_owned(), functions: vec![function] }
        };
        Anatomy {
            imports: imports.iter().map(|name| (*name).to_owned()).collect(),
            exports: (0..functions).map(function).collect(),
            comments: vec![Comment {
                interface: None,
                function: "f0".to_owned(),
                text: "Says \"hello\".".to_owned(),
            }],
            ..Anatomy::default()
        }
    }

    fn draft(imports: &[&str], functions: usize) -> Draft {
        let name = PluginName::try_from("demo".to_owned()).expect("a name");
        Draft::of(&anatomy(imports, functions), &name, "demo.wasm", &Translated::default())
    }

    #[test]
    fn a_draft_requests_what_a_policy_allows() {
        let name = PluginName::try_from("demo".to_owned()).expect("a name");
        let policy = Translated {
            asks: [
                ("env", "names = [\"KEY\"]\n".to_owned()),
                ("web", "hosts = [\"a.example.com\"]\n".to_owned()),
            ]
            .into(),
            limits: "[limits]\nmemory_mib = 128\n".to_owned(),
            left_out: Vec::new(),
        };
        let Draft { text, asks } = Draft::of(&anatomy(&ALL, 2), &name, "demo.wasm", &policy);
        assert_eq!(asks, ["env", "web", "store", "files", "shell", "sampling", "ask"]);
        let manifest = Manifest::parse(&filled(&text)).expect("a manifest");
        assert_eq!(manifest.capabilities.env.expect("variables").names, ["KEY"]);
        assert_eq!(manifest.capabilities.web.expect("hosts").hosts, ["a.example.com"]);
        assert_eq!(manifest.limits.memory_mib, 128);
    }

    const ALL: [&str; 8] = [
        "scorpiox:tool/store@0.1.0",
        "scorpiox:tool/files@0.1.0",
        "scorpiox:tool/web@0.1.0",
        "scorpiox:tool/shell@0.1.0",
        "scorpiox:tool/sampling@0.1.0",
        "scorpiox:tool/ask@0.1.0",
        "wasi:cli/environment@0.2.3",
        "wasi:clocks/wall-clock@0.2.3",
    ];

    #[test]
    fn a_draft_is_a_manifest_but_for_the_reasons() {
        let Draft { text, asks } = draft(&ALL, 2);
        assert_eq!(asks, ["store", "files", "web", "shell", "sampling", "ask"]);
        let error = Manifest::parse(&text).expect_err("an error").to_string();
        assert!(error.contains(".why are empty; say what for"), "{error}");
        let manifest = Manifest::parse(&filled(&text)).expect("a manifest");
        assert!(manifest.capabilities.store.is_some() && manifest.capabilities.clock.is_none(), "{text}");
        assert_eq!(manifest.comments["f0"], "Says \"hello\".");
        // The commented entries must be valid too.
        let uncommented =
            text.replace("# [", "[").replace("# read_only", "read_only").replace("# names", "names");
        let uncommented = filled(&uncommented.replace("# why", "why"));
        let manifest = Manifest::parse(&uncommented).expect("a manifest");
        assert!(
            manifest.capabilities.env.is_some() && manifest.capabilities.clock.is_some(),
            "{uncommented}"
        );
        assert!(manifest.tools["f0"].read_only && manifest.tools.len() == 1, "{uncommented}");
    }

    #[test]
    fn a_policy_grants_nothing_that_no_import_uses() {
        let anatomy = anatomy(&["wasi:config/store@0.2.0-rc.1", "wasi:filesystem/types@0.2.3"], 1);
        let mut policy = Translated {
            asks: ["env", "files", "web"].map(|ask| (ask, String::new())).into(),
            ..Translated::default()
        };
        policy.drop_unused(|ask| uses(&anatomy, ask));
        assert_eq!(policy.asks.into_keys().collect::<Vec<_>>(), ["env", "files"]);
        assert_eq!(policy.left_out, ["web: the component imports nothing that uses it"]);
    }

    #[test]
    fn functions_whose_names_cannot_be_those_of_tools_have_their_own_entries() {
        let plugin = PluginName::try_from("demo".to_owned()).expect("a name");
        let mut text = String::new();
        tools(&mut text, &["a".to_owned(), "b".to_owned(), "x".repeat(64)], &plugin);
        assert_eq!(text.matches("# [tools.").count(), 2, "{text}");
        assert!(text.contains(&format!("# [tools.{}]\n# rename", "x".repeat(64))), "{text}");
    }

    #[test]
    fn without_such_imports_a_draft_can_be_used_at_once() {
        let Draft { text, asks } = draft(&["wasi:io/streams@0.2.3"], 70);
        assert!(asks.is_empty());
        assert!(text.contains("# It has 70 functions, and 64 of them become tools"), "{text}");
        assert!(text.contains("\n# max_tools = 70\n"), "{text}");
        Manifest::parse(&text).expect("a manifest");
    }

    #[test]
    fn what_is_there_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(MANIFEST);
        fs::write(&path, "mine").expect("writes");
        let error = write_new(&path, b"other").expect_err("an error").to_string();
        assert!(error.contains("exists, and is not overwritten"), "{error}");
        assert_eq!(fs::read(&path).expect("reads"), b"mine");
    }
}
