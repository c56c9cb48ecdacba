//! Members of each client's entry.
//!
//! Invariant: no entry disables the confirmation prompts of a client.

use super::{Client, Start};

/// A member of an entry.
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) value: Value,
    pub(super) rule: Rule,
}

/// Value of a member.
pub(super) enum Value {
    Text(String),
    /// A list with the program, followed by its arguments.
    Program(String, Vec<String>),
    Arguments(Vec<String>),
    All,
    Flag(bool),
    Seconds(u16),
    /// An environment variable of the program, with its value.
    Variable(&'static str, String),
}

/// Treatment of a member that already exists in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// Decides which program is started: always corrected.
    Own,
    /// Needed by the client, but the user may have chosen another value: added only if missing.
    Missing,
    /// Optional: written only to a new entry.
    New,
}

/// A member of an existing entry that is not ours and would be preserved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extra {
    pub(super) name: String,
    /// Value as written in the file.
    pub(super) value: String,
    /// Names of its members, if it is an object.
    pub(super) inside: Vec<String>,
}

/// Timeout that the entry sets for Cline, and the slightly shorter response deadline for the server. Cline
/// does not request progress, so with the default deadline commands would move to the background and
/// questions would be withdrawn.
const CLINE_SECONDS: u16 = 600;
const CLINE_ANSWER_SECONDS: u16 = CLINE_SECONDS - 20;

/// Returns the members of the entry, in the order of the client's documentation.
pub(super) fn members(client: Client, start: &Start) -> Vec<Member> {
    let Start { program: command, arguments } = start;
    let member = |name, value, rule| Member { name, value, rule };
    let kind = |kind: &str| member("type", Value::Text(kind.to_owned()), Rule::Own);
    let program = || member("command", Value::Text(command.to_owned()), Rule::Own);
    // Arguments that select the policy replace existing ones.
    let rule = if arguments.is_empty() { Rule::New } else { Rule::Own };
    let arguments = || member("args", Value::Arguments(arguments.clone()), rule);
    match client {
        Client::ClaudeDesktop
        | Client::Cursor
        | Client::Codex
        | Client::Gemini
        | Client::Qwen
        | Client::Continue
        | Client::Windsurf
        | Client::Zed => vec![program(), arguments()],
        // Otherwise the model sees only tool names, and must search for each tool first.
        Client::ClaudeCode => {
            vec![program(), arguments(), member("alwaysLoad", Value::Flag(true), Rule::Missing)]
        }
        Client::VsCode => vec![kind("stdio"), program(), arguments()],
        Client::OpenCode => vec![
            kind("local"),
            member("command", Value::Program(command.to_owned(), start.arguments.clone()), Rule::Own),
            member("enabled", Value::Flag(true), Rule::New),
        ],
        Client::Copilot => {
            vec![kind("local"), program(), arguments(), member("tools", Value::All, Rule::Missing)]
        }
        Client::Cline => vec![
            kind("stdio"),
            program(),
            arguments(),
            member("timeout", Value::Seconds(CLINE_SECONDS), Rule::Missing),
            // Not added to an existing entry, whose timeout may be shorter.
            member("env", Value::Variable("ANSWER_WITHIN", CLINE_ANSWER_SECONDS.to_string()), Rule::New),
        ],
    }
}

/// Members of a project's entry that may be kept with the user's consent. Any other member, including ones of
/// future clients, may select another server or a file with more variables.
const KEPT: [&str; 6] = ["env", "timeout", "disabled", "enabled", "description", "tools"];
/// Prefixes of environment variables that decide which code runs, where its policy is, or where it sends
/// data.
const STEERING: [&str; 13] = [
    "LD_",
    "DYLD_",
    "GLIBC_",
    "GCONV_",
    "SCORPIOX_",
    "HOME",
    "PATH",
    "XDG_",
    "CLAUDE_",
    "TMUX",
    "SSL_",
    "DBUS_",
    "USERPROFILE",
];

/// Returns the names in a member that may decide what runs.
pub(super) fn steering(extra: &Extra) -> Vec<String> {
    let steers = |name: &String| {
        let name = name.to_uppercase();
        STEERING.iter().any(|begin| name.starts_with(begin)) || name.ends_with("_PROXY")
    };
    match &*extra.name {
        // An `env` that is not an object cannot be checked.
        "env" if extra.inside.is_empty() => vec![extra.name.clone()],
        "env" => extra.inside.iter().filter(|name| steers(name)).map(|name| format!("env {name}")).collect(),
        name if KEPT.contains(&name) => Vec::new(),
        name => vec![name.to_owned()],
    }
}
