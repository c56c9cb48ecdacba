//! Allow-lists: harmless tools that a client may call without asking, in the client's own form.
//!
//! Invariant: only tools of [`HARMLESS`] are listed, each by its name. Nothing here is part of an entry, and nothing is
//! written unless the user asks for it.

use std::path::{Path, PathBuf};

use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstObjectProp};

use super::merge::{Refusal, json};
use super::{Change, Client, ENTRY_NAME, How, Removed, Surroundings, WriteError, file};

/// Tools that neither run commands, nor read files of the workspace, nor reach the network: they keep their own data,
/// ask the user, and show what skills or running commands say.
pub const HARMLESS: [&str; 7] = [
    "AskUserQuestion",
    "TaskManager",
    "PlanMode",
    "InvokeSkill",
    "SearchSkills",
    "ReadBgOutput",
    "ListBgTasks",
];

/// Returns the file with a client's allow-list, or `None` if the client has no list of single tools in a file.
///
/// Sources: <https://code.claude.com/docs/en/settings> (permissions), <https://developers.openai.com/codex/config-reference>,
/// <https://geminicli.com/docs/reference/policy-engine>.
pub fn path(client: Client, around: &Surroundings<'_>) -> Option<PathBuf> {
    match client {
        Client::ClaudeCode => Some(around.own_folder("CLAUDE_CONFIG_DIR", ".claude").join("settings.json")),
        Client::Codex => Some(super::config_path(client, around)),
        Client::Gemini => Some(around.home.join(".gemini").join("policies").join("scorpiox-code.toml")),
        _ => None,
    }
}

/// Returns the change that [`write`] would make.
pub fn preview(path: &Path, client: Client) -> Result<Change, WriteError> {
    let Some(original) = file::read(path)? else { return Ok(Change::Create) };
    let text = edited(&original, client, with)?;
    Ok(if text == original.text { Change::Nothing } else { Change::Update })
}

/// Adds the missing tools to a client's allow-list. For Codex, the entry has to exist.
pub fn write(path: &Path, client: Client) -> Result<How, WriteError> {
    let Some(original) = file::read(path)? else {
        let text =
            with("", client).map_err(|refusal| WriteError::Refused { path: path.to_owned(), refusal })?;
        file::create(path, &text)?;
        return Ok(How::Created);
    };
    let text = edited(&original, client, with)?;
    if text == original.text {
        return Ok(How::Unchanged);
    }
    Ok(How::Updated { backup: file::replace(&original, &text)? })
}

/// Returns `true` if a file has tools that [`remove`] would take out.
pub fn is_in(path: &Path, client: Client) -> Result<bool, WriteError> {
    let Some(original) = file::read(path)? else { return Ok(false) };
    Ok(edited(&original, client, without)? != original.text)
}

/// Takes the tools out of a client's allow-list. The list of Codex is part of its entry.
pub fn remove(path: &Path, client: Client) -> Result<Removed, WriteError> {
    let Some(original) = file::read(path)? else { return Ok(Removed::Nothing) };
    let text = edited(&original, client, without)?;
    if text == original.text {
        return Ok(Removed::Nothing);
    }
    if matches!(&*dense(&text), "" | "{}") && !path.is_symlink() {
        file::delete(&original)?;
        return Ok(Removed::Gone);
    }
    Ok(Removed::Out { backup: file::replace(&original, &text)? })
}

type Edit = fn(&str, Client) -> Result<String, Refusal>;

fn edited(original: &file::Original, client: Client, edit: Edit) -> Result<String, WriteError> {
    edit(&original.text, client)
        .map_err(|refusal| WriteError::Refused { path: original.path.clone(), refusal })
}

/// Returns the text with all tools.
fn with(text: &str, client: Client) -> Result<String, Refusal> {
    match client {
        Client::ClaudeCode => claude(text),
        Client::Codex => codex(text),
        // The file is ours alone.
        _ => Ok(gemini()),
    }
}

/// Returns the text without the tools.
fn without(text: &str, client: Client) -> Result<String, Refusal> {
    match client {
        Client::ClaudeCode => claude_without(text),
        Client::Gemini if text == gemini() => Ok(String::new()),
        _ => Ok(text.to_owned()),
    }
}

fn dense(text: &str) -> String {
    text.split_whitespace().collect()
}

fn claude_rules() -> impl Iterator<Item = String> {
    HARMLESS.iter().map(|tool| format!("mcp__{ENTRY_NAME}__{tool}"))
}

fn claude(text: &str) -> Result<String, Refusal> {
    let root = json::parse(text)?;
    let top = match root.value() {
        None => root.object_value_or_set(),
        Some(value) => value.as_object().ok_or_else(|| json::not_an_object("the file's content", value))?,
    };
    let permissions = match json::member_object(&top, "permissions")? {
        Some(permissions) => permissions,
        None => top
            .append("permissions", CstInputValue::Object(Vec::new()))
            .object_value()
            .ok_or_else(|| unusual("permissions"))?,
    };
    let allow = match list(&permissions)? {
        Some(allow) => allow,
        None => permissions
            .append("allow", CstInputValue::Array(Vec::new()))
            .array_value()
            .ok_or_else(|| unusual("permissions.allow"))?,
    };
    for rule in claude_rules() {
        if !texts(&allow).contains(&rule) {
            allow.append(rule.as_str().into());
        }
    }
    Ok(root.to_string())
}

fn claude_without(text: &str) -> Result<String, Refusal> {
    let root = json::parse(text)?;
    let Some(top) = root.value().and_then(|value| value.as_object()) else { return Ok(text.to_owned()) };
    let Some(permissions) = json::member_object(&top, "permissions")? else { return Ok(text.to_owned()) };
    let Some(allow) = list(&permissions)? else { return Ok(text.to_owned()) };
    let ours: Vec<_> = claude_rules().collect();
    let before = allow.elements().len();
    for element in allow.elements() {
        let rule = element.as_string_lit().and_then(|text| text.decoded_value().ok());
        if rule.is_some_and(|rule| ours.contains(&rule)) {
            element.remove();
        }
    }
    if allow.elements().is_empty() && before > 0 {
        permissions.get("allow").into_iter().for_each(CstObjectProp::remove);
        if permissions.properties().is_empty() {
            top.get("permissions").into_iter().for_each(CstObjectProp::remove);
        }
    }
    Ok(root.to_string())
}

fn list(permissions: &CstObject) -> Result<Option<CstArray>, Refusal> {
    match permissions.get("allow") {
        None => Ok(None),
        Some(property) => property.array_value().map(Some).ok_or_else(|| unusual("permissions.allow")),
    }
}

fn texts(list: &CstArray) -> Vec<String> {
    let texts = list.elements().into_iter();
    texts.filter_map(|element| element.as_string_lit()?.decoded_value().ok()).collect()
}

fn unusual(what: &str) -> Refusal {
    Refusal::Unusual { line: 1, what: format!("\"{what}\" has another form than Claude Code documents") }
}

fn codex(text: &str) -> Result<String, Refusal> {
    let invalid = |error: toml::de::Error| Refusal::Unusual {
        line: 1,
        what: format!("this file does not allow a table for each tool: {}", error.message()),
    };
    let document: toml::Table = text.parse().map_err(invalid)?;
    let known = |tool: &str| {
        let server = document.get("mcp_servers").and_then(|servers| servers.get(ENTRY_NAME));
        server.and_then(|server| server.get("tools")).is_some_and(|tools| tools.get(tool).is_some())
    };
    let mut whole = text.to_owned();
    for tool in HARMLESS.iter().filter(|tool| !known(tool)) {
        let gap = if whole.is_empty() || whole.ends_with("\n\n") { "" } else { "\n" };
        whole = format!("{whole}{gap}[mcp_servers.{ENTRY_NAME}.tools.{tool}]\napproval_mode = \"approve\"\n");
    }
    whole.parse::<toml::Table>().map_err(invalid)?;
    Ok(whole)
}

fn gemini() -> String {
    let tools: Vec<_> = HARMLESS.iter().map(|tool| format!("\"{tool}\"")).collect();
    format!(
        "# Tools of scorpiox-code that only keep their own data, ask you, or show what skills and commands say.\n\
         [[rule]]\nmcpName = \"{ENTRY_NAME}\"\ntoolName = [{}]\ndecision = \"allow\"\npriority = 100\n",
        tools.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claude_code_keeps_its_rules_and_gets_each_tool_once() {
        let before = "{\n  \"model\": \"x\",\n  \"permissions\": {\n    \"allow\": [\"Bash(ls)\"],\n    \"deny\": []\n  }\n}\n";
        let after = with(before, Client::ClaudeCode).expect("a text");
        let rules = serde_json::from_str::<serde_json::Value>(&after).expect("JSON")["permissions"].clone();
        assert_eq!(rules["allow"][0], "Bash(ls)");
        assert_eq!(rules["allow"].as_array().map(Vec::len), Some(1 + HARMLESS.len()), "{after}");
        assert!(
            !after.contains("mcp__scorpiox__Bash") && !after.contains("mcp__scorpiox__ReadDocs"),
            "{after}"
        );
        assert_eq!(with(&after, Client::ClaudeCode).expect("a text"), after);
        let back = without(&after, Client::ClaudeCode).expect("a text");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
        assert_eq!(value(&back), value(before));
        let fresh = with("", Client::ClaudeCode).expect("a text");
        assert_eq!(dense(&without(&fresh, Client::ClaudeCode).expect("a text")), "{}");
        assert!(with("{\"permissions\": {\"allow\": \"all\"}}", Client::ClaudeCode).is_err());
    }

    #[test]
    fn codex_has_a_table_for_each_tool_that_goes_with_the_entry() {
        let before = "model = \"x\"\n\n[mcp_servers.scorpiox]\ncommand = \"/c\"\n\n[mcp_servers.scorpiox.tools.PlanMode]\napproval_mode = \"prompt\"\n";
        let after = with(before, Client::Codex).expect("a text");
        let table: toml::Table = after.parse().expect("TOML");
        let tools = &table["mcp_servers"]["scorpiox"]["tools"];
        assert_eq!(tools["TaskManager"]["approval_mode"].as_str(), Some("approve"));
        assert_eq!(tools["PlanMode"]["approval_mode"].as_str(), Some("prompt"), "a choice of the user stays");
        assert_eq!(with(&after, Client::Codex).expect("a text"), after);
        let rest = super::super::merge::without(&after, Client::Codex).expect("a text");
        assert_eq!(rest.as_deref(), Some("model = \"x\"\n"));
        assert!(with("mcp_servers = { scorpiox = { command = \"x\" } }\n", Client::Codex).is_err());
    }

    #[test]
    fn gemini_has_a_file_of_its_own() {
        let rule: toml::Table = with("", Client::Gemini).expect("a text").parse().expect("TOML");
        assert_eq!(rule["rule"][0]["decision"].as_str(), Some("allow"));
        assert_eq!(rule["rule"][0]["toolName"].as_array().map(Vec::len), Some(HARMLESS.len()));
        assert_eq!(without(&gemini(), Client::Gemini).expect("a text"), "");
        assert_eq!(without("# mine\n", Client::Gemini).expect("a text"), "# mine\n");
    }
}
