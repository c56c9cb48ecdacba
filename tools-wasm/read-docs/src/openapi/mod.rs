//! Descriptions of HTTP APIs (`OpenAPI` 3.0 and 3.1, Swagger 2.0) as readable documents: the API and its
//! servers, each operation, and the types. References are named, and short targets are inlined one level
//! deep.

mod operation;
mod schema;
mod shared;

use std::borrow::Cow;

use url::Url;

use crate::Format;
use crate::document::Document;
use crate::html::tree::Node;
use crate::kinds::Source;
use crate::markdown;
use crate::tree::{Blocks, element, lower_headings, simple, text};
use crate::value::Value;

use shared::Shared;

/// Size of the beginning of a YAML description in which it must identify itself, in bytes.
const SNIFFED: usize = 64 * 1024;
/// Methods in the order of the specification.
const METHODS: [&str; 9] = ["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];
/// Maximum number of servers in the result.
const MAX_SERVERS: usize = 20;

pub(crate) fn read_json(text: &str, source: &Source<'_>) -> Option<Document> {
    write(&Value::of_json(text)?, source.url, source.format)
}

pub(crate) fn read_yaml(text: &str, source: &Source<'_>) -> Option<Document> {
    let start = text.get(..text.floor_char_boundary(SNIFFED)).unwrap_or_default();
    let names = |line: &str| {
        let name = line.split(':').next().unwrap_or_default().trim_matches(['"', '\'', ' ']);
        matches!(name, "openapi" | "swagger") && line.contains(':')
    };
    start.lines().any(|line| !line.starts_with(' ') && names(line)).then_some(())?;
    write(&Value::of_yaml(text)?, source.url, source.format)
}

/// Returns `None` if the document is not an API description.
fn write(root: &Value<'_>, url: &Url, format: Format) -> Option<Document> {
    let version = root.text("openapi").or_else(|| root.text("swagger"))?;
    let writer = Writer { root, shared: Shared::of(root), url };
    let mut blocks = Blocks::new(format);
    let info = root.get("info").unwrap_or(&Value::Null);
    let title = info.text("title").unwrap_or("Interface without a title");
    blocks.push(writer.about(version, title, info));
    writer.paths(&mut blocks);
    writer.types(&mut blocks);
    let (body, cut) = blocks.finish();
    let mut notes = vec![format!(
        "This is an outline of a description of an interface ({}); the description itself can be downloaded, for example with curl.",
        if root.get("openapi").is_some() { "OpenAPI" } else { "Swagger" }
    )];
    notes.extend(cut);
    Some(Document { title: Some(title.to_owned()), body, notes, ..Document::default() })
}

struct Writer<'a> {
    root: &'a Value<'a>,
    shared: Shared<'a>,
    url: &'a Url,
}

impl Writer<'_> {
    fn about(&self, version: &str, title: &str, info: &Value<'_>) -> Vec<Node> {
        let kind = if self.root.get("openapi").is_some() { "OpenAPI" } else { "Swagger" };
        let own = info.text("version").map(|own| format!(" · version {own}")).unwrap_or_default();
        let mut nodes = vec![simple("h1", title), simple("p", format!("{kind} {version}{own}"))];
        nodes.extend(self.prose(info.text("summary"), 2));
        nodes.extend(self.prose(info.text("description"), 2));
        let servers = self.servers();
        if !servers.is_empty() {
            nodes.push(simple("p", "Servers:"));
            nodes.push(element("ul", servers));
        }
        let schemes: Vec<_> =
            self.security().iter().map(|(name, scheme)| self.scheme(name, scheme)).collect();
        if !schemes.is_empty() {
            nodes.push(simple("p", "Authentication:"));
            nodes.push(element("ul", schemes));
        }
        nodes
    }

    fn servers(&self) -> Vec<Node> {
        let listed = self.root.get("servers").map(Value::elements).unwrap_or_default();
        let mut servers: Vec<_> = listed
            .iter()
            .take(MAX_SERVERS)
            .filter_map(|server| {
                let mut content = vec![simple("code", server.text("url")?)];
                if let Some(description) = server.text("description") {
                    content.push(text(format!(": {}", shared::line(description))));
                }
                Some(element("li", content))
            })
            .collect();
        // Swagger has a single server, in parts.
        if let Some(host) = self.root.text("host") {
            let scheme = self.root.get("schemes").and_then(|schemes| schemes.elements().first());
            let scheme = scheme.and_then(Value::as_text).unwrap_or_else(|| self.url.scheme());
            let path = self.root.text("basePath").unwrap_or_default();
            servers.push(element("li", vec![simple("code", format!("{scheme}://{host}{path}"))]));
        }
        servers
    }

    fn security(&self) -> &[(Cow<'_, str>, Value<'_>)] {
        let components = self.root.get("components").and_then(|all| all.get("securitySchemes"));
        components.or_else(|| self.root.get("securityDefinitions")).map(Value::members).unwrap_or_default()
    }

    fn scheme(&self, name: &str, scheme: &Value<'_>) -> Node {
        let kind = scheme.text("type").unwrap_or("of unknown type");
        let detail = match (scheme.text("scheme"), scheme.text("in"), scheme.text("name")) {
            (Some(scheme), _, _) => format!(", {scheme}"),
            (None, Some(place), Some(name)) => format!(", {name} in {place}"),
            _ => String::new(),
        };
        let mut content = vec![simple("code", name), text(format!(" ({kind}{detail})"))];
        self.describe(scheme, &mut content);
        element("li", content)
    }

    fn paths(&self, blocks: &mut Blocks) {
        for (section, title) in [("paths", "Paths"), ("webhooks", "Webhooks")] {
            let paths = self.root.get(section).map(Value::members).unwrap_or_default();
            if paths.is_empty() {
                continue;
            }
            blocks.push(vec![simple("h2", title)]);
            for (path, item) in paths.iter().filter(|(path, _)| !path.starts_with("x-")) {
                self.path(path, item, blocks);
            }
        }
    }

    fn path(&self, path: &str, item: &Value<'_>, blocks: &mut Blocks) {
        if let Some(reference) = item.text("$ref") {
            blocks.push(vec![simple("h3", path), simple("p", format!("See {reference}."))]);
        }
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                blocks.push(self.operation(&format!("{} {path}", method.to_uppercase()), operation, item));
            }
        }
    }

    fn types(&self, blocks: &mut Blocks) {
        let components = self.root.get("components").and_then(|all| all.get("schemas"));
        let types =
            components.or_else(|| self.root.get("definitions")).map(Value::members).unwrap_or_default();
        if types.is_empty() {
            return;
        }
        blocks.push(vec![simple("h2", "Schemas")]);
        for (name, schema) in types {
            blocks.push(self.named_schema(name, schema));
        }
    }

    /// Converts Markdown text to blocks.
    fn prose(&self, description: Option<&str>, below: usize) -> Vec<Node> {
        let mut nodes = description.map(|text| markdown::nodes(text, self.url)).unwrap_or_default();
        lower_headings(&mut nodes, below);
        nodes
    }

    /// Adds a description to the content of a list item.
    fn describe(&self, value: &Value<'_>, content: &mut Vec<Node>) {
        let Some(description) = value.text("description") else { return };
        let mut nodes = self.prose(Some(description), 6);
        let is_line = |node: &Node| matches!(node, Node::Element(element) if &*element.name == "p");
        nodes.retain(|node| !node.is_white());
        if nodes.len() == 1 && nodes.iter().all(is_line) {
            content.push(text(": "));
            content.extend(nodes.into_iter().flat_map(|node| match node {
                Node::Element(element) => element.children,
                text @ Node::Text(_) => vec![text],
            }));
        } else {
            content.extend(nodes);
        }
    }
}
