//! Plugins page: the capabilities of each plugin, and pending approvals.

use crate::pages::Asked;
use askama::Template;
use scorpiox_plugin::{Asks, Decisions, PluginFolder, Status};

use crate::admin::{Admin, Frame};

#[derive(Template)]
#[template(path = "plugins.html")]
pub(crate) struct AllPlugins<'a> {
    frame: Frame<'a>,
    plugins: Vec<Plugin>,
    /// Directory entries that are not plugins, with the reasons.
    others: Vec<(String, String)>,
}

struct Plugin {
    name: String,
    version: String,
    description: String,
    state: String,
    /// CSS class of the state.
    kind: &'static str,
    /// Command that starts the approval in a terminal.
    command: Option<String>,
    rights: Vec<Right>,
}

struct Right {
    name: &'static str,
    details: Vec<String>,
    why: String,
}

impl<'a> AllPlugins<'a> {
    pub(crate) fn of(admin: &Admin, asked: &'a Asked<'_>) -> Result<Self, String> {
        let decisions = Decisions::read(&admin.own_home).map_err(|error| error.to_string())?;
        let (mut plugins, mut others) = (Vec::new(), Vec::new());
        for entry in PluginFolder::new(&admin.own_home).scan() {
            let plugin = match entry {
                Ok(plugin) => plugin,
                Err(other) => {
                    others.push(other);
                    continue;
                }
            };
            let status = Status::of(&plugin, decisions.get(&plugin.name));
            let (state, kind, decides) = match &status {
                Status::Waiting => ("waits for approval".to_owned(), "waits", true),
                Status::Approved(_) => ("approved".to_owned(), "ok", false),
                Status::Denied => ("denied".to_owned(), "refused", false),
                Status::Changed(change) => (format!("does not run: {change}"), "waits", true),
            };
            let asks = match &status {
                Status::Approved(approval) => &approval.capabilities,
                _ => &plugin.manifest.capabilities,
            };
            plugins.push(Plugin {
                command: decides.then(|| format!("scorpiox-code plugin approve {}", plugin.name)),
                rights: rights(asks),
                version: plugin.manifest.version.clone(),
                description: plugin.manifest.description.clone(),
                name: plugin.name.to_string(),
                state,
                kind,
            });
        }
        Ok(Self { frame: Frame::new("Plugins", asked), plugins, others })
    }
}

fn rights(asks: &Asks) -> Vec<Right> {
    let right = |ask: scorpiox_plugin::Ask<'_>| Right {
        name: ask.name,
        details: ask.details.iter().map(|(what, values)| format!("{what}: {}", values.join(", "))).collect(),
        why: ask.why.to_owned(),
    };
    asks.lines().into_iter().map(right).collect()
}
