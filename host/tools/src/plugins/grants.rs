//! What an approved plugin is linked with, and held to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use scorpiox_paths::{Writable, resolve};
use scorpiox_plugin::{Asks, Limits as Asked, Pins, WORKSPACE};
use scorpiox_policy::{HostRule, Source};

use scorpiox_capabilities::Capability;
use scorpiox_capabilities::approved::{Approved, Budget, Folder, FolderPath};
use scorpiox_runtime::Limits;

const MIB: usize = 1024 * 1024;

/// What every plugin gets: none reaches anything but the operator's log, the client's log and its screen. Requests to
/// the client are made as far as they are asked for.
const FREE: [Capability; 5] =
    [Capability::Log, Capability::Progress, Capability::Attachments, Capability::Notices, Capability::Inputs];

/// The interfaces of this project that a plugin can have.
pub(super) const GRANTABLE: [Capability; 12] = [
    Capability::Log,
    Capability::Progress,
    Capability::Attachments,
    Capability::Notices,
    Capability::Inputs,
    Capability::Store,
    Capability::Clock,
    Capability::Ask,
    Capability::Files,
    Capability::Web,
    Capability::Shell,
    Capability::Sampling,
];

/// Something that a plugin asks for, and that it cannot be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin.toml asks for capabilities.{name}: {why}")]
pub struct Ungrantable {
    /// Which capability.
    pub name: &'static str,
    /// What is wrong with it, and what to do.
    pub why: String,
}

/// Where the folders lead that are asked for, at this moment. Links are followed, since a person is
/// shown where they lead before they approve; afterwards none is.
pub fn pins(asks: &Asks, home: Option<&Path>) -> Result<Pins, Ungrantable> {
    let refused = |why: String| Ungrantable { name: "files", why };
    let pin = |folder: &str| {
        let path = match (folder.strip_prefix("~/"), home) {
            (None, _) => PathBuf::from(folder),
            (Some(inside), Some(home)) => home.join(inside),
            (Some(_), None) => {
                return Err(refused(format!("{folder} is below a home folder, and there is none; set HOME")));
            }
        };
        let place = resolve(&path, &Writable::default()).map_err(|error| refused(error.to_string()))?;
        match place.to_str() {
            Some(_) => Ok((folder.to_owned(), place)),
            None => Err(refused(format!(
                "{folder} leads to {}, which is no UTF-8; name another folder",
                place.display()
            ))),
        }
    };
    asks.fixed_folders().into_iter().map(pin).collect()
}

/// What a plugin has that was approved for these, with its folders where they led then: the interfaces
/// of this project, and what all of its interfaces are held to.
pub fn grants(asks: &Asks, pins: &Pins) -> Result<(Vec<Capability>, Approved), Ungrantable> {
    let mut capabilities = FREE.to_vec();
    let mut add = |asked: bool, capability| capabilities.extend(asked.then_some(capability));
    add(asks.store.is_some(), Capability::Store);
    add(asks.clock.is_some(), Capability::Clock);
    add(asks.ask.is_some(), Capability::Ask);
    add(asks.files.is_some(), Capability::Files);
    add(asks.web.is_some(), Capability::Web);
    add(asks.shell.is_some(), Capability::Shell);
    add(asks.sampling.is_some(), Capability::Sampling);
    let approved = Approved {
        folders: folders(asks, pins),
        env: asks.env.as_ref().map(|env| env.names.clone()).unwrap_or_default(),
        hosts: hosts(asks)?,
        store: asks.store.is_some(),
        config: BTreeMap::new(), // it is the manifest's
        authors_name: None,      // `held_to` has it
        clock: asks.clock.is_some(),
        random: asks.random.is_some(),
        profile: asks.shell.as_ref().map(|shell| shell.profile.clone()),
        sampling: asks.sampling.as_ref().map(|asked| Budget { calls: asked.calls, tokens: asked.tokens }),
        forms: asks.forms.is_some(),
        roots: asks.roots.is_some(),
    };
    Ok((capabilities, approved))
}

/// A folder without a place is none.
fn folders(asks: &Asks, pins: &Pins) -> Vec<Folder> {
    let Some(files) = &asks.files else { return Vec::new() };
    let folder = |text: &String, write| {
        let path =
            if text == WORKSPACE { FolderPath::Workspace } else { FolderPath::At(pins.get(text)?.clone()) };
        Some(Folder { path, write })
    };
    let read = files.read.iter().filter(|path| !files.write.contains(path));
    let write = files.write.iter().filter_map(|path| folder(path, true));
    write.chain(read.filter_map(|path| folder(path, false))).collect()
}

fn hosts(asks: &Asks) -> Result<Option<std::sync::Arc<[HostRule]>>, Ungrantable> {
    let Some(web) = &asks.web else { return Ok(None) };
    if web.hosts.iter().any(|host| host == "*") {
        let why = "hosts = [\"*\"] would be every host; name those that it needs".to_owned();
        return Err(Ungrantable { name: "web", why });
    }
    let rules = web.hosts.iter().map(|host| HostRule::parse(host, Source::Builtin));
    let rules: Result<Vec<_>, _> = rules.collect();
    let rules = rules.map_err(|error| Ungrantable { name: "web", why: error.to_string() })?;
    super::secrets::check(asks, &rules)?;
    Ok(Some(rules.into()))
}

/// What a call of it may use.
pub fn limits(asked: &Asked) -> Limits {
    Limits {
        cpu: Duration::from_secs(asked.cpu_seconds.into()),
        waiting: Duration::from_secs(asked.wait_seconds.into()),
        memory_bytes: asked.memory_mib as usize * MIB,
        output_bytes: asked.output_kib as usize * 1024,
        store_bytes: u64::from(asked.store_mib) * MIB as u64,
    }
}
