//! Conversation with the server.

use std::time::{Duration, Instant};

use rmcp::ServiceError;
use rmcp::model::{CallToolResult, ErrorCode, GetPromptRequestParams, ProtocolVersion};
use serde_json::{Value, json};

use crate::client::{Client, Era};
use crate::session::Session;
use crate::steps::{Outcome, Steps, contains, equal};

const TOOLS: [&str; 13] = [
    "Bash",
    "ReadImage",
    "ReadDocs",
    "WebSearch",
    "TaskManager",
    "PlanMode",
    "AskUserQuestion",
    "InvokeSkill",
    "BackgroundBash",
    "ReadBgOutput",
    "ListBgTasks",
    "KillBgTask",
    "SetCallback",
];

/// Observation time after which a call is known to be cancelled. The server retries the lock every 25 ms, so
/// a call that continued would have written within this time.
const LOOK: Duration = Duration::from_millis(100);

/// Maximum time for a response that does not wait for anything.
const AT_ONCE: Duration = Duration::from_secs(1);

pub async fn converse(era: &Era, session: &Session, steps: &mut Steps) -> Outcome {
    let mut client = Client::connect(era, session).await?;
    let revision = &era.revision;
    steps.record(&format!("agrees on {revision}"), agrees(&client, revision));
    steps.record("lists the tools", lists_tools(&client).await);
    steps.record("creates a task, adds a step, lists it", keeps_tasks(&client).await);
    let structured = *revision >= ProtocolVersion::V_2025_06_18;
    let with = if structured { "with" } else { "without" };
    steps.record(
        &format!("reads the plan mode, {with} structured content"),
        reads_plan_mode(&client, structured).await,
    );
    steps.record("runs a command in a sandbox, and one in the background", runs_commands(&client).await);
    steps.record("lists the skills as prompts and reads each", reads_prompts(&client, session).await);
    steps.record("is told that a tool is unknown: -32602", unknown_tool(&client).await);
    steps.record("is told what is wrong with arguments: isError", bad_arguments(&client).await);
    cancel_steps(&mut client, revision, session, steps).await?;
    steps.record("ends the server within a second", ends(client).await);
    Ok(())
}

async fn cancel_steps(
    client: &mut Client,
    revision: &ProtocolVersion,
    session: &Session,
    steps: &mut Steps,
) -> Outcome {
    let with_message = *revision >= ProtocolVersion::V_2025_03_26;
    let lock = session.lock().await?;
    let cancelled = cancels_at_first_progress(client, with_message).await;
    steps.record("hears of progress while a call waits, and cancels it", cancelled);
    let looked = looks(client, &["1 task,", "write the report"]).await;
    steps.record("is answered at once while the lock is held", looked);
    let cancelled = cancels_before_release(client, with_message).await;
    lock.release().await?;
    steps.record("cancels another call just before the lock is released", cancelled);
    steps.record("finds that the cancelled calls stored nothing", nothing_stored(client).await);
    Ok(())
}

fn agrees(client: &Client, revision: &ProtocolVersion) -> Outcome {
    let peer = client.service.peer_info().ok_or("nothing is known of the server")?;
    equal(&peer.protocol_version, revision)
}

async fn lists_tools(client: &Client) -> Outcome {
    let tools = client.service.list_all_tools().await?;
    equal(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), TOOLS)
}

async fn keeps_tasks(client: &Client) -> Outcome {
    tasks(client, "create", "write the report").await?;
    tasks(client, "add", "find the figures").await?;
    contains(&tasks(client, "list", "").await?, &["#1 write the report (0/1 step)"])
}

async fn reads_plan_mode(client: &Client, structured: bool) -> Outcome {
    let off = json!({ "active": false, "goal": "", "plan_file": "", "started_at": null });
    let result = client.call("PlanMode", json!({ "action": "status" })).await?;
    equal(text(&result)?, "Plan mode is not active.")?;
    equal(result.structured_content, structured.then_some(off))
}

async fn runs_commands(client: &Client) -> Outcome {
    let ran = client.call("Bash", json!({ "command": "printf 'héllo\\n'; exit 3" })).await?;
    equal(ran.is_error, Some(false))?;
    contains(text(&ran)?, &["héllo\n\n[exit code 3 · ", "sandbox T"])?;
    let started = client.call("BackgroundBash", json!({ "command": "sleep 300" })).await?;
    contains(text(&started)?, &["Started background task 1 "])?;
    let listed = client.call("ListBgTasks", json!({})).await?;
    contains(text(&listed)?, &["[1] running for ", "sleep 300"])?;
    let killed = client.call("KillBgTask", json!({ "task_id": 1 })).await?;
    contains(text(&killed)?, &["Killed background task 1: "])
}

async fn reads_prompts(client: &Client, session: &Session) -> Outcome {
    let skills = session.skills()?;
    let mut names: Vec<_> =
        client.service.list_all_prompts().await?.into_iter().map(|prompt| prompt.name).collect();
    names.sort();
    equal(&names, &skills)?;
    for name in skills {
        let arguments = json!({ "arguments": "Ada Lovelace" }).as_object().cloned().unwrap_or_default();
        let block = format!("<skill_content name=\"{name}\">");
        let request = GetPromptRequestParams::new(name).with_arguments(arguments);
        let prompt = serde_json::to_value(client.service.get_prompt(request).await?)?;
        let text = prompt["messages"][0]["content"]["text"].as_str().ok_or("no text")?;
        contains(text, &[&block, "Ada Lovelace"])?;
    }
    Ok(())
}

async fn unknown_tool(client: &Client) -> Outcome {
    match client.call("NoSuchTool", json!({})).await {
        Err(ServiceError::McpError(error)) => equal(error.code, ErrorCode::INVALID_PARAMS),
        other => Err(format!("no such error, but {other:?}").into()),
    }
}

async fn bad_arguments(client: &Client) -> Outcome {
    let result = client.call("PlanMode", json!({ "action": 7 })).await?;
    equal(result.is_error, Some(true))?;
    contains(text(&result)?, &["action"])
}

async fn cancels_at_first_progress(client: &mut Client, with_message: bool) -> Outcome {
    let call = client.begin("TaskManager", task("create", "never stored")).await?;
    let progress = client.progress().await?;
    call.cancel(Some("user pressed stop".to_owned())).await?;
    equal(progress.progress, 1.0)?;
    let expected = with_message.then_some("Waiting for others to finish writing");
    equal(progress.message.as_deref(), expected)
}

async fn cancels_before_release(client: &mut Client, with_message: bool) -> Outcome {
    cancels_at_first_progress(client, with_message).await?;
    // Its response shows that the cancellation was read.
    tasks(client, "list", "").await.map(drop)
}

async fn nothing_stored(client: &Client) -> Outcome {
    contains(&tasks(client, "create", "after the lock").await?, &["#2"])?;
    looks(client, &["2 tasks,", "write the report", "after the lock"]).await?;
    equal(client.has_more_progress(), false)
}

/// Checks for a while that the list responds immediately, with these parts and without the cancelled task.
async fn looks(client: &Client, parts: &[&str]) -> Outcome {
    let begin = Instant::now();
    while begin.elapsed() < LOOK {
        let start = Instant::now();
        let found = tasks(client, "list", "").await?;
        let took = start.elapsed();
        if took > AT_ONCE {
            return Err(format!("the answer took {took:?}").into());
        }
        contains(&found, parts)?;
        equal(found.contains("never stored"), false)?;
    }
    Ok(())
}

async fn ends(client: Client) -> Outcome {
    let start = Instant::now();
    client.service.cancel().await?;
    let took = start.elapsed();
    if took < Duration::from_secs(1) { Ok(()) } else { Err(format!("took {took:?}").into()) }
}

fn task(action: &str, what: &str) -> Value {
    json!({ "action": action, "query": "", "text": what })
}

async fn tasks(client: &Client, action: &str, what: &str) -> Outcome<String> {
    let result = client.call("TaskManager", task(action, what)).await?;
    let text = text(&result)?;
    if result.is_error != Some(false) {
        return Err(format!("{action} failed: {text}").into());
    }
    Ok(text.to_owned())
}

fn text(result: &CallToolResult) -> Outcome<&str> {
    let block = result.content.first().and_then(|block| block.as_text());
    Ok(block.map(|block| block.text.as_str()).ok_or("no text")?)
}
