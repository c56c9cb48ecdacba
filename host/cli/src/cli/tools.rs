//! The command `scorpiox-code tools`: lists each tool, its sandbox, and its permissions.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use scorpiox_sandbox::Tier;
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use super::environment::Environment;
use super::policy::{effects, restricted};
use scorpiox_capabilities::Capability;
use scorpiox_capabilities::approved::Approved;
use scorpiox_policy::Policy;
use scorpiox_shell::Shell;
use scorpiox_tools::plugins::Plugins;
use scorpiox_tools::{Kind, Tool};
use scorpiox_workspace_config::Operator;

pub(super) fn run(environment: &Environment) -> ExitCode {
    let mut text = String::new();
    // Without a policy that can be used, there are no restrictions to apply.
    let operator = restricted(Operator::new(environment.site()), None);
    let operator = Arc::new(operator.unwrap_or_else(|_| Operator::new(environment.site())));
    let (plugins, shell) = (Plugins::new(Arc::clone(&operator)), Shell::new(Arc::clone(&operator)));
    for tool in environment.registry.tools().chain(&plugins.tools()) {
        let settings = &environment.settings;
        let on = settings.tools_enabled() && settings.tool_enabled(&tool.name);
        // Errors of the policy are reported by calls and by `doctor`.
        let original = plugins.authors_name(&tool.name);
        let check =
            |policy: &Policy| policy.tools.check_tool_as(&tool.name, original.as_deref()).map(drop).err();
        let closed = operator.policy().ok().and_then(check);
        let state = match closed {
            Some(why) => format!("  (closed: {why})"),
            None if on => state(tool).to_owned(),
            None => "  (switched off)".to_owned(),
        };
        let _ = writeln!(text, "{}{state}", tool.name);
        for effect in effects(&operator, &plugins, &tool.name) {
            let _ = writeln!(text, "  {effect}");
        }
        match &tool.kind {
            Kind::Native(native) => {
                let is_command = COMMANDS.contains(&&*tool.name);
                let where_it_runs =
                    if is_command { commands(&shell) } else { "runs in the server itself".to_owned() };
                let _ = writeln!(text, "  {where_it_runs}\n  may {}", native.may());
            }
            Kind::Wasm { component, .. } | Kind::Plugin { component, .. } => {
                let limits = &component.limits;
                let _ = writeln!(
                    text,
                    "  runs in a WebAssembly sandbox: {} s, {} MiB, {} KiB of output a call",
                    limits.cpu.as_secs(),
                    limits.memory_bytes / (1024 * 1024),
                    limits.output_bytes / 1024
                );
                for grant in component.grants.iter() {
                    let _ = writeln!(text, "  may {} ({})", grant.describe(), grant.name());
                }
                for right in component.approved.iter().flat_map(|approved| approved_rights(approved)) {
                    let _ = writeln!(text, "  may {right}");
                }
                let without = Capability::POWERS.iter().filter(|(_, given_by)| {
                    !given_by.iter().any(|capability| component.grants.contains(capability))
                });
                let without: Vec<_> = without.map(|(power, _)| *power).collect();
                let _ = writeln!(text, "  may not: {}", without.join(", "));
            }
        }
    }
    shell.shut_down();
    terminal::print(&Shown::lines(&text));
    ExitCode::SUCCESS
}

/// Tools that run commands.
pub(super) const COMMANDS: [&str; 2] = ["Bash", "BackgroundBash"];

/// Describes the sandbox of commands on this machine.
pub(super) fn commands(shell: &Shell) -> String {
    match shell.tier() {
        Ok(Tier::None) => "runs commands without any sandbox".to_owned(),
        Ok(tier) => format!("runs commands in a sandbox of tier {tier}"),
        Err(error) => format!("runs no command: {error}"),
    }
}

fn state(tool: &Tool) -> &'static str {
    if tool.is_conditional() { "  (listed when the descriptions of skills do not all fit)" } else { "" }
}

/// Describes the approved permissions of a plugin that are not granted through an interface of this project.
fn approved_rights(approved: &Approved) -> Vec<String> {
    let mut rights = Vec::new();
    if !approved.env.is_empty() {
        rights.push(format!("see variables of the server's environment (env: {})", approved.env.join(", ")));
    }
    rights.extend(approved.random.then(|| "draw random numbers (random)".to_owned()));
    rights
}
