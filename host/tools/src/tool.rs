//! A single tool.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use scorpiox_audit::Uses;
use scorpiox_capabilities::Capability;
use scorpiox_capabilities::ask::Asked;
use scorpiox_capabilities::contents::RichContent;
use scorpiox_executor::Cancel;
use scorpiox_questions::Questions;
use scorpiox_tool_kit::Failure;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use scorpiox_mcp::prefixed;
use scorpiox_runtime::{Component, Fault};
use scorpiox_shell::{HostAnswer, Shell, Target};

/// A tool, and where it runs.
pub struct Tool {
    /// Unique name.
    pub name: Cow<'static, str>,
    /// Kind of the tool, which determines where it runs.
    pub kind: Kind,
    /// Hints that some clients use.
    pub marks: Marks,
}

/// Hints about a tool for some clients, which the protocol does not define.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// `true` if a model should know the tool from the start, in clients that list only names until the model
    /// searches. This applies to tools that begin a kind of work, because their results name the follow-up
    /// tools.
    pub at_once: bool,
    /// `true` if the tool's results are long and should not be truncated.
    pub whole: bool,
}

/// Kind of a tool.
pub enum Kind {
    /// A built-in tool in a sandbox.
    Wasm {
        /// Component of the tool. Several tools may share one.
        component: Arc<Component>,
        /// Definitions as JSON, for an empty environment.
        definitions: &'static str,
        /// `true` if the component itself lists the tool only in some situations.
        conditional: bool,
    },
    /// An external tool in a sandbox, approved by the user.
    Plugin {
        /// Component of the plugin.
        component: Arc<Component>,
        /// The approved definition.
        definition: Definition,
        /// Digest of the definition, to detect changes of the list.
        listed: u64,
        /// The component's own name for the tool.
        inner: String,
    },
    /// A tool in the host process.
    Native(Arc<dyn NativeTool>),
}

impl Tool {
    /// Returns `true` if a call usually ends quickly: the tool is built in, asks nobody, and uses only its own data.
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

/// A tool that the host itself implements with capabilities.
pub trait NativeTool: Send + Sync {
    /// Returns the definition for clients.
    fn definition(&self) -> Definition;
    /// Describes the tool's access for users: "may …".
    fn may(&self) -> &'static str;
    /// Returns `true` if the tool itself moves a slow call to the background at [`Call::answer_by`].
    fn lets_go(&self) -> bool {
        false
    }
    /// Returns `false` if the tool cannot return the content of files.
    fn reads_files(&self) -> bool {
        true
    }
    /// Fails for arguments with which no call runs, before rules judge them and a person is asked about them. All other
    /// flaws are found by [`NativeTool::call`].
    fn check(&self, _given: &Given<'_>) -> Result<(), Failure> {
        Ok(())
    }
    /// Runs a call. Must return soon after `call.cancel` is set.
    fn call(&self, call: &Call<'_>) -> Result<Output, Failure>;
}

/// Arguments of a call that may not run.
pub struct Given<'a> {
    /// Arguments, as a JSON object.
    pub arguments: &'a str,
    /// Folder that calls work in.
    pub workspace: &'a Path,
    /// Prefix of tool names for the client.
    pub prefix: Option<&'a str>,
}

impl Given<'_> {
    /// Returns a tool's name as this client knows it.
    pub fn name<'n>(&self, tool: &'n str) -> Cow<'n, str> {
        prefixed(self.prefix, tool)
    }
}

/// Services of the host for a native tool, for one call.
pub trait ToolHost: Sync {
    /// Returns the shell that runs commands.
    fn shell(&self) -> &Shell;
    /// Returns the goal of the workspace's active plan. On an error the state is unknown, and callers that
    /// depend on it must refuse.
    fn active_plan(&self) -> Result<Option<String>, Fault>;
    /// Asks the user. `rule` is the rule that allows it.
    fn ask(&self, questions: &Questions, rule: &'static str) -> Asked;
    /// Asks whether commands may reach a host that the policy does not list, while a command runs and until the
    /// question is withdrawn.
    fn ask_about_host(&self, command: &str, target: &Target, withdrawn: &Cancel) -> HostAnswer;
    /// Reports progress to the client, if it asked for that.
    fn report(&self, message: &str);
}

/// A call of a native tool.
pub struct Call<'a> {
    /// Arguments, as a JSON object.
    pub arguments: &'a str,
    /// Cancellation flag of the call.
    pub cancel: &'a Cancel,
    /// `true` if output is streamed as progress.
    pub streams: bool,
    /// Maximum length of the result's text in characters.
    pub room: usize,
    /// Time by which the client must be answered; `None` if it waits indefinitely.
    pub answer_by: Option<Instant>,
    /// Maximum time to an answer without progress notifications; `None` if the client waits indefinitely.
    pub answer_within: Option<Duration>,
    /// Prefix of tool names for the client.
    pub prefix: Option<&'a str>,
    /// Record of everything the call accesses.
    pub uses: &'a Uses,
    /// The host server.
    pub host: &'a dyn ToolHost,
}

impl Call<'_> {
    /// Returns a tool's name as this client knows it.
    pub fn name<'n>(&self, tool: &'n str) -> Cow<'n, str> {
        prefixed(self.prefix, tool)
    }
}

/// A tool's definition for clients.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Definition {
    /// Name of the tool.
    pub name: Cow<'static, str>,
    /// Title for users.
    pub title: Cow<'static, str>,
    /// Description of the tool.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Box<RawValue>,
    /// JSON Schema of the structured result.
    pub output_schema: Option<Box<RawValue>>,
    /// Hints for clients.
    pub hints: Hints,
}

impl Definition {
    /// Returns a digest that changes with the definition, except for rare collisions.
    pub fn digest(&self) -> u64 {
        let Self { name, title, description, input_schema, output_schema, hints } = self;
        let mut hasher = DefaultHasher::new();
        (name, title, description, input_schema.get(), hints).hash(&mut hasher);
        output_schema.as_deref().map(RawValue::get).hash(&mut hasher);
        hasher.finish()
    }
}

/// Parses a schema of this crate, which is valid JSON.
pub(super) fn schema(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap_or_default()
}

/// Hints about calls, which are never permissions.
#[derive(Debug, Clone, Copy, Hash, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // the protocol's four hints
pub struct Hints {
    /// `true` if a call changes nothing.
    pub read_only: bool,
    /// `true` if a call may destroy existing data.
    pub destructive: bool,
    /// `true` if repeating a call has no further effect.
    pub idempotent: bool,
    /// `true` if a call reaches beyond this machine.
    pub open_world: bool,
}

/// Output of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Content for the model.
    pub content: Vec<OutputContent>,
    /// The same output as a JSON object.
    pub structured: Option<String>,
    /// `true` if the output describes a failure, such as a failed command with its output.
    pub is_error: bool,
}

/// A content item of the output.
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
    /// Content that a plugin attached to its result.
    Attached(RichContent),
}

impl Output {
    /// Creates an output with only text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![OutputContent::Text(text.into())], structured: None, is_error: false }
    }
}
