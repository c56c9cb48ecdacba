//! What the WIT files generate, once, for all of the host.
//!
//! `capabilities` has a trait for each interface that a guest may import; the other
//! modules call what guests export. This is the only place that generates bindings.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]

pub mod capabilities {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "capabilities",
        imports: { default: trappable },
        trappable_error_type: {
            "scorpiox:tool/ask.error" => crate::capabilities::ask::AskFailure,
            "scorpiox:tool/sampling.error" => crate::capabilities::sampling::SamplingFailure,
            "scorpiox:tool/files.error" => crate::capabilities::files::FilesFailure,
            "scorpiox:tool/web.error" => crate::capabilities::web::WebFailure,
            "scorpiox:tool/shell.error" => crate::capabilities::shell::ShellFailure,
            "scorpiox:tool/store.error" => crate::capabilities::store::StoreFailure,
            "scorpiox:tool/timer.error" => crate::capabilities::timer::TimerFailure,
        },
    });
}

pub mod any_tool {
    wasmtime::component::bindgen!({ path: "../../wit", world: "any-tool" });
}

/// The same, for components that have to wait: those with WASI.
pub mod any_tool_waiting {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "any-tool",
        exports: { default: async },
        with: { "scorpiox:tool/types": super::any_tool::scorpiox::tool::types },
    });
}

pub mod plan_aware {
    wasmtime::component::bindgen!({ path: "../../wit", world: "plan-aware" });
}

pub mod timed {
    wasmtime::component::bindgen!({ path: "../../wit", world: "timed" });
}

pub mod skill_reader {
    wasmtime::component::bindgen!({ path: "../../wit", world: "skill-reader" });
}
