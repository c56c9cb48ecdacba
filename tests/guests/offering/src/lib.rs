//! Component without tools. Its prompts, resources and completions include invalid ones.
//!
//! Tests write the content of its lists into [`MODE`].

wit_bindgen::generate!({
    path: "../../../wit",
    inline: "
        package test:offering;
        world offering {
            import scorpiox:tool/notices@0.1.0;
            export scorpiox:tool/prompts@0.1.0;
            export scorpiox:tool/resources@0.1.0;
            export scorpiox:tool/completion@0.1.0;
        }
    ",
    world: "test:offering/offering",
    generate_all,
});

use exports::scorpiox::tool::{completion, prompts, resources};
use scorpiox::tool::contents::{Body, Media, ResourceContents, RichContent};
use scorpiox::tool::notices::{self, Lists, Severity};
use scorpiox::tool::offers::{
    CompletionRequest, CompletionSubject, Completions, FilledPrompt, ListedResource, Message, Prompt,
    PromptArgument, ReadError, ResourceTemplate, Role,
};
use scorpiox::tool::types::ToolError;

static MODE: [u8; 16] = *b"mode:plain      ";

/// Returns the mode, through a read that the compiler cannot evaluate.
fn mode() -> String {
    // SAFETY: it is a static of this crate.
    let mode = unsafe { std::ptr::read_volatile(&raw const MODE) };
    String::from_utf8_lossy(&mode[5..]).trim().to_owned()
}

struct Offering;

fn prompt(name: &str, description: &str, arguments: &[(&str, bool)]) -> Prompt {
    let argument = |(name, required): &(&str, bool)| PromptArgument {
        name: (*name).to_owned(),
        description: None,
        required: *required,
    };
    Prompt {
        name: name.to_owned(),
        title: Some(format!("Prompt {name}")),
        description: description.to_owned(),
        arguments: arguments.iter().map(argument).collect(),
    }
}

fn text(text: String) -> Vec<Message> {
    vec![Message { role: Role::User, content: RichContent::Text(text) }]
}

impl prompts::Guest for Offering {
    fn list_prompts() -> Vec<Prompt> {
        match mode().as_str() {
            "trap" => panic!("on purpose"),
            "spin" => loop {
                std::hint::black_box(());
            },
            "huge" => (0..100_000).map(|number| prompt(&format!("p{number}"), "", &[])).collect(),
            "deceive" => vec![prompt("greet", "Says\u{202e} hello", &[])],
            _ => vec![
                prompt("greet", "Says hello to somebody", &[("name", true), ("tone", false)]),
                prompt("picture", "Bytes that are no picture", &[]),
                prompt("none", "No message", &[]),
                prompt("trap", "Traps", &[]),
                prompt("unknown", "Is not there when it is asked for", &[]),
            ],
        }
    }

    fn get_prompt(name: String, arguments: Vec<(String, String)>) -> Result<FilledPrompt, ToolError> {
        let given =
            |name: &str| arguments.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone());
        let messages = match name.as_str() {
            "greet" => {
                let tone = given("tone").unwrap_or_else(|| "friendly".to_owned());
                text(format!("Say hello to {}, {tone}.\u{1b}[31m", given("name").unwrap_or_default()))
            }
            "picture" => {
                let content =
                    RichContent::Image(Media { data: vec![1, 2, 3], mime_type: "image/png".to_owned() });
                vec![Message { role: Role::Assistant, content }]
            }
            "none" => Vec::new(),
            "trap" => panic!("on purpose"),
            _ => return Err(ToolError::NotFound("It is not there.".to_owned())),
        };
        Ok(FilledPrompt { description: Some("As it was filled in".to_owned()), messages })
    }
}

fn resource(uri: &str) -> ListedResource {
    ListedResource {
        uri: uri.to_owned(),
        name: uri.to_owned(),
        title: None,
        description: None,
        mime_type: Some("text/plain".to_owned()),
    }
}

impl resources::Guest for Offering {
    fn list_resources() -> Vec<ListedResource> {
        let own = ["text", "bytes", "large", "trap", "other", "empty", "changes"];
        let own = own.map(|name| resource(&format!("offering://{name}")));
        let others = ["file:///etc/passwd", "skill://greet/SKILL.md", "test://theirs"].map(resource);
        own.into_iter().chain(others).collect()
    }

    fn list_templates() -> Vec<ResourceTemplate> {
        vec![ResourceTemplate {
            uri_template: "offering://notes/{name}".to_owned(),
            name: "Notes".to_owned(),
            title: None,
            description: Some("A note by its name".to_owned()),
            mime_type: None,
        }]
    }

    fn read(uri: String) -> Result<Vec<ResourceContents>, ReadError> {
        let contents =
            |uri: &str, body| Ok(vec![ResourceContents { uri: uri.to_owned(), mime_type: None, body }]);
        match uri.as_str() {
            "offering://text" => contents(&uri, Body::Text("A text\u{1b}[31m".to_owned())),
            "offering://bytes" => contents(&uri, Body::Bytes(vec![0, 255, 1])),
            "offering://large" => contents(&uri, Body::Text("x".repeat(20 << 20))),
            "offering://trap" => panic!("on purpose"),
            "offering://other" => contents("file:///etc/passwd", Body::Text("not this".to_owned())),
            "offering://empty" => Ok(Vec::new()),
            "offering://changes" => {
                notices::log(Severity::Warning, "It\u{1b}[31m changes");
                notices::log(Severity::Debug, "In detail");
                notices::resource_updated("offering://text");
                notices::resource_updated("test://not-its-own");
                (0..3).for_each(|_| notices::lists_changed(Lists::PROMPTS));
                contents(&uri, Body::Text("It has changed.".to_owned()))
            }
            "test://theirs" => contents(&uri, Body::Text("theirs".to_owned())),
            other => match other.strip_prefix("offering://notes/") {
                Some("secret") => Err(ReadError::Denied("The note is secret.".to_owned())),
                Some("broken") => Err(ReadError::Failed("The note is broken.".to_owned())),
                Some(name) if name != "missing" => contents(other, Body::Text(format!("The note {name}"))),
                _ => Err(ReadError::NotFound),
            },
        }
    }
}

impl completion::Guest for Offering {
    fn complete(request: CompletionRequest) -> Result<Completions, String> {
        let CompletionRequest { subject, name, value, given } = request;
        let all: Vec<String> = match subject {
            CompletionSubject::Prompt(prompt) if prompt == "greet" && name == "tone" => {
                let whom = given.into_iter().find(|(name, _)| name == "name").map(|(_, value)| value);
                ["friendly", "formal"]
                    .map(|tone| format!("{tone}{}", whom.as_deref().unwrap_or_default()))
                    .into()
            }
            CompletionSubject::Prompt(_) => (0..150).map(|number| format!("name {number}")).collect(),
            CompletionSubject::Template(_) => ["one", "two"].map(str::to_owned).into(),
        };
        let values: Vec<_> = all.into_iter().filter(|word| word.starts_with(&value)).collect();
        Ok(Completions { values, total: None })
    }
}

export!(Offering);
