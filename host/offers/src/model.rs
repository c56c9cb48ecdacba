//! What a plugin says that it offers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Everything that a plugin offers beside tools, as it says itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offers {
    /// Prompts, by the names that it gives them.
    #[serde(default)]
    pub prompts: Vec<Prompt>,
    /// Resources with an address of their own.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// Addresses with variables.
    #[serde(default)]
    pub templates: Vec<ResourceTemplate>,
    /// Whether it completes what people type for them.
    #[serde(default)]
    pub completes: bool,
}

/// A prompt that people pick.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// Without the plugin's.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// What it is filled in with.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the prompt cannot be without.
    pub required: bool,
}

/// A resource with an address of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
}

/// Addresses with variables.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceTemplate {
    /// With `{name}` for variables.
    pub uri_template: String,
    /// Its name.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What is there.
    pub description: Option<String>,
    /// The media type of what is there.
    pub mime_type: Option<String>,
}

impl Offers {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.prompts.is_empty() && self.resources.is_empty() && self.templates.is_empty()
    }

    /// As one text, always the same for the same offers; none where there is nothing.
    pub fn text(&self) -> Option<String> {
        (!self.is_empty()).then(|| serde_json::to_string(self).unwrap_or_default())
    }

    /// Each thing, by what people see of it, to compare two versions.
    pub fn by_name(&self) -> BTreeMap<String, Value> {
        let value = |value: serde_json::Result<Value>| value.unwrap_or_default();
        let prompts = self
            .prompts
            .iter()
            .map(|prompt| (format!("prompt {}", prompt.name), value(serde_json::to_value(prompt))));
        let resources = self
            .resources
            .iter()
            .map(|resource| (format!("resource {}", resource.uri), value(serde_json::to_value(resource))));
        let templates = self.templates.iter().map(|template| {
            (format!("resources {}", template.uri_template), value(serde_json::to_value(template)))
        });
        prompts.chain(resources).chain(templates).collect()
    }
}
