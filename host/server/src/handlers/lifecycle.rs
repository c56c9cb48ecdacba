//! `initialize`, `server/discover`, `ping`, `logging/setLevel`.

use std::sync::Arc;
use std::time::Duration;

use scorpiox_capabilities::setup::Setup;
use scorpiox_mcp::jsonrpc::reply;
use scorpiox_workspace_config::Required;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::listing;
use crate::client::{declares, declares_forms};
use crate::request::Request;
use crate::scope::{Answer, prefix};
use crate::{Session, Workspace};
use scorpiox_mcp::params::Text;
use scorpiox_mcp::result::{Enveloped, Implementation};
use scorpiox_mcp::{ClientTraits, LogLevel, Params, Revision, prefixed};
use scorpiox_tools::listing_cache::{Cached, Listed};

/// Maximum length of the instructions in bytes. Some clients truncate them at 2 KB.
const MAX_INSTRUCTIONS_BYTES: usize = 2000;

/// Time to live of a `server/discover` result.
const DISCOVER_TTL_MS: u64 = 3_600_000;

const SKILL_TOOL: &str = "InvokeSkill";

/// Experimental capability of clients that show channel messages.
const CHANNEL: &str = "claude/channel";

pub(crate) fn initialize(session: &Session, request: &Request<'_>) -> Answer {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: &'static str,
        capabilities: Value,
        server_info: Implementation,
        instructions: String,
    }
    let asked =
        request.params.required::<Text<'_>>("protocolVersion", "a revision such as \"2025-11-25\"")?.0;
    let capabilities = request.params.object("capabilities")?.unwrap_or_default();
    let revision = Revision::named(&asked)
        .filter(|revision| revision.features().handshake)
        .unwrap_or(Revision::NEWEST_HANDSHAKE);
    let channel = declares_channel(&capabilities);
    let traits = ClientTraits::introduced(request.params.raw("clientInfo"));
    session.update(|facts| {
        facts.revision = Some(revision);
        facts.traits = traits;
        facts.channel = channel;
        facts.elicits = revision.features().elicitation && declares_forms(&capabilities);
        facts.samples = capabilities.raw("sampling").is_some();
        facts.roots = declares(&capabilities, "roots");
        facts.ready = false;
    });
    session.introduce(request.params.raw("clientInfo"));
    Ok(reply::result(
        &request.id,
        &Initialized {
            protocol_version: revision.name(),
            capabilities: server_capabilities(session, revision),
            server_info: Implementation::of(revision),
            instructions: instructions(session, session.workspace.settings.tool_prefix().or(traits.prefix)),
        },
    ))
}

fn declares_channel(capabilities: &Params<'_>) -> bool {
    let experimental = capabilities.object("experimental").ok().flatten();
    experimental.is_some_and(|experimental| experimental.raw(CHANNEL).is_some())
}

#[allow(clippy::unnecessary_wraps)] // a handler's signature
pub(crate) fn discover(session: &Session, request: &Request<'_>) -> Answer {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered {
        supported_versions: Vec<&'static str>,
        capabilities: Value,
        instructions: String,
    }
    let modern = Revision::all().filter(|revision| !revision.features().handshake);
    let body = Discovered {
        supported_versions: modern.map(Revision::name).collect(),
        capabilities: server_capabilities(session, request.revision),
        instructions: instructions(session, prefix(&session.workspace, request)),
    };
    Ok(reply::result(&request.id, &Enveloped::cacheable(request.revision, DISCOVER_TTL_MS, body)))
}

fn server_capabilities(session: &Session, revision: Revision) -> Value {
    let mut capabilities = Map::new();
    capabilities.insert("tools".to_owned(), json!({ "listChanged": true }));
    capabilities.insert("prompts".to_owned(), json!({ "listChanged": true }));
    if revision.features().unsolicited {
        capabilities.insert("logging".to_owned(), json!({}));
    }
    let workspace = session.workspace();
    let access = session.access(&workspace);
    let offerings = access.offerings();
    if offerings.iter().any(|offering| offering.served.completes()) {
        capabilities.insert("completions".to_owned(), json!({}));
    }
    if !offerings.is_empty() && !access.resourceful().is_empty() {
        capabilities.insert("resources".to_owned(), json!({ "listChanged": true, "subscribe": true }));
    } else if revision.features().extensions {
        capabilities.insert("resources".to_owned(), json!({ "listChanged": true }));
    }
    if revision.features().extensions {
        let skills = json!({ "io.modelcontextprotocol/skills": { "directoryRead": true } });
        capabilities.insert("extensions".to_owned(), skills);
    }
    if revision.features().unsolicited {
        // Some clients look for this server capability; all others ignore it.
        capabilities.insert("experimental".to_owned(), json!({ CHANNEL: {} }));
    }
    Value::Object(capabilities)
}

/// Search terms for the tools. Some clients show only the first 150 characters of this text until a search
/// for the tools.
const SUBJECTS: &[(&str, &str)] = &[
    ("Bash", "shell commands in a sandbox"),
    ("BackgroundBash", "background tasks"),
    ("ReadDocs", "web pages"),
    ("WebSearch", "web search"),
    ("ReadImage", "images"),
    ("TaskManager", "to-do lists"),
    ("PlanMode", "plans"),
    ("AskUserQuestion", "questions to the user"),
    ("InvokeSkill", "skills"),
    ("SetCallback", "reminders"),
];

/// Returns the server's instructions for the client's model.
fn instructions(session: &Session, prefix: Option<&str>) -> String {
    let workspace = session.workspace();
    let is_on = |name: &str| session.access(&workspace).tool(name).is_some();
    let subjects: Vec<_> =
        SUBJECTS.iter().filter(|(tool, _)| is_on(tool)).map(|(_, subject)| *subject).collect();
    let mut text = if subjects.is_empty() {
        "All tools of this server are switched off by its settings (TOOLS=false).".to_owned()
    } else {
        let mut subjects = subjects.join(", ");
        if let Some(first) = subjects.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        format!(
            "{subjects}. Tools run in sandboxes and remember their state for this workspace, over restarts. \
             A tool result may end with messages of callbacks that were due."
        )
    };
    let worked_on = &workspace.folder;
    if let Some(folder) = &worked_on.instead_of {
        let line = format!(
            " No project is open ({} is not one), so {} is used as the workspace.",
            folder.display(),
            worked_on.path.display()
        );
        text.push_str(&line);
    }
    let listed = listed(session, prefix);
    let required = listed.as_ref().map(|cached| required(&workspace, &cached.listed)).unwrap_or_default();
    let lists = [
        (required.by_person, "Before you start, invoke these skills with"),
        (
            required.by_workspace,
            "The project asks for these skills, which it brings or you have; invoke them with",
        ),
    ];
    for (names, what) in lists.iter().filter(|(names, _)| !names.is_empty()) {
        let tool = prefixed(prefix, SKILL_TOOL);
        text.push_str(&[" ", *what, " ", &*tool, ": ", &*names.join(", "), "."].concat());
    }
    let mut text = scorpiox_text::clean(&text).replace('\n', " ");
    let end = (0..=MAX_INSTRUCTIONS_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    let more = listed.map(|cached| more(&cached.listed.more, text.len(), prefix)).unwrap_or_default();
    let timeout = workspace.shell().timeouts().ok().map(|(_, most)| most);
    push_usage(&mut text, more.len(), &usage(is_on, prefix, timeout));
    text + &more
}

/// Returns the listing of skills, if skills are served.
fn listed(session: &Session, prefix: Option<&str>) -> Option<Arc<Cached>> {
    let workspace = &session.workspace();
    let component = session.access(workspace).tool(SKILL_TOOL).and(workspace.component(SKILL_TOOL))?;
    let setup = Setup { prefix: prefix.map(Arc::from), ..workspace.own_setup() };
    listing::listed(workspace, component, &setup, prefix).unwrap_or_else(|unread| {
        tracing::warn!("the instructions name no skills: {unread}");
        None
    })
}

/// Returns the required skills that a model can invoke. Other skills are not announced.
fn required(workspace: &Workspace, listed: &Listed) -> Required {
    let mut required = workspace.skills.required().unwrap_or_default();
    required.by_person.retain(|name| listed.required.contains(name));
    required.by_workspace.retain(|name| listed.required.contains(name));
    required
}

/// Returns the descriptions of the user's skills that InvokeSkill truncates, as far as they fit after `before` bytes.
fn more(descriptions: &[String], before: usize, prefix: Option<&str>) -> String {
    let mut heading = format!("\nDescriptions of skills that {} has in part:", prefixed(prefix, SKILL_TOOL));
    let mut text = String::new();
    for line in descriptions {
        let line = scorpiox_text::clean(line);
        if before + text.len() + heading.len() + 1 + line.len() <= MAX_INSTRUCTIONS_BYTES {
            text.push_str(&std::mem::take(&mut heading));
            text.push('\n');
            text.push_str(&line);
        }
    }
    text
}

/// Returns sentences on the use of tools that their schemas, which are fixed, leave out. `timeout` is the maximum of a
/// command.
fn usage(is_on: impl Fn(&str) -> bool, prefix: Option<&str>, timeout: Option<Duration>) -> Vec<String> {
    let about = |tool: &'static str, sentence: &str| {
        is_on(tool).then(|| sentence.replace("TOOL", &prefixed(prefix, tool)))
    };
    let timeout =
        timeout.map(|most| format!(", and runs for at most {} ms", most.as_millis())).unwrap_or_default();
    let bash = format!(
        "Each TOOL command starts in the workspace (`cd` and `export` do not last), sees the files and hosts that the \
         user's policy opens{timeout}."
    );
    [
        about("Bash", &bash),
        about("ReadDocs", "TOOL also reads files of the workspace: PDF, Word, CSV, notebooks, Markdown."),
        about(
            "AskUserQuestion",
            r#"TOOL takes {"questions":[{"question":"…","options":["A","B"]}]} as questions_json."#,
        ),
        about("TaskManager", "TOOL also has the actions rename, reopen and delete."),
        about("SetCallback", "TOOL repeats 20 times unless `repeat_count` says otherwise."),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Appends the sentences that fit with `reserved` more bytes.
fn push_usage(text: &mut String, reserved: usize, sentences: &[String]) {
    for sentence in sentences {
        if text.len() + 1 + sentence.len() + reserved <= MAX_INSTRUCTIONS_BYTES {
            text.push(' ');
            text.push_str(sentence);
        }
    }
}

#[allow(clippy::unnecessary_wraps)] // a handler's signature
pub(crate) fn ping(_session: &Session, request: &Request<'_>) -> Answer {
    Ok(reply::result(&request.id, &json!({})))
}

pub(crate) fn set_level(session: &Session, request: &Request<'_>) -> Answer {
    let level: LogLevel = request
        .params
        .required("level", "one of debug, info, notice, warning, error, critical, alert, emergency")?;
    session.update(|facts| facts.log_level = Some(level));
    Ok(reply::result(&request.id, &json!({})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_use_of_tools_is_told_as_far_as_it_fits() {
        let is_on = |name: &str| name != "SetCallback";
        let sentences = usage(is_on, Some("sx_"), Some(Duration::from_mins(10)));
        assert_eq!(sentences.len(), 4, "{sentences:?}");
        assert!(sentences[0].starts_with("Each sx_Bash command") && sentences[0].ends_with("600000 ms."));
        assert!(sentences.iter().all(|sentence| !sentence.contains("TOOL")), "{sentences:?}");
        let is_short = |sentence: &&String| sentence.ends_with("delete.");
        let short = sentences.iter().find(is_short).expect("a short sentence");
        let room = 400 + sentences[0].len() + short.len() + 2;
        let mut text = "x".repeat(MAX_INSTRUCTIONS_BYTES - room);
        push_usage(&mut text, 400, &sentences);
        let pushed = text.trim_start_matches('x');
        assert!(pushed.ends_with("delete.") && !pushed.contains("questions_json"), "{pushed}");
        assert!(text.len() + 400 <= MAX_INSTRUCTIONS_BYTES, "{}", text.len());
    }

    #[test]
    fn the_subjects_are_seen_whole_by_clients_that_show_150_characters() {
        let subjects: Vec<_> = SUBJECTS.iter().map(|(_, subject)| *subject).collect();
        assert!(subjects.join(", ").len() <= 150, "{}", subjects.join(", ").len());
    }
}
