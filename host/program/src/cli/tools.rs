//! `scorpiox-code tools`: each tool, where it runs, what it may touch.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use super::environment::Environment;
use scorpiox_capabilities::Capability;
use scorpiox_capabilities::approved::Approved;
use scorpiox_operator::Operator;
use scorpiox_policy::Policy;
use scorpiox_tools::plugins::Plugins;
use scorpiox_tools::{Kind, Tool};

pub(super) fn run(environment: &Environment) -> ExitCode {
    let mut text = String::new();
    let operator = Arc::new(Operator::new(environment.site()));
    let plugins = Plugins::new(Arc::clone(&operator));
    for tool in environment.registry.tools().chain(&plugins.tools()) {
        let settings = &environment.settings;
        let on = settings.tools_enabled() && settings.tool_enabled(&tool.name);
        // What is wrong with the policy is said where a tool is called, and by `doctor`.
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
        match &tool.kind {
            Kind::Native(tool) => {
                let _ = writeln!(text, "  runs in the host\n  may {}", tool.may());
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
    terminal::print(&Shown::lines(&text));
    ExitCode::SUCCESS
}

fn state(tool: &Tool) -> &'static str {
    if tool.is_conditional() { "  (listed when the descriptions of skills do not all fit)" } else { "" }
}

/// What a plugin was approved for that is not an interface of this project.
fn approved_rights(approved: &Approved) -> Vec<String> {
    let mut rights = Vec::new();
    if !approved.env.is_empty() {
        rights.push(format!("see variables of the server's environment (env: {})", approved.env.join(", ")));
    }
    rights.extend(approved.random.then(|| "draw random numbers (random)".to_owned()));
    rights
}
