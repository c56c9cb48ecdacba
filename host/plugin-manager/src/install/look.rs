//! Describes a plugin to the user who decides about it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow};
use scorpiox_component_abi::anatomy::Anatomy;
use scorpiox_plugin::{
    Approval, ApprovalHash, Asks, Decisions, Fingerprint, Hashes, Installed, Limits, Manifest, ORIGIN,
    Origin, Pins, PluginFolder, PluginHash, PluginName, Record, SIGNATURE, Stamps, Status, USUAL_TOOLS,
    WORKSPACE, led_elsewhere,
};
use scorpiox_policy::Candidate;
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, Working, columns, one_line, rows, size, wrapped};

use scorpiox_runtime::{CodeCache, DROP_SAID, Engines};
use scorpiox_tools::offers::Served;
use scorpiox_tools::plugins::{
    Described, candidate, check_anatomy, check_kind, describe, notes, pins, schema_faults, signed, surplus,
};
use scorpiox_workspace_config::{Operator, Site};
use serde_json::Value;

/// An inspected plugin.
pub struct Look {
    /// The plugin's files.
    pub installed: Installed,
    /// Fingerprint of the component.
    pub component: Fingerprint,
    /// Content of the signature file next to the manifest. It is not verified here.
    pub signature: Option<String>,
    /// Source of the plugin.
    pub origin: Option<Origin>,
    /// Stamps of the files, taken before they were read, if the files were old enough.
    pub stamps: Option<Stamps>,
    /// Tools, prompts and resources of the plugin.
    pub described: Described,
    /// Advice for the user who adds the plugin.
    pub notes: Vec<String>,
    /// Resolved paths of the requested directories.
    pub folders: Pins,
    /// The user's home directory, for paths that begin with `~/`.
    pub home: Option<PathBuf>,
    /// `true` if tools, prompts and resources keep the plugin's own names, without a prefix.
    pub plain_names: bool,
}

/// Maximum number of displayed rows of a text from the plugin.
const MAX_ROWS: usize = 12;

impl Look {
    /// Returns `true` if the plugin has a signature. The signature is not verified here.
    pub fn is_signed(&self) -> bool {
        self.signature.is_some() || self.origin.as_ref().is_some_and(|origin| origin.signature.is_some())
    }

    /// Inspects a plugin without granting it any capability. `anatomy` is the component's analysis, if the
    /// caller has one.
    pub fn at(site: &Site, installed: Installed, anatomy: Option<&Anatomy>) -> Result<Self> {
        let stamps = installed.settled_stamps().copied();
        let bytes = installed.read_component().with_context(|| installed.component.display().to_string())?;
        let (name, asks) = (&installed.manifest.name, &installed.manifest.capabilities);
        let component = Fingerprint::of(&bytes);
        let cache = CodeCache::new(&site.own_home);
        let cannot = || format!("{name} cannot be a plugin");
        let has_code = cache.has(&component);
        if anatomy.is_none() && !has_code {
            looked_into(&bytes, asks).with_context(cannot)?;
        }
        let described = {
            let what = || format!("compiling {name} ({})", size(bytes.len() as u64));
            let _working = (!has_code).then(|| Working::on(&what()));
            // The same engines as the server's, so that the server can reuse the compiled code.
            let engines = Engines::new()?;
            describe(&engines, &bytes, &installed.manifest, &cache).with_context(cannot)?
        };
        let mut notes = anatomy.map(|anatomy| notes(anatomy, asks)).unwrap_or_default();
        if anatomy.is_some() {
            notes.extend(undescribed(&described.tools));
            notes.extend(schema_faults(&described.tools));
        }
        let folders = pins(asks, site.home.as_deref())?;
        notes.extend(absent(asks, &folders));
        let signature = installed.read_signature().with_context(|| SIGNATURE.to_owned())?;
        let origin = installed.read_origin(&component).with_context(|| ORIGIN.to_owned())?;
        let home = site.home.clone();
        // An update from another plugin's file would otherwise pass for a new version.
        if let Some(other) = origin.as_ref().and_then(|origin| origin.other_name(name)) {
            notes.push(format!("Its author calls it {other}. Here its name is {name}."));
        }
        Ok(Self {
            installed,
            component,
            signature,
            origin,
            stamps,
            described,
            notes,
            folders,
            home,
            plain_names: false,
        })
    }

    /// Returns the hashes that identify the plugin to users.
    pub fn hashes(&self) -> Hashes {
        let Self { installed, component, described, folders, origin, .. } = self;
        let plugin = PluginHash::of(&installed.manifest_fingerprint, component, &described.fingerprint());
        Hashes {
            approval: ApprovalHash::of(&plugin, folders, self.home.as_deref(), self.plain_names),
            component: component.clone(),
            file: origin.as_ref().and_then(|origin| origin.file.clone()),
            plugin,
        }
    }

    /// Returns `true` if this is the approved version, including the signature and the package file.
    pub fn is_as_approved(&self, approval: &Approval) -> bool {
        let signature = |origin: &Option<Origin>| origin.as_ref().and_then(|origin| origin.signature.clone());
        self.hashes() == approval.hashes(self.home.as_deref())
            && self.signature == approval.signature
            && signature(&self.origin) == signature(&approval.origin)
    }

    /// Returns the plugin in the form that the policy evaluates. `hashes` must come from [`Look::hashes`].
    pub fn candidate<'a>(&'a self, hashes: &'a Hashes) -> Candidate<'a> {
        let (name, origin) = (&self.installed.name, self.origin.as_ref());
        let signature = signed(self.signature.as_deref(), origin);
        Candidate {
            also: hashes.others(),
            original: origin.and_then(|origin| origin.other_name(name)),
            ..Candidate::new(name.as_str(), hashes.plugin.as_str(), signature)
        }
    }

    /// Returns the prompts and resources that clients would see.
    fn served(&self) -> Served {
        Served::new(self.installed.name.clone(), self.plain_names, self.described.offers.clone())
    }

    /// Describes the source of the plugin.
    pub fn from(&self) -> String {
        let mut text = String::new();
        let Some(origin) = &self.origin else { return text };
        text.push_str("From\n");
        rows(&mut text, "  ", &origin.address, MAX_ROWS);
        if let Some(file) = &origin.file {
            let _ = writeln!(text, "  sha256 {file}");
        }
        if let Some(wit) = &origin.chosen.wit {
            rows(&mut text, "  ", &format!("described by --wit {}", wit.display()), MAX_ROWS);
        }
        if let Some(max_tools) = origin.chosen.max_tools {
            let _ = writeln!(text, "  with --max-tools {max_tools}");
        }
        if let Some(name) = origin.other_name(&self.installed.name) {
            let _ = writeln!(text, "  where its name is {name}");
        }
        text
    }

    /// Describes the plugin completely.
    pub fn text(&self) -> String {
        let manifest = &self.installed.manifest;
        let mut text = heading(manifest);
        rows(&mut text, "  ", &manifest.description, MAX_ROWS);
        let _ = writeln!(text, "  hash {}\n", self.hashes().approval);
        match self.described.tools.len() {
            ..=USUAL_TOOLS => text.push_str("Its tools\n"),
            more => _ = writeln!(text, "Its {more} tools, more than the usual {USUAL_TOOLS}"),
        }
        for tool in &self.described.tools {
            let name = tool["name"].as_str().unwrap_or_default();
            let _ = writeln!(text, "  {}.{name}: {}", manifest.name, hints(tool));
            let title = tool["title"].as_str().filter(|title| *title != name).unwrap_or_default();
            rows(&mut text, "    ", title, 1);
            rows(&mut text, "    ", tool["description"].as_str().unwrap_or_default(), MAX_ROWS);
        }
        if self.described.tools.is_empty() {
            text.push_str("  none\n");
        }
        let refused =
            self.described.refused.iter().map(|(name, why)| format!("{name} cannot be a tool: {why}"));
        let skipped = self.described.skipped.iter().map(|(name, why)| format!("{name} is no tool: {why}"));
        for line in refused.chain(skipped).chain(self.surplus()) {
            for (index, row) in wrapped(&line, columns() - 4).iter().enumerate() {
                let _ = writeln!(text, "  {}{row}", if index == 0 { "" } else { "  " });
            }
        }
        text.push_str(&offered(&self.served()));
        if self.plain_names {
            let said = format!(
                "Its tools and prompts may be called without the prefix `{}.`, unless another has that name. Its resources \
                 may have any scheme that is not reserved.",
                manifest.name
            );
            let _ = writeln!(text, "\nIts names\n  {}", wrapped(&said, columns() - 4).join("\n  "));
        }
        for (index, (name, value)) in manifest.config.iter().enumerate() {
            text.push_str(if index == 0 { "\nIts settings\n" } else { "" });
            rows(&mut text, "  ", &format!("{name} = {value:?}"), MAX_ROWS);
        }
        for (index, (name, what_for)) in manifest.secrets.iter().enumerate() {
            text.push_str(if index == 0 { "\nIts secrets, which you set\n" } else { "" });
            rows(&mut text, "  ", &format!("{name}: {what_for}"), MAX_ROWS);
        }
        for (index, note) in self.notes.iter().enumerate() {
            text.push_str(if index == 0 { "\nNotes\n" } else { "" });
            let _ = writeln!(text, "  {}", wrapped(note, columns() - 4).join("\n    "));
        }
        // The capabilities stand last, directly above the question.
        text.push('\n');
        text.push_str(&self.asks());
        text.push_str(&sum(&manifest.capabilities, &self.folders, self.home.as_deref()));
        text
    }

    /// Describes the plugin in a few lines, for its author.
    pub fn brief(&self) -> String {
        let mut text = heading(&self.installed.manifest);
        let names = self.described.tools.iter().filter_map(|tool| tool["name"].as_str());
        let tools: Vec<String> = names.map(|name| one_line(name, columns() / 2)).collect();
        let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
        let _ = writeln!(text, "  {}", wrapped(&format!("tools: {tools}"), columns() - 4).join("\n    "));
        for (name, why) in &self.described.refused {
            let line = format!("{name} cannot be a tool: {why}");
            let _ = writeln!(text, "  {}", wrapped(&line, columns() - 4).join("\n    "));
        }
        for note in &self.notes {
            let _ = writeln!(text, "  note: {}", wrapped(note, columns() - 10).join("\n    "));
        }
        text
    }

    /// Describes the functions beyond the limit of tools.
    fn surplus(&self) -> Option<String> {
        let Described { tools, surplus: more, .. } = &self.described;
        surplus(tools.len() + more, self.installed.manifest.tool_limit())
    }

    /// Describes the requested capabilities with the author's reasons.
    fn asks(&self) -> String {
        let manifest = &self.installed.manifest;
        let mut text = String::from("It asks for\n");
        for ask in manifest.capabilities.lines() {
            let _ = writeln!(text, "  {}", ask.name);
            for (what, values) in &ask.details {
                let _ = writeln!(text, "    {what}");
                for value in values {
                    rows(&mut text, "      ", value, MAX_ROWS);
                    if let Some((_, place)) =
                        led_elsewhere(&self.folders, self.home.as_deref()).find(|(folder, _)| folder == value)
                    {
                        let _ = writeln!(text, "        which leads to");
                        rows(
                            &mut text,
                            "        ",
                            &place.display().to_string().replace('\n', "\\n"),
                            MAX_ROWS,
                        );
                    }
                }
            }
            text.push_str("    because\n");
            rows(&mut text, "      ", ask.why, MAX_ROWS);
        }
        let Limits { cpu_seconds, wait_seconds, memory_mib, output_kib, store_mib, calls } = &manifest.limits;
        let stored = manifest.capabilities.store.as_ref().map(|_| format!("; {store_mib} MiB stored"));
        let bounds = format!(
            "limits of a call: {cpu_seconds} s of processor time, {wait_seconds} s of waiting, {memory_mib} MiB of memory, \
             {output_kib} KiB of output; calls at once: {calls}{}",
            stored.unwrap_or_default()
        );
        for row in wrapped(&bounds, columns() - 2) {
            let _ = writeln!(text, "  {row}");
        }
        text
    }
}

/// Describes the prompts and resources.
fn offered(served: &Served) -> String {
    let mut text = String::new();
    for (index, prompt) in served.prompts().iter().enumerate() {
        text.push_str(if index == 0 { "\nIts prompts\n" } else { "" });
        let arguments = prompt.arguments.iter().map(|argument| {
            if argument.required { format!(" {}", argument.name) } else { format!(" [{}]", argument.name) }
        });
        let named = format!("{}{}", served.full_name(prompt), arguments.collect::<String>());
        rows(&mut text, "  ", &named, MAX_ROWS);
        rows(&mut text, "    ", prompt.title.as_deref().unwrap_or_default(), 1);
        rows(&mut text, "    ", &prompt.description, MAX_ROWS);
    }
    let resources = served.resources().map(|of| (&of.uri, &of.name, &of.description));
    let templates = served.templates().map(|of| (&of.uri_template, &of.name, &of.description));
    for (index, (uri, name, description)) in resources.chain(templates).enumerate() {
        text.push_str(if index == 0 { "\nIts resources\n" } else { "" });
        rows(&mut text, "  ", &format!("{uri}: {name}"), MAX_ROWS);
        rows(&mut text, "    ", description.as_deref().unwrap_or_default(), MAX_ROWS);
    }
    for line in served.unserved() {
        rows(&mut text, "  ", &line, MAX_ROWS);
    }
    text
}

/// Returns advice if no tool has a description. Tools that this program adds always have one and do not
/// count.
fn undescribed(tools: &[Value]) -> Option<String> {
    let is_described = |tool: &Value| {
        tool["description"] != DROP_SAID && tool["description"].as_str().is_some_and(|said| !said.is_empty())
    };
    let none = !tools.is_empty() && !tools.iter().any(is_described);
    none.then(|| {
        "No tool has a description, so that a model has nothing but their names to go by: name the author's WIT with \
         `--wit DIR`, or put it as the folder wit/ beside plugin.toml, or write description in [tools.…] of plugin.toml."
            .to_owned()
    })
}

/// Returns notes on what is requested and is not there now: folders and variables.
fn absent(asks: &Asks, folders: &Pins) -> Vec<String> {
    let is_absent = |path: &&PathBuf| !path.exists();
    let folders = folders.iter().filter(|(_, path)| is_absent(path)).map(|(folder, _)| {
        format!("The folder {folder} does not exist. The plugin has it once somebody creates it.")
    });
    let names = asks.env.iter().flat_map(|env| &env.names).filter(|name| std::env::var_os(name).is_none());
    let names: Vec<_> = names.map(String::as_str).collect();
    let is = if names.len() == 1 { "is" } else { "are" };
    let variables = (!names.is_empty()).then(|| {
        format!(
            "{} {is} not set in this environment. A server that a client starts has the client's environment.",
            names.join(", ")
        )
    });
    folders.chain(variables).collect()
}

/// Analyzes a component, and returns an error if it cannot run.
pub fn looked_into(component: &[u8], asks: &Asks) -> Result<Anatomy> {
    check_kind(component)?;
    let anatomy = scorpiox_runtime::compile::inspect(component, || false)?;
    check_anatomy(&anatomy, asks)?;
    Ok(anatomy)
}

/// Returns the name, and the version given by the author.
fn heading(manifest: &Manifest) -> String {
    let Manifest { name, version, .. } = manifest;
    let version = one_line(version, columns() / 2);
    format!("{}\n", format!("{name} {version}").trim_end())
}

/// Maximum number of names listed for a capability.
const MAX_NAMES: usize = 3;

/// Summarizes all capabilities in a few rows. Each name is shown on a single line.
fn sum(asks: &Asks, pins: &Pins, home: Option<&Path>) -> String {
    let counted = |count: usize, one: &str, many: &str| match count {
        1 => one.to_owned(),
        count => format!("{count} {many}"),
    };
    let Asks { store, clock, random, ask, files, env, web, shell, sampling, forms, roots } = asks;
    let mut rights = Vec::new();
    rights.extend(shell.as_ref().map(|shell| {
        format!("run commands, under the profile {} of your policy", one_line(&shell.profile, MAX_NAME))
    }));
    for (what, folders) in
        files.iter().flat_map(|files| [("change files in", &files.write), ("read files in", &files.read)])
    {
        let project =
            if folders.iter().any(|folder| folder == WORKSPACE) { ", your project among them" } else { "" };
        let count = (!folders.is_empty()).then(|| counted(folders.len(), "1 folder", "folders"));
        let names = named(widest_first(folders, pins, home));
        rights.extend(count.map(|count| format!("{what} {count}{project}{names}")));
    }
    rights.extend(web.as_ref().map(|web| {
        let (patterns, hosts): (Vec<_>, Vec<_>) = web.hosts.iter().partition(|host| host.contains('*'));
        let below = patterns.iter().map(|host| format!("every host below {}", host.trim_start_matches("*.")));
        let names = named(below.chain(hosts.iter().map(|host| (*host).clone())));
        let count = if patterns.is_empty() {
            counted(hosts.len(), "1 host", "hosts")
        } else {
            counted(web.hosts.len(), "1 pattern of hosts", "hosts or patterns of hosts")
        };
        format!("send requests to {count}{names}")
    }));
    rights.extend(env.as_ref().filter(|env| !env.names.is_empty() || env.secrets.is_empty()).map(|env| {
        format!("see {} of your environment", counted(env.names.len(), "1 variable", "variables"))
    }));
    rights.extend(env.as_ref().filter(|env| !env.secrets.is_empty()).map(|env| {
        format!("see {} that you set, as variables", counted(env.secrets.len(), "1 secret", "secrets"))
    }));
    rights.extend(sampling.as_ref().map(|asked| {
        let times = counted(asked.calls as usize, "once", "times");
        format!("ask your client's model, {times} in a call, for up to {} tokens", asked.tokens)
    }));
    rights.extend(ask.as_ref().map(|_| "ask you questions".to_owned()));
    rights.extend(forms.as_ref().map(|_| "give you forms to fill in".to_owned()));
    rights.extend(roots.as_ref().map(|_| "know which folders your client works on".to_owned()));
    rights.extend(
        store.as_ref().map(|_| "store data, and read what a plugin of its name stored before".to_owned()),
    );
    rights.extend(clock.as_ref().map(|_| "know the time".to_owned()));
    rights.extend(random.as_ref().map(|_| "draw random numbers".to_owned()));
    if rights.is_empty() {
        return "\nIn all, nothing: it can only compute\n".to_owned();
    }
    let rows = rights.iter().map(|right| wrapped(right, columns().saturating_sub(4)).join("\n    "));
    format!("\nIn all, it may\n  {}\n", rows.collect::<Vec<_>>().join("\n  "))
}

/// Maximum width of a name, in columns.
const MAX_NAME: usize = 40;

/// Lists the first names and the number of those omitted.
fn named(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<_> = names.collect();
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    if names.is_empty() {
        return String::new();
    }
    let shown: Vec<_> = names.iter().map(|name| one_line(name, MAX_NAME)).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(": {}{more}", shown.join(", "))
}

/// Lists directories other than the workspace, with the broadest first. Those that are links are named by their targets.
fn widest_first(folders: &[String], pins: &Pins, home: Option<&Path>) -> impl Iterator<Item = String> {
    let homes: Vec<_> = home
        .into_iter()
        .flat_map(|home| [Some(home.to_owned()), home.canonicalize().ok()])
        .flatten()
        .collect();
    let led: BTreeMap<_, _> = led_elsewhere(pins, home).collect();
    let words = |folder: &str| {
        let Some(place) = pins.get(folder) else { return (0, folder.to_owned()) };
        let shown = led.get(folder).map_or_else(|| folder.to_owned(), |place| place.display().to_string());
        let said = if homes.contains(place) {
            "your whole home folder".to_owned()
        } else if place.parent().is_none() {
            "the whole machine".to_owned()
        } else if homes.iter().any(|home| home.starts_with(place)) {
            format!("{shown} with your whole home folder")
        } else {
            shown
        };
        (place.components().count(), said)
    };
    let others = folders.iter().map(String::as_str).filter(|folder| *folder != WORKSPACE);
    let mut others: Vec<_> = others.map(words).collect();
    others.sort_by_key(|(depth, _)| *depth);
    others.into_iter().map(|(_, said)| said)
}

/// Describes the hints of a tool. Some clients rely on them to skip the confirmation of each call.
fn hints(tool: &serde_json::Value) -> String {
    let hints = &tool["hints"];
    let says = |name: &str, yes, no| if hints[name] == true { yes } else { no };
    [
        says("read_only", "says that it changes nothing", "may change things"),
        says("destructive", "and destroy them", ""),
    ]
    .join(" ")
    .trim_end()
    .to_owned()
}

/// Prints an installed plugin.
pub fn show(site: &Site, name: &PluginName) -> Result<ExitCode> {
    let plugin_folder = PluginFolder::new(&site.own_home);
    let decisions = Decisions::read(&site.own_home)?;
    let installed = plugin_folder
        .find(name)
        .map_err(|why| anyhow!("there is no plugin {name} that can be used: {why}"))?;
    let rules = Operator::new(site.clone());
    let status = standing(&rules, name, &Status::of(&installed, decisions.get(name)));
    let mut look = Look::at(site, installed, None).with_context(|| format!("{name}, which is {status}"))?;
    look.plain_names = decisions.get(name).is_some_and(Record::has_plain_names);
    let mut text = look.text();
    let _ = writeln!(text, "\nNow: {status}");
    text.push_str(&look.from());
    terminal::print(&Shown::text(&text));
    Ok(ExitCode::SUCCESS)
}

/// Describes the status of a plugin.
pub fn standing(operator: &Operator, name: &PluginName, status: &Status<'_>) -> String {
    match status {
        Status::Waiting => "waits for approval".to_owned(),
        Status::Approved(approval) => match closed(operator, name, approval) {
            Some(why) => format!("approved, and the policy closes it: {why}"),
            None => "approved".to_owned(),
        },
        Status::Denied => "denied".to_owned(),
        Status::Changed(change) => format!("disabled: {change}"),
    }
}

/// Returns the reason why the policy keeps an approved plugin from running, or `None` if it may run.
pub fn closed(operator: &Operator, name: &PluginName, approval: &Approval) -> Option<String> {
    match operator.policy() {
        Err(error) => Some(error.to_string()),
        Ok(policy) => {
            let hashes = approval.hashes(operator.site().home.as_deref());
            let refusal = policy.plugins.check_run(&candidate(name, &hashes, approval)).err()?;
            Some(refusal.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_absent_is_noted() {
        let asks = "[files]\nread = [\"/absent\", \"/\"]\nwhy = \"x\"\n[env]\nnames = [\"PATH\", \"SCORPIOX_A\"]\nwhy = \"x\"";
        let asks: Asks = toml::from_str(asks).expect("capabilities");
        let pins = ["/absent", "/"].map(|path| (path.to_owned(), PathBuf::from(path))).into();
        assert_eq!(
            absent(&asks, &pins),
            [
                "The folder /absent does not exist. The plugin has it once somebody creates it.",
                "SCORPIOX_A is not set in this environment. A server that a client starts has the client's environment.",
            ]
        );
    }

    #[test]
    fn links_are_summed_up_as_what_they_lead_to() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("a path").join("above/home");
        let above = home.parent().expect("a folder");
        let asks =
            "[files]\nread = [\"/srv/a/b/up\", \"~/notes\"]\nwrite = [\"/srv/a/b/c/data\"]\nwhy = \"x\"";
        let asks: Asks = toml::from_str(asks).expect("capabilities");
        let pins: Pins = [
            ("/srv/a/b/c/data".to_owned(), home.clone()),
            ("/srv/a/b/up".to_owned(), above.to_owned()),
            ("~/notes".to_owned(), home.join("notes")),
        ]
        .into();
        let text = sum(&asks, &pins, Some(&home)).replace("\n    ", " ");
        assert!(text.contains("change files in 1 folder: your whole home folder"), "{text}");
        let names: Vec<_> = widest_first(&asks.files.expect("files").read, &pins, Some(&home)).collect();
        assert_eq!(names, [format!("{} with your whole home folder", above.display()), "~/notes".to_owned()]);
    }

    #[test]
    fn tools_without_any_description_are_noted_with_what_helps() {
        let tool = |name: &str, description: &str| json!({ "name": name, "description": description });
        let own = tool("things.thing.drop-handle", DROP_SAID);
        let note = undescribed(&[tool("f", ""), own.clone()]).expect("a note");
        assert!(note.contains("No tool has a description") && note.contains("wit/"), "{note}");
        assert_eq!(undescribed(&[tool("f", ""), tool("g", "Adds."), own]), None);
        assert_eq!(undescribed(&[tool("things.thing.drop", "Lets it fall.")]), None, "a method");
        assert_eq!(undescribed(&[]), None);
    }
}
