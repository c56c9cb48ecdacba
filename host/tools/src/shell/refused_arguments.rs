//! Refuses commands whose arguments say how they would run, in a way that the tools do not have: a command in another
//! folder, or one that does not return at once, may do harm.

use std::collections::BTreeMap;

use scorpiox_text::argument;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{BACKGROUND, FOREGROUND};
use crate::{Failure, Given};

/// Maximum length of all arguments in bytes: no command that runs is that long, in any notation.
const MAX_BYTES: usize = 1 << 20;
/// Maximum length of a value that advice repeats, and that is parsed, in bytes.
const MAX_VALUE_BYTES: usize = 4096;

/// Meaning of an argument that other programs' tools for commands have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Folder,
    Environment,
    Background,
    Unsandboxed,
    /// `true` is the sandbox.
    Sandbox,
    Time,
    Input,
}

/// Names without their case, hyphens and underscores.
const KNOWN: [(Meaning, &[&str]); 7] = [
    (
        Meaning::Folder,
        &["cwd", "workdir", "workingdir", "workingdirectory", "directory", "dir", "folder", "chdir"],
    ),
    (
        Meaning::Environment,
        &["env", "envs", "environ", "environment", "envvars", "environmentvariables", "variables"],
    ),
    (
        Meaning::Background,
        &[
            "runinbackground",
            "runasync",
            "inbackground",
            "background",
            "isbackground",
            "detach",
            "detached",
            "async",
        ],
    ),
    (
        Meaning::Unsandboxed,
        &[
            "dangerouslydisablesandbox",
            "disablesandbox",
            "nosandbox",
            "unsandboxed",
            "sandboxpermissions",
            "withescalatedpermissions",
            "escalated",
            "sudo",
        ],
    ),
    (Meaning::Sandbox, &["sandbox", "sandboxed", "sandboxmode"]),
    (
        Meaning::Time,
        &[
            "timeoutms",
            "timeoutmillis",
            "timeoutmilliseconds",
            "timeouts",
            "timeoutsec",
            "timeoutsecs",
            "timeoutseconds",
        ],
    ),
    (Meaning::Input, &["stdin", "input"]),
];

/// Fails if the arguments ask for a command that would run in another way than the tool runs it.
pub(super) fn check(tool: &'static str, given: &Given<'_>) -> Result<(), Failure> {
    if given.arguments.len() > MAX_BYTES {
        return Ok(());
    }
    // The call refuses arguments that are no object.
    let Ok(arguments) = serde_json::from_str::<BTreeMap<String, &RawValue>>(given.arguments) else {
        return Ok(());
    };
    let refused: Vec<_> =
        arguments.iter().filter_map(|(name, value)| refused(tool, name, value.get(), given)).collect();
    if refused.is_empty() {
        return Ok(());
    }
    let (what, shown) = (refused.join(", and "), given.name(tool));
    Err(Failure::InvalidInput(format!("The command was not run: {shown} has {what}.")))
}

/// Returns the objection to an argument and the way to say it instead; `None` if it does not change how the tool runs a
/// command.
fn refused(tool: &str, name: &str, value: &str, given: &Given<'_>) -> Option<String> {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase()).collect();
    let (meaning, _) = KNOWN.iter().find(|(_, names)| names.contains(&&*plain))?;
    let value = match value.len() {
        ..=MAX_VALUE_BYTES => serde_json::from_str(value).unwrap_or(Value::Null),
        // Long values change something.
        _ => Value::Bool(true),
    };
    let is_in_background = tool == BACKGROUND;
    if is_usual(*meaning, &value, is_in_background, given) {
        return None;
    }
    let instead = match meaning {
        Meaning::Folder => {
            let folder = value.as_str().and_then(argument).unwrap_or_else(|| "FOLDER".to_owned());
            format!("begin the command with `cd {folder} &&`")
        }
        Meaning::Environment => "begin the command with `export NAME=value;`".to_owned(),
        Meaning::Background if is_in_background => {
            format!("{} runs a command to its end", given.name(FOREGROUND))
        }
        Meaning::Background => format!("{} runs a command in the background", given.name(BACKGROUND)),
        Meaning::Unsandboxed | Meaning::Sandbox => {
            "the policy decides about the sandbox, and no call; leave it out".to_owned()
        }
        Meaning::Time if is_in_background => {
            format!(
                "a background task has no timeout: leave it out; {} ends the task",
                given.name("KillBgTask")
            )
        }
        Meaning::Time => "did you mean `timeout`, in milliseconds?".to_owned(),
        Meaning::Input => "write the input into the command (`PROGRAM <<'END'`)".to_owned(),
    };
    Some(format!("no argument `{name}` ({instead})"))
}

/// Returns `true` for a value that says how the tool runs each command, or nothing.
fn is_usual(meaning: Meaning, value: &Value, is_in_background: bool, given: &Given<'_>) -> bool {
    let is_empty = match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    let is_on = |value: &Value| !matches!(value, Value::Bool(false)) && value != "false";
    is_empty
        || match meaning {
            Meaning::Folder => {
                let workspace = given.workspace.to_str();
                let folder = value.as_str().map(|text| text.strip_suffix('/').unwrap_or(text));
                folder == Some(".") || folder.is_some() && folder == workspace
            }
            Meaning::Background => is_on(value) == is_in_background,
            Meaning::Unsandboxed => !is_on(value) || value == "use_default",
            Meaning::Sandbox => value == &Value::Bool(true) || value == "true",
            Meaning::Environment | Meaning::Time | Meaning::Input => false,
        }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn said(tool: &'static str, arguments: &str) -> Option<String> {
        let given = Given { arguments, workspace: Path::new("/srv/w"), prefix: Some("sx_") };
        check(tool, &given).err().map(|failure| match failure {
            Failure::InvalidInput(text) => text,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn an_argument_that_would_change_the_command_is_refused() {
        for (arguments, instead) in [
            (r#"{"cwd":"/tmp"}"#, "no argument `cwd` (begin the command with `cd /tmp &&`)."),
            (r#"{"working_directory":"a b"}"#, "`cd 'a b' &&`"),
            (r#"{"workdir":"$(x)"}"#, "`cd FOLDER &&`"),
            (r#"{"Directory":7}"#, "`Directory` (begin the command with `cd FOLDER &&`)"),
            (r#"{"env":{"A":"1"}}"#, "`export NAME=value;`"),
            (r#"{"run_in_background":true}"#, "(sx_BackgroundBash runs a command in the background)"),
            (r#"{"run-in-background":"true"}"#, "BackgroundBash"),
            (r#"{"dangerouslyDisableSandbox":true}"#, "leave it out"),
            (r#"{"sandbox":false}"#, "leave it out"),
            (r#"{"sandbox_permissions":"require_escalated"}"#, "leave it out"),
            (r#"{"timeout_ms":5000}"#, "did you mean `timeout`, in milliseconds?"),
            (r#"{"timeout_seconds":5,"command":"x"}"#, "did you mean `timeout`"),
            (r#"{"stdin":"x"}"#, "`PROGRAM <<'END'`"),
            (r#"{"cwd":"a","env":{"A":"1"}}"#, "&&`), and no argument `env` ("),
        ] {
            let said = said(FOREGROUND, arguments).unwrap_or_else(|| panic!("{arguments} runs"));
            assert!(said.starts_with("The command was not run: sx_Bash has no argument `"), "{said}");
            assert!(said.contains(instead), "{said}");
        }
        for (arguments, instead) in [
            (r#"{"cwd":"a"}"#, "`cd a &&`"),
            (r#"{"background":false}"#, "sx_Bash runs a command to its end"),
            (r#"{"timeout_ms":1}"#, "has no timeout"),
        ] {
            let said = said(BACKGROUND, arguments).unwrap_or_else(|| panic!("{arguments} runs"));
            assert!(said.contains(instead), "{said}");
        }
        let long = format!(r#"{{"env":{{"A":"{}"}}}}"#, "x".repeat(2 * MAX_VALUE_BYTES));
        assert!(said(FOREGROUND, &long).is_some());
    }

    #[test]
    fn an_argument_that_changes_nothing_is_not_refused() {
        for arguments in [
            r#"{"command":"true","timeout":5}"#,
            r#"{"description":"x","colour":1}"#,
            r#"{"cwd":""}"#,
            r#"{"cwd":null,"env":{},"stdin":""}"#,
            r#"{"cwd":"/srv/w/","workdir":"./"}"#,
            r#"{"run_in_background":false}"#,
            r#"{"dangerouslyDisableSandbox":false,"sandbox":true}"#,
            r#"{"sandbox_permissions":"use_default"}"#,
            "[]",
            "",
        ] {
            assert_eq!(said(FOREGROUND, arguments), None, "{arguments}");
        }
        assert_eq!(said(BACKGROUND, r#"{"run_in_background":true}"#), None);
    }
}
