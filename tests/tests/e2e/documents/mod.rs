//! Tests of the documentation: its commands run, its examples are valid, and its links resolve.

mod deployed;
mod policies;
mod reading;
mod running;
#[cfg(target_os = "linux")]
mod unit;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;

use scorpiox_tests::Program;

use self::reading::{Document, names, pages, project};
use self::running::{is_not_run, runs};

/// Maximum number of lines of the README.
const README_LINES: usize = 150;

/// Blocks that do not run, each with the reason. Every new exception needs an entry.
const NOT_RUN: &[(&str, &str)] = &[
    ("README.md", "they build the whole program"),
    ("README.md", "it builds the whole program"),
    ("README.md", "they build the whole program"),
    ("CONTRIBUTING.md", "they compile the project"),
    ("docs/audit.md", "root alone may read the files of all users"),
    ("docs/clients.md", "it is a command of Claude Code"),
    ("docs/clients.md", "they download 2 GB of packages"),
    ("docs/extending.md", "it builds the whole program"),
    ("docs/extending.md", "it builds the whole program"),
    ("docs/http.md", "it serves until it is told to end"),
    ("docs/http.md", "it serves until it is told to end"),
    ("docs/kubernetes.md", "it builds the whole program"),
    ("docs/kubernetes.md", "they need a registry and podman"),
    ("docs/kubernetes.md", "it needs a cluster"),
    ("docs/kubernetes.md", "it needs a cluster"),
    ("docs/kubernetes.md", "it needs the profile of a runtime"),
    ("docs/kubernetes.md", "it needs docker"),
    ("docs/operations.md", "they make a user of the machine"),
    ("docs/operations.md", "they start a service of the machine"),
    ("docs/operations.md", "they start services of the machine"),
    ("docs/operations.md", "it needs a database"),
    ("docs/operations.md", "they stop a service of the machine"),
    ("docs/operations.md", "it needs a database"),
    ("docs/packaging.md", "it builds the program for each system"),
    ("docs/packaging.md", "no release is published"),
    ("docs/packaging.md", "no release is published"),
    ("docs/performance.md", "they need the build and tools for developers"),
    ("docs/plugins.md", "it asks a person at a terminal"),
    ("docs/plugins.md", "it asks a person at a terminal"),
    ("docs/plugins.md", "it runs until Ctrl-C"),
    ("docs/plugins.md", "nothing is at these addresses"),
    ("docs/scale.md", "they take hours, and need PostgreSQL and haproxy"),
    ("docs/settings.md", "it searches the web"),
    ("docs/skills.md", "it installs a target of Rust's"),
    ("docs/team.md", "it needs a database"),
    ("docs/team.md", "it needs a database"),
    ("docs/troubleshooting.md", "it searches the web"),
    ("docs/tutorial.md", "it builds the whole program"),
    ("docs/tutorial.md", "it asks a person at a terminal"),
];

/// Creates the plugin directory `weather`, whose component has one tool, `forecast`.
const PLUGIN: &str = r#"mkdir weather
cp "$PROJECT/target/test-components/kinds.component.wasm" weather/component.wasm
printf 'name = "weather"\nversion = "1.0.0"\ndescription = "The weather of a place."\ncomponent = "component.wasm"\n' \
    > weather/plugin.toml
"#;

#[test]
fn readme() {
    runs("README.md", "");
}

#[test]
fn contributing() {
    runs("CONTRIBUTING.md", "");
}

#[test]
fn architecture() {
    runs("docs/architecture.md", "");
}

#[test]
fn audit() {
    runs("docs/audit.md", "");
}

#[test]
fn clients() {
    runs("docs/clients.md", "");
}

#[test]
fn kubernetes() {
    runs("docs/kubernetes.md", "");
}

#[test]
fn operations() {
    runs("docs/operations.md", "");
}

#[test]
fn packaging() {
    runs("docs/packaging.md", "");
}

#[test]
fn performance() {
    runs("docs/performance.md", "");
}

#[test]
fn plugins() {
    runs("docs/plugins.md", &format!("{PLUGIN}cp -R \"$PROJECT/examples/plugins/notes\" notes\n"));
}

#[test]
fn policy() {
    runs("docs/policy.md", PLUGIN);
}

#[test]
fn protected_names() {
    runs("docs/protected-names.md", "");
}

#[test]
fn rules() {
    runs("docs/rules.md", PLUGIN);
}

#[test]
fn sandbox() {
    runs("docs/sandbox.md", "");
}

#[test]
fn settings() {
    runs("docs/settings.md", "");
}

#[test]
fn scale() {
    runs("docs/scale.md", "");
}

#[test]
fn observing() {
    runs("docs/observing.md", "");
}

#[test]
fn team() {
    runs("docs/team.md", "");
}

#[test]
fn security() {
    runs("docs/security.md", "");
}

#[test]
fn skills() {
    runs("docs/skills.md", "");
}

#[test]
fn extending() {
    runs("docs/extending.md", "");
}

#[test]
fn json() {
    runs("docs/json.md", "");
}

#[test]
fn http() {
    runs("docs/http.md", "");
}

#[test]
fn reading() {
    runs("docs/reading.md", "");
}

#[test]
fn troubleshooting() {
    runs("docs/troubleshooting.md", PLUGIN);
}

#[test]
fn tutorial() {
    runs("docs/tutorial.md", "");
}

#[test]
fn every_document_is_run() {
    // docs/deployment.md runs section by section in `deployed`.
    let run = [
        "architecture",
        "audit",
        "clients",
        "deployment",
        "extending",
        "http",
        "json",
        "kubernetes",
        "observing",
        "operations",
        "packaging",
        "performance",
        "plugins",
        "policy",
        "protected-names",
        "reading",
        "rules",
        "sandbox",
        "scale",
        "security",
        "settings",
        "skills",
        "team",
        "troubleshooting",
        "tutorial",
    ];
    assert_eq!(pages(), run.map(|name| format!("docs/{name}.md")));
}

#[test]
fn what_is_not_run_is_known() {
    let mut found = Vec::new();
    for name in names() {
        let document = Document::read(&name);
        for block in document.blocks.iter().filter(|block| is_not_run(block)) {
            let reason = block.marker.clone().unwrap_or_default();
            found.push((name.clone(), reason.trim_start_matches("not run:").trim().to_owned()));
        }
        let markers = document.prose.iter().filter(|(_, line)| line.starts_with("<!-- not run:")).count();
        let used = document.blocks.iter().filter(|block| is_not_run(block)).count();
        assert_eq!(markers, used, "{name}: a marker stands right before its block");
    }
    let known: Vec<_> =
        NOT_RUN.iter().map(|(name, reason)| ((*name).to_owned(), (*reason).to_owned())).collect();
    assert_eq!(found, known, "{found:#?}");
}

#[test]
fn code_stands_in_blocks_that_say_what_it_is() {
    for name in names() {
        let document = Document::read(&name);
        for block in &document.blocks {
            let known =
                ["sh", "text", "toml", "json", "wit", "rust", "markdown"].contains(&block.language.as_str());
            assert!(known, "{name} line {}: the block is {:?}", block.line, block.language);
            if block.language == "json" {
                let parsed = serde_json::from_str::<serde_json::Value>(&block.text);
                assert!(parsed.is_ok(), "{name} line {}: {parsed:?}", block.line);
            }
        }
        for pair in document.prose.windows(2) {
            let ((_, before), (number, line)) = (&pair[0], &pair[1]);
            let is_code = before.trim().is_empty() && line.starts_with("    ");
            assert!(!is_code, "{name} line {number}: code stands in a block");
        }
    }
}

#[test]
fn the_readme_is_short_and_leads_to_every_page() {
    let readme = Document::read("README.md");
    assert!(readme.lines <= README_LINES, "the README has {} lines", readme.lines);
    let links: BTreeSet<String> = readme.links().into_iter().map(|(_, link)| link).collect();
    for name in pages().iter().map(String::as_str).chain(["CONTRIBUTING.md", "examples/README.md"]) {
        assert!(links.contains(name), "the README does not lead to {name}");
    }
}

#[test]
fn the_readme_has_every_tool() {
    let (_, listed, _) = Program::as_shipped().run(&["tools"]);
    let tools: Vec<&str> = listed
        .lines()
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(tools.len(), 14, "{listed}");
    let readme = Document::read("README.md");
    let is_missing = |tool: &&&str| !readme.prose.iter().any(|(_, line)| line.contains(**tool));
    let missing: Vec<_> = tools.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_page_says_first_whom_it_is_for() {
    for name in pages() {
        let document = Document::read(&name);
        let first = document.prose.iter().skip(1).find(|(_, line)| !line.is_empty()).expect("a line");
        assert!(first.1.starts_with("For "), "{name} begins with {:?}", first.1);
    }
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for name in names().into_iter().chain(["examples/README.md".to_owned()]) {
        let document = Document::read(&name);
        let folder = Path::new(&name).parent().expect("a folder");
        for (line, link) in document.links() {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target =
                if path.is_empty() { project().join(&name) } else { project().join(folder).join(path) };
            let leads = match target.canonicalize() {
                Err(_) => false,
                Ok(_) if anchor.is_empty() => true,
                Ok(file) => {
                    let relative = file.strip_prefix(project()).expect("a file of the project");
                    let headings = Document::read(&relative.to_string_lossy()).headings;
                    headings.iter().any(|heading| heading.anchor == anchor)
                }
            };
            if !leads {
                wrong.push(format!("{name} line {line}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Files that a reader of docs/extending.md creates.
const MADE: [&str; 5] = [
    "host/capabilities/src/host_name.rs",
    "src/component.rs",
    "src/lib.rs",
    "tools-wasm/dice",
    "wit/host-name.wit",
];

#[test]
fn paths_in_the_text_are_there() {
    let mut wrong = Vec::new();
    // The page for plugin authors names files of their projects.
    for name in names().into_iter().filter(|name| name != "docs/plugins.md") {
        for (line, code) in Document::read(&name).inline_code() {
            let first = code.split('/').next().unwrap_or_default();
            let folders = ["host", "tools-wasm", "wit", "tests", "scripts", "docs", "examples", "deploy"];
            let is_path = code.contains('/') && !code.contains([' ', '*', '…']) && folders.contains(&first);
            let folder = if is_path { project() } else { project().join("host/cli/src") };
            // Paths of modules are relative to the program's source directory.
            let is_module = code.ends_with(".rs") && code.contains('/');
            let is_made = name == "docs/extending.md" && MADE.contains(&code.as_str());
            if (is_path || is_module) && !is_made && !folder.join(&code).exists() {
                wrong.push(format!("{name} line {line}: {code}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_architecture_has_every_crate_of_the_host() {
    let document = Document::read("docs/architecture.md");
    for entry in std::fs::read_dir(project().join("host")).expect("the crates") {
        let name = format!("`host/{}/", entry.expect("a crate").file_name().to_string_lossy());
        assert!(document.prose.iter().any(|(_, line)| line.contains(&name)), "{name}");
    }
}

/// Returns the `--help` of a command, cached.
fn help(path: &[&str]) -> String {
    static ASKED: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut asked = ASKED.lock().expect("nobody panicked");
    let ask = || Program::as_shipped().run(&[path, &["--help"]].concat()).1;
    asked.entry(path.join(" ")).or_insert_with(ask).clone()
}

/// `true` if the help of a command lists this subcommand.
fn has_command(path: &[&str], word: &str) -> bool {
    help(path)
        .lines()
        .any(|line| line.strip_prefix("  ").and_then(|line| line.split(' ').next()) == Some(word))
}

/// Returns the first mistake in a command line of the program, if any: an unknown subcommand or option.
fn mistake(words: &str) -> Option<String> {
    let mut path: Vec<&str> = Vec::new();
    let mut value = false;
    let mut is_argument = false;
    for word in words.split_whitespace() {
        if let Some(option) = word.strip_prefix("--") {
            let option = option.split('=').next().unwrap_or_default().trim_end_matches(['`', ',', ';', '.']);
            let known = help(&path).contains(&format!("--{option} "))
                || help(&path).contains(&format!("--{option}\n"));
            if !known {
                return Some(format!("{} has no option --{option}", path.join(" ")));
            }
            value = help(&path).contains(&format!("--{option} <"));
        } else if std::mem::take(&mut value) || is_argument {
            is_argument |= false;
        } else if word.chars().all(|c| c.is_ascii_lowercase()) && help(&path).contains("Commands:") {
            if !has_command(&path, word) {
                return Some(format!("there is no command {} {word}", path.join(" ")));
            }
            path.push(word);
        } else {
            is_argument = true;
        }
    }
    None
}

#[test]
fn commands_in_the_text_exist_with_their_options() {
    assert_eq!(mistake("--managed required policy test x.cases --policy p.toml"), None);
    for wrong in ["polices", "policy chek", "policy check --hard", "audit report --follow"] {
        assert!(mistake(wrong).is_some(), "{wrong}");
    }
    let mut wrong = Vec::new();
    for name in names() {
        for (line, code) in Document::read(&name).inline_code() {
            let mut words = code.split_whitespace();
            let (first, second) = (words.next().unwrap_or_default(), words.next());
            let is_command = second
                .is_some_and(|word| word.starts_with("--") || word.chars().all(|c| c.is_ascii_lowercase()));
            let command = match first {
                "scorpiox-code" => code.trim_start_matches("scorpiox-code").to_owned(),
                "policy" | "plugin" | "skills" | "audit" | "config" | "doctor" | "stats" | "uninstall"
                    if is_command =>
                {
                    code.clone()
                }
                _ => continue,
            };
            wrong.extend(mistake(&command).map(|why| format!("{name} line {line}: `{code}`: {why}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Checks, for the clients in the documentation, the arguments that their own command-line tools register for
/// the program.
#[test]
fn the_entries_that_other_programs_make_start_the_server() {
    for name in names() {
        for block in Document::read(&name).blocks.iter().filter(|block| is_not_run(block)) {
            for line in block.text.lines().filter(|line| line.contains(" mcp add ")) {
                let after = line.split("scorpiox-code").nth(1).unwrap_or_default();
                assert_eq!(mistake(after), None, "{name}: {line}");
            }
        }
    }
}
