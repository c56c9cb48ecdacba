//! The component: WIT types to the crate's and back.

use scorpiox_tool_kit as kit;

use crate::FilesError;

wit_bindgen::generate!({
    path: "../../wit",
    generate_all,
    // What it imports is all it can do.
    inline: "
        package scorpiox:read-image;
        world read-image {
            import scorpiox:tool/files@0.1.0;
            export scorpiox:tool/tool@0.1.0;
        }
    ",
});

kit::bridge_tool!();

use scorpiox::tool::files;

struct HostFiles;

impl crate::Files for HostFiles {
    fn read(&mut self, path: &str, limit: u64) -> Result<Vec<u8>, FilesError> {
        files::read(path, limit).map_err(|error| match error {
            files::Error::Denied(text) => FilesError::Denied(text),
            files::Error::NotFound(text) => FilesError::NotFound(text),
            files::Error::Invalid(text) => FilesError::Invalid(text),
            files::Error::TooLarge(bytes) => FilesError::TooLarge(bytes),
            files::Error::Failed(text) => FilesError::Failed(text),
        })
    }
}

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
