//! The component: converts between WIT types and the kit's types.

use scorpiox_tool_kit as kit;

wit_bindgen::generate!({
    path: "../../wit",
    generate_all,
    // The imports are the component's only capabilities.
    inline: "
        package scorpiox:read-image;
        world read-image {
            import scorpiox:tool/files@0.1.0;
            export scorpiox:tool/tool@0.1.0;
        }
    ",
});

kit::bridge_files!();
kit::bridge_tool!();

struct ReadImage;

impl exports::scorpiox::tool::tool::Guest for ReadImage {
    fn list_tools() -> Vec<ToolDefinition> {
        vec![tool_definition(crate::definition())]
    }

    fn call(_name: String, arguments: String) -> Result<ToolResult, ToolError> {
        tool_result(crate::call(&mut HostFiles, &arguments))
    }
}

export!(ReadImage);
