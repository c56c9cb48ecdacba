//! The command `policy check`: reports all mistakes in the files, and rules that may be unintended.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use scorpiox_plugin::{ComponentName, Decisions, PluginFolder, PluginName, Status};
use scorpiox_policy::{
    CallRule, DenyRule, Loaded, MANAGED_FILE, NamePattern, Policy, Problem, Source, Sourced, Unobserved,
    kept_from_others,
};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;
use scorpiox_text::nearest;

use super::{NO_DECISION, shell, shell_under};
use crate::cli::environment::{Environment, shared_folders};
use crate::cli::tools::COMMANDS;
use scorpiox_shell::{DEFAULT_PROFILE, Shell, ShellError};
use scorpiox_tools::{Kind, Tool};

/// Checks the files in use, or another file.
pub(super) fn run(
    environment: &Environment,
    checked: Option<(&Path, bool)>,
    strict: bool,
) -> Result<ExitCode> {
    let file = checked.map(|(file, _)| file);
    let notes = match checked {
        None => in_use(environment)?,
        Some((file, is_managed)) => one(environment, file, is_managed)?,
    };
    let Some((policy, mut notes)) = notes else { return Ok(ExitCode::from(NO_DECISION)) };
    if strict {
        notes.extend(open_commands(&policy));
    }
    let of_plugins = super::plugins::unknown_hashes(environment, &policy).into_iter();
    let observed = scorpiox_policy::access::observed_by_others(&policy.http);
    let mut of_machine: Vec<_> =
        of_plugins.chain(observed).map(|(before, rule, after)| Note::at(before, rule, after)).collect();
    if file.is_none() {
        notes.append(&mut of_machine);
    }
    // A checked file may be for other machines: name plugins that are missing here, or listen within a container. That
    // is no failure.
    for note in notes.iter().chain(&of_machine) {
        terminal::print(&Shown::line(&format!("  note: {}", note.shown(file))));
    }
    Ok(if strict && !notes.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns the notes on the files in use. If they have mistakes, prints them and returns `None`.
fn in_use(environment: &Environment) -> Result<Option<(Policy, Vec<Note>)>> {
    let shell = shell(environment);
    let operator = shell.operator();
    let mistakes = operator.mistakes();
    if mistakes.len() > 1 {
        tell(&mistakes, None);
        return Ok(None);
    }
    let loaded = operator.loaded()?;
    if let Some(problem) = &loaded.unusable_repository {
        tell(std::slice::from_ref(problem), None);
        return Ok(None);
    }
    if loaded.files.is_empty() {
        let text =
            format!("{} does not exist; the built-in defaults hold.", operator.site().own_policy().display());
        terminal::print(&Shown::line(&text));
    }
    for file in &loaded.files {
        terminal::print(&Shown::line(&format!("{} is valid.", file.display())));
    }
    let mut notes = notes(environment, &shell, &loaded.policy);
    // A checked file may be for other machines, with other repositories.
    let kept = crate::cli::history::note(&shell);
    notes.extend(kept.map(|before| Note { before, rule: None, after: String::new() }));
    if loaded.policy.http.is_set() || !loaded.policy.served.is_empty() {
        if let Err(error) = environment.check_served(&environment.open()) {
            let before = format!("serve --http would refuse to start: {error:#}");
            notes.push(Note { before, rule: None, after: String::new() });
        }
        let shared = shared_folders(&loaded.policy, Some(&environment.workspace.path));
        notes.extend(shared.into_iter().map(|(before, rule, after)| Note::at(before, rule, after)));
    }
    let kept = environment
        .kept()
        .and_then(|kept| Ok(kept.database().map(|database| database.format()).transpose()?));
    if let Err(error) = kept {
        let before = format!("tools would refuse what they store: {error:#}");
        notes.push(Note { before, rule: None, after: String::new() });
    }
    if loaded.is_managed {
        let kept = kept_from_others(Path::new(MANAGED_FILE)).into_iter();
        notes.extend(kept.map(|why| Note { before: why, rule: None, after: String::new() }));
    }
    notes.extend(operator.idle().into_iter().map(|idle| {
        let after = match idle.source {
            Source::Repository(_) => {
                ": a repository's file only narrows, and the policy says no less without it"
            }
            _ => ": the policy for all users says no more without it",
        };
        let after = after.to_owned();
        Note { before: format!("{} changes nothing", idle.what), rule: Some(idle.source), after }
    }));
    Ok(Some((loaded.policy.clone(), notes)))
}

fn one(environment: &Environment, file: &Path, is_managed: bool) -> Result<Option<(Policy, Vec<Note>)>> {
    ensure!(file.exists(), "{} does not exist", file.display());
    let text = Policy::text(file)?.unwrap_or_default();
    let find = if is_managed { Policy::managed_mistakes } else { Policy::mistakes };
    let mistakes = find(&text, file);
    if !mistakes.is_empty() {
        tell(&mistakes, Some(file));
        return Ok(None);
    }
    let parse = if is_managed { Policy::parse_managed } else { Policy::parse };
    let policy = parse(&text, file)?;
    terminal::print(&Shown::line(&format!("{} is valid.", file.display())));
    let shell = shell_under(environment, Loaded::of(policy.clone()));
    let mut notes = notes(environment, &shell, &policy);
    let shared = shared_folders(&policy, None);
    notes.extend(shared.into_iter().map(|(before, rule, after)| Note::at(before, rule, after)));
    Ok(Some((policy, notes)))
}

/// Prints each mistake on a line.
fn tell(mistakes: &[Problem], file: Option<&Path>) {
    for mistake in mistakes {
        let told = file.map_or_else(|| mistake.to_string(), |file| mistake.told_of(file));
        terminal::complain(&format!("scorpiox-code: {told}"));
    }
    if let [_, _, ..] = mistakes {
        let count = mistakes.len();
        terminal::complain(&format!(
            "scorpiox-code: {count} mistakes; every tool is refused under such a policy"
        ));
    }
}

/// A note on a valid rule that may be unintended: the rule's position with the text around it.
struct Note {
    before: String,
    rule: Option<Source>,
    after: String,
}

impl Note {
    fn at(before: String, rule: Source, after: String) -> Self {
        Self { before, rule: Some(rule), after }
    }

    /// Formats the note. `file` is the name of the file, if it is not one of those in use.
    fn shown(&self, file: Option<&Path>) -> String {
        let Self { before, rule, after } = self;
        let rule = rule.map_or_else(String::new, |rule| match (rule, file) {
            (Source::Line(line) | Source::Managed(line), Some(file)) => {
                format!(" ({} line {line})", file.display())
            }
            (rule, _) => format!(" ({rule})"),
        });
        format!("{before}{rule}{after}")
    }
}

/// Returns notes if every valid token may run commands.
fn open_commands(policy: &Policy) -> Vec<Note> {
    let open: Vec<_> = COMMANDS.into_iter().filter(|tool| policy.tools.check_tool(tool).is_ok()).collect();
    let notes = scorpiox_policy::access::open_to_all(&policy.http, &policy.access, &open);
    notes.into_iter().map(|(before, rule, after)| Note::at(before, rule, after)).collect()
}

fn notes(environment: &Environment, shell: &Shell, policy: &Policy) -> Vec<Note> {
    let mut notes = unknown_tools(environment, policy);
    notes.extend(odd_arguments(environment, policy));
    notes.extend(unknown_approvers(policy));
    notes.extend(odd_conditions(policy));
    notes.extend(read_by_commands(policy));
    notes.extend(unused_profiles(environment, policy));
    notes.extend(unknown_components(environment, policy));
    let of_access =
        scorpiox_policy::access::notes(&policy.http, &policy.access, &policy.limits, &policy.served);
    notes.extend(of_access.into_iter().map(|(before, rule, after)| Note::at(before, rule, after)));
    let unused = super::unused::notes(environment, policy).into_iter();
    let unused = unused.chain(super::unused::linked_workspaces(shell.operator()));
    notes.extend(unused.map(|(before, rule, after)| Note::at(before, rule, after)));
    let opened = shell.operator().places().map(|places| policy.opened(&places)).unwrap_or_default();
    notes.extend(opened.into_iter().map(|(before, rule, after)| Note::at(before, rule, after)));
    let checked = shell.check_profile(DEFAULT_PROFILE);
    notes.extend(checked.err().map(|error| match &*error {
        ShellError::Rule { before, rule, after } => Note::at(before.clone(), *rule, after.clone()),
        other => Note { before: other.to_string(), rule: None, after: String::new() },
    }));
    notes
}

/// Returns a note for each condition on files that commands count as reading, so that it always holds for them.
fn read_by_commands(policy: &Policy) -> Vec<Note> {
    let read = policy.reads_unobserved(Unobserved::Command);
    let rules = policy.calls.0.iter().map(|rule| (&rule.conditions, rule.source));
    let restrictions =
        policy.restrictions.iter().map(|restriction| (&restriction.conditions, restriction.source));
    let all = rules.chain(restrictions).flat_map(|(conditions, source)| {
        let globs = conditions.read_before.iter().map(DenyRule::glob);
        globs.filter(|glob| read.contains(glob)).map(move |glob| (glob, source))
    });
    let note = |(glob, source): (&str, Source)| {
        let after = if policy.shell.allow_unsandboxed.value {
            ", and every command counts as reading them, because commands may run without a sandbox"
        } else {
            ", and every command counts as reading them, because `deny` of the profile `workspace` does not have this glob"
        };
        Note::at(format!("`after` names files of \"{glob}\""), source, after.to_owned())
    };
    all.map(note).collect()
}

/// Returns the names of the tools of each approved plugin, by the plugin's name.
fn tools_of_plugins(environment: &Environment) -> BTreeMap<String, Vec<String>> {
    let decisions = Decisions::read(&environment.own_home).unwrap_or_default();
    let installed = PluginFolder::new(&environment.own_home).scan().into_iter().flatten();
    let tools = |plugin: scorpiox_plugin::Installed| {
        let Status::Approved(approval) = Status::of(&plugin, decisions.get(&plugin.name)) else {
            return None;
        };
        let listed: Vec<serde_json::Value> = serde_json::from_str(approval.tools.get()).ok()?;
        let names = listed.iter().filter_map(|tool| tool["name"].as_str());
        let names = names.map(|tool| format!("{}.{tool}", plugin.name)).collect();
        Some((plugin.name.to_string(), names))
    };
    installed.filter_map(tools).collect()
}

/// Finds names and globs in `[tools]`, `[[rules]]`, `[access]` and `[limits]` that match no tool.
fn unknown_tools(environment: &Environment, policy: &Policy) -> Vec<Note> {
    let tools = environment.registry.names();
    let installed = PluginFolder::new(&environment.own_home).scan().into_iter().flatten();
    let plugins: Vec<_> = installed.map(|plugin| plugin.name.to_string()).collect();
    let of_plugins = tools_of_plugins(environment);
    // Tools of plugins that are not installed here may be installed elsewhere.
    let is_unknown = |pattern: &NamePattern| {
        let text = pattern.to_string();
        let owner = text.split_once('.').and_then(|(plugin, _)| of_plugins.get(plugin));
        if let Some(tools) = owner {
            return !tools.iter().any(|tool| pattern.covers(tool));
        }
        let start = text.strip_suffix('*');
        let of_plugin = |plugin: &String| start.is_some_and(|start| format!("{plugin}.").starts_with(start));
        !text.contains('.')
            && !tools.iter().any(|tool| pattern.covers(tool))
            && !plugins.iter().any(of_plugin)
    };
    let rules = policy.tools.deny.iter().chain(&policy.tools.allow).map(|rule| ("tools".to_owned(), rule));
    let of_access = policy.access.rules.iter().flat_map(|(name, rule)| {
        let listed = rule.deny.iter().chain(rule.allow.iter().flatten());
        listed.map(move |rule| (format!("access.{name}"), rule))
    });
    let of_limits = policy.limits.rules.iter().flat_map(|(name, rule)| {
        rule.tools.iter().flatten().map(move |rule| (format!("limits.{name}"), rule))
    });
    let of_calls = policy.calls.0.iter().flat_map(|rule| {
        let table = format!("rules \"{}\"", rule.name);
        rule.tools.iter().map(move |tool| (table.clone(), Sourced::new(tool.clone(), rule.source)))
    });
    let of_restrictions = policy.restrictions.iter().flat_map(|restriction| {
        let table = "narrow.tools".to_owned();
        restriction.tools().map(move |rule| (table.clone(), rule.clone()))
    });
    let note = |(table, rule): (String, Sourced<NamePattern>)| {
        let name = rule.value.to_string();
        let known = tools.iter().copied().chain(of_plugins.values().flatten().map(String::as_str));
        let near = nearest(name.trim_end_matches('*'), known).map(str::to_owned);
        let near = near.or_else(|| of_a_plugin(&name, &plugins));
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        let after = format!(", and no tool has such a name{near}");
        Note::at(format!("[{table}] names {name}"), rule.source, after)
    };
    let listed = rules.chain(of_access).chain(of_limits).map(|(table, rule)| (table, rule.clone()));
    listed
        .chain(of_calls)
        .chain(of_restrictions)
        .filter(|(_, rule)| is_unknown(&rule.value))
        .map(note)
        .collect()
}

/// Finds names in `who` of `[[rules]]` that no approver has.
fn unknown_approvers(policy: &Policy) -> Vec<Note> {
    let known: Vec<_> = policy.approvers.iter().map(|(name, _)| name).collect();
    let named = policy.calls.0.iter().flat_map(|rule| rule.who.iter().map(move |who| (rule, who)));
    let unknown = named.filter(|(_, who)| !known.contains(&who.as_str()));
    let note = |(rule, who): (&CallRule, &String)| {
        let before = format!("[rules \"{}\"] names the approver {who}", rule.name);
        let after = format!(", who is not in [approvers]{}", did_you_mean(who, &known));
        Note::at(before, rule.source, after)
    };
    unknown.map(note).collect()
}

/// Finds conditions of `[[rules]]` on arguments that no covered built-in tool has, and patterns that match only
/// their own text.
fn odd_arguments(environment: &Environment, policy: &Policy) -> Vec<Note> {
    let mut notes = Vec::new();
    for rule in &policy.calls.0 {
        let covers = |name: &str| rule.tools.iter().any(|pattern| pattern.covers(name));
        let covered: Vec<_> = environment.registry.tools().filter(|tool| covers(&tool.name)).collect();
        // Tools of plugins have arguments that depend on the installed plugins.
        let is_of_plugins = rule.tools.is_empty()
            || rule.tools.iter().any(|pattern| pattern.to_string().contains(['.', '*']));
        for argument in &rule.arguments {
            let name = argument.pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
            let known: Vec<String> = covered.iter().flat_map(|tool| arguments_of(tool)).collect();
            if !is_of_plugins && !covered.is_empty() && !known.iter().any(|known| known == name) {
                let known: Vec<_> = known.iter().map(String::as_str).collect();
                let after = format!(", which none of its tools has{}", did_you_mean(name, &known));
                let before = format!("[rules \"{}\"] names the argument {}", rule.name, argument.pointer);
                notes.push(Note::at(before, rule.source, after));
            }
            for pattern in argument.patterns.iter().filter(|_| name == "command") {
                if pattern.is_literal() {
                    let before = format!("[rules \"{}\"] has \"{pattern}\"", rule.name);
                    let after =
                        ", which matches only exactly this command; write `*` for any other text".to_owned();
                    notes.push(Note::at(before, rule.source, after));
                }
            }
        }
    }
    notes
}

/// Finds conditions of `[[rules]]` that never hold, or for less than they seem to.
fn odd_conditions(policy: &Policy) -> Vec<Note> {
    let mut notes = Vec::new();
    for rule in &policy.calls.0 {
        let mut note = |what: String, after: &str| {
            notes.push(Note::at(format!("[rules \"{}\"] {what}", rule.name), rule.source, after.to_owned()));
        };
        for remote in rule.conditions.remotes.iter().filter(|remote| !remote.to_string().contains(['/', '*']))
        {
            note(
                format!("names the remote \"{remote}\""),
                ", which matches no repository of that host; write \"/*\" after it",
            );
        }
        let programs: Vec<_> = rule.programs.patterns.iter().map(ToString::to_string).collect();
        for program in programs.iter().filter(|program| !program.contains('*')) {
            note(
                format!("names the program \"{program}\""),
                ", which matches no further arguments; write ` *` for them",
            );
        }
        for program in programs.iter().filter(|program| program.starts_with("git -")) {
            note(
                format!("names the program \"{program}\""),
                ", and git's options before its command are left out; begin with that command",
            );
        }
    }
    notes
}

/// Returns the names of a tool's arguments.
fn arguments_of(tool: &Tool) -> Vec<String> {
    let Some(definition) = tool.fixed_definition() else { return Vec::new() };
    let schema: serde_json::Value = serde_json::from_str(definition.input_schema.get()).unwrap_or_default();
    schema["properties"].as_object().map_or_else(Vec::new, |members| members.keys().cloned().collect())
}

/// Suggests the pattern for the tools of a plugin: `weather.*` for `weather_*`.
fn of_a_plugin(name: &str, installed: &[String]) -> Option<String> {
    let is_glob = name.ends_with('*');
    let bare = name.trim_end_matches(['*', '_', '-']);
    let (plugin, tool) = bare.split_once('_').unwrap_or((bare, ""));
    let is_plugin = installed.iter().any(|known| known == plugin)
        || (is_glob || !tool.is_empty()) && PluginName::try_from(plugin.to_owned()).is_ok();
    is_plugin.then(|| format!("{plugin}.{tool}{}", if is_glob || tool.is_empty() { "*" } else { "" }))
}

/// Finds profiles that no command uses. Most of them are misspelled.
fn unused_profiles(environment: &Environment, policy: &Policy) -> Vec<Note> {
    let builtin = Policy::builtin().shell.profiles;
    let builtin: Vec<_> = builtin.keys().map(String::as_str).collect();
    let mut used: Vec<String> = builtin.iter().map(|&name| name.to_owned()).collect();
    used.extend(policy.grants.values().flat_map(|grant| &grant.shell).map(|shell| shell.profile.clone()));
    let installed = PluginFolder::new(&environment.own_home).scan().into_iter().flatten();
    used.extend(installed.filter_map(|plugin| Some(plugin.manifest.capabilities.shell?.profile)));
    let unused = policy.shell.profiles.iter().filter(|(name, _)| !used.contains(name));
    let note = |(name, profile): (&String, &scorpiox_policy::Profile)| {
        let near = did_you_mean(name, &builtin);
        let after = format!(
            " is used by nothing: no [grant] and no plugin names it, and the client's commands run under \
             {DEFAULT_PROFILE}{near}"
        );
        Note::at(format!("profile {name}"), profile.origins.profile, after)
    };
    unused.map(note).collect()
}

/// Finds grants for components that do not exist here.
fn unknown_components(environment: &Environment, policy: &Policy) -> Vec<Note> {
    let built_in = environment.registry.tools().filter_map(|tool| match &tool.kind {
        Kind::Wasm { component, .. } => Some(component.name.to_string()),
        Kind::Native(_) | Kind::Plugin { .. } => None,
    });
    let mut known: Vec<String> = built_in.collect();
    let installed = PluginFolder::new(&environment.own_home).scan().into_iter().flatten();
    known.extend(installed.map(|plugin| ComponentName::of_plugin(plugin.name).to_string()));
    let decisions = Decisions::read(&environment.own_home).unwrap_or_default();
    known.extend(decisions.iter().map(|(name, _)| ComponentName::of_plugin(name).to_string()));
    let known: Vec<_> = known.iter().map(String::as_str).collect();
    let unknown = policy.grants.iter().filter(|(name, _)| !known.contains(&name.as_str()));
    let note = |(name, grant): (&String, &scorpiox_policy::Grant)| {
        let after = if let Some(plugin) = ComponentName::plugin_in(name) {
            format!(", and no plugin {plugin} is installed here{}", did_you_mean(name, &known))
        } else {
            let as_plugin = ComponentName::of_plugin(name);
            let near = if known.contains(&&*as_plugin) {
                format!("; did you mean {as_plugin}?")
            } else {
                did_you_mean(name, &known)
            };
            format!(", and no component is called so: a plugin's name is written \"plugin/NAME\"{near}")
        };
        Note::at(format!("[grant] names \"{name}\""), grant.source, after)
    };
    unknown.map(note).collect()
}

/// Returns the end of a note that names what was probably meant.
pub(super) fn did_you_mean(name: &str, known: &[&str]) -> String {
    let near = nearest(name, known.iter().copied());
    near.map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_tool_of_a_plugin_is_written_with_a_dot() {
        let installed = ["weather".to_owned()];
        for (name, meant) in [
            ("demo_*", Some("demo.*")),
            ("demo*", Some("demo.*")),
            ("demo-*", Some("demo.*")),
            ("demo_answer", Some("demo.answer")),
            ("demo_get_*", Some("demo.get*")),
            ("weather", Some("weather.*")),
            ("demo", None),
            ("Web_*", None),
        ] {
            assert_eq!(of_a_plugin(name, &installed).as_deref(), meant, "{name}");
        }
    }
}
