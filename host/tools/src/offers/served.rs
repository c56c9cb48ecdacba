//! The part of a plugin's offers that clients see, and the names they see.

use scorpiox_plugin::PluginName;

use crate::offers::template::Template;
use crate::offers::{Offers, Prompt, Resource, ResourceTemplate};

/// Schemes that no plugin serves: this server's own, and well-known ones.
const RESERVED: [&str; 11] =
    ["skill", "file", "http", "https", "ws", "wss", "ftp", "data", "blob", "about", "javascript"];

/// Offers of a plugin that clients see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    plugin: PluginName,
    /// `true` if the user approved the plugin's own names and URIs without the plugin's name.
    pub is_plain: bool,
    offers: Offers,
}

/// Returns the scheme of a URI in lower case.
pub fn scheme(uri: &str) -> String {
    uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase()).unwrap_or_default()
}

impl Served {
    /// Creates the visible offers of an approved plugin.
    pub fn new(plugin: PluginName, is_plain: bool, offers: Offers) -> Self {
        Self { plugin, is_plain, offers }
    }

    /// Returns the plugin's name.
    pub fn plugin(&self) -> &PluginName {
        &self.plugin
    }

    /// Returns `true` if the plugin completes arguments.
    pub fn completes(&self) -> bool {
        self.offers.completes
    }

    /// Returns `true` if the plugin serves resources or templates.
    pub fn has_resources(&self) -> bool {
        self.resources().next().is_some() || self.templates().next().is_some()
    }

    /// Returns all prompts, with the plugin's own names.
    pub fn prompts(&self) -> &[Prompt] {
        &self.offers.prompts
    }

    /// Returns the unique name of a prompt.
    pub fn full_name(&self, prompt: &Prompt) -> String {
        format!("{}.{}", self.plugin, prompt.name)
    }

    /// Returns the unprefixed name of a prompt, if clients may see that.
    pub fn plain_name<'a>(&self, prompt: &'a Prompt) -> Option<&'a str> {
        // A name with a dot could be another plugin's.
        (self.is_plain && !prompt.name.contains('.')).then_some(&prompt.name)
    }

    /// Returns the resources that the plugin serves.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.offers.resources.iter().filter(|resource| self.has_scheme(&resource.uri))
    }

    /// Returns the templates that the plugin serves.
    pub fn templates(&self) -> impl Iterator<Item = &ResourceTemplate> {
        self.offers.templates.iter().filter(|template| self.has_scheme(&template.uri_template))
    }

    /// Returns `true` if the plugin serves a URI.
    pub fn serves(&self, uri: &str) -> bool {
        let fits = |template: &ResourceTemplate| {
            Template::parse(&template.uri_template).is_ok_and(|template| template.fits(uri))
        };
        self.has_scheme(uri)
            && (self.resources().any(|resource| resource.uri == uri) || self.templates().any(fits))
    }

    /// Returns `true` if the scheme of a URI is the plugin's name, and therefore reserved for it.
    pub fn owns_scheme(&self, uri: &str) -> bool {
        scheme(uri) == self.plugin.as_str()
    }

    /// Returns a message for each URI that the plugin lists but does not serve, with the reason.
    pub fn unserved(&self) -> Vec<String> {
        let resources = self.offers.resources.iter().map(|resource| &resource.uri);
        let templates = self.offers.templates.iter().map(|template| &template.uri_template);
        let refused = resources.chain(templates).filter(|uri| !self.has_scheme(uri));
        let why = |uri: &String| {
            let scheme = scheme(uri);
            if RESERVED.contains(&scheme.as_str()) {
                format!("{uri} is not served: no plugin serves addresses that begin with {scheme}:")
            } else {
                format!(
                    "{uri} is not served: it does not begin with {}:, and --plain-names was not given",
                    self.plugin
                )
            }
        };
        refused.map(why).collect()
    }

    fn has_scheme(&self, uri: &str) -> bool {
        let scheme = scheme(uri);
        !RESERVED.contains(&scheme.as_str()) && (self.is_plain || self.owns_scheme(uri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(uri: &str) -> Resource {
        Resource {
            uri: uri.to_owned(),
            name: "a".to_owned(),
            title: None,
            description: None,
            mime_type: None,
        }
    }

    fn served(name: &str, is_plain: bool) -> Served {
        let plugin = PluginName::try_from(name.to_owned()).expect("a name");
        let uris = ["notes://today", "test://a", "file:///etc/passwd", "skill://tdd/SKILL.md", "HTTP://x/"];
        let templates = vec![ResourceTemplate {
            uri_template: "notes://{name}/text".to_owned(),
            name: "a".to_owned(),
            title: None,
            description: None,
            mime_type: None,
        }];
        let resources = uris.into_iter().map(resource).collect();
        Served::new(plugin, is_plain, Offers { resources, templates, ..Offers::default() })
    }

    #[test]
    fn a_plugin_serves_addresses_of_its_own_name() {
        let notes = served("notes", false);
        assert!(notes.serves("notes://today") && notes.serves("notes://a/text"));
        for other in ["notes://tomorrow", "test://a", "file:///etc/passwd", "skill://tdd/SKILL.md"] {
            assert!(!notes.serves(other), "{other}");
        }
        assert_eq!(notes.resources().count(), 1);
        let unserved = notes.unserved();
        assert_eq!(unserved.len(), 4);
        assert!(unserved[0].contains("does not begin with notes:"), "{unserved:?}");
        assert!(unserved[1].contains("no plugin serves addresses that begin with file:"), "{unserved:?}");
    }

    #[test]
    fn no_name_and_no_decision_gives_it_the_addresses_of_others() {
        let plain = served("other", true);
        assert!(plain.serves("notes://today") && plain.serves("test://a"));
        for name in ["skill", "file", "http"] {
            for is_plain in [false, true] {
                let hostile = served(name, is_plain);
                for uri in ["file:///etc/passwd", "skill://tdd/SKILL.md", "HTTP://x/"] {
                    assert!(!hostile.serves(uri), "{name} {uri}");
                }
            }
        }
    }

    #[test]
    fn a_name_with_a_dot_keeps_the_plugins_before_it() {
        let prompt = |name: &str| Prompt {
            name: name.to_owned(),
            title: None,
            description: String::new(),
            arguments: Vec::new(),
        };
        assert_eq!(served("a", true).plain_name(&prompt("b")), Some("b"));
        assert_eq!(served("a", true).plain_name(&prompt("weather.b")), None);
        assert_eq!(served("a", false).plain_name(&prompt("b")), None);
        assert_eq!(served("a", true).full_name(&prompt("b")), "a.b");
    }
}
