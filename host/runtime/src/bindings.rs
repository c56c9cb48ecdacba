//! Bindings for the guests' exports, generated from the WIT files. Each capability generates the bindings for
//! its own imports.

#![allow(missing_docs, clippy::pedantic, clippy::unwrap_used, unreachable_pub)]

pub mod any_tool {
    wasmtime::component::bindgen!({ path: "../../wit", world: "any-tool" });
}

/// Asynchronous counterpart of [`any_tool`], for components that import WASI.
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

/// Prompts that plugins offer in addition to tools. The other modules reuse its types.
pub mod prompting {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "prompting",
        with: {
            "scorpiox:tool/types": super::any_tool::scorpiox::tool::types,
            "scorpiox:tool/contents": scorpiox_capabilities::attachments::wit_contents,
        },
    });
}

/// Asynchronous counterpart of [`prompting`].
pub mod prompting_waiting {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "prompting",
        exports: { default: async },
        with: {
            "scorpiox:tool/types": super::any_tool::scorpiox::tool::types,
            "scorpiox:tool/contents": scorpiox_capabilities::attachments::wit_contents,
            "scorpiox:tool/offers": super::prompting::scorpiox::tool::offers,
        },
    });
}

pub mod resourceful {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "resourceful",
        with: {
            "scorpiox:tool/contents": scorpiox_capabilities::attachments::wit_contents,
            "scorpiox:tool/offers": super::prompting::scorpiox::tool::offers,
        },
    });
}

pub mod resourceful_waiting {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "resourceful",
        exports: { default: async },
        with: {
            "scorpiox:tool/contents": scorpiox_capabilities::attachments::wit_contents,
            "scorpiox:tool/offers": super::prompting::scorpiox::tool::offers,
        },
    });
}

pub mod completing {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "completing",
        with: {
            "scorpiox:tool/contents": scorpiox_capabilities::attachments::wit_contents,
            "scorpiox:tool/offers": super::prompting::scorpiox::tool::offers,
        },
    });
}

pub mod completing_waiting {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "completing",
        exports: { default: async },
        with: {
            "scorpiox:tool/contents": scorpiox_capabilities::attachments::wit_contents,
            "scorpiox:tool/offers": super::prompting::scorpiox::tool::offers,
        },
    });
}
