//! The command `scorpiox-code doctor`: checks everything that the server needs.

mod plugins;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use scorpiox_executor::Cancel;
use scorpiox_fs::home::private;
use scorpiox_policy::{MANAGED_FILE, REPOSITORY_FILE, kept_from_others};
use scorpiox_sandbox::{CellError, Tier};
use scorpiox_store::Mode;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Detail, Report, Shown, State};
use scorpiox_web::Fetcher;
use serde_json::{Value, json};

use super::environment::Environment;
use super::policy::effects;
use super::tools::{COMMANDS, commands};
use crate::auditing::waiting;
use scorpiox_audit::Waiting;
use scorpiox_capabilities::Capability;
use scorpiox_capabilities::ask::ways_here;
use scorpiox_capabilities::web::browser;
use scorpiox_metering::records::{check_audit, check_exports};
use scorpiox_runtime::Component;
use scorpiox_server::Workspace;
use scorpiox_server::skills::report::{Finding, findings};
use scorpiox_shell::{Shell, ShellError};
use scorpiox_tools::Kind;
use scorpiox_workspace_config::Operator;
use scorpiox_workspace_config::settings::Origin;

/// Form of the output.
pub(super) enum Format {
    /// Text, with this detail.
    Text(Detail),
    /// One JSON object with all results.
    Json,
}

pub(super) fn run(environment: &Environment, format: &Format) -> ExitCode {
    let workspace = environment.open();
    let mut report = Report::new();
    installation(&mut report, environment);
    tools(&mut report, &workspace);
    shell(&mut report, &workspace);
    web(&mut report, &workspace);
    questions(&mut report, &workspace);
    serving(&mut report, environment, &workspace);
    store(&mut report, environment, &workspace);
    audit(&mut report, &workspace);
    settings(&mut report, environment);
    skills(&mut report, &workspace);
    terminal::print(&match format {
        Format::Text(detail) => report.shown(*detail),
        Format::Json => Shown::json(&as_json(&report, environment).to_string()),
    });
    if report.failures() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the report in the form that docs/json.md defines.
fn as_json(report: &Report, environment: &Environment) -> Value {
    let results = report.rows().iter().map(|row| {
        let state = match row.state {
            State::Good | State::Usual => "ok",
            State::Note => "note",
            State::Bad => "failed",
        };
        json!({ "section": row.section, "state": state, "usual": row.state == State::Usual, "text": row.text })
    });
    let settings = environment.settings.entries().map(|entry| {
        json!({
            "key": entry.key,
            "value": entry.value,
            "from": entry.origin.to_string(),
            "default": entry.origin == Origin::Default,
        })
    });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "program": environment.binary,
        "home": environment.own_home,
        "workspace": environment.workspace.path,
        "works": report.failures() == 0,
        "checks": report.checks(),
        "failures": report.failures(),
        "results": results.collect::<Vec<_>>(),
        "settings": settings.collect::<Vec<_>>(),
    })
}

/// Reports the error with which `serve --http` would refuse to start, if the policy configures it.
fn serving(report: &mut Report, environment: &Environment, workspace: &Arc<Workspace>) {
    let Ok(policy) = workspace.operator().policy() else { return };
    if !policy.http.is_set() && policy.served.is_empty() {
        return;
    }
    report.section("Over HTTP");
    match environment.check_served(workspace) {
        Ok((count, shared)) => {
            report.good(format_args!("what the policy names is there, workspaces: {count}"));
            for (before, rule, after) in shared {
                report.note(format_args!("{before} ({rule}){after}"));
            }
        }
        Err(error) => report.bad(format_args!("serve --http would refuse to start: {error:#}")),
    }
}

fn installation(report: &mut Report, environment: &Environment) {
    report.section("Installation");
    report.good(format_args!(
        "scorpiox-code {} at {}",
        env!("CARGO_PKG_VERSION"),
        environment.binary.display()
    ));
    if let Err(error) = super::config::check_program(environment) {
        report.bad(format_args!("clients must not start this program where it is: {error:#}"));
    }
    let own = &environment.own_home;
    let there = own.ancestors().find(|path| path.symlink_metadata().is_ok());
    match there.map(private::check_use) {
        Some(Err(error)) => report.bad(format_args!(
            "own folder {} cannot be written ({error}): nothing can be stored, and no command runs; make it yours, or \
             name another with --home",
            own.display()
        )),
        _ => report.good(format_args!("own folder {}", own.display())),
    }
    let workspace = &environment.workspace;
    match &workspace.instead_of {
        None => report.good(format_args!("workspace {}", workspace.path.display())),
        Some(found) => report.note(format_args!(
            "workspace {}, because {} is not a project; start in a project's folder, or set SCORPIOX_WORKSPACE",
            workspace.path.display(),
            found.display()
        )),
    }
}

fn tools(report: &mut Report, workspace: &Workspace) {
    report.section("Tools");
    let tools = workspace.tools();
    let mut ready = 0_usize;
    for tool in tools.iter().filter(|tool| !matches!(tool.kind, Kind::Plugin { .. })) {
        let grants = match &tool.kind {
            Kind::Native(_) if COMMANDS.contains(&&*tool.name) => Ok(match workspace.shell().tier() {
                Ok(_) => commands(workspace.shell()),
                Err(_) => "runs no command here: Shell says why".to_owned(),
            }),
            Kind::Native(native) => Ok(format!("may {}", native.may())),
            Kind::Wasm { component, .. } | Kind::Plugin { component, .. } => granted(workspace, component),
        };
        match grants {
            Err(why) => report.bad(format_args!("{}: {why}", tool.name)),
            Ok(grants) if workspace.is_on(tool) => {
                ready += 1;
                report.usual(format_args!("{}: {grants}", tool.name));
            }
            Ok(_) => match workspace.closed_by_policy(&tool.name) {
                Some(why) => report.note(format_args!("{}: closed: {why}", tool.name)),
                None => report.note(format_args!("{}: switched off by the settings", tool.name)),
            },
        }
    }
    plugins::report(report, workspace, &tools);
    for tool in tools.iter().filter(|tool| workspace.is_on(tool)) {
        for effect in effects(workspace.operator(), workspace.plugins(), &tool.name) {
            report.note(format_args!("{}: {effect}", tool.name));
        }
    }
    report.good(format_args!(
        "built-in tools that can be called: {ready}; `scorpiox-code tools` shows what each may touch"
    ));
}

/// Describes the grants of a component, if it can be loaded.
fn granted(workspace: &Workspace, component: &Component) -> Result<String, String> {
    workspace.runtime().check(component).map_err(|fault| fault.to_string())?;
    let told = component.grants.iter().filter(|grant| !Capability::MINOR.contains(grant));
    let told: Vec<_> = told.map(|grant| grant.describe()).collect();
    Ok(if told.is_empty() {
        "see `scorpiox-code tools`".to_owned()
    } else {
        format!("may {}", told.join("; "))
    })
}

/// Reports the tier of the command sandbox, and why it is not a stronger one.
fn shell(report: &mut Report, workspace: &Workspace) {
    report.section("Shell");
    let shell = workspace.shell();
    if policy_files(report, workspace.operator()).is_none() {
        return;
    }
    match shell.tier() {
        Ok(tier @ Tier::None) => {
            report.note(format_args!("commands run in tier {tier}: without any sandbox"));
        }
        Ok(tier) => {
            report.good(format_args!("commands run in a sandbox of tier {tier}"));
            holds(report, shell);
            if let Some(kept) = super::history::note(shell) {
                report.note(kept);
            }
            for (higher, why) in shell.why_not_higher(tier) {
                report.note(format_args!("not in {higher}: {why}{}", hint(&why)));
            }
        }
        Err(error) => match &*error {
            // No user of this machine can fix this.
            ShellError::Cell(error @ CellError::NoSandbox) => report.note(error),
            error => report.bad(error),
        },
    }
    shell.shut_down();
}

/// Probes the sandbox for escapes, and reports those that succeed.
fn holds(report: &mut Report, shell: &Shell) {
    match shell.probe() {
        Ok(probed) if probed.could.is_empty() => {
            report.good(format_args!("{} ways out of it were tried, and none led out", probed.tried));
        }
        Ok(probed) => {
            for way in probed.could {
                report.bad(format_args!("the sandbox does not hold: a command could {way}"));
            }
        }
        Err(error) => report.bad(format_args!("the sandbox could not be tried: {error}")),
    }
}

/// Reports the policy files and the users who can change them. Returns `None` if the policy cannot be used.
fn policy_files(report: &mut Report, operator: &Operator) -> Option<()> {
    let loaded = match operator.loaded() {
        Err(error) => {
            report.bad(error);
            return None;
        }
        Ok(loaded) => loaded,
    };
    let own = operator.site().own_policy();
    for file in &loaded.files {
        let is_repository = file.ends_with(REPOSITORY_FILE) && file.starts_with(&operator.site().workspace);
        let who = match () {
            () if *file == own => "you can change it",
            () if is_repository => "everybody who writes the repository can change it, and it only narrows",
            () => "only root can change it",
        };
        report.good(format_args!("policy {}: {who}", file.display()));
    }
    if let Some(problem) = &loaded.unusable_repository {
        report.bad(format_args!("all tools are refused in this workspace: {problem}"));
    }
    if loaded.files.is_empty() {
        report.good(format_args!("policy: the built-in one; {} would change it", own.display()));
    }
    if loaded.is_managed {
        for why in kept_from_others(Path::new(MANAGED_FILE)) {
            report.note(why);
        }
    } else {
        report.note(format_args!(
            "no policy holds for all users of this machine: whoever starts the server can choose another \
             SCORPIOX_HOME and with it another policy; {MANAGED_FILE} would hold for all"
        ));
    }
    Some(())
}

/// Reports whether web pages can be fetched and rendered.
fn web(report: &mut Report, workspace: &Workspace) {
    report.section("Web");
    // The error of the policy is already reported.
    let Ok(policy) = workspace.operator().policy() else { return };
    if !policy.web.enabled.value {
        return report
            .note(format_args!("no pages: `enabled = false` in [web] ({})", policy.web.enabled.source));
    }
    match workspace.web().fetcher().and_then(Fetcher::check) {
        Ok(()) => report.good("pages can be fetched"),
        Err(error) => report.bad(error),
    }
    if !policy.web.browser.value {
        return report
            .note(format_args!("no browser: `browser = false` in [web] ({})", policy.web.browser.source));
    }
    match browser(workspace.operator()) {
        Ok((program, tier)) => {
            report.good(format_args!("browser {}, in a sandbox of tier {tier}", program.display()));
        }
        Err(why) => report.note(format_args!("pages are read without a browser: {why}")),
    }
}

/// Reports the ways to ask the user if the client displays no form.
fn questions(report: &mut Report, workspace: &Workspace) {
    report.section("Questions");
    // The error of the policy is already reported.
    let Ok(ways) = ways_here(workspace.operator()) else { return };
    if ways.is_empty() {
        return report.note("only by the client's own form, or in the chat: no tmux, no terminal, no dialog");
    }
    report.good(format_args!("where the client shows no form: {}, then the chat", ways.join(", ")));
}

/// Returns the usual cause of an error from the operating system.
fn hint(why: &str) -> &'static str {
    if why.contains("making namespaces") || why.contains("uid_map") {
        " (user namespaces are switched off for this program: kernel.apparmor_restrict_unprivileged_userns, \
         user.max_user_namespaces, or a container that forbids them)"
    } else if why.contains("mounting /proc") {
        " (a container whose /proc is partly hidden does not allow another one)"
    } else {
        ""
    }
}

fn store(report: &mut Report, environment: &Environment, workspace: &Workspace) {
    report.section("Store");
    let path = workspace.store().location();
    // A trial write, which is rolled back.
    let tried = workspace.store().begin(Mode::Write, &Cancel::default(), &mut || {});
    let tried = tried.and_then(|mut transaction| {
        transaction.arm("doctor", 0, 0)?;
        // Reading the data waits for the write.
        transaction.timers("doctor")
    });
    match tried.map(drop) {
        Ok(()) => report.good(format_args!("{path} can be read and written")),
        Err(error) => return report.bad(error),
    }
    // Without a database, the data is in a directory that the program itself protects.
    let kept = environment.kept();
    let database = match &kept {
        Ok(kept) => kept.database(),
        Err(error) => return report.bad(error),
    };
    let Some(database) = database else { return };
    match database.is_open_to_others() {
        Ok(false) => {}
        Ok(true) => report.note(super::store::OPEN),
        Err(error) => report.bad(error),
    }
    match database.writers() {
        Ok(writers) => {
            for role in writers.roles {
                report.note(format_args!("{}{role}", super::store::CAN_WRITE));
            }
            for found in writers.foreign {
                report.bad(found);
            }
        }
        Err(error) => report.bad(error),
    }
}

/// Reports whether calls can be recorded.
fn audit(report: &mut Report, workspace: &Workspace) {
    report.section("Audit");
    match check_audit(workspace.operator()) {
        None => report.note("calls are not recorded: `enabled = false` in [audit]"),
        Some(Ok(folder)) => {
            report.good(format_args!(
                "calls are recorded in {}; `scorpiox-code audit` shows them",
                folder.display()
            ));
            for sentence in waiting(&Waiting::of(&folder)) {
                report.note(&sentence);
            }
        }
        Some(Err(error)) => report.bad(format_args!("calls are not recorded: {error}")),
    }
    for (place, taken) in check_exports(workspace.operator()) {
        match taken {
            Ok(()) => report.good(format_args!("lines are exported to {place}")),
            Err(error) => report.bad(error),
        }
    }
}

fn settings(report: &mut Report, environment: &Environment) {
    report.section("Settings");
    let (mut changed, mut unchanged) = (0_usize, 0_usize);
    for entry in environment.settings.entries() {
        let line = format!("{} = {} ({})", entry.key, entry.value, entry.origin);
        if entry.origin == Origin::Default {
            unchanged += 1;
            report.usual(line);
        } else {
            changed += 1;
            report.good(line);
        }
    }
    let rest = if changed == 0 { "settings" } else { "other settings" };
    report.good(format_args!(
        "{rest} with their default: {unchanged}; `scorpiox-code doctor --all` lists them"
    ));
    for problem in environment.settings.problems() {
        report.bad(problem);
    }
}

fn skills(report: &mut Report, workspace: &Workspace) {
    report.section("Skills");
    let library = match super::skills::library(workspace, None) {
        Ok(library) => library,
        Err(error) => return report.bad(format_args!("{error:#}")),
    };
    for finding in findings(&library) {
        match finding {
            Finding::Good(line) => report.good(line),
            Finding::Note(line) => report.note(line),
        }
    }
}
