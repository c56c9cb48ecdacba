//! Creates a plugin from a template. The result builds and runs without changes.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use scorpiox_plugin::PluginName;

use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

/// Programming language of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Built with cargo
    Rust,
    /// Built with componentize-py
    Python,
    /// Built with jco
    Js,
    /// An ordinary program in Rust, built with cargo for WASI
    Program,
    /// An ordinary program in Go, built with go for WASI
    Go,
}

/// Template of a language: its files, and the values for the shared files.
struct Template {
    language: &'static str,
    /// Path of the source file that the author edits.
    source: &'static str,
    /// Files that pin versions, as Markdown.
    pins: &'static str,
    /// Example of requested capabilities.
    capabilities: &'static str,
    /// Files shared with other templates.
    common: &'static [&'static [(&'static str, &'static str)]],
    files: &'static [(&'static str, &'static str)],
}

macro_rules! template {
    ($($file:literal from $path:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("templates/", $path)))),*]
    };
}

/// Files of every plugin that exports functions.
const OF_FUNCTIONS: &[(&str, &str)] = template![
    "README.md" from "README.md",
    "plugin.toml" from "plugin.toml",
    "wit/world.wit" from "world.wit",
];

macro_rules! interfaces {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("wit/deps/scorpiox-tool/", $name), include_str!(concat!("../../../../wit/", $name)))),*]
    };
}

/// WIT interfaces of this project that a plugin can import or export.
const INTERFACES: &[(&str, &str)] = interfaces![
    "ask.wit",
    "clock.wit",
    "contents.wit",
    "files.wit",
    "inputs.wit",
    "log.wit",
    "offers.wit",
    "sampling.wit",
    "shell.wit",
    "store.wit",
    "tool.wit",
    "web.wit",
];

/// Files of every plugin that is an ordinary program.
const OF_PROGRAM: &[(&str, &str)] = template![
    "README.md" from "program/README.md",
    "plugin.toml" from "program/plugin.toml",
];

const RUST: Template = Template {
    language: "Rust",
    source: "src/lib.rs",
    pins: "`Cargo.toml`, `Cargo.lock`",
    capabilities: include_str!("templates/rust/capabilities.toml"),
    common: &[OF_FUNCTIONS, INTERFACES],
    files: template![
        "Makefile" from "rust/Makefile",
        "Cargo.toml" from "rust/Cargo.toml.txt",
        "Cargo.lock" from "rust/Cargo.lock.txt",
        ".gitignore" from "rust/gitignore",
        "src/lib.rs" from "rust/lib.rs",
    ],
};

const PYTHON: Template = Template {
    language: "Python",
    source: "app.py",
    pins: "`requirements.txt`",
    capabilities: include_str!("templates/capabilities.toml"),
    common: &[OF_FUNCTIONS, INTERFACES],
    files: template![
        "Makefile" from "python/Makefile",
        "requirements.txt" from "python/requirements.txt",
        ".gitignore" from "python/gitignore",
        "app.py" from "python/app.py",
    ],
};

const JS: Template = Template {
    language: "JavaScript",
    source: "plugin.js",
    pins: "`package.json`, `package-lock.json`",
    capabilities: include_str!("templates/capabilities.toml"),
    common: &[OF_FUNCTIONS, INTERFACES],
    files: template![
        "Makefile" from "js/Makefile",
        "package.json" from "js/package.json",
        "package-lock.json" from "js/package-lock.json",
        ".gitignore" from "js/gitignore",
        "plugin.js" from "js/plugin.js",
    ],
};

const PROGRAM: Template = Template {
    language: "Rust",
    source: "src/main.rs",
    pins: "`Cargo.toml`",
    capabilities: include_str!("templates/program/capabilities.toml"),
    common: &[OF_PROGRAM],
    files: template![
        "Makefile" from "program/Makefile",
        "Cargo.toml" from "program/Cargo.toml.txt",
        ".gitignore" from "rust/gitignore",
        "src/main.rs" from "program/main.rs",
    ],
};

const GO: Template = Template {
    language: "Go",
    source: "main.go",
    pins: "`go.mod`",
    capabilities: include_str!("templates/program/capabilities.toml"),
    common: &[OF_PROGRAM],
    files: template![
        "Makefile" from "go/Makefile",
        "go.mod" from "go/go.mod.txt",
        ".gitignore" from "go/gitignore",
        "main.go" from "go/main.go",
    ],
};

/// Writes a template to a directory with the plugin's name, and prints the next steps.
pub fn new(language: Language, name: &PluginName) -> Result<()> {
    let folder = Path::new(name.as_str());
    let template = match language {
        Language::Rust => RUST,
        Language::Python => PYTHON,
        Language::Js => JS,
        Language::Program => PROGRAM,
        Language::Go => GO,
    };
    template.write(folder, name)?;
    let (what, source) = (template.language, template.source);
    let (tool, arguments, change) = if matches!(language, Language::Program | Language::Go) {
        (
            "run",
            r#"{"stdin": "one two three"}"#,
            format!("{name}/{source}, and [tools.run] of {name}/plugin.toml"),
        )
    } else {
        (
            "count",
            r#"{"text": "one two three"}"#,
            format!("{name}/wit/world.wit, {name}/{source}, and [tools.count] of {name}/plugin.toml"),
        )
    };
    terminal::print(&Shown::text(&format!(
        "{name}/ is a plugin in {what}, with a tool {name}.{tool}. What to do next:\n\
         \x20 make -C {name}\n\
         \x20 scorpiox-code plugin test {name} {tool} '{arguments}'\n\
         \x20 scorpiox-code plugin add {name}\n\
         \x20 scorpiox-code call {name}.{tool} '{arguments}'\n\
         Then change {change}.\n"
    )));
    Ok(())
}

impl Template {
    fn write(&self, folder: &Path, name: &PluginName) -> Result<()> {
        if folder.symlink_metadata().is_ok()
            && fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_some())
        {
            bail!(
                "{} exists and is not an empty folder; choose another name, or remove it",
                folder.display()
            );
        }
        for (path, text) in self.common.iter().copied().flatten().chain(self.files) {
            let path = folder.join(path);
            let parent = path.parent().context("no folder")?;
            fs::create_dir_all(parent).with_context(|| format!("{} cannot be created", parent.display()))?;
            fs::write(&path, self.fill(text, name))
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(())
    }

    fn fill(&self, text: &str, name: &PluginName) -> String {
        text.replace("{{name}}", name.as_str())
            .replace("{{language}}", self.language)
            .replace("{{source}}", self.source)
            .replace("{{pins}}", self.pins)
            .replace("{{capabilities}}\n", self.capabilities)
    }
}

#[cfg(test)]
mod tests {
    use scorpiox_plugin::{Asks, Manifest};

    use super::*;

    #[test]
    fn manifests_can_be_used_with_their_examples_and_without() {
        let name = PluginName::try_from("demo".to_owned()).expect("a name");
        for template in [RUST, PYTHON, JS, PROGRAM, GO] {
            let mut common = template.common.iter().copied().flatten();
            let text = common.find(|(path, _)| *path == "plugin.toml").expect("a manifest").1;
            let text = template.fill(text, &name);
            assert!(!text.contains("{{"), "{text}");
            let manifest = Manifest::parse(&text).expect("a manifest");
            assert_eq!(manifest.capabilities, Asks::default());
            let examples: Vec<&str> = text
                .lines()
                .map(|line| line.strip_prefix("# ").filter(|line| line.contains(['[', '='])).unwrap_or(line))
                .collect();
            let manifest = Manifest::parse(&examples.join("\n")).expect("the examples can be used");
            assert!(manifest.capabilities.clock.is_some());
        }
    }

    #[test]
    fn only_an_absent_or_empty_folder_is_filled() {
        let name = PluginName::try_from("demo".to_owned()).expect("a name");
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("demo");
        fs::create_dir(&folder).expect("a folder");
        RUST.write(&folder, &name).expect("writes");
        assert!(folder.join("src/lib.rs").is_file() && folder.join("wit/world.wit").is_file());
        assert!(folder.join("wit/deps/scorpiox-tool/files.wit").is_file());
        let program = home.path().join("program");
        GO.write(&program, &name).expect("writes");
        assert!(
            ["Makefile", "go.mod", "main.go", "plugin.toml"].iter().all(|file| program.join(file).is_file())
        );
        let error = JS.write(&folder, &name).expect_err("an error").to_string();
        assert!(error.ends_with("is not an empty folder; choose another name, or remove it"), "{error}");
        assert!(!folder.join("package.json").exists());
        fs::write(home.path().join("file"), "").expect("writes");
        assert!(JS.write(&home.path().join("file"), &name).is_err());
    }
}
