//! What some clients are told of single tools in `_meta`, beside what the protocol has words for.

use serde::Serialize;

/// Listed at once by clients that give their model bare names until it searches: the tool that begins
/// each kind of work. The others are named by results when they are of use (`ReadBgOutput` by
/// `BackgroundBash`), or are seldom wanted.
const ALWAYS: [&str; 8] = [
    "Bash",
    "ReadImage",
    "ReadDocs",
    "WebSearch",
    "TaskManager",
    "PlanMode",
    "AskUserQuestion",
    "InvokeSkill",
];
/// Whose results are large and of use whole.
const SIZED: [&str; 2] = ["ReadDocs", "ReadImage"];
/// Most characters of a result that a server may ask for.
const MAX_SIZE: u32 = 500_000;

/// The `_meta` of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Marks {
    #[serde(rename = "anthropic/alwaysLoad", skip_serializing_if = "Option::is_none")]
    always: Option<bool>,
    #[serde(rename = "anthropic/maxResultSizeChars", skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
}

/// That of the built-in tool of this name, where it has one.
pub(crate) fn of(name: &str) -> Option<Marks> {
    let marks =
        Marks { always: ALWAYS.contains(&name).then_some(true), size: is_sized(name).then_some(MAX_SIZE) };
    (marks.always.is_some() || marks.size.is_some()).then_some(marks)
}

/// Whether a client that goes by the mark takes longer results of the tool.
pub(crate) fn is_sized(name: &str) -> bool {
    SIZED.contains(&name)
}
