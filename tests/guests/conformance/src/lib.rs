//! Tools, prompts and resources that the official conformance suite calls, implemented as the suite
//! specifies.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package test:conformance;
        world conformance {
            import scorpiox:tool/attachments@0.1.0;
            import scorpiox:tool/clock@0.1.0;
            import scorpiox:tool/inputs@0.1.0;
            import scorpiox:tool/notices@0.1.0;
            import scorpiox:tool/progress@0.1.0;
            export scorpiox:tool/tool@0.1.0;
            export scorpiox:tool/prompts@0.1.0;
            export scorpiox:tool/resources@0.1.0;
            export scorpiox:tool/completion@0.1.0;
        }
    ",
    world: "test:conformance/conformance",
    generate_all,
});

mod data;
mod json;
mod prompts;
mod resources;
mod tools;

struct Conformance;

export!(Conformance);
