//! Checking messages against the protocol's own JSON Schemas.

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::program::shared_data;

/// The definitions of one revision.
pub struct Schema {
    document: Value,
    revision: String,
    validators: HashMap<String, Validator>,
}

impl Schema {
    /// The schema of a revision; `None` where the shared data is absent.
    pub fn of(revision: &str) -> Option<Self> {
        let file = shared_data()?.join("mcp-schema").join(format!("{revision}.json"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let document = serde_json::from_str(&text).expect("a JSON Schema");
        Some(Self { document, revision: revision.to_owned(), validators: HashMap::new() })
    }

    /// Asserts that `value` is what the schema calls `name`.
    pub fn check(&mut self, name: &str, value: &Value) {
        let validator = self.validators.entry(name.to_owned()).or_insert_with(|| {
            let key = if self.document.get("$defs").is_some() { "$defs" } else { "definitions" };
            let root = json!({
                "$schema": self.document["$schema"],
                "$ref": format!("#/{key}/{name}"),
                key: self.document[key],
            });
            jsonschema::validator_for(&root).unwrap_or_else(|e| panic!("{}/{name}: {e}", self.revision))
        });
        let errors: Vec<_> = validator.iter_errors(value).map(|e| format!("{e} at {}", e.instance_path())).collect();
        assert!(errors.is_empty(), "not a {} of {}: {errors:#?}\n{value:#}", name, self.revision);
    }

    /// Asserts that an answer to `method` is one of the revision: its envelope, and its
    /// result by the definition for that method.
    pub fn check_answer(&mut self, method: &str, answer: &Value) {
        let has = |schema: &Self, name: &str| {
            let key = if schema.document.get("$defs").is_some() { "$defs" } else { "definitions" };
            schema.document[key].get(name).is_some()
        };
        if answer.get("error").is_some() {
            let name = if has(self, "JSONRPCErrorResponse") { "JSONRPCErrorResponse" } else { "JSONRPCError" };
            // An error about a message whose id is unknown has a null id, as JSON-RPC 2.0 says in
            // section 5; the schemas have no word for it.
            let mut answer = answer.clone();
            if answer["id"].is_null() {
                answer["id"] = json!(0);
            }
            self.check(name, &answer);
            return;
        }
        let envelope = if has(self, "JSONRPCResultResponse") { "JSONRPCResultResponse" } else { "JSONRPCResponse" };
        self.check(envelope, answer);
        let result = match method {
            "initialize" => "InitializeResult",
            "server/discover" => "DiscoverResult",
            "tools/list" => "ListToolsResult",
            "tools/call" => "CallToolResult",
            "prompts/list" => "ListPromptsResult",
            "prompts/get" => "GetPromptResult",
            "resources/list" => "ListResourcesResult",
            "resources/templates/list" => "ListResourceTemplatesResult",
            "resources/read" => "ReadResourceResult",
            "subscriptions/listen" => "SubscriptionsListenResult",
            _ => "Result",
        };
        self.check(result, &answer["result"]);
    }

    /// Asserts that a notification is one of the revision.
    pub fn check_notification(&mut self, message: &Value) {
        let name = match message["method"].as_str().expect("a method") {
            "notifications/progress" => "ProgressNotification",
            "notifications/message" => "LoggingMessageNotification",
            "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotification",
            _ => "JSONRPCNotification",
        };
        self.check(name, message);
    }
}
