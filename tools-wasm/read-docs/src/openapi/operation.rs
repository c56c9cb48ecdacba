//! An operation: its input and output.

use std::collections::HashSet;

use crate::html::tree::Node;
use crate::tree::{element, simple, text};
use crate::value::Value;

use super::Writer;
use super::schema::type_of;
use super::shared::{line, name_of};

impl Writer<'_> {
    pub(super) fn operation(&self, title: &str, operation: &Value<'_>, path: &Value<'_>) -> Vec<Node> {
        let summary = operation.text("summary").or_else(|| path.text("summary"));
        let mut nodes = vec![simple("h3", title)];
        if let Some(summary) = summary {
            nodes.push(simple("p", line(summary)));
        }
        let description = operation.text("description").filter(|text| Some(*text) != summary);
        nodes.extend(self.prose(description, 3));
        nodes.extend(facts(operation));
        let (bodies, parameters) = self.parameters(operation, path);
        if !parameters.is_empty() {
            nodes.push(simple("p", "Parameters:"));
            nodes.push(element("ul", parameters));
        }
        nodes.extend(bodies);
        if let Some(body) = operation.get("requestBody") {
            nodes.extend(self.body(body));
        }
        let responses = operation.get("responses").map(Value::members).unwrap_or_default();
        if !responses.is_empty() {
            let items = responses.iter().filter(|(code, _)| !code.starts_with("x-"));
            nodes.push(simple("p", "Responses:"));
            nodes.push(element("ul", items.map(|(code, response)| self.response(code, response)).collect()));
        }
        nodes
    }

    /// Returns the bodies, which Swagger lists among the parameters, and the parameters. Parameters of the
    /// path that the operation does not override come first.
    fn parameters(&self, operation: &Value<'_>, path: &Value<'_>) -> (Vec<Node>, Vec<Node>) {
        /// Maximum number of parameters of a path or an operation.
        const MOST: usize = 500;
        let all = |holder: &Value<'_>, each: &mut dyn FnMut(&Value<'_>, &Value<'_>)| {
            for parameter in
                holder.get("parameters").map(Value::elements).unwrap_or_default().iter().take(MOST)
            {
                each(parameter, self.shared.follow(parameter));
            }
        };
        let key = |parameter: &Value<'_>| {
            Some((parameter.text("name")?.to_owned(), parameter.text("in").unwrap_or_default().to_owned()))
        };
        let mut own = HashSet::new();
        all(operation, &mut |_, parameter| own.extend(key(parameter)));
        let (mut bodies, mut parameters) = (Vec::new(), Vec::new());
        let mut add = |given: &Value<'_>, parameter: &Value<'_>| match parameter.text("in") {
            Some("body") => bodies.extend(self.old_body(parameter)),
            _ => parameters.push(self.parameter(given, parameter)),
        };
        all(path, &mut |given, parameter| {
            if key(parameter).is_none_or(|key| !own.contains(&key)) {
                add(given, parameter);
            }
        });
        all(operation, &mut add);
        (bodies, parameters)
    }

    fn parameter(&self, given: &Value<'_>, target: &Value<'_>) -> Node {
        let Some(name) = target.text("name") else {
            let reference = given.text("$ref").unwrap_or("(without a name)");
            return element("li", vec![text("see "), simple("code", reference)]);
        };
        let by_content = || target.get("content")?.members().first()?.1.get("schema");
        let schema = target.get("schema").or_else(by_content).unwrap_or(target);
        let mut about = vec![target.text("in").unwrap_or("?").to_owned(), type_of(schema)];
        for (is, word) in [("required", "required"), ("deprecated", "deprecated")] {
            if target.is(is) {
                about.push(word.to_owned());
            }
        }
        let mut content = vec![simple("code", name), text(format!(" ({})", about.join(", ")))];
        self.describe(target, &mut content);
        element("li", content)
    }

    /// Formats the body of Swagger 2.
    fn old_body(&self, parameter: &Value<'_>) -> Vec<Node> {
        let required = if parameter.is("required") { " (required)" } else { "" };
        let schema = parameter.get("schema").unwrap_or(&Value::Null);
        let mut content = vec![text(format!("Body{required}: {}", type_of(schema)))];
        if let Some(description) = parameter.text("description") {
            content.push(text(format!(". {}", line(description))));
        }
        let mut nodes = vec![element("p", content)];
        nodes.extend(self.fields(schema, 0));
        nodes
    }

    fn body(&self, given: &Value<'_>) -> Vec<Node> {
        let body = self.shared.follow(given);
        let required = if body.is("required") { " (required)" } else { "" };
        let mut content = vec![text(format!("Body{required}"))];
        match given.text("$ref").filter(|_| body.get("content").is_none()) {
            Some(reference) => content.push(text(format!(": see {}", name_of(reference)))),
            None => self.describe(body, &mut content),
        }
        let mut nodes = vec![element("p", content)];
        let items = self.contents(body);
        if !items.is_empty() {
            nodes.push(element("ul", items));
        }
        nodes
    }

    fn response(&self, code: &str, given: &Value<'_>) -> Node {
        let response = self.shared.follow(given);
        let mut content = vec![simple("code", code)];
        match given.text("$ref").filter(|_| response.get("description").is_none()) {
            Some(reference) => content.push(text(format!(": see {}", name_of(reference)))),
            None => self.describe(response, &mut content),
        }
        let mut items = self.contents(response);
        // Swagger has the schema next to the description.
        if let Some(schema) = response.get("schema") {
            let mut item = vec![text(type_of(schema))];
            item.extend(self.fields(schema, 0));
            items.push(element("li", item));
        }
        if !items.is_empty() {
            content.push(element("ul", items));
        }
        element("li", content)
    }

    /// Lists the media types, each with its schema.
    fn contents(&self, holder: &Value<'_>) -> Vec<Node> {
        /// Maximum number of media types of one body.
        const MOST: usize = 8;
        let all = holder.get("content").map(Value::members).unwrap_or_default();
        let items = all.iter().take(MOST).map(|(media, value)| {
            let mut content = vec![simple("code", media.as_ref())];
            if let Some(schema) = value.get("schema") {
                content.push(text(format!(": {}", type_of(schema))));
                content.extend(self.fields(schema, 0));
            }
            element("li", content)
        });
        items.collect()
    }
}

/// Returns the line with short facts.
fn facts(operation: &Value<'_>) -> Option<Node> {
    let mut content: Vec<Node> = Vec::new();
    let mut add = |node: Vec<Node>| {
        if !content.is_empty() {
            content.push(text(" · "));
        }
        content.extend(node);
    };
    if operation.is("deprecated") {
        add(vec![simple("strong", "deprecated")]);
    }
    if let Some(id) = operation.text("operationId") {
        add(vec![text("operation "), simple("code", id)]);
    }
    let tags: Vec<_> = operation
        .get("tags")
        .map(Value::elements)
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_text)
        .collect();
    if !tags.is_empty() {
        add(vec![text(format!("tags: {}", tags.join(", ")))]);
    }
    let schemes = operation.get("security").map(Value::elements).unwrap_or_default();
    let names: Vec<_> = schemes.iter().flat_map(Value::members).map(|(name, _)| name.as_ref()).collect();
    if !names.is_empty() {
        add(vec![text(format!("authentication: {}", names.join(" or ")))]);
    }
    (!content.is_empty()).then(|| element("p", content))
}
