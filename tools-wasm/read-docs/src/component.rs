//! The component: converts between WIT types and the kit's types.

use scorpiox_tool_kit as kit;

wit_bindgen::generate!({
    path: "../../wit",
    generate_all,
    // The imports are the component's only capabilities.
    inline: "
        package scorpiox:read-docs;
        world read-docs {
            import scorpiox:tool/web@0.1.0;
            import scorpiox:tool/progress@0.1.0;
            import scorpiox:tool/bounds@0.1.0;
            import scorpiox:tool/files@0.1.0;
            export scorpiox:tool/tool@0.1.0;
        }
    ",
});

kit::bridge_client!();
kit::bridge_files!();
kit::bridge_tool!();
kit::bridge_web!();

struct ReadDocs;

impl exports::scorpiox::tool::tool::Guest for ReadDocs {
    fn list_tools() -> Vec<ToolDefinition> {
        vec![tool_definition(crate::definition())]
    }

    fn call(_name: String, arguments: String) -> Result<ToolResult, ToolError> {
        tool_result(crate::call(&mut HostWeb, &mut HostWeb, &mut HostFiles, &HostClient, &arguments))
    }
}

export!(ReadDocs);
