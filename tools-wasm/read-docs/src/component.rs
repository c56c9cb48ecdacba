//! The component: WIT types to the kit's and back.

use scorpiox_tool_kit as kit;

wit_bindgen::generate!({ path: "../../wit", world: "read-docs" });

kit::bridge_client!();
kit::bridge_tool!();
kit::bridge_web!();

struct ReadDocs;

impl exports::scorpiox::tool::tool::Guest for ReadDocs {
    fn list_tools() -> Vec<ToolDefinition> {
        vec![tool_definition(crate::definition())]
    }

    fn call(_name: String, arguments: String) -> Result<ToolResult, ToolError> {
        tool_result(crate::call(&mut HostWeb, &mut HostWeb, &HostClient, &arguments))
    }
}

export!(ReadDocs);
