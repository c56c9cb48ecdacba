//! Tools.

use crate::exports::scorpiox::tool::tool::Guest;
use crate::scorpiox::tool::attachments;
use crate::scorpiox::tool::clock;
use crate::scorpiox::tool::contents::{Body, Media, ResourceContents, RichContent};
use crate::scorpiox::tool::inputs::{
    self, Abilities, Form, FormAnswer, InputAnswer, InputRequest, ModelRequest,
};
use crate::scorpiox::tool::notices::{self, Lists, Severity};
use crate::scorpiox::tool::progress;
use crate::scorpiox::tool::types::{Content, Hints, Image, ToolDefinition, ToolError, ToolResult};
use crate::{Conformance, data, json};

const NO_ARGUMENTS: &str = r#"{"type":"object","properties":{}}"#;

/// Names and descriptions of tools without arguments.
const PLAIN: &[(&str, &str)] = &[
    ("test_simple_text", "Gives a text"),
    ("test_image_content", "Gives a picture"),
    ("test_audio_content", "Gives a sound"),
    ("test_embedded_resource", "Gives a resource"),
    ("test_multiple_content_types", "Gives a text, a picture and a resource"),
    ("test_error_handling", "Fails"),
    ("test_tool_with_progress", "Says how far it is"),
    ("test_tool_with_logging", "Writes to the client's log"),
    ("test_logging_tool", "Writes to the client's log"),
    ("test_missing_capability", "Needs the client's model"),
    ("test_streaming_elicitation", "Says how far it is, and asks for a form"),
    ("test_trigger_tool_change", "Says that the list of tools has changed"),
    ("test_trigger_prompt_change", "Says that the list of prompts has changed"),
    ("test_elicitation_sep1034_defaults", "Asks for a form with defaults"),
    ("test_elicitation_sep1330_enums", "Asks for a form with choices"),
    ("test_input_required_result_elicitation", "Asks for a form"),
    ("test_input_required_result_sampling", "Asks the client's model"),
    ("test_input_required_result_list_roots", "Asks for the client's roots"),
    ("test_input_required_result_request_state", "Asks for a form, with a state"),
    ("test_input_required_result_multiple_inputs", "Asks for a form, the client's model and its roots"),
    ("test_input_required_result_multi_round", "Asks twice"),
    ("test_input_required_result_tampered_state", "Asks for a form, with a state"),
    ("test_input_required_result_capabilities", "Asks for what the client can do"),
];

const SCHEMA_2020_12: &str = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}"##;

const DEFAULTS: &str = r#"{"type":"object","properties":{"name":{"type":"string","description":"A name","default":"John Doe"},"age":{"type":"integer","description":"An age","default":30},"score":{"type":"number","description":"A score","default":95.5},"status":{"type":"string","description":"A state","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","description":"Whether it is so","default":true}},"required":[]}"#;

const CHOICES: &str = r#"{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},"required":[]}"#;

fn definition(name: &str, description: &str, input_schema: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        title: name.to_owned(),
        description: description.to_owned(),
        input_schema: input_schema.to_owned(),
        output_schema: None,
        hints: Hints { read_only: true, destructive: false, idempotent: true, open_world: false },
    }
}

fn one_text(name: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"{name}":{{"type":"string"}}}},"required":["{name}"]}}"#)
}

impl Guest for Conformance {
    fn list_tools() -> Vec<ToolDefinition> {
        let plain = PLAIN.iter().map(|(name, about)| definition(name, about, NO_ARGUMENTS));
        let region = r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]}"#;
        plain
            .chain([
                definition("test_sampling", "Asks the client's model", &one_text("prompt")),
                definition("test_elicitation", "Asks for a form", &one_text("message")),
                definition(
                    "json_schema_2020_12_tool",
                    "Tool with JSON Schema 2020-12 features",
                    SCHEMA_2020_12,
                ),
                definition("test_custom_header", "Takes an argument that is in a header, too", region),
            ])
            .collect()
    }

    fn call(name: String, arguments: String) -> Result<ToolResult, ToolError> {
        match name.as_str() {
            "test_simple_text" => given("This is a simple text response for testing."),
            "test_image_content" => content(vec![picture()]),
            "test_audio_content" => {
                attach(RichContent::Audio(data::sound()))?;
                content(Vec::new())
            }
            "test_embedded_resource" => {
                attach(resource(
                    "test://embedded-resource",
                    "text/plain",
                    "This is an embedded resource content.",
                ))?;
                content(Vec::new())
            }
            "test_multiple_content_types" => {
                let json = r#"{"test":"data","value":123}"#;
                attach(resource("test://mixed-content-resource", "application/json", json))?;
                content(vec![Content::Text("Multiple content types test:".to_owned()), picture()])
            }
            "test_error_handling" => {
                Err(ToolError::Failed("This tool intentionally returns an error for testing".to_owned()))
            }
            "test_tool_with_progress" => {
                for done in [0, 50, 100] {
                    progress::report(done, Some(100), "Testing");
                    wait();
                }
                given("It said how far it was.")
            }
            "test_tool_with_logging" | "test_logging_tool" => {
                for message in ["Tool execution started", "Tool processing data", "Tool execution completed"]
                {
                    notices::log(Severity::Info, message);
                    wait();
                }
                given("It wrote to the log.")
            }
            "test_sampling" => {
                let prompt = json::text(&arguments, "prompt").unwrap_or_default();
                given(&format!("LLM response: {}", model("question", &prompt, 100)?))
            }
            "test_elicitation" => {
                let message = json::text(&arguments, "message").unwrap_or_default();
                answered("User response", &message, &required_form("username", "string"))
            }
            "test_elicitation_sep1034_defaults" => {
                answered("Elicitation completed", "Please check this", DEFAULTS)
            }
            "test_elicitation_sep1330_enums" => answered("Elicitation completed", "Please choose", CHOICES),
            "test_missing_capability" => {
                inputs::require(Abilities::MODEL);
                given("The client lets its model be asked.")
            }
            "test_streaming_elicitation" => {
                progress::report(0, Some(1), "Testing");
                let content = form("confirm", "Please confirm", &required_form("ok", "boolean"))?;
                given(&format!("It was answered: {content}"))
            }
            "test_trigger_tool_change" => {
                notices::lists_changed(Lists::TOOLS);
                given("The list of tools has changed.")
            }
            "test_trigger_prompt_change" => {
                notices::lists_changed(Lists::PROMPTS);
                given("The list of prompts has changed.")
            }
            "test_input_required_result_elicitation" => {
                let content = form("user_name", "What is your name?", &required_form("name", "string"))?;
                given(&format!("Hello, {}!", json::text(&content, "name").unwrap_or_default()))
            }
            "test_input_required_result_sampling" => {
                given(&model("capital_question", "What is the capital of France?", 100)?)
            }
            "test_input_required_result_list_roots" => {
                let answers = ask(&[("client_roots", InputRequest::Roots)])?;
                given(&format!("The client's roots: {answers:?}"))
            }
            "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
                form("confirm", "Please confirm", &required_form("ok", "boolean"))?;
                given("state-ok")
            }
            "test_input_required_result_multiple_inputs" => {
                let answers = ask(&[
                    ("user_name", wanted("What is your name?", &required_form("name", "string"))),
                    ("greeting", question("Generate a greeting", 50)),
                    ("client_roots", InputRequest::Roots),
                ])?;
                given(&format!("It was answered: {answers:?}"))
            }
            "test_input_required_result_multi_round" => {
                let first = form("step1", "What is your name?", &required_form("name", "string"))?;
                let second = form("step2", "Which colour do you like?", &required_form("color", "string"))?;
                given(&format!("It was answered: {first} and {second}"))
            }
            "test_input_required_result_capabilities" => capabilities(),
            "json_schema_2020_12_tool" | "test_custom_header" => given(&format!("It was given: {arguments}")),
            other => Err(ToolError::NotFound(format!("There is no tool {other}."))),
        }
    }
}

/// Sends a request for each capability of the client.
fn capabilities() -> Result<ToolResult, ToolError> {
    let able = inputs::able();
    let mut requests = Vec::new();
    if able.contains(Abilities::FORMS) {
        requests.push(("name", wanted("What is your name?", &required_form("name", "string"))));
    }
    if able.contains(Abilities::MODEL) {
        requests.push(("greeting", question("Generate a greeting", 50)));
    }
    if able.contains(Abilities::ROOTS) {
        requests.push(("folders", InputRequest::Roots));
    }
    given(&format!("It was answered: {:?}", ask(&requests)?))
}

fn content(content: Vec<Content>) -> Result<ToolResult, ToolError> {
    Ok(ToolResult { content, structured: None })
}

fn given(text: &str) -> Result<ToolResult, ToolError> {
    content(vec![Content::Text(text.to_owned())])
}

fn picture() -> Content {
    let Media { data, mime_type } = data::picture();
    Content::Image(Image { data, mime_type })
}

fn attach(content: RichContent) -> Result<(), ToolError> {
    attachments::attach(&content).map_err(ToolError::Failed)
}

fn resource(uri: &str, mime_type: &str, text: &str) -> RichContent {
    RichContent::Resource(ResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        body: Body::Text(text.to_owned()),
    })
}

/// Waits for 50 ms.
fn wait() {
    let until = clock::now() + 50;
    while clock::now() < until {}
}

/// Returns the schema of a form with one required field.
pub fn required_form(name: &str, kind: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"{name}":{{"type":"{kind}"}}}},"required":["{name}"]}}"#)
}

fn wanted(message: &str, schema: &str) -> InputRequest {
    InputRequest::Form(Form { message: message.to_owned(), schema: schema.to_owned() })
}

fn question(prompt: &str, max_tokens: u32) -> InputRequest {
    InputRequest::Model(ModelRequest { system: None, prompt: prompt.to_owned(), max_tokens })
}

fn ask(requests: &[(&str, InputRequest)]) -> Result<Vec<InputAnswer>, ToolError> {
    let requests: Vec<_> =
        requests.iter().map(|(key, request)| ((*key).to_owned(), request.clone())).collect();
    inputs::ask(&requests).map_err(|error| ToolError::Failed(format!("The client was not asked: {error:?}.")))
}

/// Returns the content of an accepted form.
pub fn form(key: &str, message: &str, schema: &str) -> Result<String, ToolError> {
    match ask(&[(key, wanted(message, schema))])?.pop() {
        Some(InputAnswer::Form(FormAnswer::Accepted(content))) => Ok(content),
        other => Err(ToolError::Denied(format!("The form was not filled in: {other:?}."))),
    }
}

fn model(key: &str, prompt: &str, most: u32) -> Result<String, ToolError> {
    match ask(&[(key, question(prompt, most))])?.pop() {
        Some(InputAnswer::Model(text)) => Ok(text),
        other => Err(ToolError::Failed(format!("The model gave no answer: {other:?}."))),
    }
}

/// Returns the user's response to a form, including a refusal.
fn answered(begin: &str, message: &str, schema: &str) -> Result<ToolResult, ToolError> {
    let (action, content) = match ask(&[("answer", wanted(message, schema))])?.pop() {
        Some(InputAnswer::Form(FormAnswer::Accepted(content))) => ("accept", content),
        Some(InputAnswer::Form(FormAnswer::Declined)) => ("decline", String::new()),
        _ => ("cancel", String::new()),
    };
    given(&format!("{begin}: action={action}, content={content}"))
}
