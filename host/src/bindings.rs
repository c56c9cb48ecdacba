//! What the WIT files generate, once, for all of the host.
//!
//! `capabilities` has a trait for each interface that a guest may import; the other
//! modules call what guests export. This is the only place that generates bindings.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]

pub mod capabilities {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "capabilities",
        imports: { default: trappable },
        trappable_error_type: {
            "scorpiox:tool/files.error" => crate::capabilities::files::FilesFailure,
            "scorpiox:tool/web.error" => crate::capabilities::web::WebFailure,
            "scorpiox:tool/shell.error" => crate::capabilities::shell::ShellFailure,
            "scorpiox:tool/store.error" => crate::capabilities::store::StoreFailure,
            "scorpiox:tool/timer.error" => crate::capabilities::timer::TimerFailure,
        },
    });
}

pub mod any_tool {
    wasmtime::component::bindgen!({ path: "../wit", world: "any-tool" });
}

pub mod plan_aware {
    wasmtime::component::bindgen!({ path: "../wit", world: "plan-aware" });
}

pub mod timed {
    wasmtime::component::bindgen!({ path: "../wit", world: "timed" });
}

pub mod skill_reader {
    wasmtime::component::bindgen!({ path: "../wit", world: "skill-reader" });
}
