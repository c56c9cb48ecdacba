//! What of a plugin's offers clients are given, and under which names.

use scorpiox_plugin::PluginName;

use crate::template::Template;
use crate::{Offers, Prompt, Resource, ResourceTemplate};

/// Schemes that no plugin serves: this server's own, and those that say something else to everybody.
const RESERVED: [&str; 11] =
    ["skill", "file", "http", "https", "ws", "wss", "ftp", "data", "blob", "about", "javascript"];

/// What clients are given of the offers of one plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    plugin: PluginName,
    /// A person decided that its names and addresses are as it gives them.
    pub is_plain: bool,
    offers: Offers,
}

/// The scheme of an address, in lower case.
pub fn scheme(uri: &str) -> String {
    uri.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase()).unwrap_or_default()
}

impl Served {
    /// The offers of an approved plugin.
    pub fn new(plugin: PluginName, is_plain: bool, offers: Offers) -> Self {
        Self { plugin, is_plain, offers }
    }

    /// Whose they are.
    pub fn plugin(&self) -> &PluginName {
        &self.plugin
    }

    /// Whether it completes what people type.
    pub fn completes(&self) -> bool {
        self.offers.completes
    }

    /// Whether it serves anything at addresses.
    pub fn has_resources(&self) -> bool {
        self.resources().next().is_some() || self.templates().next().is_some()
    }

    /// All prompts, by the names that the plugin gives them.
    pub fn prompts(&self) -> &[Prompt] {
        &self.offers.prompts
    }

    /// The name of a prompt that nobody else has.
    pub fn full_name(&self, prompt: &Prompt) -> String {
        format!("{}.{}", self.plugin, prompt.name)
    }

    /// The name of a prompt without the plugin's, if clients are to know it by that.
    pub fn plain_name<'a>(&self, prompt: &'a Prompt) -> Option<&'a str> {
        // With a dot it could be another plugin's.
        (self.is_plain && !prompt.name.contains('.')).then_some(&prompt.name)
    }

    /// The resources that it serves.
    pub fn resources(&self) -> impl Iterator<Item = &Resource> {
        self.offers.resources.iter().filter(|resource| self.has_scheme(&resource.uri))
    }

    /// The templates that it serves.
    pub fn templates(&self) -> impl Iterator<Item = &ResourceTemplate> {
        self.offers.templates.iter().filter(|template| self.has_scheme(&template.uri_template))
    }

    /// Whether an address is one of its own.
    pub fn serves(&self, uri: &str) -> bool {
        let fits = |template: &ResourceTemplate| {
            Template::parse(&template.uri_template).is_ok_and(|template| template.fits(uri))
        };
        self.has_scheme(uri)
            && (self.resources().any(|resource| resource.uri == uri) || self.templates().any(fits))
    }

    /// Whether the scheme of an address is its own alone: its name.
    pub fn owns_scheme(&self, uri: &str) -> bool {
        scheme(uri) == self.plugin.as_str()
    }

    /// Addresses that it lists and does not serve, each with the reason.
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
