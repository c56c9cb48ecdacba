//! Decides from a component's imports and exports whether it can be a plugin, before anything is compiled.

use scorpiox_capabilities::Capability;
use scorpiox_component_abi::anatomy::{Anatomy, INSTANCE};
use scorpiox_definitions::TOOL_INTERFACE;
use scorpiox_plugin::{Asks, Pins};
use scorpiox_runtime::{OFFER_INTERFACES, is_offer};
use scorpiox_wasi::{Linked, is_wasi, linked};

use super::describe::Undescribed;
use super::grants::{GRANTABLE, grants};

const PACKAGE: &str = "scorpiox:tool/";
/// Prefix of this project's packages.
const OWN_PACKAGES: &str = "scorpiox:";
const VERSION: &str = "@0.1.0";
/// Type-only interfaces.
const TYPES: [&str; 3] = ["types", "contents", "offers"];
/// Package whose values include the granted variables, and the capability for these.
const CONFIG: &str = "wasi:config/";
const ENV: &str = "env";
/// Interfaces for requests.
const OWN_WEB: &str = "scorpiox:tool/web@";
const HTTP: &str = "wasi:http/";
/// Capabilities that enable requests to the client.
const REQUESTS: [&str; 3] = ["forms", "sampling", "roots"];
const INPUTS: &str = "scorpiox:tool/inputs@0.1.0";
/// Maximum number of exports in an error.
const MAX_NAMES: usize = 5;

/// Availability of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Import {
    /// Available to every component.
    Free,
    /// Available, but only reaches something if `plugin.toml` requests this capability.
    By(&'static str),
    /// Only available if `plugin.toml` requests this capability.
    Needs(&'static str),
    /// Belongs to a draft of WASI 0.3.
    DraftWasi,
    /// Belongs to WASI 0.3, but is not supported.
    NewerWasi,
    /// Is an unstable (draft) interface of WASI that is not supported.
    UnstableWasi,
    /// Does not exist.
    Unknown,
    /// Belongs to an external package.
    Other,
}

/// Returns the availability of an import that is not type-only. Type-only imports are available to every
/// component.
pub fn import(name: &str) -> Import {
    if is_wasi(name) {
        return match linked(name) {
            Linked::Draft => Import::DraftWasi,
            Linked::Newer => Import::NewerWasi,
            Linked::Unstable => Import::UnstableWasi,
            Linked::No => Import::Unknown,
            Linked::Yes => reaching(name).map_or(Import::Free, Import::By),
        };
    }
    let own = name.strip_prefix(PACKAGE).and_then(|rest| rest.strip_suffix(VERSION));
    match GRANTABLE.into_iter().find(|capability| Some(capability.name()) == own) {
        Some(Capability::Log | Capability::Progress | Capability::Attachments | Capability::Notices) => {
            Import::Free
        }
        // It only makes the approved requests; see `REQUESTS`.
        Some(Capability::Inputs) => Import::Free,
        Some(capability) => Import::Needs(capability.name()),
        None if own.is_some_and(|own| TYPES.contains(&own)) => Import::Free,
        None if name.starts_with(OWN_PACKAGES) => Import::Unknown,
        None => Import::Other,
    }
}

/// Returns the capabilities that enable an import, if there are several.
pub fn requests(name: &str) -> &'static [&'static str] {
    if name == INPUTS { &REQUESTS } else { &[] }
}

/// Returns the capability that makes a WASI interface reach something.
fn reaching(name: &str) -> Option<&'static str> {
    let name = name.split('@').next().unwrap_or_default();
    match name {
        "wasi:cli/environment" => Some("env"),
        "wasi:http/outgoing-handler" | "wasi:http/client" => Some("web"),
        // Hash map seeds and type-only interfaces need no capability.
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

/// Rejects a component that cannot be a plugin, without compiling it.
pub fn check_anatomy(anatomy: &Anatomy, asks: &Asks) -> Result<(), Undescribed> {
    check_imports(anatomy.imports.iter().map(String::as_str), asks)?;
    check_exports(anatomy)
}

/// Rejects a component that has nothing to call.
pub fn check_exports(anatomy: &Anatomy) -> Result<(), Undescribed> {
    check_version(anatomy.exports.iter().map(|export| export.name.as_str()))?;
    let has_own =
        anatomy.exports.iter().any(|export| export.name == TOOL_INTERFACE || is_offer(&export.name));
    if has_own || anatomy.functions().next().is_some() {
        Ok(())
    } else {
        Err(Undescribed::NoFunction(nothing(anatomy)))
    }
}

/// Rejects another version of this project's interfaces.
pub(super) fn check_version<'a>(mut exports: impl Iterator<Item = &'a str>) -> Result<(), Undescribed> {
    let is_known = |name: &str| name == TOOL_INTERFACE || OFFER_INTERFACES.contains(&name);
    let is_other = |name: &&str| {
        let is_tool = name.starts_with(PACKAGE) && name.contains("/tool@");
        (is_tool || is_offer(name)) && !is_known(name)
    };
    exports.find(is_other).map_or(Ok(()), |other| Err(Undescribed::OtherVersion(other.to_owned())))
}

/// Rejects unavailable imports first, and then imports that the manifest does not request, which the author
/// can fix.
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
            Import::UnstableWasi => return Err(Undescribed::UnstableWasi(name.to_owned())),
            Import::Unknown => return Err(Undescribed::UnknownImport(name.to_owned())),
            Import::Other => return Err(Undescribed::OtherComponent(name.to_owned())),
        }
    }
    let missing = names.filter_map(|name| match import(name) {
        Import::Needs(ask) if !granted.iter().any(|capability| capability.name() == ask) => Some((name, ask)),
        _ => None,
    });
    let (interfaces, tables): (Vec<_>, Vec<_>) =
        missing.map(|(name, ask)| (name, format!("[capabilities.{ask}]"))).unzip();
    if interfaces.is_empty() {
        return Ok(());
    }
    Err(Undescribed::NotAskedFor { interfaces: interfaces.join(", "), tables: tables.join(", ") })
}

/// Explains why there is nothing to call, and suggests a remedy.
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

/// Capabilities of WASI imports that standard libraries always have: those of Rust for `wasm32-wasip2`, the C
/// library, the preview 1 adapter, and the Python and JavaScript engines.
const OF_LIBRARIES: [&str; 4] = ["files", "env", "clock", "random"];

/// Returns notes for a user who adds the plugin, one sentence each: requested capabilities that the component
/// cannot use, and usable ones that are not requested.
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
    // Granted variables are values of it, too. It also has others, so it does not suggest the grant.
    if let Some(config) = anatomy.imports.iter().find(|name| name.starts_with(CONFIG))
        && asked.contains(&ENV)
    {
        used.push((ENV, config));
    }
    let idle = asked.iter().filter(|ask| !used.iter().any(|(used, _)| used == *ask)).map(|ask| {
        format!("plugin.toml asks for {ask}, and no import of the component uses it: take [capabilities.{ask}] out.")
    });
    let closed = used.iter().filter(|(ask, _)| !asked.contains(ask));
    let (of_libraries, own): (Vec<_>, Vec<_>) = closed.partition(|(ask, _)| OF_LIBRARIES.contains(ask));
    let own: Vec<_> = own.iter().map(|(ask, name)| format!("{ask} ({name})")).collect();
    let own = (!own.is_empty()).then(|| {
        format!(
            "The component imports interfaces whose capability plugin.toml does not request: {}. Calls of them fail. If it \
             needs them, add [capabilities.…].",
            own.join(", ")
        )
    });
    let of_libraries: Vec<_> = of_libraries.iter().map(|(ask, _)| *ask).collect();
    let of_libraries = (!of_libraries.is_empty()).then(|| {
        format!(
            "plugin.toml does not request {}, which standard libraries import whether a component uses them or not. If it \
             uses them, add [capabilities.…].",
            of_libraries.join(", ")
        )
    });
    idle.chain(own).chain(of_libraries).chain(unsent(anatomy, asks)).collect()
}

/// Says that headers are never sent, if the component makes its requests by another interface than `wasi:http`.
fn unsent(anatomy: &Anatomy, asks: &Asks) -> Option<String> {
    let has_headers = asks.web.as_ref().is_some_and(|web| !web.headers.is_empty());
    let imports = |start: &str| anatomy.imports.iter().any(|name| name.starts_with(start));
    (has_headers && imports(OWN_WEB) && !imports(HTTP)).then(|| {
        "Its headers are never sent: they are added to requests of wasi:http alone, and the component imports \
         scorpiox:tool/web."
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use scorpiox_component_abi::anatomy::{Export, FUNCTION, Function};
    use scorpiox_plugin::{EnvAsk, PlainAsk, WebAsk};

    use super::*;

    fn component(imports: &[&str], exports: &[(&str, &str, bool)]) -> Anatomy {
        let export = |(name, kind, has_function): &(&str, &str, bool)| {
            let function =
                Function { name: "f".to_owned(), wit: "func()".to_owned(), unfit: None, gives: Vec::new() };
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
        assert_eq!(
            refusal(&["foo:bar/baz"], &one),
            "it imports foo:bar/baz, which another component has to provide; join them with `wac plug`"
        );
        let later = refusal(&["scorpiox:tool/store@0.9.0"], &one);
        assert!(later.ends_with("does not provide; a newer one may"), "{later}");
        assert!(refusal(&["wasi:nn/graph@0.2.0"], &one).starts_with("it imports wasi:nn/graph@0.2.0, which"));
        assert!(check_anatomy(&component(&["wasi:cli/stdin@0.3.0"], &one), &Asks::default()).is_ok());
        let newer = refusal(&["wasi:clocks/timezone@0.3.0"], &one);
        assert!(newer.starts_with("it is a WASI 0.3 component, and imports wasi:clocks/timezone@0.3.0"));
        for unstable in ["wasi:clocks/timezone@0.2.3", "wasi:tls/types@0.2.0-draft"] {
            assert_eq!(
                refusal(&[unstable], &one),
                format!(
                    "it needs {unstable}, an unstable (draft) feature of WASI that this version of scorpiox-code does not \
                     provide; build it without that"
                )
            );
        }
        let draft = refusal(&["wasi:clocks/monotonic-clock@0.3.0-rc-2026-01-01"], &one);
        assert!(draft.starts_with("it is a component for a draft of WASI 0.3 (it imports wasi:clocks/mono"));
        let unasked = refusal(&["scorpiox:tool/store@0.1.0"], &one);
        assert!(unasked.contains("[capabilities.store] with why"), "{unasked}");
        let two = refusal(&["scorpiox:tool/store@0.1.0", "scorpiox:tool/ask@0.1.0"], &one);
        assert!(two.contains("[capabilities.store], [capabilities.ask] with why"), "{two}");
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
                "The component imports interfaces whose capability plugin.toml does not request: web \
                 (wasi:http/outgoing-handler@0.2.0). Calls of them fail. If it needs them, add [capabilities.…].",
                "plugin.toml does not request files, env, which standard libraries import whether a component uses them or \
                 not. If it uses them, add [capabilities.…].",
            ]
        );
        assert!(
            notes(&component(&imports[..1], &[]), &Asks { clock: plain(), ..Asks::default() }).is_empty()
        );
        let env = EnvAsk { why: "x".to_owned(), names: vec!["HOME".to_owned()], secrets: Vec::new() };
        let config = component(&["wasi:config/store@0.2.0-rc.1"], &[]);
        assert!(notes(&config, &Asks { env: Some(env), ..Asks::default() }).is_empty());
        assert!(notes(&config, &Asks::default()).is_empty());
        let headers = BTreeMap::from([("a.example.com".to_owned(), BTreeMap::new())]);
        let web = WebAsk { why: "x".to_owned(), hosts: vec!["a.example.com".to_owned()], headers };
        let asks = Asks { web: Some(web), ..Asks::default() };
        let of = |import: &str| notes(&component(&[import], &[]), &asks);
        assert!(of("scorpiox:tool/web@0.1.0")[0].starts_with("Its headers are never sent: "));
        assert_eq!(of("wasi:http/outgoing-handler@0.2.0"), [""; 0]);
    }
}
