//! Component that runs commands: each of its tools makes one call of the shell interface.

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package scorpiox:test;
        world commander {
            import scorpiox:tool/shell@0.1.0;
            export scorpiox:tool/tool@0.1.0;
        }
    ",
    world: "scorpiox:test/commander",
    generate_all,
});

use exports::scorpiox::tool::tool::{Guest, ToolDefinition, ToolError, ToolResult};
use scorpiox::tool::shell;
use scorpiox::tool::types::Content;

struct Commander;

impl Guest for Commander {
    fn list_tools() -> Vec<ToolDefinition> {
        Vec::new()
    }

    /// The arguments are a command or a task ID. The result is the outcome in Rust's debug notation.
    fn call(name: String, arguments: String) -> Result<ToolResult, ToolError> {
        let task = || arguments.parse().unwrap_or(0);
        let text = match name.as_str() {
            "run" => format!("{:?}", shell::run(&arguments, None)),
            "run-for-no-time" => format!("{:?}", shell::run(&arguments, Some(0))),
            "start" => format!("{:?}", shell::start(&arguments)),
            "read" => format!("{:?}", shell::read(task())),
            "kill" => format!("{:?}", shell::kill(task())),
            other => return Err(ToolError::NotFound(format!("no call {other}"))),
        };
        Ok(ToolResult { content: vec![Content::Text(text)], structured: None })
    }
}

export!(Commander);
