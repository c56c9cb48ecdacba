//! Shared definitions of a description: parameters, bodies, responses.

use std::collections::HashMap;

use crate::value::Value;

/// Definitions by reference.
#[derive(Debug, Default)]
pub(super) struct Shared<'a> {
    by_reference: HashMap<String, &'a Value<'a>>,
}

impl<'a> Shared<'a> {
    pub(super) fn of(root: &'a Value<'a>) -> Self {
        const SECTIONS: [&str; 4] = ["parameters", "requestBodies", "responses", "headers"];
        let mut by_reference = HashMap::new();
        let components = root.get("components").unwrap_or(&Value::Null);
        for (parent, before) in [(components, "#/components/"), (root, "#/")] {
            for section in SECTIONS {
                for (name, value) in parent.get(section).map(Value::members).unwrap_or_default() {
                    by_reference.insert(format!("{before}{section}/{name}"), value);
                }
            }
        }
        Self { by_reference }
    }

    /// Returns the value, or the target of its reference. Only one step is followed, so cycles are harmless.
    pub(super) fn follow<'v>(&self, value: &'v Value<'v>) -> &'v Value<'v>
    where
        'a: 'v,
    {
        let target = value.text("$ref").and_then(|reference| self.by_reference.get(reference).copied());
        target.unwrap_or(value)
    }
}

/// Returns the last segment of a reference.
pub(super) fn name_of(reference: &str) -> String {
    let name = reference.rsplit('/').next().unwrap_or(reference);
    name.replace("~1", "/").replace("~0", "~")
}

/// Returns a text on one line.
pub(super) fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
