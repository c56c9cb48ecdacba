//! What the entry of each client says.
//!
//! Invariant: no entry carries a switch that skips a person's questions.

use super::{Client, Start};

/// One member of an entry.
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) value: Value,
    pub(super) rule: Rule,
}

/// The value of a member.
pub(super) enum Value {
    Text(String),
    /// The program, as the first of a list that goes on with its arguments.
    Program(String, Vec<String>),
    Arguments(Vec<String>),
    All,
    Flag(bool),
    Seconds(u16),
    /// A variable of the program's environment, and its value.
    Variable(&'static str, String),
}

/// What happens to a member of an entry that exists already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// It decides what is started: corrected.
    Own,
    /// The client needs it, but a person may have chosen another value: added where it is missing.
    Missing,
    /// For completeness, in a new entry alone.
    New,
}

/// A member of an entry that is there, which is not ours and would stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extra {
    pub(super) name: String,
    /// As the file has it.
    pub(super) value: String,
    /// The names in it, where it is an object.
    pub(super) inside: Vec<String>,
}

/// How long Cline waits for an answer, if its entry says so, and in how much less it is given one: it asks
/// for no progress, so that else commands would go on in the background and questions be taken back.
const CLINE_SECONDS: u16 = 600;
const CLINE_ANSWER_SECONDS: u16 = CLINE_SECONDS - 20;

/// The members of the entry, in the order in which the client's documentation shows them.
pub(super) fn members(client: Client, start: &Start) -> Vec<Member> {
    let Start { program: command, arguments } = start;
    let member = |name, value, rule| Member { name, value, rule };
    let kind = |kind: &str| member("type", Value::Text(kind.to_owned()), Rule::Own);
    let program = || member("command", Value::Text(command.to_owned()), Rule::Own);
    // What decides the policy is not left to what was there before.
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
        // Else the model sees bare names, and has to search for each tool first.
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
            // Not beside another timeout, which may be shorter.
            member("env", Value::Variable("ANSWER_WITHIN", CLINE_ANSWER_SECONDS.to_string()), Rule::New),
        ],
    }
}

/// Members of a project's entry that may stay if the person says so. Whatever else there is, now or in
/// later clients, may lead to another server, or to a file with more variables.
const KEPT: [&str; 6] = ["env", "timeout", "disabled", "enabled", "description", "tools"];
/// Beginnings of variables that decide what code runs, where its policy is, or where it sends what.
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

/// What of a member decides what runs, by name.
pub(super) fn steering(extra: &Extra) -> Vec<String> {
    let steers = |name: &String| {
        let name = name.to_uppercase();
        STEERING.iter().any(|begin| name.starts_with(begin)) || name.ends_with("_PROXY")
    };
    match &*extra.name {
        // Something that is no object is not for us to read.
        "env" if extra.inside.is_empty() => vec![extra.name.clone()],
        "env" => extra.inside.iter().filter(|name| steers(name)).map(|name| format!("env {name}")).collect(),
        name if KEPT.contains(&name) => Vec::new(),
        name => vec![name.to_owned()],
    }
}
