//! A plugin's description of its offers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All prompts and resources of a plugin, as the plugin describes them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offers {
    /// Prompts, with the plugin's own names.
    #[serde(default)]
    pub prompts: Vec<Prompt>,
    /// Resources with fixed URIs.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// Resource templates.
    #[serde(default)]
    pub templates: Vec<ResourceTemplate>,
    /// `true` if the plugin completes arguments for them.
    #[serde(default)]
    pub completes: bool,
}

/// A prompt that users pick.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// Name, without the plugin's name.
    pub name: String,
    /// Title for users.
    pub title: Option<String>,
    /// Purpose of the prompt.
    pub description: String,
    /// Arguments of the prompt.
    pub arguments: Vec<PromptArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptArgument {
    /// Name of the argument.
    pub name: String,
    /// Description of the argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `true` if the prompt requires the argument.
    pub required: bool,
}

/// A resource with a fixed URI.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// URI of the resource.
    pub uri: String,
    /// Name of the resource.
    pub name: String,
    /// Title for users.
    pub title: Option<String>,
    /// Description of the resource.
    pub description: Option<String>,
    /// MIME type of the resource.
    pub mime_type: Option<String>,
}

/// A template of resource URIs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceTemplate {
    /// URI with `{name}` for variables.
    pub uri_template: String,
    /// Name of the template.
    pub name: String,
    /// Title for users.
    pub title: Option<String>,
    /// Description of the resources.
    pub description: Option<String>,
    /// MIME type of the resources.
    pub mime_type: Option<String>,
}

impl Offers {
    /// Returns `true` if there are no offers.
    pub fn is_empty(&self) -> bool {
        self.prompts.is_empty() && self.resources.is_empty() && self.templates.is_empty()
    }

    /// Serializes the offers deterministically; `None` if there are none.
    pub fn text(&self) -> Option<String> {
        (!self.is_empty()).then(|| serde_json::to_string(self).unwrap_or_default())
    }

    /// Returns each offer by its visible name, to compare two versions.
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
