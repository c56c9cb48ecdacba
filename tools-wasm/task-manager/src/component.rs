//! The component: WIT types to the kit's and back.

use scorpiox_tool_kit as kit;

wit_bindgen::generate!({ path: "../../wit", world: "task-manager" });

kit::bridge_tool!();
kit::bridge_client!();
kit::bridge_store!();

struct TaskManager;

impl exports::scorpiox::tool::tool::Guest for TaskManager {
    fn list_tools() -> Vec<ToolDefinition> {
        vec![tool_definition(crate::definition())]
    }

    fn call(_name: String, arguments: String) -> Result<ToolResult, ToolError> {
        tool_result(crate::call(&mut HostStore, &HostClient, clock::now(), &arguments))
    }
}

export!(TaskManager);
