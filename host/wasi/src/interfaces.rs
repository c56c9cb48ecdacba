//! Names of the supported WASI interfaces, which are checked before anything is compiled.

use super::{config, keyvalue, logging};

/// Interfaces that [`super::link`] adds to a linker, in all releases of WASI 0.2.
const RELEASED: [(&str, &[&str]); 7] = [
    ("wasi:io", &["error", "poll", "streams"]),
    ("wasi:clocks", &["wall-clock", "monotonic-clock"]),
    ("wasi:random", &["random", "insecure", "insecure-seed"]),
    (
        "wasi:cli",
        &[
            "environment",
            "exit",
            "stdin",
            "stdout",
            "stderr",
            "terminal-input",
            "terminal-output",
            "terminal-stdin",
            "terminal-stdout",
            "terminal-stderr",
        ],
    ),
    ("wasi:filesystem", &["preopens", "types"]),
    (
        "wasi:sockets",
        &[
            "instance-network",
            "network",
            "ip-name-lookup",
            "tcp-create-socket",
            "udp-create-socket",
            "tcp",
            "udp",
        ],
    ),
    ("wasi:http", &["outgoing-handler", "types"]),
];

/// Interfaces that [`super::link`] adds to a linker for WASI 0.3.
const RELEASED_0_3: [(&str, &[&str]); 6] = [
    ("wasi:clocks", &["monotonic-clock", "system-clock", "types"]),
    ("wasi:random", &["random", "insecure", "insecure-seed"]),
    (
        "wasi:cli",
        &[
            "environment",
            "exit",
            "stdin",
            "stdout",
            "stderr",
            "terminal-input",
            "terminal-output",
            "terminal-stdin",
            "terminal-stdout",
            "terminal-stderr",
            "types",
        ],
    ),
    ("wasi:filesystem", &["preopens", "types"]),
    ("wasi:sockets", &["ip-name-lookup", "types"]),
    ("wasi:http", &["client", "types"]),
];

/// Interface that all releases of WASI 0.2 mark as unstable.
const UNSTABLE: &str = "wasi:clocks/timezone";

/// Availability of a WASI interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// The interface is available.
    Yes,
    /// The interface belongs to a draft of WASI 0.3, whose types differ from the release.
    Draft,
    /// The interface belongs to WASI 0.3, but is not supported.
    Newer,
    /// The interface is not part of a release, but of a proposal, or it is marked as unstable.
    Unstable,
    /// The interface is unknown.
    No,
}

/// Returns the availability of a WASI import.
pub fn linked(import: &str) -> Linked {
    let drafts = config::NAMES.iter().chain(&logging::NAMES).any(|name| *name == import);
    if drafts || keyvalue::names().any(|name| name == import) {
        return Linked::Yes;
    }
    let Some((path, version)) = import.split_once('@') else { return Linked::No };
    let Some((package, interface)) = path.split_once('/') else { return Linked::No };
    let is_in = |released: &[(&str, &[&str])]| {
        released.iter().any(|(known, all)| *known == package && all.contains(&interface))
    };
    let is_draft = version.contains('-');
    match version.get(..4) {
        Some("0.2.") if !is_draft && is_in(&RELEASED) => Linked::Yes,
        Some("0.3.") if is_draft => Linked::Draft,
        Some("0.3.") if is_in(&RELEASED_0_3) => Linked::Yes,
        Some("0.3.") => Linked::Newer,
        _ if is_draft => Linked::Unstable,
        Some("0.2.") if path == UNSTABLE => Linked::Unstable,
        _ => Linked::No,
    }
}

/// Returns `true` for an import of WASI 0.3.
pub fn is_newer(import: &str) -> bool {
    super::is_wasi(import) && import.contains("@0.3.")
}

#[cfg(test)]
mod tests {
    use wasmtime::Engine;
    use wasmtime::component::{Linker, ResourceType};

    use super::super::{WasiState, link};
    use super::*;

    #[test]
    fn what_is_said_to_be_linked_is() {
        let engine = Engine::default();
        let mut linker = Linker::<WasiState>::new(&engine);
        link(&mut linker, true).expect("it links");
        let mut is_there = |name: &str| {
            let resource = ResourceType::host::<()>();
            // Defining an existing name fails.
            linker.root().resource(name, resource, |_, _| Ok(())).is_err()
        };
        assert!(!is_there("wasi:cli/nothing@0.2.0"));
        for (minor, all) in [("0.2", &RELEASED[..]), ("0.3", &RELEASED_0_3)] {
            for (package, interfaces) in all {
                for interface in *interfaces {
                    let mut releases = (0..40).map(|patch| format!("{package}/{interface}@{minor}.{patch}"));
                    // An interface with only types and no resources need not be defined in a linker.
                    let has_types_alone =
                        *interface == "types" && ["wasi:cli", "wasi:clocks"].contains(package);
                    let is_linked = releases.any(|name| is_there(&name));
                    assert!(is_linked || has_types_alone, "{package}/{interface}@{minor}");
                    assert_eq!(linked(&format!("{package}/{interface}@{minor}.3")), Linked::Yes);
                }
            }
        }
        let drafts = config::NAMES.iter().chain(&logging::NAMES).map(|name| (*name).to_owned());
        for name in drafts.chain(keyvalue::names()) {
            assert!(is_there(&name) && linked(&name) == Linked::Yes, "{name}");
        }
    }

    #[test]
    fn others_are_drafts_or_newer_or_not_there() {
        assert_eq!(linked("wasi:clocks/timezone@0.3.0"), Linked::Newer);
        assert_eq!(linked("wasi:http/types@0.3.0-rc-2026-01-01"), Linked::Draft);
        for name in ["wasi:cli/stdin@0.2.0-rc", "wasi:tls/types@0.2.0-draft", "wasi:clocks/timezone@0.2.12"] {
            assert_eq!(linked(name), Linked::Unstable, "{name}");
        }
        for name in ["wasi:nn/tensor@0.2.0", "wasi:cli/environment", "wasi:cli@0.2.0"] {
            assert_eq!(linked(name), Linked::No, "{name}");
        }
    }
}
