//! The component: converts between WIT types and the kit's types.

use scorpiox_tool_kit as kit;

wit_bindgen::generate!({
    path: "../../wit",
    generate_all,
    // The imports are the component's only capabilities.
    inline: "
        package scorpiox:plan-mode;
        world plan-mode {
            import scorpiox:tool/store@0.1.0;
            import scorpiox:tool/clock@0.1.0;
            import scorpiox:tool/files@0.1.0;
            import scorpiox:tool/bounds@0.1.0;
            export scorpiox:tool/tool@0.1.0;
            export scorpiox:tool/plan-status@0.1.0;
        }
    ",
});

kit::bridge_tool!();
kit::bridge_client!();
kit::bridge_store!();
kit::bridge_files!();

struct PlanMode;

impl exports::scorpiox::tool::tool::Guest for PlanMode {
    fn list_tools() -> Vec<ToolDefinition> {
        vec![tool_definition(crate::definition())]
    }

    fn call(_name: String, arguments: String) -> Result<ToolResult, ToolError> {
        tool_result(crate::call(&mut HostStore, &mut HostFiles, &HostClient, clock::now(), &arguments))
    }
}

impl exports::scorpiox::tool::plan_status::Guest for PlanMode {
    fn active() -> Result<Option<exports::scorpiox::tool::plan_status::Plan>, String> {
        let plan = crate::active(&mut HostStore)?;
        Ok(plan.map(|(goal, started_at)| exports::scorpiox::tool::plan_status::Plan { goal, started_at }))
    }
}

export!(PlanMode);
