//! Checks every member that the server sends against a table of revisions: no member leaks into an older
//! revision, and none is missing.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::conversations;

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// Range of revisions that have a member: inclusive positions in [`REVISIONS`].
type Since = std::ops::RangeInclusive<usize>;

const ALL: Since = 0..=4;
const HANDSHAKE: Since = 0..=3;
const FROM_2025_03: Since = 1..=4;
const FROM_2025_06: Since = 2..=4;
const HANDSHAKE_FROM_2025_06: Since = 2..=3;
const ONLY_2025_11: Since = 3..=3;
const MODERN: Since = 4..=4;

/// Every member of every message. `[]` is any element of an array, and members below `*` are not part of the
/// protocol (JSON Schemas, tool results, a skill's front matter).
const TABLE: &[(&str, &[(&str, Since)])] = &[
    (
        "error",
        &[
            ("jsonrpc", ALL),
            ("id", ALL),
            ("error.code", ALL),
            ("error.message", ALL),
            ("error.data.supported[]", MODERN),
            ("error.data.requested", MODERN),
            ("error.data.uri", MODERN),
        ],
    ),
    (
        "any result",
        &[
            ("jsonrpc", ALL),
            ("id", ALL),
            ("result.resultType", MODERN),
            ("result._meta.io.modelcontextprotocol/serverInfo.name", MODERN),
            ("result._meta.io.modelcontextprotocol/serverInfo.title", MODERN),
            ("result._meta.io.modelcontextprotocol/serverInfo.version", MODERN),
            ("result._meta.io.modelcontextprotocol/serverInfo.description", MODERN),
        ],
    ),
    (
        "initialize",
        &[
            ("result.protocolVersion", HANDSHAKE),
            ("result.capabilities.tools.listChanged", HANDSHAKE),
            ("result.capabilities.prompts.listChanged", HANDSHAKE),
            ("result.capabilities.logging", HANDSHAKE),
            ("result.capabilities.experimental.claude/channel", HANDSHAKE),
            ("result.serverInfo.name", HANDSHAKE),
            ("result.serverInfo.version", HANDSHAKE),
            ("result.serverInfo.title", HANDSHAKE_FROM_2025_06),
            ("result.serverInfo.description", ONLY_2025_11),
            ("result.instructions", HANDSHAKE),
        ],
    ),
    ("ping", &[("result", HANDSHAKE)]),
    ("logging/setLevel", &[("result", HANDSHAKE)]),
    (
        "server/discover",
        &[
            ("result.supportedVersions[]", MODERN),
            ("result.capabilities.tools.listChanged", MODERN),
            ("result.capabilities.prompts.listChanged", MODERN),
            ("result.capabilities.resources.listChanged", MODERN),
            ("result.capabilities.extensions.io.modelcontextprotocol/skills.directoryRead", MODERN),
            ("result.instructions", MODERN),
            ("result.ttlMs", MODERN),
            ("result.cacheScope", MODERN),
        ],
    ),
    (
        "tools/list",
        &[
            ("result.tools[].name", ALL),
            ("result.tools[].title", FROM_2025_06),
            ("result.tools[].description", ALL),
            ("result.tools[].inputSchema.*", ALL),
            ("result.tools[]._meta.anthropic/alwaysLoad", FROM_2025_06),
            ("result.tools[]._meta.anthropic/maxResultSizeChars", FROM_2025_06),
            ("result.tools[].annotations.title", FROM_2025_03),
            ("result.tools[].annotations.readOnlyHint", FROM_2025_03),
            ("result.tools[].annotations.destructiveHint", FROM_2025_03),
            ("result.tools[].annotations.idempotentHint", FROM_2025_03),
            ("result.tools[].annotations.openWorldHint", FROM_2025_03),
            ("result.ttlMs", MODERN),
            ("result.cacheScope", MODERN),
        ],
    ),
    (
        "tools/call",
        &[("result.content[].type", ALL), ("result.content[].text", ALL), ("result.isError", ALL)],
    ),
    (
        "prompts/list",
        &[
            ("result.prompts[].name", ALL),
            ("result.prompts[].title", FROM_2025_06),
            ("result.prompts[].description", ALL),
            ("result.prompts[].arguments[].name", ALL),
            ("result.prompts[].arguments[].description", ALL),
            ("result.prompts[].arguments[].required", ALL),
            ("result.ttlMs", MODERN),
            ("result.cacheScope", MODERN),
        ],
    ),
    (
        "prompts/get",
        &[
            ("result.messages[].role", ALL),
            ("result.messages[].content.type", ALL),
            ("result.messages[].content.text", ALL),
        ],
    ),
    (
        "skills/list",
        &[
            ("result.skills[].uri", MODERN),
            ("result.skills[].frontmatter.*", MODERN),
            ("result.skills[].resources[].uri", MODERN),
            ("result.skills[].resources[].digest", MODERN),
            ("result.skills[].resources[].size", MODERN),
            ("result.ttlMs", MODERN),
            ("result.cacheScope", MODERN),
        ],
    ),
    (
        "skills/get",
        &[
            ("result.skill.uri", MODERN),
            ("result.skill.frontmatter.*", MODERN),
            ("result.skill.resources[].uri", MODERN),
            ("result.skill.resources[].digest", MODERN),
            ("result.skill.resources[].size", MODERN),
            ("result.ttlMs", MODERN),
            ("result.cacheScope", MODERN),
        ],
    ),
    (
        "resources/list",
        &[
            ("result.resources[].uri", MODERN),
            ("result.resources[].name", MODERN),
            ("result.resources[].description", MODERN),
            ("result.resources[].mimeType", MODERN),
            ("result.ttlMs", MODERN),
            ("result.cacheScope", MODERN),
        ],
    ),
    (
        "resources/templates/list",
        &[("result.resourceTemplates", MODERN), ("result.ttlMs", MODERN), ("result.cacheScope", MODERN)],
    ),
    (
        "resources/read",
        &[
            ("result.contents[].uri", MODERN),
            ("result.contents[].mimeType", MODERN),
            ("result.contents[].text", MODERN),
            ("result.ttlMs", MODERN),
            ("result.cacheScope", MODERN),
        ],
    ),
    (
        "resources/directory/read",
        &[
            ("result.resources[].uri", MODERN),
            ("result.resources[].name", MODERN),
            ("result.resources[].mimeType", MODERN),
        ],
    ),
    ("subscriptions/listen", &[("result._meta.io.modelcontextprotocol/subscriptionId", MODERN)]),
    (
        "notifications/progress",
        &[
            ("jsonrpc", ALL),
            ("method", ALL),
            ("params.progressToken", ALL),
            ("params.progress", ALL),
            ("params.message", FROM_2025_03),
        ],
    ),
    (
        "notifications/message",
        &[
            ("jsonrpc", HANDSHAKE),
            ("method", HANDSHAKE),
            ("params.level", HANDSHAKE),
            ("params.logger", HANDSHAKE),
            ("params.data.callback_id", HANDSHAKE),
            ("params.data.fired_at", HANDSHAKE),
            ("params.data.message", HANDSHAKE),
        ],
    ),
    (
        "notifications/subscriptions/acknowledged",
        &[
            ("jsonrpc", MODERN),
            ("method", MODERN),
            ("params._meta.io.modelcontextprotocol/subscriptionId", MODERN),
            ("params.notifications", MODERN),
            ("params.notifications.toolsListChanged", MODERN),
        ],
    ),
];

/// Members whose content is not part of the protocol.
const OTHERS: [&str; 4] = ["inputSchema", "outputSchema", "structuredContent", "frontmatter"];

/// Collects the paths of all leaves.
fn walk(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match value {
                    Value::Object(_) if OTHERS.contains(&name.as_str()) => drop(found.insert(path + ".*")),
                    value => walk(value, &path, found),
                }
            }
        }
        Value::Array(values) if !values.is_empty() => {
            values.iter().for_each(|value| walk(value, &format!("{path}[]"), found));
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

/// `true` for a list that may be empty.
fn is_empty_list(path: &str, table: &BTreeSet<(&str, &str)>, row: &str) -> bool {
    table.iter().any(|(known, member)| *known == row && member.starts_with(&format!("{path}[]")))
}

/// Returns the members that the table lists for a revision.
fn expected(position: usize) -> BTreeSet<(&'static str, &'static str)> {
    let rows = TABLE.iter().flat_map(|(row, members)| members.iter().map(move |member| (*row, member)));
    rows.filter(|(_, (_, since))| since.contains(&position)).map(|(row, (path, _))| (row, *path)).collect()
}

fn members_are_those_of_the_table(revision: &'static str) {
    let position = REVISIONS.iter().position(|known| *known == revision).expect("a revision");
    let table = expected(position);
    let mut unseen = table.clone();
    let seen = conversations::run(revision);
    for seen in seen.iter().filter(|seen| seen.revision == revision) {
        let mut paths = BTreeSet::new();
        walk(&seen.message, "", &mut paths);
        let rows: &[&str] = match &seen.message {
            message if message.get("error").is_some() => &["error"],
            message if message.get("result").is_some() => &["any result", &seen.method],
            _ => &[&seen.method],
        };
        for path in &paths {
            let known = rows.iter().any(|row| {
                unseen.retain(|entry| *entry != (*row, path.as_str()));
                table.contains(&(*row, path.as_str())) || is_empty_list(path, &table, row)
            });
            assert!(known, "{revision} has no {path} in {}: {}", seen.method, seen.message);
        }
    }
    assert!(unseen.is_empty(), "{revision} never had: {unseen:#?}");
}

#[test]
fn messages_of_2024_11_05_have_no_newer_member() {
    members_are_those_of_the_table("2024-11-05");
}

#[test]
fn messages_of_2025_03_26_have_no_newer_member() {
    members_are_those_of_the_table("2025-03-26");
}

#[test]
fn messages_of_2025_06_18_have_no_newer_member() {
    members_are_those_of_the_table("2025-06-18");
}

#[test]
fn messages_of_2025_11_25_have_no_newer_member() {
    members_are_those_of_the_table("2025-11-25");
}

#[test]
fn messages_of_2026_07_28_have_its_members_and_no_other() {
    members_are_those_of_the_table("2026-07-28");
}
