//! What a plugin wants to touch, and why. Approved, the same is what it may touch.

use serde::{Deserialize, Serialize};

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
    /// Each thing that is asked for: its name, its details, and why.
    pub fn lines(&self) -> Vec<(&'static str, String, &str)> {
        let mut lines: Vec<(&'static str, String, &str)> = Vec::new();
        for (name, ask) in
            [("store", &self.store), ("clock", &self.clock), ("random", &self.random), ("ask", &self.ask)]
        {
            lines.extend(ask.as_ref().map(|ask| (name, String::new(), ask.why.as_str())));
        }
        if let Some(files) = &self.files {
            let each = |what: &str, paths: &[String]| {
                (!paths.is_empty()).then(|| format!("{what} {}", paths.join(", ")))
            };
            let parts = [each("read", &files.read), each("write", &files.write)];
            lines.push(("files", parts.into_iter().flatten().collect::<Vec<_>>().join("; "), &files.why));
        }
        lines.extend(self.env.as_ref().map(|env| ("env", env.names.join(", "), env.why.as_str())));
        lines.extend(self.web.as_ref().map(|web| ("web", web.hosts.join(", "), web.why.as_str())));
        lines.extend(
            self.shell
                .as_ref()
                .map(|shell| ("shell", format!("profile {}", shell.profile), shell.why.as_str())),
        );
        lines.extend(self.sampling.as_ref().map(|sampling| {
            let details = format!("{} calls, {} tokens", sampling.calls, sampling.tokens);
            ("sampling", details, sampling.why.as_str())
        }));
        lines
    }
}
