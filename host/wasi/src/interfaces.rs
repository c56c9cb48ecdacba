//! Which interfaces of WASI there are, by name: what is asked before anything is compiled.

use super::{config, keyvalue, logging};

/// Interfaces that [`super::link`] puts into a linker, each in all releases of WASI 0.2.
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

/// Whether an interface of WASI is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linked {
    /// It is, with what it is named for.
    Yes,
    /// It belongs to a newer WASI than there is.
    Newer,
    /// It is none that there is.
    No,
}

/// Whether this import of WASI is there.
pub fn linked(import: &str) -> Linked {
    let drafts = config::NAMES.iter().chain(&logging::NAMES).any(|name| *name == import);
    if drafts || keyvalue::names().any(|name| name == import) {
        return Linked::Yes;
    }
    let Some((path, version)) = import.split_once('@') else { return Linked::No };
    if version.starts_with("0.3.") {
        return Linked::Newer;
    }
    let Some((package, interface)) = path.split_once('/') else { return Linked::No };
    let is_released = version.starts_with("0.2.") && !version.contains('-');
    let is_known = RELEASED.iter().any(|(known, all)| *known == package && all.contains(&interface));
    if is_released && is_known { Linked::Yes } else { Linked::No }
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
        link(&mut linker).expect("it links");
        let mut is_there = |name: &str| {
            let resource = ResourceType::host::<()>();
            // A name is given once.
            linker.root().resource(name, resource, |_, _| Ok(())).is_err()
        };
        assert!(!is_there("wasi:cli/nothing@0.2.0"));
        for (package, interfaces) in RELEASED {
            for interface in interfaces {
                let mut releases = (0..40).map(|patch| format!("{package}/{interface}@0.2.{patch}"));
                assert!(releases.any(|name| is_there(&name)), "{package}/{interface}");
                assert_eq!(linked(&format!("{package}/{interface}@0.2.3")), Linked::Yes);
            }
        }
        let drafts = config::NAMES.iter().chain(&logging::NAMES).map(|name| (*name).to_owned());
        for name in drafts.chain(keyvalue::names()) {
            assert!(is_there(&name) && linked(&name) == Linked::Yes, "{name}");
        }
    }

    #[test]
    fn others_are_newer_or_not_there() {
        assert_eq!(linked("wasi:clocks/monotonic-clock@0.3.0"), Linked::Newer);
        assert_eq!(linked("wasi:http/handler@0.3.0-rc-2026-01-01"), Linked::Newer);
        for name in
            ["wasi:nn/tensor@0.2.0", "wasi:cli/environment", "wasi:cli/stdin@0.2.0-rc", "wasi:cli@0.2.0"]
        {
            assert_eq!(linked(name), Linked::No, "{name}");
        }
    }
}
