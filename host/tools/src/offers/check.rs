//! Validates a plugin's offers before users and clients see them.

use scorpiox_capabilities::contents::{check_uri, is_media_type};
use scorpiox_plugin::PluginName;

use crate::offers::template::Template;
use crate::offers::{Offers, Prompt, PromptArgument, Resource, ResourceTemplate};

/// Maximum number of prompts, equal to that of tools.
const MAX_PROMPTS: usize = 64;
/// Maximum number of arguments of a prompt, each of which a user enters.
const MAX_ARGUMENTS: usize = 16;
/// Maximum number of resources with fixed URIs.
const MAX_RESOURCES: usize = 256;
/// Maximum number of templates.
const MAX_TEMPLATES: usize = 32;
const MAX_NAME_CHARS: usize = 100;
/// Maximum number of displayed characters of an invalid name.
const MAX_SHOWN_CHARS: usize = 64;
const MAX_ARGUMENT_CHARS: usize = 64;
const MAX_DESCRIPTION_CHARS: usize = 4096;

/// An invalid offer, which no client receives.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadOffer(String);

fn bad<T>(what: String) -> Result<T, BadOffer> {
    Err(BadOffer(what))
}

/// Validates everything that a plugin offers.
pub fn check(offers: &Offers, plugin: &PluginName) -> Result<(), BadOffer> {
    let Offers { prompts, resources, templates, completes: _ } = offers;
    few("prompts", prompts.len(), MAX_PROMPTS)?;
    few("resources", resources.len(), MAX_RESOURCES)?;
    few("templates of resources", templates.len(), MAX_TEMPLATES)?;
    prompts.iter().try_for_each(|prompt| check_prompt(prompt, plugin))?;
    resources.iter().try_for_each(check_resource)?;
    templates.iter().try_for_each(check_template)?;
    once("prompts", prompts.iter().map(|prompt| &*prompt.name))?;
    once("resources", resources.iter().map(|resource| &*resource.uri))?;
    once("templates", templates.iter().map(|template| &*template.uri_template))
}

fn few(what: &str, count: usize, most: usize) -> Result<(), BadOffer> {
    if count > most { bad(format!("it has {count} {what}; the limit is {most}")) } else { Ok(()) }
}

fn once<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), BadOffer> {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => bad(format!("two {what} are {}", pair[0])),
        None => Ok(()),
    }
}

fn check_prompt(prompt: &Prompt, plugin: &PluginName) -> Result<(), BadOffer> {
    let Prompt { name, title, description, arguments } = prompt;
    if !plugin.fits_tool(name) {
        return bad(format!("a prompt has the name {}; {}", shown(name), plugin.tool_name_rule()));
    }
    let of = format!("the prompt {name}");
    line(&of, "title", title.as_deref(), MAX_NAME_CHARS)?;
    text(&of, "description", Some(description), MAX_DESCRIPTION_CHARS)?;
    few(&format!("arguments of the prompt {name}"), arguments.len(), MAX_ARGUMENTS)?;
    for PromptArgument { name: argument, description, required: _ } in arguments {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if argument.is_empty() || argument.len() > MAX_ARGUMENT_CHARS || !argument.chars().all(is_plain) {
            return bad(format!("{} is no name of an argument of {of}", shown(argument)));
        }
        text(&of, "argument", description.as_deref(), MAX_DESCRIPTION_CHARS)?;
    }
    once(&format!("arguments of the prompt {name}"), arguments.iter().map(|argument| &*argument.name))
}

fn check_resource(resource: &Resource) -> Result<(), BadOffer> {
    let Resource { uri, name, title, description, mime_type } = resource;
    check_uri(uri).map_err(|why| BadOffer(format!("a resource: {why}")))?;
    let of = format!("the resource {uri}");
    named(&of, (name, title.as_deref(), description.as_deref(), mime_type.as_deref()))
}

fn check_template(template: &ResourceTemplate) -> Result<(), BadOffer> {
    let ResourceTemplate { uri_template, name, title, description, mime_type } = template;
    check_uri(uri_template).map_err(|why| BadOffer(format!("a template of resources: {why}")))?;
    let of = format!("the template {uri_template}");
    Template::parse(uri_template).map_err(|why| BadOffer(format!("{of}: {why}")))?;
    named(&of, (name, title.as_deref(), description.as_deref(), mime_type.as_deref()))
}

/// Common members of resources and templates: name, title, description, MIME type.
type Named<'a> = (&'a str, Option<&'a str>, Option<&'a str>, Option<&'a str>);

fn named(of: &str, (name, title, description, mime_type): Named<'_>) -> Result<(), BadOffer> {
    if name.trim().is_empty() {
        return bad(format!("{of} has no name"));
    }
    line(of, "name", Some(name), MAX_NAME_CHARS)?;
    line(of, "title", title, MAX_NAME_CHARS)?;
    text(of, "description", description, MAX_DESCRIPTION_CHARS)?;
    match mime_type {
        Some(kind) if !is_media_type(kind) => {
            bad(format!("{of} has {}, which is no media type", shown(kind)))
        }
        _ => Ok(()),
    }
}

/// Checks a single-line text. A second line could imitate other output.
fn line(of: &str, member: &str, said: Option<&str>, most: usize) -> Result<(), BadOffer> {
    if said.is_some_and(|said| said.contains('\n')) {
        return bad(format!("the {member} of {of} has several lines"));
    }
    text(of, member, said, most)
}

fn text(of: &str, member: &str, said: Option<&str>, most: usize) -> Result<(), BadOffer> {
    let said = said.unwrap_or_default();
    let count = said.chars().count();
    if count > most {
        return bad(format!("the {member} of {of} has {count} characters; the limit is {most}"));
    }
    match said.chars().find(|c| scorpiox_text::is_deceptive(*c)) {
        Some(found) => {
            bad(format!("the {member} of {of} has the invisible character {}", found.escape_unicode()))
        }
        None => Ok(()),
    }
}

/// Returns the beginning of a name, escaped for display.
fn shown(name: &str) -> String {
    let begin: String = name.chars().take(MAX_SHOWN_CHARS).collect();
    format!("{:?}", begin.escape_debug().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(name: &str, description: &str) -> Prompt {
        Prompt {
            name: name.to_owned(),
            title: None,
            description: description.to_owned(),
            arguments: Vec::new(),
        }
    }

    fn resource(uri: &str) -> Resource {
        Resource {
            uri: uri.to_owned(),
            name: "a".to_owned(),
            title: None,
            description: None,
            mime_type: Some("text/plain".to_owned()),
        }
    }

    fn check(offers: &Offers) -> Result<(), BadOffer> {
        super::check(offers, &PluginName::try_from("weather".to_owned()).expect("a name"))
    }

    fn error(offers: &Offers) -> String {
        check(offers).expect_err("refused").to_string()
    }

    #[test]
    fn plain_offers_are_taken() {
        let argument =
            PromptArgument { name: "city".to_owned(), description: Some("Where".to_owned()), required: true };
        let prompts =
            vec![Prompt { arguments: vec![argument], ..prompt("forecast", "The weather.\nToday.") }];
        let resources = vec![resource("weather://now")];
        assert_eq!(check(&Offers { prompts, resources, ..Offers::default() }), Ok(()));
        assert_eq!(check(&Offers::default()), Ok(()));
    }

    #[test]
    fn what_would_mislead_is_refused_and_shown_escaped() {
        let of = |prompt: Prompt| error(&Offers { prompts: vec![prompt], ..Offers::default() });
        assert!(of(prompt("a\u{202e}b", "")).contains("u{202e}"));
        assert!(of(prompt("a b", "")).starts_with("a prompt has the name \"a b\";"));
        assert!(of(prompt(&"x".repeat(57), "")).contains("so that weather.NAME has at most 64"));
        let fits = Offers { prompts: vec![prompt(&"x".repeat(56), "")], ..Offers::default() };
        assert_eq!(check(&fits), Ok(()));
        assert!(of(prompt("a", "x\u{200b}")).contains("the description of the prompt a has the invisible"));
        assert!(of(prompt("a", &"x".repeat(5000))).contains("5000 characters; the limit is 4096"));
        let two_lines = Prompt { title: Some("a\nb".to_owned()), ..prompt("a", "") };
        assert!(of(two_lines).contains("has several lines"));
        let argument =
            |name: &str| PromptArgument { name: name.to_owned(), description: None, required: false };
        let twice = Prompt { arguments: vec![argument("x"), argument("x")], ..prompt("a", "") };
        assert_eq!(of(twice), "two arguments of the prompt a are x");
        assert!(
            of(Prompt { arguments: vec![argument("x y")], ..prompt("a", "") }).contains("is no name of an")
        );
        let many = (0..65).map(|number| prompt(&format!("p{number}"), "")).collect();
        assert_eq!(
            error(&Offers { prompts: many, ..Offers::default() }),
            "it has 65 prompts; the limit is 64"
        );
    }

    #[test]
    fn addresses_and_media_types_are_looked_at() {
        let of = |resource: Resource| error(&Offers { resources: vec![resource], ..Offers::default() });
        assert!(of(resource("nothing")).contains("it has no scheme"));
        assert!(
            of(Resource { mime_type: Some("text".to_owned()), ..resource("a:b") }).contains("no media type")
        );
        assert!(of(Resource { name: " ".to_owned(), ..resource("a:b") }).contains("has no name"));
        let twice = vec![resource("a:b"), resource("a:b")];
        assert_eq!(error(&Offers { resources: twice, ..Offers::default() }), "two resources are a:b");
        let template = ResourceTemplate {
            uri_template: "a://{x".to_owned(),
            name: "a".to_owned(),
            title: None,
            description: None,
            mime_type: None,
        };
        assert!(error(&Offers { templates: vec![template], ..Offers::default() }).contains("a brace"));
    }
}
