//! One tool.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_ask::Questions;
use scorpiox_audit::Uses;
use scorpiox_capabilities::Capability;
use scorpiox_capabilities::ask::Asked;
use scorpiox_capabilities::contents::RichContent;
use scorpiox_executor::Cancel;
use scorpiox_tool_kit::Failure;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use scorpiox_mcp::prefixed;
use scorpiox_runtime::{Component, Fault};
use scorpiox_shell::Shell;

/// A tool, and where it runs.
pub struct Tool {
    /// What it is called by. Unique.
    pub name: Cow<'static, str>,
    /// Where it runs.
    pub kind: Kind,
    /// What clients may do better, knowing it.
    pub marks: Marks,
}

/// What some clients can be told of a tool, beside what the protocol has words for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// A model is to know it from the start, where a client gives bare names until the model searches. The tools
    /// that begin a kind of work are: results name those that go on with it.
    pub at_once: bool,
    /// Its results are long, and of use whole.
    pub whole: bool,
}

/// Where a tool runs.
pub enum Kind {
    /// In a sandbox.
    Wasm {
        /// The component that has it; several tools may share one.
        component: Arc<Component>,
        /// Its definitions as JSON, as if it found nothing of what they may depend on.
        definitions: &'static str,
        /// Listed in only some situations, by the component itself.
        conditional: bool,
    },
    /// In a sandbox, shipped by others, approved by a person.
    Plugin {
        /// The plugin's component.
        component: Arc<Component>,
        /// What was approved.
        definition: Definition,
        /// Another number where clients are told something else of it.
        listed: u64,
        /// What the component itself calls it.
        inner: String,
    },
    /// In the host.
    Native(Arc<dyn NativeTool>),
}

impl Tool {
    /// Whether a call of it is over in a moment: it is this program's own, asks nobody, and works on its own data alone.
    pub fn is_brief(&self) -> bool {
        use Capability::{Bounds, Clock, Store, Timer};
        match &self.kind {
            Kind::Wasm { component, .. } => {
                component.grants.iter().all(|grant| [Store, Clock, Bounds, Timer].contains(grant))
            }
            Kind::Plugin { .. } | Kind::Native(_) => false,
        }
    }
}

/// A tool that the host itself implements, on top of capabilities.
pub trait NativeTool: Send + Sync {
    /// What clients are told.
    fn definition(&self) -> Definition;
    /// What it may touch, for people: "may …".
    fn may(&self) -> &'static str;
    /// Whether it lets go of what takes too long by itself, at [`Call::answer_by`].
    fn lets_go(&self) -> bool {
        false
    }
    /// Runs one call. Must return soon after `call.cancel` is set.
    fn call(&self, call: &Call<'_>) -> Result<Output, Failure>;
}

/// What a native tool may use, for one call.
pub trait ToolHost {
    /// Where commands run.
    fn shell(&self) -> &Shell;
    /// The goal of the plan that is active in the workspace. An error is no answer: who has to know must
    /// refuse then.
    fn active_plan(&self) -> Result<Option<String>, Fault>;
    /// Asks the person. `rule` is what allows it.
    fn ask(&self, questions: &Questions, rule: &'static str) -> Asked;
    /// Tells the client how far the call is, if it asked.
    fn report(&self, message: &str);
}

/// One call of a native tool.
pub struct Call<'a> {
    /// The arguments, a JSON object.
    pub arguments: &'a str,
    /// Set when the call must stop.
    pub cancel: &'a Cancel,
    /// Whether output is to be told while it comes.
    pub streams: bool,
    /// Most characters that the text of the result may have.
    pub room: usize,
    /// When the client has to be answered, done or not; none where it waits.
    pub answer_by: Option<Instant>,
    /// How long it waits for an answer without a word of progress; none where it does.
    pub answer_within: Option<Duration>,
    /// What the client is told before the names of tools.
    pub prefix: Option<&'a str>,
    /// Told of what the call touches.
    pub uses: &'a Uses,
    /// The server that the tool is part of.
    pub host: &'a dyn ToolHost,
}

impl Call<'_> {
    /// A tool's name, as this client knows it.
    pub fn name<'n>(&self, tool: &'n str) -> Cow<'n, str> {
        prefixed(self.prefix, tool)
    }
}

/// What a client is told about a tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Definition {
    /// What it is called by.
    pub name: Cow<'static, str>,
    /// A name for people.
    pub title: Cow<'static, str>,
    /// What it does.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Box<RawValue>,
    /// JSON Schema of the structured result.
    pub output_schema: Option<Box<RawValue>>,
    /// What a client may assume.
    pub hints: Hints,
}

impl Definition {
    /// A number that is another, but for rare chance, where anything of it is.
    pub fn digest(&self) -> u64 {
        let Self { name, title, description, input_schema, output_schema, hints } = self;
        let mut hasher = DefaultHasher::new();
        (name, title, description, input_schema.get(), hints).hash(&mut hasher);
        output_schema.as_deref().map(RawValue::get).hash(&mut hasher);
        hasher.finish()
    }
}

/// A schema of this folder, which is valid JSON.
pub(super) fn schema(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap_or_default()
}

/// Hints about a call, never permissions.
#[derive(Debug, Clone, Copy, Hash, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // the protocol's four hints
pub struct Hints {
    /// Changes nothing.
    pub read_only: bool,
    /// May destroy something that exists.
    pub destructive: bool,
    /// Calling it twice is the same as once.
    pub idempotent: bool,
    /// Reaches beyond this machine.
    pub open_world: bool,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// For the model.
    pub content: Vec<OutputContent>,
    /// The same as a JSON object.
    pub structured: Option<String>,
    /// Whether what it tells of is a failure: a command that failed, and what it printed.
    pub is_error: bool,
}

/// A piece of what a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum OutputContent {
    Text(String),
    Image {
        data: Vec<u8>,
        mime_type: String,
    },
    Document {
        uri: String,
        mime_type: Option<String>,
        text: String,
    },
    /// What a plugin attached to its result.
    Attached(RichContent),
}

impl Output {
    /// Text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![OutputContent::Text(text.into())], structured: None, is_error: false }
    }
}
