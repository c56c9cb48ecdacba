//! The component: converts between WIT types and the kit's types.

use scorpiox_tool_kit as kit;

use crate::EngineSettings;

wit_bindgen::generate!({
    path: "../../wit",
    generate_all,
    // The imports are the component's only capabilities.
    inline: "
        package scorpiox:web-search;
        world web-search {
            import scorpiox:tool/web@0.1.0;
            import scorpiox:tool/search-engines@0.1.0;
            import scorpiox:tool/progress@0.1.0;
            import scorpiox:tool/store@0.1.0;
            import scorpiox:tool/clock@0.1.0;
            import scorpiox:tool/bounds@0.1.0;
            export scorpiox:tool/tool@0.1.0;
        }
    ",
});

kit::bridge_client!();
kit::bridge_tool!();
kit::bridge_store!();
kit::bridge_web!();

use scorpiox::tool::search_engines;

struct WebSearch;

fn settings() -> Vec<EngineSettings> {
    let set = |set: search_engines::Settings| EngineSettings {
        name: set.name,
        enabled: set.enabled,
        base_url: set.base_url,
        key: set.key,
    };
    search_engines::all().into_iter().map(set).collect()
}

impl exports::scorpiox::tool::tool::Guest for WebSearch {
    fn list_tools() -> Vec<ToolDefinition> {
        vec![tool_definition(crate::definition())]
    }

    fn call(_name: String, arguments: String) -> Result<ToolResult, ToolError> {
        tool_result(crate::call(
            &mut HostWeb,
            &settings(),
            &mut HostWeb,
            &mut HostStore,
            &HostClient,
            &clock::now,
            &arguments,
        ))
    }
}

export!(WebSearch);
