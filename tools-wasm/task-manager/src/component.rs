//! The component: converts between WIT types and the kit's types.

use scorpiox_tool_kit as kit;

wit_bindgen::generate!({
    path: "../../wit",
    generate_all,
    // The imports are the component's only capabilities.
    inline: "
        package scorpiox:task-manager;
        world task-manager {
            import scorpiox:tool/store@0.1.0;
            import scorpiox:tool/clock@0.1.0;
            import scorpiox:tool/bounds@0.1.0;
            export scorpiox:tool/tool@0.1.0;
        }
    ",
});

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
