//! What a plugin wants to touch, and why. Approved, the same is what it may touch.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The folder that the server works on, as `plugin.toml` names it.
pub const WORKSPACE: &str = "workspace";

/// Everything a plugin can ask for; what is absent it does not get.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Asks {
    /// Its own data in each workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<PlainAsk>,
    /// The time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<PlainAsk>,
    /// Random numbers that nobody can foretell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random: Option<PlainAsk>,
    /// Questions to the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<PlainAsk>,
    /// Folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<FilesAsk>,
    /// Variables of the environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<EnvAsk>,
    /// Hosts of the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web: Option<WebAsk>,
    /// Commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<ShellAsk>,
    /// The client's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingAsk>,
    /// Forms that the person fills in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forms: Option<PlainAsk>,
    /// The folders that the client works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<PlainAsk>,
}

/// Something without details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainAsk {
    /// What for, for the person who decides.
    pub why: String,
}

/// Folders: `workspace`, absolute paths, or paths that begin with `~/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilesAsk {
    /// What for.
    pub why: String,
    /// To read.
    #[serde(default)]
    pub read: Vec<String>,
    /// To read and write.
    #[serde(default)]
    pub write: Vec<String>,
}

/// Variables of the server's environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvAsk {
    /// What for.
    pub why: String,
    /// Their names.
    pub names: Vec<String>,
}

/// Hosts: `example.com`, `*.example.com`, either with `:port`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebAsk {
    /// What for.
    pub why: String,
    /// Which.
    pub hosts: Vec<String>,
    /// What the host adds to requests: by host and header, the value with `${KEY}` for secrets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, BTreeMap<String, String>>,
}

/// Commands under a profile of the operator's policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellAsk {
    /// What for.
    pub why: String,
    /// The profile.
    pub profile: String,
}

/// Questions to the client's model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingAsk {
    /// What for.
    pub why: String,
    /// Most questions in a call of the tool.
    pub calls: u32,
    /// Most tokens of all answers in a call of the tool.
    pub tokens: u32,
}

/// What a call may use. The largest values are those that any component can get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Processor time, 1 to 60 seconds.
    pub cpu_seconds: u32,
    /// Waiting for what is outside, 1 to 600 seconds.
    pub wait_seconds: u32,
    /// Memory, 1 to 256 MiB.
    pub memory_mib: u32,
    /// Output, 1 to 8192 KiB.
    pub output_kib: u32,
    /// Stored data in each workspace, 1 to 4096 MiB.
    pub store_mib: u32,
    /// Calls at the same time, 1 to 16.
    pub calls: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cpu_seconds: 5, wait_seconds: 60, memory_mib: 64, output_kib: 1024, store_mib: 64, calls: 4 }
    }
}

impl Limits {
    /// The first limit that is out of range: its name, its value and the largest one.
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
    /// The folders that are asked for, each once, but for the workspace: that is another one for each
    /// server.
    pub fn fixed_folders(&self) -> BTreeSet<&str> {
        let all = self.files.iter().flat_map(|files| files.read.iter().chain(&files.write));
        all.map(String::as_str).filter(|folder| *folder != WORKSPACE).collect()
    }

    /// Each thing that is asked for.
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
            Ask::new("files", &files.why).with("read", &files.read).with("write", &files.write)
        }));
        lines.extend(env.as_ref().map(|env| Ask::new("env", &env.why).with("variables", &env.names)));
        lines.extend(web.as_ref().map(|web| {
            let added: Vec<_> =
                web.templates().map(|(host, name, text)| format!("{host}: {name}: {text}")).collect();
            Ask::new("web", &web.why).with("hosts", &web.hosts).with("headers that this program adds", &added)
        }));
        lines.extend(shell.as_ref().map(|shell| {
            Ask::new("shell", &shell.why).with("profile", std::slice::from_ref(&shell.profile))
        }));
        lines.extend(sampling.as_ref().map(|sampling| {
            let budget = format!("{} calls, {} tokens", sampling.calls, sampling.tokens);
            Ask::new("sampling", &sampling.why).with("at most", &[budget])
        }));
        lines
    }
}

/// One thing that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask<'a> {
    /// As in `plugin.toml`.
    pub name: &'static str,
    /// What of it: by kind, each value by itself.
    pub details: Vec<(&'static str, Vec<String>)>,
    /// What for.
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
