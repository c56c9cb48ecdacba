//! Displays the content of a WebAssembly file.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use scorpiox_component_abi::anatomy::{Anatomy, Kind, Module};
use scorpiox_plugin::package::Package;
use scorpiox_plugin::{Asks, PluginName};
use scorpiox_runtime::is_offer;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, columns, one_line, rows, size, wrapped};
use scorpiox_tools::plugins::{Import, Undescribed, check_anatomy, import};

use super::tool_list;
use crate::author::file::{self, name_of};

/// Prefix of the exported interface of components that list their tools at run time.
const TOOL: &str = "scorpiox:tool/tool@";
/// Maximum number of displayed rows of a text.
pub(super) const MAX_ROWS: usize = 12;
/// Maximum number of displayed items of a list.
const MAX_ITEMS: usize = 100;

/// Prints a description of a file, even if the file cannot be a plugin. `check` makes all the checks of an installation.
pub fn inspect(path: &Path, check: impl FnOnce() -> Result<()>) -> Result<ExitCode> {
    let bytes = file::read(path)?;
    let heading = |what: &str| {
        let named = format!("{}: {what}, {}", path.display(), size(bytes.len() as u64));
        format!("{}\n", wrapped(&named, columns()).join("\n  "))
    };
    let text = match Kind::of(&bytes) {
        Kind::Component => {
            let anatomy = looked_into(&bytes)?;
            heading("a component") + &parts(&anatomy) + &component(&anatomy, path, check)
        }
        Kind::Module => {
            let anatomy = looked_into(&bytes)?;
            heading(module(&anatomy)) + &parts(&anatomy) + &of_module(&anatomy, &bytes, path, check)
        }
        Kind::Native => {
            heading("code for a processor, and no WebAssembly") + "  What is compiled elsewhere is not run.\n"
        }
        Kind::Text => heading("a text, and no WebAssembly"),
        Kind::Empty => heading("an empty file"),
        Kind::Other if Package::is_one(&bytes) => {
            heading("a pack") + "  `scorpiox-code plugin test` describes the plugin in it.\n"
        }
        Kind::Other => heading("no WebAssembly"),
    };
    terminal::print(&Shown::text(&text));
    Ok(ExitCode::SUCCESS)
}

fn looked_into(bytes: &[u8]) -> Result<Anatomy> {
    scorpiox_runtime::compile::inspect(bytes, || false)
        .context("it begins like WebAssembly, and cannot be read: it is cut off or damaged")
}

/// Returns the kind of a core module.
fn module(anatomy: &Anatomy) -> &'static str {
    match anatomy.module.unwrap_or_default() {
        Module { is_preview_one: true, is_command: true, .. } => {
            "a core module, a program for WASI preview 1"
        }
        Module { is_preview_one: true, .. } => "a core module for WASI preview 1",
        Module { has_types: true, .. } => "a core module that says its types",
        Module { .. } => "a core module",
    }
}

/// Describes the sizes of the parts, and the tools that produced the file.
fn parts(anatomy: &Anatomy) -> String {
    let Anatomy { modules, code_bytes, data_bytes, producers, .. } = anatomy;
    let modules = match modules {
        1 => "1 core module".to_owned(),
        more => format!("{more} core modules"),
    };
    let mut text = format!("  {modules}, {} of code, {} of data\n", size(*code_bytes), size(*data_bytes));
    rows(&mut text, "  ", &producers.join("\n"), MAX_ROWS);
    text
}

/// Formats untrusted names, each on a row with a remark.
fn list(heading: &str, all: impl ExactSizeIterator<Item = (String, String)>) -> String {
    let mut text = format!("\n{heading}\n");
    let count = all.len();
    if count == 0 {
        text.push_str("  nothing\n");
    }
    for (item, said) in all.take(MAX_ITEMS) {
        let said = if said.is_empty() { said } else { format!("  ({said})") };
        let room = columns().saturating_sub(2 + said.chars().count());
        let _ = writeln!(text, "  {}{said}", one_line(&item, room));
    }
    if count > MAX_ITEMS {
        let _ = writeln!(text, "  and {} more", count - MAX_ITEMS);
    }
    text
}

/// Lists the imports: first those that need an implementation, then those that only provide types.
fn imports(anatomy: &Anatomy) -> String {
    let wanted = anatomy.imports.iter().map(|name| (name.clone(), said_of(name)));
    let types = anatomy.types.iter().map(|name| (name.clone(), "types alone".to_owned()));
    list("It imports", wanted.chain(types).collect::<Vec<_>>().into_iter())
}

/// Describes the support for an import in a few words.
fn said_of(name: &str) -> String {
    match import(name) {
        Import::Free => String::new(),
        Import::By(ask) => format!("by capabilities.{ask}"),
        Import::Needs(ask) => format!("needs capabilities.{ask}"),
        Import::DraftWasi => "a draft of WASI 0.3, not there".to_owned(),
        Import::NewerWasi => "WASI 0.3, not there".to_owned(),
        Import::UnstableWasi => "an unstable feature of WASI, not there".to_owned(),
        Import::Unknown => "not there".to_owned(),
        Import::Other => "of another component, not there".to_owned(),
    }
}

fn component(anatomy: &Anatomy, path: &Path, check: impl FnOnce() -> Result<()>) -> String {
    let exports = anatomy.exports.iter().map(|export| (export.name.clone(), export.kind.clone()));
    imports(anatomy) + &list("It exports", exports) + &tools(anatomy, path) + &verdict(anatomy, path, check)
}

/// Describes a core module, and the component that can be created from it.
fn of_module(anatomy: &Anatomy, bytes: &[u8], path: &Path, check: impl FnOnce() -> Result<()>) -> String {
    let imports = anatomy.imports.iter().map(|name| (name.clone(), String::new()));
    let exports = anatomy.exports.iter().map(|export| (export.name.clone(), export.kind.clone()));
    match file::anatomy(bytes) {
        // The component has imports and exports of its own, which its users see.
        Ok(made) => {
            "\n`scorpiox-code plugin add` makes this component of it:\n".to_owned()
                + &component(&made, path, check)
        }
        Err(why) => {
            let own = list("It imports", imports) + &list("It exports", exports);
            own + &format!("\n{}\n", sentence(&format!("It cannot be a plugin: {why:#}")))
        }
    }
}

/// Lists the tools that the component would have.
fn tools(anatomy: &Anatomy, path: &Path) -> String {
    if anatomy.exports.iter().any(|export| export.name.starts_with(TOOL)) {
        let said =
            "It says itself what its tools are, when it runs: `scorpiox-code plugin test FILE` shows them.";
        return format!("\n{}\n", sentence(said)) + &offers(anatomy);
    }
    tool_list::tools(anatomy, &name_of(path).unwrap_or_else(|_| PluginName::placeholder())) + &offers(anatomy)
}

/// Mentions prompts and resources, if the component exports any.
fn offers(anatomy: &Anatomy) -> String {
    if !anatomy.exports.iter().any(|export| is_offer(&export.name)) {
        return String::new();
    }
    let said = "It says itself which prompts and resources it has, when it runs: `scorpiox-code plugin test FILE` shows them.";
    format!("\n{}\n", sentence(said))
}

/// States whether the component can be a plugin.
fn verdict(anatomy: &Anatomy, path: &Path, check: impl FnOnce() -> Result<()>) -> String {
    let said = match check_anatomy(anatomy, &Asks::default()) {
        Ok(()) => match check() {
            Ok(()) => format!("It can be added: `scorpiox-code plugin add {}`.", path.display()),
            Err(error) => format!("It cannot be added: {}.", error.root_cause()),
        },
        Err(why @ Undescribed::NotAskedFor { .. }) => {
            format!(
                "It cannot be added as it is: {why}. `scorpiox-code plugin init FILE` drafts a plugin.toml."
            )
        }
        Err(why) => format!("It cannot be a plugin: {why}."),
    };
    format!("\n{}\n", sentence(&said))
}

/// Wraps a sentence. Line feeds in untrusted names are escaped, so that they cannot imitate another sentence.
fn sentence(text: &str) -> String {
    wrapped(&text.replace('\n', "\\n"), columns()).join("\n")
}

#[cfg(test)]
mod tests {
    use scorpiox_component_abi::anatomy::{Export, Function, INSTANCE, Resource};
    use scorpiox_runtime::{PROGRAM_TAKES, SERVICE_TAKES};

    use super::*;

    #[test]
    fn all_of_it_fits_the_terminal_whatever_its_names_are() {
        let long = "x".repeat(300);
        let function = |name: &str| Function {
            name: name.to_owned(),
            wit: format!("func(a: {})", vec!["tuple<u8, u8>"; 30].join(", ")),
            unfit: Some("it has a resource".to_owned()),
            gives: Vec::new(),
        };
        let anatomy = Anatomy {
            imports: vec![
                format!("a:b/{long}"),
                "wasi:filesystem/types@0.2.3".to_owned(),
                "scorpiox:tool/store@0.1.0".to_owned(),
            ],
            types: vec!["other:package/types".to_owned()],
            exports: vec![Export {
                name: long.clone(),
                kind: "func".to_owned(),
                functions: vec![function(&long), function("a\n\u{1b}[2Jb")],
            }],
            producers: vec![format!("language {long}")],
            modules: 2,
            ..Anatomy::default()
        };
        let text = parts(&anatomy) + &imports(&anatomy) + &tools(&anatomy, Path::new("a.wasm"));
        assert!(text.lines().all(|row| row.chars().count() <= 80), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
        for part in [
            "(by capabilities.files)",
            "(needs capabilities.store)",
            "(of another component, not there)",
            "other:package/types  (types alone)",
            "2 core modules",
            "cannot be a tool",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn what_a_program_or_a_service_takes_is_said_in_the_place_of_its_type() {
        let function = |name: &str| Function {
            name: name.to_owned(),
            wit: "func() -> result".to_owned(),
            unfit: None,
            gives: Vec::new(),
        };
        let export = |name: &str, function: Function| Export {
            name: name.to_owned(),
            kind: INSTANCE.to_owned(),
            functions: vec![function],
        };
        let anatomy = Anatomy {
            exports: vec![
                export("wasi:cli/run@0.2.3", function("run")),
                export("wasi:http/incoming-handler@0.2.3", function("handle")),
                export("a:b/c", function("other")),
            ],
            imports: vec!["wasi:cli/stdout@0.2.3".to_owned()],
            ..Anatomy::default()
        };
        let text = tools(&anatomy, Path::new("a.wasm"))
            .split_whitespace()
            .filter(|word| *word != "|")
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(
            text,
            format!("Its tools run {PROGRAM_TAKES} request {SERVICE_TAKES} c.other func() -> result")
        );
    }

    #[test]
    fn the_tools_are_those_of_an_installation() {
        let function = |name: &str| Function {
            name: name.to_owned(),
            wit: "func()".to_owned(),
            unfit: None,
            gives: Vec::new(),
        };
        let export = |name: &str, functions: &[&str]| Export {
            name: name.to_owned(),
            kind: INSTANCE.to_owned(),
            functions: functions.iter().map(|name| function(name)).collect(),
        };
        let many: Vec<String> = (0..95).map(|n| format!("f{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let long = "x".repeat(57);
        let anatomy = Anatomy {
            exports: vec![
                export("wasi:cli/run@0.3.0", &["run"]),
                export("wasi:cli/run@0.2.3", &["run"]),
                export("exports", &["init"]),
                export("a:b/c", &["[method]thing.drop", &long]),
                export("a:b/d", &many),
            ],
            ..Anatomy::default()
        };
        let text = tools(&anatomy, Path::new("lo-ng.wasm"));
        let said = text.split_whitespace().filter(|word| *word != "|").collect::<Vec<_>>().join(" ");
        for part in [
            "run-0.2 takes args",
            "cannot be a tool: the component has the same for a newer WASI",
            "c.thing.drop func()",
            "cannot be a tool: a name has 1 to 58 letters, digits, hyphens, underscores and dots, so that lo-ng.NAME has \
             at most 64; see `rename`",
            "d.f61 func()",
            "33 more functions are no tools: 97 could be, and the limit is 64. `--max-tools 97`",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("init") && !said.contains("d.f62 func"), "{said}");
    }

    #[test]
    fn only_resources_that_a_tool_gives_are_let_go_of() {
        let function = |name: &str, unfit: Option<&str>, gives: &[usize]| Function {
            name: name.to_owned(),
            wit: "func()".to_owned(),
            unfit: unfit.map(str::to_owned),
            gives: gives.to_owned(),
        };
        let own = |interface: Option<&str>, name: &str| Resource {
            interface: interface.map(str::to_owned),
            name: name.to_owned(),
        };
        let functions = vec![
            function("[constructor]thing", None, &[0]),
            function("[method]thing.drop", None, &[]),
            function("refused", Some("it has a future"), &[1]),
            function("many", None, &[2]),
        ];
        let kind = INSTANCE.to_owned();
        let anatomy = Anatomy {
            exports: vec![Export { name: "a:b/c".to_owned(), kind, functions }],
            resources: vec![own(Some("a:b/c"), "thing"), own(Some("a:b/c"), "other"), own(None, "whole")],
            ..Anatomy::default()
        };
        let names: Vec<_> = tool_list::named(&anatomy)
            .into_iter()
            .filter(|named| named.unfit.is_none())
            .map(|named| named.name)
            .collect();
        assert_eq!(names, ["c.thing.new", "c.thing.drop", "c.many", "c.thing.drop-handle", "whole.drop"]);
        let text = tools(&anatomy, Path::new("a.wasm"));
        assert!(text.contains("    | func(self: whole)\n    | Lets go of a resource."), "{text}");
    }

    #[test]
    fn core_modules_are_named_by_what_they_are_for() {
        let of = |is_preview_one, is_command, has_types| {
            let module = Some(Module { has_types, is_preview_one, is_command });
            super::module(&Anatomy { module, ..Anatomy::default() })
        };
        assert_eq!(of(true, true, false), "a core module, a program for WASI preview 1");
        assert_eq!(of(true, false, true), "a core module for WASI preview 1");
        assert_eq!(of(false, false, true), "a core module that says its types");
        assert_eq!(of(false, true, false), "a core module");
    }
}
