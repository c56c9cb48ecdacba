//! Audit line of one call.

use std::sync::Arc;
use std::time::Duration;

use scorpiox_text::line::{clean, escaped_json, push_number, push_string};
use scorpiox_text::principals::{MAX_ISSUER_BYTES, MAX_NAME_BYTES};

use crate::Uses;
use crate::time::digits;
use scorpiox_text::RuleTexts;

/// Maximum length of a workspace path.
const MAX_PATH_BYTES: usize = 4096;
/// Maximum size of arguments recorded in full; longer ones are truncated.
const MAX_ARGUMENTS_BYTES: usize = 16 * 1024;

/// Reason of a refusal: the call did not run because its line could not be written.
pub const NOT_RECORDED: &str = "not-recorded";

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The call returned a result.
    Ok,
    /// The tool returned an error, or a result that reports one.
    Error,
    /// The call was cancelled.
    Cancelled,
    /// The call ended with questions to the user. The client asks them before it calls again.
    InputRequired,
    /// The call did not run. The string names the limit or rule.
    Refused(&'static str),
    /// The call was stopped or failed. The string names the cause.
    Fault(&'static str),
}

impl Outcome {
    /// Returns the name used in audit lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::InputRequired => "input-required",
            Self::Refused(_) => "refused",
            Self::Fault(_) => "fault",
        }
    }

    fn kind(self) -> Option<&'static str> {
        match self {
            Self::Refused(kind) | Self::Fault(kind) => Some(kind),
            _ => None,
        }
    }
}

/// Caller: the client, as it identifies itself, and the principal authenticated by the transport.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientName {
    /// Display text: name and version.
    pub text: String,
    /// Name that the client gives itself; `None` if it gives none.
    pub name: Option<Arc<str>>,
    /// Unique key of the principal, if any.
    pub principal: Option<Arc<str>>,
    json: Vec<u8>,
}

impl ClientName {
    /// Creates a client name from a sanitized and truncated name and version.
    pub fn new(name: &str, version: &str) -> Self {
        let [name, version] = [name, version].map(|text| clean(text, MAX_NAME_BYTES));
        let mut json = b"{\"name\":".to_vec();
        push_string(&mut json, &name);
        json.extend_from_slice(b",\"version\":");
        push_string(&mut json, &version);
        json.push(b'}');
        let text = format!("{name} {version}").trim().to_owned();
        Self {
            text,
            name: Some(name.into()).filter(|name: &Arc<str>| !name.is_empty()),
            principal: None,
            json,
        }
    }

    /// Creates the name of a client that does not identify itself.
    pub fn unknown() -> Self {
        Self { json: b"null".to_vec(), ..Self::default() }
    }

    /// Adds the principal: its name, the issuer that vouches for it, and its unique key.
    #[must_use]
    pub fn used_by(mut self, name: &str, issuer: Option<&str>, key: &str) -> Self {
        let name = clean(name, MAX_NAME_BYTES);
        self.json.extend_from_slice(b",\"principal\":");
        push_string(&mut self.json, &name);
        if let Some(issuer) = issuer {
            self.json.extend_from_slice(b",\"issuer\":");
            push_string(&mut self.json, &clean(issuer, MAX_ISSUER_BYTES));
        }
        self.text = if self.text.is_empty() { name } else { format!("{} of {name}", self.text) };
        self.principal = Some(Arc::from(key));
        self
    }

    /// Adds the display name of the principal.
    #[must_use]
    pub fn known_as(mut self, shown: Option<&str>) -> Self {
        if let Some(shown) = shown {
            self.json.extend_from_slice(b",\"principal_name\":");
            push_string(&mut self.json, &clean(shown, MAX_NAME_BYTES));
        }
        self
    }
}

/// Members that are the same in all lines of a server, serialized once.
#[derive(Debug, Clone)]
pub struct Origin {
    json: Vec<u8>,
    /// Texts of the policy rules.
    rules: Arc<RuleTexts>,
}

/// Server process and what it works for, as recorded in its lines.
#[derive(Debug, Clone, Copy)]
pub struct Recorder<'a> {
    /// User name; empty if the user database has none.
    pub user: &'a str,
    /// User ID.
    pub uid: u32,
    /// Host name.
    pub machine: &'a str,
    /// Workspace directory of the server.
    pub workspace: &'a str,
    /// Hash of the policy in use, or a keyword if no policy applies.
    pub policy: &'a str,
}

impl Origin {
    /// Creates the origin of this process.
    pub fn new(recorder: &Recorder<'_>) -> Self {
        let Recorder { user, uid, machine, workspace, policy } = *recorder;
        let mut json = b"\",\"pid\":".to_vec();
        push_number(&mut json, std::process::id().into());
        json.extend_from_slice(b",\"user\":");
        push_string(&mut json, &clean(user, MAX_NAME_BYTES));
        json.extend_from_slice(b",\"uid\":");
        push_number(&mut json, uid.into());
        let texts = [
            (&b",\"machine\":"[..], machine, MAX_NAME_BYTES),
            (b",\"workspace\":", workspace, MAX_PATH_BYTES),
            (b",\"policy\":", policy, MAX_NAME_BYTES),
        ];
        for (member, text, most) in texts {
            json.extend_from_slice(member);
            push_string(&mut json, &clean(text, most));
        }
        json.extend_from_slice(b",\"client\":");
        Self { json, rules: Arc::default() }
    }

    /// Sets the policy texts whose rules are cited in lines.
    #[must_use]
    pub fn citing(self, rules: RuleTexts) -> Self {
        Self { rules: Arc::new(rules), ..self }
    }

    /// Appends a line that reports the number of lost lines.
    pub(crate) fn push_lost(&self, out: &mut Vec<u8>, lost: u64) {
        out.extend_from_slice(b"{\"time\":\"");
        out.extend_from_slice(&digits(crate::time::now()));
        out.extend_from_slice(&self.json);
        out.extend_from_slice(b"null,\"lost\":");
        push_number(out, lost);
        out.extend_from_slice(b"}\n");
    }

    #[cfg(test)]
    pub(crate) fn of(workspace: &str) -> Self {
        Self::new(&Recorder {
            user: "ana",
            uid: 1000,
            machine: "m1",
            workspace,
            policy: crate::uses::BUILT_IN,
        })
    }
}

/// Component that served the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component<'a> {
    /// Built-in component, with the name and hash used in lines.
    BuiltIn(&'a str),
    /// Plugin.
    Plugin(PluginLabel<'a>),
}

/// Identification of a plugin in audit lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginLabel<'a> {
    /// Local name of the plugin.
    pub name: &'a str,
    /// Version; empty if unknown or undeclared.
    pub version: &'a str,
    /// Hash of the plugin's complete contents, as listed in policies; empty if unknown.
    pub hash: &'a str,
    /// Hash of the component binary; empty if unknown.
    pub component: &'a str,
}

impl<'a> Component<'a> {
    /// Returns the value of the member `component`, or `None` if unknown.
    pub fn id(self) -> Option<&'a str> {
        let (Self::BuiltIn(id) | Self::Plugin(PluginLabel { component: id, .. })) = self;
        Some(id).filter(|id| !id.is_empty())
    }

    /// Appends the members that describe the component.
    fn push(component: Option<Self>, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"component\":");
        match component.and_then(Self::id) {
            Some(id) => push_string(out, id),
            None => out.extend_from_slice(b"null"),
        }
        let Some(Self::Plugin(PluginLabel { name, version, hash, .. })) = component else { return };
        out.extend_from_slice(b",\"plugin\":{\"name\":");
        push_string(out, &clean(name, MAX_NAME_BYTES));
        if !version.is_empty() {
            out.extend_from_slice(b",\"version\":");
            push_string(out, &clean(version, MAX_NAME_BYTES));
        }
        if !hash.is_empty() {
            out.extend_from_slice(b",\"hash\":");
            push_string(out, hash);
        }
        out.push(b'}');
    }
}

/// Call to record.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Start time, in milliseconds since the Unix epoch.
    pub time: u64,
    /// Server that served the call.
    pub origin: &'a Origin,
    /// Client, if it identified itself.
    pub client: Option<&'a ClientName>,
    /// Name of the tool.
    pub tool: &'a str,
    /// Component that ran; `None` for tools of the host.
    pub component: Option<Component<'a>>,
    /// Resources the call accessed.
    pub uses: &'a Uses,
    /// Duration of the call.
    pub duration: Duration,
    /// Outcome of the call.
    pub outcome: Outcome,
    /// Arguments (a JSON object), if the operator enabled recording them.
    pub arguments: Option<&'a str>,
}

impl Entry<'_> {
    /// Appends the line to `out`.
    pub fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"time\":\"");
        out.extend_from_slice(&digits(self.time));
        out.extend_from_slice(&self.origin.json);
        out.extend_from_slice(self.client.map_or(b"null", |client| &client.json));
        out.extend_from_slice(b",\"tool\":");
        push_string(out, self.tool);
        Component::push(self.component, out);
        self.uses.push(out, &self.origin.rules);
        self.push_costs(out);
        if let Some(trace) = self.uses.trace() {
            out.extend_from_slice(b",\"trace_id\":\"");
            out.extend_from_slice(&trace.hex_id());
            out.push(b'"');
        }
        out.extend_from_slice(b",\"outcome\":\"");
        out.extend_from_slice(self.outcome.name().as_bytes());
        out.push(b'"');
        if let Some(kind) = self.outcome.kind() {
            out.extend_from_slice(b",\"fault\":");
            push_string(out, kind);
        }
        if let Some(arguments) = self.arguments {
            push_arguments(out, arguments);
        }
        out.extend_from_slice(b"}\n");
    }

    fn push_costs(&self, out: &mut Vec<u8>) {
        let micros = u64::try_from(self.duration.as_micros()).unwrap_or(u64::MAX);
        out.extend_from_slice(b",\"duration_ms\":");
        push_number(out, micros / 1000);
        out.push(b'.');
        out.extend([100, 10, 1].map(|unit| b'0' + (micros / unit % 10) as u8));
        if self.uses.memory() > 0 {
            out.extend_from_slice(b",\"memory_bytes\":");
            push_number(out, self.uses.memory());
        }
    }
}

fn push_arguments(out: &mut Vec<u8>, arguments: &str) {
    if arguments.len() <= MAX_ARGUMENTS_BYTES {
        out.extend_from_slice(b",\"arguments\":");
        out.extend_from_slice(escaped_json(arguments).as_bytes());
    } else {
        // Truncated arguments are not valid JSON.
        out.extend_from_slice(b",\"arguments_begin\":");
        push_string(out, &arguments[..arguments.floor_char_boundary(MAX_ARGUMENTS_BYTES)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn line(arguments: Option<&str>, change: impl FnOnce(&mut Entry<'_>)) -> Value {
        let (origin, uses) = (Origin::of("/w/\"x\"\n"), Uses::default());
        let client = ClientName::new("cla\u{1b}ude", &"9".repeat(500));
        let mut entry = Entry {
            time: 1_795_313_316_123,
            origin: &origin,
            client: Some(&client),
            tool: "TaskManager",
            component: Some(Component::BuiltIn("built-in")),
            uses: &uses,
            duration: Duration::from_micros(1_002_003),
            outcome: Outcome::Ok,
            arguments,
        };
        change(&mut entry);
        let mut out = Vec::new();
        entry.push(&mut out);
        assert_eq!(out.iter().position(|byte| *byte == b'\n'), Some(out.len() - 1));
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn a_line_says_for_which_principal_a_client_calls() {
        let ann = ClientName::new("claude", "2").used_by("ann", Some("https://login.example.com"), "key");
        let ann: &ClientName = Box::leak(Box::new(ann));
        let with = line(None, |entry| entry.client = Some(ann));
        assert_eq!(
            (&with["client"]["name"], &with["principal"], &with["issuer"], &with["tool"]),
            (&json!("claude"), &json!("ann"), &json!("https://login.example.com"), &json!("TaskManager"))
        );
        let named = ClientName::unknown().used_by("1234", None, "key").known_as(Some("Ann Smith"));
        let named: &ClientName = Box::leak(Box::new(named));
        let with = line(None, |entry| entry.client = Some(named));
        assert_eq!((&with["principal"], &with["principal_name"]), (&json!("1234"), &json!("Ann Smith")));
        let nameless: &ClientName = Box::leak(Box::new(ClientName::unknown().used_by("ci", None, "ci")));
        let with = line(None, |entry| entry.client = Some(nameless));
        assert_eq!(
            (&with["client"], &with["principal"], with.get("issuer")),
            (&json!(null), &json!("ci"), None)
        );
        assert_eq!((ann.text.as_str(), nameless.text.as_str()), ("claude 2 of ann", "ci"));
    }

    #[test]
    fn a_line_has_everything_but_arguments() {
        let line = line(None, |_| {});
        assert_eq!(line["client"]["version"].as_str().unwrap().chars().count(), 101);
        assert_eq!(
            (&line["time"], &line["workspace"], &line["client"]["name"], &line["duration_ms"]),
            (&json!("2026-11-22T02:08:36.123Z"), &json!("/w/\"x\""), &json!("claude"), &json!(1002.003))
        );
        assert_eq!(line["pid"], std::process::id());
        assert_eq!(
            (&line["user"], &line["uid"], &line["machine"], &line["policy"]),
            (&json!("ana"), &json!(1000), &json!("m1"), &json!("built-in"))
        );
        assert_eq!((&line["outcome"], line.get("fault"), line.get("arguments")), (&json!("ok"), None, None));
    }

    #[test]
    fn a_line_says_which_trace_it_is_part_of() {
        let uses = Uses::default();
        uses.part_of(crate::Trace::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap());
        let uses: &Uses = Box::leak(Box::new(uses));
        let with = line(None, |entry| entry.uses = uses);
        assert_eq!(with["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(line(None, |_| {}).get("trace_id"), None);
    }

    #[test]
    fn a_fault_has_its_kind_and_a_tool_of_the_host_no_component() {
        let line = line(None, |entry| {
            entry.outcome = Outcome::Fault("deadline");
            entry.component = None;
            entry.client = None;
            entry.uses.took_memory(65_536);
        });
        assert_eq!((&line["outcome"], &line["fault"]), (&json!("fault"), &json!("deadline")));
        assert_eq!((&line["component"], &line["client"]), (&Value::Null, &Value::Null));
        assert_eq!(line["memory_bytes"], 65_536);
    }

    #[test]
    fn a_line_has_the_plugin_with_both_its_hashes_by_their_names() {
        let plugin = PluginLabel { name: "weather", version: "1.2.0", hash: "ab", component: "cd" };
        let with = line(None, |entry| entry.component = Some(Component::Plugin(plugin)));
        assert_eq!(with["component"], "cd");
        assert_eq!(with["plugin"], json!({"name": "weather", "version": "1.2.0", "hash": "ab"}));
        let unknown = PluginLabel { version: "", hash: "", component: "", ..plugin };
        let without = line(None, |entry| entry.component = Some(Component::Plugin(unknown)));
        assert_eq!((&without["component"], &without["plugin"]), (&Value::Null, &json!({"name": "weather"})));
    }

    #[test]
    fn arguments_are_on_one_line_and_bounded() {
        let kept = line(Some("{\r\"a\": \"\u{9b}b\"}"), |_| {});
        assert_eq!(kept["arguments"], json!({"a": "\u{9b}b"}));
        let long = format!("{{\"a\":\"{}\"}}", "é".repeat(MAX_ARGUMENTS_BYTES));
        let cut = line(Some(&long), |_| {});
        let begin = cut["arguments_begin"].as_str().unwrap();
        assert!(long.starts_with(begin) && begin.len() <= MAX_ARGUMENTS_BYTES);
    }
}
