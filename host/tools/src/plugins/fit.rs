//! Whether a component can be a plugin, by what it is made of: asked before anything of it is compiled.

use scorpiox_anatomy::{Anatomy, INSTANCE};
use scorpiox_capabilities::Capability;
use scorpiox_definitions::TOOL_INTERFACE;
use scorpiox_plugin::{Asks, Pins};
use scorpiox_runtime::{OFFER_INTERFACES, is_offer};
use scorpiox_wasi::{Linked, is_wasi, linked};

use super::describe::Undescribed;
use super::grants::{GRANTABLE, grants};

const PACKAGE: &str = "scorpiox:tool/";
const VERSION: &str = "@0.1.0";
/// Interfaces of types alone.
const TYPES: [&str; 3] = ["types", "contents", "offers"];
/// What may be asked for so that requests to the client are made.
const REQUESTS: [&str; 3] = ["forms", "sampling", "roots"];
const INPUTS: &str = "scorpiox:tool/inputs@0.1.0";
/// Names of exports that an error lists.
const MAX_NAMES: usize = 5;

/// What an import is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Import {
    /// Every component has it.
    Free,
    /// It is there, and reaches something where `plugin.toml` asks for this.
    By(&'static str),
    /// It is not there if `plugin.toml` does not ask for this.
    Needs(&'static str),
    /// It is of a draft of WASI 0.3.
    DraftWasi,
    /// It is of WASI 0.3, and not there.
    NewerWasi,
    /// There is none of that name.
    Unknown,
}

/// What an import of this name is.
pub fn import(name: &str) -> Import {
    if is_wasi(name) {
        return match linked(name) {
            Linked::Draft => Import::DraftWasi,
            Linked::Newer => Import::NewerWasi,
            Linked::No => Import::Unknown,
            Linked::Yes => reaching(name).map_or(Import::Free, Import::By),
        };
    }
    let own = name.strip_prefix(PACKAGE).and_then(|rest| rest.strip_suffix(VERSION));
    match GRANTABLE.into_iter().find(|capability| Some(capability.name()) == own) {
        Some(Capability::Log | Capability::Progress | Capability::Attachments | Capability::Notices) => {
            Import::Free
        }
        // It gives what was approved of it: see `REQUESTS`.
        Some(Capability::Inputs) => Import::Free,
        Some(capability) => Import::Needs(capability.name()),
        None if own.is_some_and(|own| TYPES.contains(&own)) => Import::Free,
        None => Import::Unknown,
    }
}

/// What may be asked for so that an import gives something, where that is several things.
pub fn requests(name: &str) -> &'static [&'static str] {
    if name == INPUTS { &REQUESTS } else { &[] }
}

/// What has to be asked for so that an interface of WASI reaches something.
fn reaching(name: &str) -> Option<&'static str> {
    let name = name.split('@').next().unwrap_or_default();
    match name {
        "wasi:cli/environment" => Some("env"),
        "wasi:http/outgoing-handler" | "wasi:http/client" => Some("web"),
        // What hash maps are seeded with is nothing that anybody asks for, nor is a type without functions.
        "wasi:random/insecure" | "wasi:random/insecure-seed" | "wasi:clocks/types" => None,
        _ => [
            ("wasi:filesystem/", "files"),
            ("wasi:clocks/", "clock"),
            ("wasi:random/", "random"),
            ("wasi:keyvalue/", "store"),
        ]
        .into_iter()
        .find_map(|(begin, ask)| name.starts_with(begin).then_some(ask)),
    }
}

/// Refuses what can be no plugin, whatever compiling it would give.
pub fn check_anatomy(anatomy: &Anatomy, asks: &Asks) -> Result<(), Undescribed> {
    check_imports(anatomy.imports.iter().map(String::as_str), asks)?;
    check_version(anatomy.exports.iter().map(|export| export.name.as_str()))?;
    let has_own =
        anatomy.exports.iter().any(|export| export.name == TOOL_INTERFACE || is_offer(&export.name));
    if has_own || anatomy.functions().next().is_some() {
        Ok(())
    } else {
        Err(Undescribed::NoFunction(nothing(anatomy)))
    }
}

/// Refuses the interface of this project in another version.
pub(super) fn check_version<'a>(mut exports: impl Iterator<Item = &'a str>) -> Result<(), Undescribed> {
    let is_known = |name: &str| name == TOOL_INTERFACE || OFFER_INTERFACES.contains(&name);
    let is_other = |name: &&str| {
        let is_tool = name.starts_with(PACKAGE) && name.contains("/tool@");
        (is_tool || is_offer(name)) && !is_known(name)
    };
    exports.find(is_other).map_or(Ok(()), |other| Err(Undescribed::OtherVersion(other.to_owned())))
}

/// Refuses imports that are not there, and then those that are not asked for, which their author can.
pub(super) fn check_imports<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    asks: &Asks,
) -> Result<(), Undescribed> {
    let (granted, _) = grants(asks, &Pins::new())?;
    for name in names.clone() {
        match import(name) {
            Import::Free | Import::By(_) | Import::Needs(_) => {}
            Import::DraftWasi => return Err(Undescribed::DraftWasi(name.to_owned())),
            Import::NewerWasi => return Err(Undescribed::NewerWasi(name.to_owned())),
            Import::Unknown => return Err(Undescribed::UnknownImport(name.to_owned())),
        }
    }
    for name in names {
        if let Import::Needs(ask) = import(name)
            && !granted.iter().any(|capability| capability.name() == ask)
        {
            return Err(Undescribed::NotAskedFor { interface: name.to_owned(), ask });
        }
    }
    Ok(())
}

/// Why there is nothing to call, and what to do.
fn nothing(anatomy: &Anatomy) -> String {
    let names: Vec<_> = anatomy.exports.iter().map(|export| export.name.as_str()).collect();
    let Some(first) = names.get(..names.len().min(MAX_NAMES)).filter(|names| !names.is_empty()) else {
        return "it exports nothing, so there is nothing to call; export functions from its world, or build a program \
                (`cargo build --target wasm32-wasip2` of a main.rs)"
            .to_owned();
    };
    let more = if names.len() > MAX_NAMES { " and more" } else { "" };
    let what = if anatomy.exports.iter().any(|export| export.kind == INSTANCE) {
        "interfaces of types"
    } else {
        "types"
    };
    format!(
        "it exports {}{more}, and no function, so there is nothing to call: it is a library of {what}; export functions \
         from its world",
        first.join(", ")
    )
}

/// What standard libraries import of WASI, whether a program uses it or not: that of Rust for `wasm32-wasip2`, the C
/// library, the adapter of preview 1, and the engines of Python and JavaScript.
const OF_LIBRARIES: [&str; 4] = ["files", "env", "clock", "random"];

/// What who adds a plugin should know of it, each a sentence: what it asks for and cannot use, and what it can use and
/// does not ask for.
pub fn notes(anatomy: &Anatomy, asks: &Asks) -> Vec<String> {
    let asked: Vec<_> = asks.lines().iter().map(|ask| ask.name).collect();
    let mut used: Vec<(&'static str, &str)> = Vec::new();
    for name in &anatomy.imports {
        if let Import::By(ask) | Import::Needs(ask) = import(name)
            && !used.iter().any(|(known, _)| *known == ask)
        {
            used.push((ask, name));
        }
    }
    if anatomy.imports.iter().any(|name| !requests(name).is_empty()) {
        used.extend(asked.iter().filter(|ask| REQUESTS.contains(*ask)).map(|ask| (*ask, INPUTS)));
    }
    let idle = asked.iter().filter(|ask| !used.iter().any(|(used, _)| used == *ask)).map(|ask| {
        format!("plugin.toml asks for {ask}, and no import of the component uses it: take [capabilities.{ask}] out.")
    });
    let closed = used.iter().filter(|(ask, _)| !asked.contains(ask));
    let (of_libraries, own): (Vec<_>, Vec<_>) = closed.partition(|(ask, _)| OF_LIBRARIES.contains(ask));
    let own: Vec<_> = own.iter().map(|(ask, name)| format!("{ask} ({name})")).collect();
    let own = (!own.is_empty()).then(|| {
        format!(
            "The component can use what plugin.toml does not ask for: {}. It does not reach any of that; where it has \
             to, write [capabilities.…] for it.",
            own.join(", ")
        )
    });
    let of_libraries: Vec<_> = of_libraries.iter().map(|(ask, _)| *ask).collect();
    let of_libraries = (!of_libraries.is_empty()).then(|| {
        format!(
            "Standard libraries always import {}, whether the component needs that or not. It reaches nothing there; \
             if it has to, write [capabilities.…] for it.",
            of_libraries.join(", ")
        )
    });
    idle.chain(own).chain(of_libraries).collect()
}

#[cfg(test)]
mod tests {
    use scorpiox_anatomy::{Export, FUNCTION, Function};
    use scorpiox_plugin::PlainAsk;

    use super::*;

    fn component(imports: &[&str], exports: &[(&str, &str, bool)]) -> Anatomy {
        let export = |(name, kind, has_function): &(&str, &str, bool)| {
            let function = Function { name: "f".to_owned(), wit: "func()".to_owned(), unfit: None };
            let functions = if *has_function { vec![function] } else { Vec::new() };
            Export { name: (*name).to_owned(), kind: (*kind).to_owned(), functions }
        };
        Anatomy {
            imports: imports.iter().map(|name| (*name).to_owned()).collect(),
            exports: exports.iter().map(export).collect(),
            ..Anatomy::default()
        }
    }

    fn refusal(imports: &[&str], exports: &[(&str, &str, bool)]) -> String {
        check_anatomy(&component(imports, exports), &Asks::default()).expect_err("an error").to_string()
    }

    #[test]
    fn what_cannot_run_is_refused_with_its_name() {
        let one = [("f", FUNCTION, true)];
        assert!(check_anatomy(&component(&["wasi:cli/stdin@0.2.3"], &one), &Asks::default()).is_ok());
        assert!(refusal(&["foo:bar/baz"], &one).starts_with("it imports foo:bar/baz, which this version"));
        assert!(refusal(&["wasi:nn/graph@0.2.0"], &one).starts_with("it imports wasi:nn/graph@0.2.0, which"));
        assert!(check_anatomy(&component(&["wasi:cli/stdin@0.3.0"], &one), &Asks::default()).is_ok());
        let newer = refusal(&["wasi:clocks/timezone@0.3.0"], &one);
        assert!(newer.starts_with("it is a WASI 0.3 component, and imports wasi:clocks/timezone@0.3.0"));
        let draft = refusal(&["wasi:clocks/monotonic-clock@0.3.0-rc-2026-01-01"], &one);
        assert!(draft.starts_with("it is a component for a draft of WASI 0.3 (it imports wasi:clocks/mono"));
        let unasked = refusal(&["scorpiox:tool/store@0.1.0"], &one);
        assert!(unasked.contains("[capabilities.store] with why"), "{unasked}");
        let both = refusal(&["scorpiox:tool/store@0.1.0", "foo:bar/baz"], &one);
        assert!(both.starts_with("it imports foo:bar/baz, which"), "{both}");
        assert!(refusal(&["scorpiox:tool/store@0.2.0"], &one).contains("scorpiox:tool/store@0.2.0"));
        let other = refusal(&[], &[("scorpiox:tool/tool@0.2.0", INSTANCE, true)]);
        assert!(
            other.starts_with("it exports scorpiox:tool/tool@0.2.0, but this program supports"),
            "{other}"
        );
    }

    #[test]
    fn why_there_are_no_tools_is_explained() {
        assert!(refusal(&[], &[]).starts_with("it exports nothing, so there is nothing to call;"));
        let library = refusal(&[], &[("a:b/types", INSTANCE, false)]);
        assert!(library.starts_with("it exports a:b/types, and no function"), "{library}");
    }

    #[test]
    fn notes_say_what_is_asked_for_in_vain_and_what_is_not_asked_for() {
        let plain = || Some(PlainAsk { why: "x".to_owned() });
        let asks = Asks { clock: plain(), store: plain(), ..Asks::default() };
        let imports = [
            "wasi:clocks/wall-clock@0.2.0",
            "wasi:filesystem/types@0.2.0",
            "wasi:filesystem/preopens@0.2.0",
            "wasi:random/insecure-seed@0.2.0",
            "wasi:cli/stdin@0.2.0",
            "wasi:cli/environment@0.2.0",
            "wasi:http/outgoing-handler@0.2.0",
        ];
        assert_eq!(
            notes(&component(&imports, &[]), &asks),
            [
                "plugin.toml asks for store, and no import of the component uses it: take [capabilities.store] out.",
                "The component can use what plugin.toml does not ask for: web (wasi:http/outgoing-handler@0.2.0). It \
                 does not reach any of that; where it has to, write [capabilities.…] for it.",
                "Standard libraries always import files, env, whether the component needs that or not. It reaches \
                 nothing there; if it has to, write [capabilities.…] for it.",
            ]
        );
        assert!(
            notes(&component(&imports[..1], &[]), &Asks { clock: plain(), ..Asks::default() }).is_empty()
        );
    }
}
