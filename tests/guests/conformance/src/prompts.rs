//! Prompts and the completion of their arguments.

use crate::exports::scorpiox::tool::completion::Guest as Completion;
use crate::exports::scorpiox::tool::prompts::Guest as Prompts;
use crate::scorpiox::tool::contents::{Body, ResourceContents, RichContent};
use crate::scorpiox::tool::offers::{
    CompletionRequest, Completions, FilledPrompt, Message, Prompt, PromptArgument, Role,
};
use crate::scorpiox::tool::types::ToolError;
use crate::tools::{form, required_form};
use crate::{Conformance, data, json};

fn prompt(name: &str, description: &str, arguments: &[(&str, &str)]) -> Prompt {
    let argument = |(name, description): &(&str, &str)| PromptArgument {
        name: (*name).to_owned(),
        description: Some((*description).to_owned()),
        required: true,
    };
    Prompt {
        name: name.to_owned(),
        title: None,
        description: description.to_owned(),
        arguments: arguments.iter().map(argument).collect(),
    }
}

fn filled(contents: Vec<RichContent>) -> FilledPrompt {
    let message = |content| Message { role: Role::User, content };
    FilledPrompt { description: None, messages: contents.into_iter().map(message).collect() }
}

impl Prompts for Conformance {
    fn list_prompts() -> Vec<Prompt> {
        vec![
            prompt("test_simple_prompt", "A prompt without arguments", &[]),
            prompt(
                "test_prompt_with_arguments",
                "A prompt with two arguments",
                &[("arg1", "The first"), ("arg2", "The second")],
            ),
            prompt(
                "test_prompt_with_embedded_resource",
                "A prompt with a resource in it",
                &[("resourceUri", "The address of the resource")],
            ),
            prompt("test_prompt_with_image", "A prompt with a picture in it", &[]),
            prompt("test_input_required_result_prompt", "A prompt that asks before it is filled in", &[]),
        ]
    }

    fn get_prompt(name: String, arguments: Vec<(String, String)>) -> Result<FilledPrompt, ToolError> {
        let given = |name: &str| {
            arguments.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let text = |text: &str| RichContent::Text(text.to_owned());
        Ok(filled(match name.as_str() {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
            "test_prompt_with_arguments" => {
                let (one, two) = (given("arg1"), given("arg2"));
                vec![text(&format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
            }
            "test_prompt_with_embedded_resource" => vec![
                RichContent::Resource(ResourceContents {
                    uri: given("resourceUri"),
                    mime_type: Some("text/plain".to_owned()),
                    body: Body::Text("Embedded resource content for testing.".to_owned()),
                }),
                text("Please process the embedded resource above."),
            ],
            "test_prompt_with_image" => {
                vec![RichContent::Image(data::picture()), text("Please analyze the image above.")]
            }
            "test_input_required_result_prompt" => {
                let schema = required_form("context", "string");
                let content = form("user_context", "What context should the prompt use?", &schema)?;
                let context = json::text(&content, "context").unwrap_or_default();
                vec![text(&format!("Use this context: {context}"))]
            }
            other => return Err(ToolError::NotFound(format!("There is no prompt {other}."))),
        }))
    }
}

impl Completion for Conformance {
    fn complete(_: CompletionRequest) -> Result<Completions, String> {
        Ok(Completions { values: Vec::new(), total: Some(0) })
    }
}
