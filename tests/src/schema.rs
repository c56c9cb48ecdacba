//! Validates messages against the protocol's JSON Schemas.

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::program::data;

/// Definitions of one protocol revision.
pub struct Schema {
    document: Value,
    revision: String,
    validators: HashMap<String, Validator>,
}

impl Schema {
    /// Loads the schema of a revision.
    pub fn of(revision: &str) -> Self {
        let file = data().join("mcp-schema").join(format!("{revision}.json"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let document = serde_json::from_str(&text).expect("a JSON Schema");
        Self { document, revision: revision.to_owned(), validators: HashMap::new() }
    }

    /// Asserts that `value` matches the definition `name`.
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
        let errors: Vec<_> =
            validator.iter_errors(value).map(|e| format!("{e} at {}", e.instance_path())).collect();
        assert!(errors.is_empty(), "not a {} of {}: {errors:#?}\n{value:#}", name, self.revision);
    }

    /// Asserts that a response to `method` is valid in this revision: its envelope, and its result against
    /// the definition for that method.
    pub fn check_answer(&mut self, method: &str, answer: &Value) {
        if answer.get("error").is_some() {
            let name =
                if self.defines("JSONRPCErrorResponse") { "JSONRPCErrorResponse" } else { "JSONRPCError" };
            let answer = with_some_id(answer);
            self.check(name, &answer);
            self.check_error(&answer);
            return;
        }
        let envelope =
            if self.defines("JSONRPCResultResponse") { "JSONRPCResultResponse" } else { "JSONRPCResponse" };
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
            "ping" | "logging/setLevel" => "EmptyResult",
            "skills/list" | "skills/get" => "CacheableResult",
            _ => "Result",
        };
        self.check(result, &answer["result"]);
    }

    /// Asserts the revision's rules for errors with this code, if it has any.
    fn check_error(&mut self, answer: &Value) {
        let (name, value) = match answer["error"]["code"].as_i64().expect("an integer") {
            -32700 => ("ParseError", &answer["error"]),
            -32600 => ("InvalidRequestError", &answer["error"]),
            -32601 => ("MethodNotFoundError", &answer["error"]),
            -32602 => ("InvalidParamsError", &answer["error"]),
            -32603 => ("InternalError", &answer["error"]),
            -32022 => ("UnsupportedProtocolVersionError", answer),
            _ => return,
        };
        if self.defines(name) {
            self.check(name, value);
        }
    }

    fn defines(&self, name: &str) -> bool {
        ["$defs", "definitions"].iter().any(|key| self.document[*key].get(name).is_some())
    }

    /// Asserts that a notification is valid in this revision.
    pub fn check_notification(&mut self, message: &Value) {
        let name = match message["method"].as_str().expect("a method") {
            "notifications/progress" => "ProgressNotification",
            "notifications/message" => "LoggingMessageNotification",
            "notifications/tools/list_changed" => "ToolListChangedNotification",
            "notifications/subscriptions/acknowledged" => "SubscriptionsAcknowledgedNotification",
            _ => "JSONRPCNotification",
        };
        self.check(name, message);
    }
}

/// Replaces a null ID with a string. JSON-RPC 2.0, section 5, requires a null ID in an error about a message
/// with an unknown ID, but the schemas do not cover that case.
fn with_some_id(answer: &Value) -> Value {
    let mut answer = answer.clone();
    if answer["id"].is_null() {
        answer["id"] = json!(0);
    }
    answer
}

/// Newest revision with a handshake. A server uses it before negotiation.
const NEWEST_HANDSHAKE: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";
/// Methods that belong to the revision without a handshake, regardless of the request's parameters.
const MODERN_METHODS: [&str; 2] = ["server/discover", "subscriptions/listen"];

/// Checks each message of a server against its revision, and records the kind of each message.
#[derive(Default)]
pub struct Checker {
    schemas: HashMap<String, Schema>,
    /// Revision negotiated by `initialize`.
    session: Option<String>,
    /// Method and revision of each request, by its ID as JSON text.
    requests: HashMap<String, (String, String)>,
    /// Revision of the request behind each progress token, as JSON text.
    tokens: HashMap<String, String>,
    /// Received messages in order.
    pub seen: Vec<Seen>,
}

/// Checked message.
pub struct Seen {
    pub revision: String,
    /// Method of the answered request or of the notification.
    pub method: String,
    pub message: Value,
}

impl Checker {
    /// Records a line before it is sent.
    pub fn sent(&mut self, line: &str) {
        match serde_json::from_str::<Value>(line) {
            Ok(Value::Array(members)) => members.iter().for_each(|member| self.note(member)),
            Ok(message) => self.note(&message),
            Err(_) => {}
        }
    }

    fn note(&mut self, message: &Value) {
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else { return };
        let meta = &message["params"]["_meta"];
        let claims = ["protocolVersion", "clientCapabilities"]
            .iter()
            .any(|name| meta.get(format!("io.modelcontextprotocol/{name}")).is_some());
        let modern = MODERN_METHODS.contains(&method) || claims && method != "initialize";
        let revision = if modern { MODERN } else { self.session.as_deref().unwrap_or(NEWEST_HANDSHAKE) };
        if let Some(token) = meta.get("progressToken") {
            self.tokens.insert(token.to_string(), revision.to_owned());
        }
        self.requests.insert(id.to_string(), (method.to_owned(), revision.to_owned()));
    }

    /// Checks a received message or batch.
    pub fn received(&mut self, message: &Value) {
        match message {
            Value::Array(members) => {
                let session = self.session.clone().expect("batches come after the handshake");
                let batch = members.iter().map(with_some_id).collect();
                self.with_schema(&session, |schema| schema.check("JSONRPCBatchResponse", &batch));
                members.iter().for_each(|member| self.single(member));
            }
            _ => self.single(message),
        }
    }

    fn single(&mut self, message: &Value) {
        let (method, revision) = match message["method"].as_str() {
            Some(method) => (method.to_owned(), self.revision_of_notification(message)),
            None => self.asked(message),
        };
        self.with_schema(&revision, |schema| match message.get("method") {
            Some(_) => schema.check_notification(message),
            None => schema.check_answer(&method, message),
        });
        self.seen.push(Seen { revision, method, message: message.clone() });
    }

    /// Returns the method and the revision of the request that `answer` belongs to.
    fn asked(&mut self, answer: &Value) -> (String, String) {
        if let Some(version) = answer["result"]["protocolVersion"].as_str() {
            self.session = Some(version.to_owned());
            return ("initialize".to_owned(), version.to_owned());
        }
        let session = self.session.as_deref().unwrap_or(NEWEST_HANDSHAKE);
        let unknown = || {
            assert!(answer.get("error").is_some(), "an answer to no request: {answer}");
            (String::new(), session.to_owned())
        };
        self.requests.get(&answer["id"].to_string()).cloned().unwrap_or_else(unknown)
    }

    fn revision_of_notification(&self, message: &Value) -> String {
        let params = &message["params"];
        if params["_meta"].get("io.modelcontextprotocol/subscriptionId").is_some() {
            return MODERN.to_owned();
        }
        let token = self.tokens.get(&params["progressToken"].to_string());
        token.or(self.session.as_ref()).cloned().unwrap_or_else(|| MODERN.to_owned())
    }

    fn with_schema(&mut self, revision: &str, check: impl FnOnce(&mut Schema)) {
        check(self.schemas.entry(revision.to_owned()).or_insert_with(|| Schema::of(revision)));
    }
}
