//! Capabilities that a plugin requests, with the reason for each. Once approved, the same type is the grant.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::secrets::SecretName;

/// Name of the server's workspace directory in `plugin.toml`.
pub const WORKSPACE: &str = "workspace";

/// All capabilities that a plugin can request. An absent capability is not granted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Asks {
    /// Persistent data of the plugin, separate for each workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<PlainAsk>,
    /// Access to the clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<PlainAsk>,
    /// Cryptographically secure random numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random: Option<PlainAsk>,
    /// Questions to the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<PlainAsk>,
    /// Access to directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesAsk>,
    /// Access to environment variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<EnvAsk>,
    /// HTTP requests to hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<WebAsk>,
    /// Execution of shell commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<ShellAsk>,
    /// Sampling: requests to the client's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingAsk>,
    /// Elicitation: forms that the user fills in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forms: Option<PlainAsk>,
    /// Roots: the directories that the client works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<PlainAsk>,
}

/// A capability without parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainAsk {
    /// Reason, shown to the user who decides.
    pub why: String,
}

/// Directories: `workspace`, absolute paths, or paths that begin with `~/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesAsk {
    /// Reason, shown to the user who decides.
    pub why: String,
    /// Directories to read.
    #[serde(default)]
    pub read: Vec<String>,
    /// Directories to read and write.
    #[serde(default)]
    pub write: Vec<String>,
    /// Directory that the plugin sees as `/`, instead of each directory at its own path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Root>,
}

/// Directory that a plugin sees as `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Root {
    /// The server's workspace directory.
    Workspace,
}

/// Environment variables: those of the server, and secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvAsk {
    /// Reason, shown to the user who decides.
    pub why: String,
    /// Names of the server's variables.
    #[serde(default)]
    pub names: Vec<String>,
    /// Secrets that the plugin reads as variables of the same names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretName>,
}

/// Hosts: `example.com` or `*.example.com`, either with an optional `:port`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebAsk {
    /// Reason, shown to the user who decides.
    pub why: String,
    /// Allowed hosts.
    pub hosts: Vec<String>,
    /// Headers that the host adds to requests, by host and header name. Values refer to secrets as `${KEY}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, BTreeMap<String, String>>,
}

/// Commands under a profile of the operator's policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellAsk {
    /// Reason, shown to the user who decides.
    pub why: String,
    /// Name of the profile.
    pub profile: String,
}

/// Sampling requests to the client's model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingAsk {
    /// Reason, shown to the user who decides.
    pub why: String,
    /// Maximum number of sampling requests in a tool call.
    pub calls: u32,
    /// Maximum number of tokens of all answers in a tool call.
    pub tokens: u32,
}

/// Resource limits of a call. The upper bounds are the same for every component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Processor time, 1 to 60 seconds.
    pub cpu_seconds: u32,
    /// Time spent waiting for external operations, 1 to 600 seconds.
    pub wait_seconds: u32,
    /// Memory, 1 to 256 MiB.
    pub memory_mib: u32,
    /// Output, 1 to 8192 KiB.
    pub output_kib: u32,
    /// Stored data in each workspace, 1 to 4096 MiB.
    pub store_mib: u32,
    /// Number of concurrent calls, 1 to 16.
    pub calls: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cpu_seconds: 5, wait_seconds: 60, memory_mib: 64, output_kib: 1024, store_mib: 64, calls: 4 }
    }
}

impl Limits {
    /// Returns the first limit that is out of range: its name, its value, and the maximum.
    pub(crate) fn out_of_range(&self) -> Option<(&'static str, u32, u32)> {
        let all = [
            ("cpu_seconds", self.cpu_seconds, 60),
            ("wait_seconds", self.wait_seconds, 600),
            ("memory_mib", self.memory_mib, 256),
            ("output_kib", self.output_kib, 8192),
            ("store_mib", self.store_mib, 4096),
            ("calls", self.calls, 16),
        ];
        all.into_iter().find(|(_, value, most)| !(1..=*most).contains(value))
    }
}

impl Asks {
    /// Returns the requested directories without duplicates. The workspace is excluded, since it differs
    /// between servers.
    pub fn fixed_folders(&self) -> BTreeSet<&str> {
        let all = self.files.iter().flat_map(|files| files.read.iter().chain(&files.write));
        all.map(String::as_str).filter(|folder| *folder != WORKSPACE).collect()
    }

    /// Returns the requested capabilities, each with its details.
    pub fn lines(&self) -> Vec<Ask<'_>> {
        let Self { store, clock, random, ask, files, env, web, shell, sampling, forms, roots } = self;
        let plain = [
            ("store", store),
            ("clock", clock),
            ("random", random),
            ("ask", ask),
            ("forms", forms),
            ("roots", roots),
        ];
        let plain = plain.into_iter().filter_map(|(name, ask)| Some(Ask::new(name, &ask.as_ref()?.why)));
        let mut lines: Vec<Ask<'_>> = plain.collect();
        lines.extend(files.as_ref().map(|files| {
            let root = files.root.map(|Root::Workspace| WORKSPACE.to_owned());
            let ask = Ask::new("files", &files.why).with("read", &files.read).with("write", &files.write);
            ask.with("seen as /", root.as_slice())
        }));
        lines.extend(env.as_ref().map(|env| {
            let secrets: Vec<_> = env.secrets.iter().map(SecretName::to_string).collect();
            Ask::new("env", &env.why).with("variables", &env.names).with("secrets as variables", &secrets)
        }));
        lines.extend(web.as_ref().map(|web| {
            let added: Vec<_> =
                web.templates().map(|(host, name, text)| format!("{host}: {name}: {text}")).collect();
            Ask::new("web", &web.why).with("hosts", &web.hosts).with("headers that this program adds", &added)
        }));
        lines.extend(shell.as_ref().map(|shell| {
            Ask::new("shell", &shell.why).with("profile", std::slice::from_ref(&shell.profile))
        }));
        lines.extend(sampling.as_ref().map(|sampling| {
            let counted =
                |count: u32, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
            let budget =
                format!("{}, {}", counted(sampling.calls, "call"), counted(sampling.tokens, "token"));
            Ask::new("sampling", &sampling.why).with("at most", &[budget])
        }));
        lines
    }
}

/// A requested capability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask<'a> {
    /// Name of the capability in `plugin.toml`.
    pub name: &'static str,
    /// Parameters by kind, each with its list of values.
    pub details: Vec<(&'static str, Vec<String>)>,
    /// Reason, shown to the user who decides.
    pub why: &'a str,
}

impl<'a> Ask<'a> {
    fn new(name: &'static str, why: &'a str) -> Self {
        Self { name, details: Vec::new(), why }
    }

    fn with(mut self, what: &'static str, values: &[String]) -> Self {
        if !values.is_empty() {
            self.details.push((what, values.to_vec()));
        }
        self
    }
}
