//! Results of the shell's tools, as text and as structured data.

use std::fmt::Write as _;
use std::time::Duration;

use scorpiox_command_output::{Finished, FullOutput, human_bytes, human_duration};
use scorpiox_egress_proxy::Refusal;
use scorpiox_executor::Reason;
use scorpiox_sandbox::{Ended, Outcome, Status};
use scorpiox_tool_kit::args::shown;
use serde::Serialize;

use super::names::about_names;
use crate::{Call, Output, OutputContent};
use scorpiox_shell::{
    Begun, Brought, Completed, ELSEWHERE, GoesOn, Listed, Owner, ReadPiece, TaskEnd, TaskState,
};

pub(super) const COMPLETED_SCHEMA: &str = r#"{"type":"object","properties":{"output":{"type":"string"},"exit_code":{"type":["integer","null"]},"signal":{"type":["string","null"]},"timed_out":{"type":"boolean"},"cancelled":{"type":"boolean"},"duration_ms":{"type":"integer"},"tier":{"type":"string"},"profile":{"type":"string"},"truncated_bytes":{"type":"integer"},"full_output_path":{"type":["string","null"]},"killed_processes":{"type":"integer"},"task_id":{"type":["integer","null"]}},"required":["output","exit_code","signal","timed_out","cancelled","duration_ms","tier","profile","truncated_bytes","full_output_path","killed_processes","task_id"]}"#;
pub(super) const TASK_SCHEMA: &str = r#"{"type":"object","properties":{"task_id":{"type":"integer"},"command":{"type":"string"},"status":{"type":"string"},"exit_code":{"type":["integer","null"]},"signal":{"type":["string","null"]},"runtime_ms":{"type":"integer"},"tier":{"type":"string"},"profile":{"type":"string"}},"required":["task_id","command","status","exit_code","signal","runtime_ms","tier","profile"]}"#;
pub(super) const READ_SCHEMA: &str = r#"{"type":"object","properties":{"task_id":{"type":"integer"},"output":{"type":"string"},"lost_bytes":{"type":"integer"},"more":{"type":"boolean"},"status":{"type":"string"},"exit_code":{"type":["integer","null"]},"signal":{"type":["string","null"]},"runtime_ms":{"type":"integer"}},"required":["task_id","output","lost_bytes","more","status","exit_code","signal","runtime_ms"]}"#;
pub(super) const LIST_SCHEMA: &str = r#"{"type":"object","properties":{"tasks":{"type":"array","items":{"type":"object","properties":{"task_id":{"type":"integer"},"command":{"type":"string"},"status":{"type":"string"},"exit_code":{"type":["integer","null"]},"signal":{"type":["string","null"]},"runtime_ms":{"type":"integer"},"tier":{"type":"string"},"profile":{"type":"string"}},"required":["task_id","command","status","exit_code","signal","runtime_ms","tier","profile"]}}},"required":["tasks"]}"#;

/// Characters of a result reserved for notes.
pub(super) const NOTE_CHARS: usize = 1500;
/// Maximum number of refused hosts listed.
const MAX_REFUSALS: usize = 4;
/// Maximum number of ended tasks named.
const MAX_ENDS: usize = 3;

/// Exit status of a shell in structured data.
#[derive(Debug, Default, Serialize)]
struct End {
    exit_code: Option<i32>,
    signal: Option<&'static str>,
}

impl End {
    fn of(status: Status) -> Self {
        match status {
            Status::Code(code) => Self { exit_code: Some(code), signal: None },
            Status::Signal(signal) => Self { exit_code: None, signal: Some(signal_name(signal)) },
        }
    }
}

#[derive(Serialize)]
struct CompletedData<'a> {
    output: &'a str,
    #[serde(flatten)]
    end: End,
    timed_out: bool,
    cancelled: bool,
    duration_ms: u64,
    tier: &'static str,
    profile: &'a str,
    truncated_bytes: u64,
    full_output_path: Option<String>,
    killed_processes: u32,
    /// ID of the background task, if the command moved to the background.
    task_id: Option<u32>,
}

/// Renders a completed command. `most` is the maximum timeout.
pub(super) fn completed(
    call: &Call<'_>,
    completed: &Completed,
    (timeout, most): (Duration, Duration),
    note: Option<&str>,
) -> Output {
    let Completed { output, outcome, tier, profile, refusals, notes: news } = completed;
    let mut notes = vec![format!(
        "{} · {} · sandbox {tier}, profile {profile}",
        status(outcome, Some(timeout)),
        human_duration(Duration::from_millis(outcome.duration_ms))
    )];
    if outcome.ended == Some(Ended::Timeout) {
        notes.push(more_time(call, timeout, most));
    }
    // Processes of a command that was ended were not meant to stay.
    if outcome.leftover > 0 && outcome.ended.is_none() {
        let (processes, keep) = match outcome.leftover {
            1 => ("1 background process".to_owned(), "it"),
            several => (format!("{several} background processes"), "them"),
        };
        notes.push(format!("{processes} killed; use {} to keep {keep} running", call.name("BackgroundBash")));
    }
    notes.extend(refused(refusals));
    notes.extend(about_names(call, &outcome.names));
    notes.extend(untold(call));
    notes.extend(news.iter().cloned());
    notes.extend(ended_tasks(call));
    notes.extend(note.map(str::to_owned));
    notes.extend(whole(output));
    let data = CompletedData {
        output: &output.text,
        end: End::of(outcome.status),
        timed_out: outcome.ended == Some(Ended::Timeout),
        cancelled: outcome.ended == Some(Ended::Stopped),
        duration_ms: outcome.duration_ms,
        tier: tier.name(),
        profile,
        truncated_bytes: output.truncated_bytes,
        full_output_path: path(output),
        killed_processes: outcome.leftover,
        task_id: None,
    };
    // A nonzero exit code is not an error. Only a command that was ended externally is.
    result(noted(&output.text, &notes), &data, outcome.ended.is_some())
}

/// Renders a command that moved to the background because the client does not wait longer.
pub(super) fn goes_on(call: &Call<'_>, goes_on: &GoesOn, timeout: Duration, note: Option<&str>) -> Output {
    let GoesOn { output, task, refusals, notes: news } = goes_on;
    let (_, end, time) = parts(&task.state);
    let mut notes = vec![format!(
        "{}, and goes on as background task {}, until its timeout of {} ms: {} with task_id {} gives what it \
         prints from here on, {} ends it · sandbox {}, profile {}",
        state(task),
        task.id,
        timeout.as_millis(),
        call.name("ReadBgOutput"),
        task.id,
        call.name("KillBgTask"),
        task.tier,
        task.profile
    )];
    notes.extend(refused(refusals));
    notes.extend(untold(call));
    notes.extend(news.iter().cloned());
    notes.extend(note.map(str::to_owned));
    notes.extend(whole(output));
    let data = CompletedData {
        output: &output.text,
        end,
        timed_out: false,
        cancelled: false,
        duration_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        tier: task.tier.name(),
        profile: &task.profile,
        truncated_bytes: output.truncated_bytes,
        full_output_path: path(output),
        killed_processes: 0,
        task_id: Some(task.id),
    };
    result(noted(&output.text, &notes), &data, false)
}

/// Names the file with the complete output, if the text is truncated. It is the last note, because most
/// clients truncate the end the least.
fn whole(output: &Finished) -> Option<String> {
    output.full_output.as_ref().map(in_file)
}

fn in_file(full: &FullOutput) -> String {
    let whole = if full.complete { "the whole output" } else { "the beginning of the output" };
    format!("{whole} ({}) is in {}", human_bytes(full.bytes), full.path.display())
}

fn path(output: &Finished) -> Option<String> {
    output.full_output.as_ref().map(|full| full.path.display().to_string())
}

/// Joins the output and its notes, separated by a blank line.
fn noted(printed: &str, notes: &[String]) -> String {
    let mut text = printed.to_owned();
    if !text.is_empty() {
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    let lines: Vec<_> = notes.iter().map(|note| format!("[{note}]")).collect();
    text + &lines.join("\n")
}

/// Lists the hosts that the command was refused.
fn refused(refusals: &[Refusal]) -> Vec<String> {
    let named = refusals.iter().take(MAX_REFUSALS);
    let mut notes: Vec<_> = named
        .map(|Refusal { host, port, why, .. }| format!("network: {host}:{port} was refused: {why}"))
        .collect();
    if refusals.len() > MAX_REFUSALS {
        notes.push(format!("network: {} more were refused", refusals.len() - MAX_REFUSALS));
    }
    notes
}

/// Reports files that programs obey, of earlier commands whose results were not delivered: their calls were
/// cancelled, their task output was not read to the end, or a component ran them. A cancelled call does not
/// report them.
fn untold(call: &Call<'_>) -> impl Iterator<Item = String> + use<> {
    let brought = if call.cancel.is_set() { Brought::default() } else { call.host.shell().take_untold() };
    let mut notes: Vec<_> =
        about_names(call, &brought.names).map(|note| format!("by an earlier command, {note}")).collect();
    notes.extend(lost(&brought.lost));
    notes.into_iter()
}

/// Reports the ends of background tasks that no result has told of. A cancelled call does not report them.
fn ended_tasks(call: &Call<'_>) -> Vec<String> {
    if call.cancel.is_set() {
        return Vec::new();
    }
    let ended = call.host.shell().take_ends(Owner::new(None, call.uses));
    let named = ended.iter().take(MAX_ENDS).map(|task| {
        let reader = call.name("ReadBgOutput");
        format!("background task {}: {}; {reader} gives what it printed", task.id, state(task))
    });
    let mut notes: Vec<_> = named.collect();
    if ended.len() > MAX_ENDS {
        let lister = call.name("ListBgTasks");
        notes.push(format!("{} more background tasks ended; {lister} shows them", ended.len() - MAX_ENDS));
    }
    notes
}

/// Reports commands whose supervisor was killed, so that the files they created are unchecked.
fn lost(commands: &[Option<String>]) -> Option<String> {
    let (last, others) = commands.split_last()?;
    let more = match others.len() {
        0 => String::new(),
        1 => " and of another one".to_owned(),
        many => format!(" and of {many} others"),
    };
    let named = last.as_ref().map_or_else(String::new, |command| format!(" ({})", shown(command)));
    Some(format!(
        "nobody looked at what came of an earlier command{named}{more}: its supervisor, or the server, was killed before it \
         ended. It may have made names that programs obey, or repositories; the person should look at what is new in the \
         workspace (`git status --ignored`) before opening it"
    ))
}

/// Returns the ways to run a command for longer than its timeout.
fn more_time(call: &Call<'_>, timeout: Duration, most: Duration) -> String {
    let longer = if timeout < most {
        format!("a `timeout` of up to {} (milliseconds) gives it longer; ", most.as_millis())
    } else {
        String::new()
    };
    format!("{longer}{} runs a command without a timeout", call.name("BackgroundBash"))
}

/// Describes how a command ended.
fn status(outcome: &Outcome, timeout: Option<Duration>) -> String {
    let status = match outcome.status {
        Status::Code(code) => format!("exit code {code}"),
        Status::Signal(signal) => format!("killed by {}", signal_name(signal)),
    };
    match (outcome.ended, timeout) {
        (None, _) => status,
        (Some(Ended::Timeout), Some(time)) => format!("timed out after {} ms, {status}", time.as_millis()),
        (Some(Ended::Timeout), None) => format!("timed out, {status}"),
        (Some(Ended::Stopped), _) => format!("stopped, {status}"),
        (Some(Ended::Processes), _) => format!("stopped because it had too many processes, {status}"),
        (Some(Ended::Memory), _) => format!("stopped because it used too much memory, {status}"),
    }
}

#[derive(Serialize)]
struct TaskData<'a> {
    task_id: u32,
    command: &'a str,
    status: &'static str,
    #[serde(flatten)]
    end: End,
    runtime_ms: u64,
    tier: &'static str,
    profile: &'a str,
}

impl<'a> TaskData<'a> {
    fn of(task: &'a Listed) -> Self {
        let (status, end, time) = parts(&task.state);
        Self {
            task_id: task.id,
            command: &task.command,
            status,
            end,
            runtime_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
            tier: task.tier.name(),
            profile: &task.profile,
        }
    }
}

fn parts(state: &TaskState) -> (&'static str, End, Duration) {
    match state {
        TaskState::Running(time) => ("running", End::default(), *time),
        TaskState::Ended(TaskEnd::Ended(outcome), time) if outcome.ended.is_some() => {
            ("killed", End::of(outcome.status), *time)
        }
        TaskState::Ended(TaskEnd::Ended(outcome), time) => ("exited", End::of(outcome.status), *time),
        TaskState::Ended(TaskEnd::Lost(_), time) => ("lost", End::default(), *time),
    }
}

/// Describes the state of a task.
fn state(task: &Listed) -> String {
    match &task.state {
        TaskState::Running(time) => format!("running for {}", human_duration(*time)),
        TaskState::Ended(TaskEnd::Ended(outcome), time) => {
            let why = match task.stopped {
                Some(Reason::PolicyChanged) => ", because the policy was changed",
                _ => "",
            };
            format!("{}{why} after {}{}", status(outcome, None), human_duration(*time), killed_with(outcome))
        }
        TaskState::Ended(TaskEnd::Lost(why), time) => format!("lost after {}: {why}", human_duration(*time)),
    }
}

/// Reports processes of a task that were killed when its shell exited.
fn killed_with(outcome: &Outcome) -> String {
    let (processes, keep) = match outcome.leftover {
        1 => ("1 background process was".to_owned(), "it"),
        several => (format!("{several} background processes were"), "them"),
    };
    let advice = "leave out the `&`, or end the command with `wait`,";
    // If the task was killed, its processes were meant, too.
    let is_told = outcome.leftover > 0 && outcome.ended.is_none();
    if is_told {
        format!("; {processes} killed with it: {advice} to keep {keep} running")
    } else {
        String::new()
    }
}

/// Renders a started task.
pub(super) fn started(call: &Call<'_>, begun: &Begun, note: Option<&str>) -> Output {
    let Begun { task, notes } = begun;
    let mut text = format!(
        "Started background task {} [sandbox {}, profile {}]. {} with task_id {} gives what it prints.",
        task.id,
        task.tier,
        task.profile,
        call.name("ReadBgOutput"),
        task.id
    );
    let untold: Vec<_> = untold(call).collect();
    for note in notes.iter().chain(&untold).map(String::as_str).chain(note) {
        let _ = write!(text, "\n\n[{note}]");
    }
    result(text, &TaskData::of(task), false)
}

#[derive(Serialize)]
struct ReadData<'a> {
    task_id: u32,
    output: &'a str,
    lost_bytes: u64,
    more: bool,
    status: &'static str,
    #[serde(flatten)]
    end: End,
    runtime_ms: u64,
}

/// Renders the new output of a task.
pub(super) fn read(call: &Call<'_>, read: &ReadPiece) -> Output {
    let ReadPiece { piece, whole, refusals, advice, task } = read;
    let printed = if piece.text.is_empty() { "(no new output)" } else { &piece.text };
    let mut notes = vec![format!("task {}: {}", task.id, state(task))];
    let all = whole.as_ref().filter(|_| piece.more || piece.lost_bytes > 0).map(in_file);
    notes.extend(piece.more.then(|| "there is more: read again".to_owned()));
    notes.extend(all.map(|all| format!("{all}; `tail` shows its end")));
    notes.extend(refused(refusals));
    notes.extend(advice.iter().cloned());
    if let (false, TaskState::Ended(TaskEnd::Ended(outcome), _)) = (piece.more, &task.state) {
        notes.extend(about_names(call, &outcome.names));
    }
    let (status, end, time) = parts(&task.state);
    let data = ReadData {
        task_id: task.id,
        output: &piece.text,
        lost_bytes: piece.lost_bytes,
        more: piece.more,
        status,
        end,
        runtime_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
    };
    result(noted(printed, &notes), &data, false)
}

#[derive(Serialize)]
struct ListData<'a> {
    tasks: Vec<TaskData<'a>>,
}

/// Renders all tasks of this server. An HTTP client may have tasks on other servers.
pub(super) fn list(tasks: &[Listed], is_over_http: bool) -> Output {
    let mut text = String::new();
    for task in tasks {
        let line = task.command.lines().next().unwrap_or_default();
        let _ = writeln!(text, "[{}] {}: {}", task.id, state(task), shown(line));
    }
    if tasks.is_empty() {
        text.push_str("No background tasks");
    }
    let tasks = tasks.iter().map(TaskData::of).collect();
    let notes: Vec<_> = is_over_http.then(|| ELSEWHERE.to_owned()).into_iter().collect();
    let text = text.trim_end();
    let text = if notes.is_empty() { text.to_owned() } else { noted(text, &notes) };
    result(text, &ListData { tasks }, false)
}

/// Renders the result of killing a task.
pub(super) fn killed(call: &Call<'_>, task: &Listed, ran: bool) -> Output {
    let text = if ran {
        format!("Killed background task {}: {}.", task.id, state(task))
    } else {
        format!("Background task {} had ended already: {}.", task.id, state(task))
    };
    let notes: Vec<_> = match &task.state {
        TaskState::Ended(TaskEnd::Ended(outcome), _) => about_names(call, &outcome.names).collect(),
        _ => Vec::new(),
    };
    let text = if notes.is_empty() { text } else { noted(&text, &notes) };
    result(text, &TaskData::of(task), false)
}

fn result(text: String, data: &impl Serialize, is_error: bool) -> Output {
    Output {
        content: vec![OutputContent::Text(text)],
        structured: serde_json::to_string(data).ok(),
        is_error,
    }
}

/// Returns the usual name of a signal.
fn signal_name(signal: i32) -> &'static str {
    const NAMES: [&str; 32] = [
        "signal 0",
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    let name = usize::try_from(signal).ok().and_then(|at| NAMES.get(at).copied());
    name.unwrap_or("a real-time signal")
}
