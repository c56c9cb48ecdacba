//! Notes: stored by a tool, discussed by a prompt, read as resources.

use exports::scorpiox::tool::{completion, prompts, resources};
use scorpiox::tool::contents::{Body, ResourceContents, RichContent};
use scorpiox::tool::inputs::{self, Form, FormAnswer, InputAnswer, InputRequest};
use scorpiox::tool::offers::{
    CompletionRequest, Completions, FilledPrompt, ListedResource, Message, Prompt, PromptArgument, ReadError,
    ResourceTemplate, Role,
};
use scorpiox::tool::store::{self, Order};
use scorpiox::tool::types::ToolError;

wit_bindgen::generate!({ world: "plugin", generate_all });

/// Schema of the form that requests a text: a flat object of fields.
const FORM: &str = r#"{"type":"object","properties":{"text":{"type":"string","title":"Text","minLength":1}},"required":["text"]}"#;

struct Plugin;

impl Guest for Plugin {
    fn keep(name: String, text: Option<String>) -> Result<String, String> {
        let text = match text {
            Some(text) => text,
            // The request comes first, because in the latest protocol revision the call is repeated with the
            // answer.
            None => ask(&name)?,
        };
        store::set(&name, text.as_bytes()).map_err(|error| format!("{error:?}"))?;
        Ok(format!("Kept as {}.", address(&name)))
    }
}

/// Asks the user for a text.
fn ask(name: &str) -> Result<String, String> {
    let form = Form { message: format!("What is to stand in the note {name}?"), schema: FORM.to_owned() };
    let answers = inputs::ask(&[("text".to_owned(), InputRequest::Form(form))]);
    match answers.map_err(|error| format!("{error:?}"))?.pop() {
        // A JSON object that matches the form.
        Some(InputAnswer::Form(FormAnswer::Accepted(content))) => {
            let content: serde_json::Value = serde_json::from_str(&content).unwrap_or_default();
            Ok(content["text"].as_str().unwrap_or_default().to_owned())
        }
        _ => Err("the person gave no text".to_owned()),
    }
}

fn address(name: &str) -> String {
    format!("notes://{name}")
}

/// Returns the note with this name.
fn note(name: &str) -> Option<String> {
    String::from_utf8(store::get(name).ok()??).ok()
}

impl prompts::Guest for Plugin {
    fn list_prompts() -> Vec<Prompt> {
        let name = PromptArgument {
            name: "name".to_owned(),
            description: Some("The name of the note".to_owned()),
            required: true,
        };
        vec![Prompt {
            name: "improve".to_owned(),
            title: Some("Improve a note".to_owned()),
            description: "Asks for a better wording of a note".to_owned(),
            arguments: vec![name],
        }]
    }

    fn get_prompt(_: String, arguments: Vec<(String, String)>) -> Result<FilledPrompt, ToolError> {
        // Required arguments of a prompt are always present.
        let name = arguments.into_iter().map(|(_, value)| value).next().unwrap_or_default();
        let text = note(&name).ok_or_else(|| ToolError::NotFound(format!("There is no note {name}.")))?;
        let contents = [
            RichContent::Resource(ResourceContents {
                uri: address(&name),
                mime_type: Some("text/plain".to_owned()),
                body: Body::Text(text),
            }),
            RichContent::Text("Say this note in fewer and plainer words.".to_owned()),
        ];
        let messages = contents.map(|content| Message { role: Role::User, content });
        Ok(FilledPrompt { description: None, messages: messages.into() })
    }
}

impl resources::Guest for Plugin {
    /// Lists no resources, because notes are dynamic and use a template.
    fn list_resources() -> Vec<ListedResource> {
        Vec::new()
    }

    fn list_templates() -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            // A plugin serves URIs that begin with its name.
            uri_template: "notes://{name}".to_owned(),
            name: "Notes".to_owned(),
            title: None,
            description: Some("A note by its name".to_owned()),
            mime_type: Some("text/plain".to_owned()),
        }]
    }

    fn read(uri: String) -> Result<Vec<ResourceContents>, ReadError> {
        let name = uri.strip_prefix("notes://").ok_or(ReadError::NotFound)?;
        let text = note(name).ok_or(ReadError::NotFound)?;
        Ok(vec![ResourceContents { uri, mime_type: Some("text/plain".to_owned()), body: Body::Text(text) }])
    }
}

impl completion::Guest for Plugin {
    /// Completes names of notes, for the prompt and for the template.
    fn complete(request: CompletionRequest) -> Result<Completions, String> {
        let found = store::scan(&request.value, None, 100, Order::Ascending);
        let values = found.map_err(|error| format!("{error:?}"))?.into_iter().map(|entry| entry.key);
        Ok(Completions { values: values.collect(), total: None })
    }
}

export!(Plugin);
