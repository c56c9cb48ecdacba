//! The note about commands that keep running while a plan is active.

use std::fmt::Write as _;
use std::sync::Arc;

use scorpiox_command_output::human_duration;
use scorpiox_shell::{ActiveCommand, ActiveList, Listed, TaskState};
use scorpiox_tool_kit::args::shown;

/// Returns the note about background tasks, of a component or of the client, and about other commands. The
/// tool `kill` only ends tasks of the client.
pub fn still_running(tasks: &[(Option<Arc<str>>, Listed)], active: &ActiveList, kill: &str) -> String {
    let mut note =
        String::from("Commands that began before the plan go on, and may still change something:\n");
    // Writing to a string cannot fail.
    for (owner, task) in tasks {
        let what = owner.as_ref().map_or_else(|| format!("task {}", task.id), |owner| format!("of {owner}"));
        let _ = writeln!(note, "- {what}, {}: {}", run_time(task), shown(&task.command));
    }
    for ActiveCommand { component, server, command, duration } in &active.commands {
        let what = match (component, server) {
            (Some(component), None) => format!("of {component}"),
            (None, None) => "in the foreground".to_owned(),
            (None, Some(process)) => format!("of the server with process {process}"),
            (Some(component), Some(process)) => {
                format!("of {component} in the server with process {process}")
            }
        };
        let (time, command) = (human_duration(*duration), shown(command));
        let _ = writeln!(note, "- {what}, running for {time}: {command}");
    }
    match active.others {
        0 => {}
        1 => note.push_str("- one more command, of another client\n"),
        more => {
            let _ = writeln!(note, "- {more} more commands, of other clients");
        }
    }
    if tasks.iter().any(|(owner, _)| owner.is_none()) {
        let _ = write!(note, "{kill} with its task_id ends a task.");
    } else {
        note.push_str("Only the client, plugin or server that started a command can end it.");
    }
    note
}

fn run_time(task: &Listed) -> String {
    match &task.state {
        TaskState::Running(time) => format!("running for {}", human_duration(*time)),
        TaskState::Ended(..) => "just ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use scorpiox_sandbox::Tier;

    use super::*;

    fn of(owner: Option<&str>, id: u32) -> (Option<Arc<str>>, Listed) {
        let task = Listed {
            id,
            command: "make".to_owned(),
            tier: Tier::T1,
            profile: "workspace".to_owned(),
            state: TaskState::Running(Duration::from_secs(2)),
            printed_bytes: 0,
            stopped: None,
        };
        (owner.map(Arc::from), task)
    }

    #[test]
    fn a_tool_is_advised_where_it_can_end_something() {
        let none = ActiveList::default();
        let both = still_running(&[of(Some("plugin/x"), 1), of(None, 2)], &none, "x_KillBgTask");
        assert!(both.contains("\n- of plugin/x, running for 2.00 s: make\n- task 2, running"), "{both}");
        assert!(both.ends_with("\nx_KillBgTask with its task_id ends a task."), "{both}");
        let others = still_running(&[of(Some("plugin/x"), 1)], &none, "KillBgTask");
        assert!(!others.contains("KillBgTask"), "{others}");
    }

    #[test]
    fn commands_in_the_foreground_and_of_other_servers_are_named() {
        let duration = Duration::from_secs(2);
        let command = |component: Option<&str>, server| ActiveCommand {
            component: component.map(str::to_owned),
            server,
            command: "make".to_owned(),
            duration,
        };
        let commands = vec![command(None, None), command(None, Some(7)), command(Some("plugin/x"), Some(7))];
        let note = still_running(&[], &ActiveList { commands, others: 2 }, "KillBgTask");
        let lines: Vec<_> = note.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "- in the foreground, running for 2.00 s: make",
                "- of the server with process 7, running for 2.00 s: make",
                "- of plugin/x in the server with process 7, running for 2.00 s: make",
                "- 2 more commands, of other clients",
                "Only the client, plugin or server that started a command can end it.",
            ]
        );
    }
}
