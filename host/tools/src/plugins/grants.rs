//! The grants and limits of an approved plugin.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use scorpiox_fs::{Writable, resolve};
use scorpiox_plugin::{Asks, Limits as Asked, Pins, WORKSPACE};
use scorpiox_policy::{HostRule, Source};

use scorpiox_capabilities::Capability;
use scorpiox_capabilities::approved::{Approved, Budget, Folder, FolderPath};
use scorpiox_runtime::Limits;

const MIB: usize = 1024 * 1024;

/// Capabilities of every plugin. They only reach the operator's log, and the client's log and display.
/// Requests to the client are limited to the requested capabilities.
const FREE: [Capability; 5] =
    [Capability::Log, Capability::Progress, Capability::Attachments, Capability::Notices, Capability::Inputs];

/// Interfaces of this project that a plugin can have.
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

/// A requested capability that cannot be granted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin.toml asks for capabilities.{name}: {why}")]
pub struct Ungrantable {
    /// Name of the capability.
    pub name: &'static str,
    /// The problem, and a remedy.
    pub why: String,
}

/// Resolves the requested folders. Links are followed, because the user sees the resolved paths before
/// approval; afterwards no links are followed.
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
        if !has_files(&place) {
            return Err(refused(format!(
                "{folder} leads to {}; name a folder of files: \"workspace\", \"~/notes\", \"/srv/data\"",
                place.display()
            )));
        }
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

/// Returns the grants of a plugin that was approved with these requests and resolved folders: the interfaces
/// of this project, and the restrictions of all its interfaces.
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
        has_root: asks.files.as_ref().is_some_and(|files| files.root.is_some()),
        env: asks.env.as_ref().map(|env| env.names.clone()).unwrap_or_default(),
        hosts: hosts(asks)?,
        store: asks.store.is_some(),
        config: BTreeMap::new(), // set from the manifest
        authors_name: None,      // set by `held_to`
        clock: asks.clock.is_some(),
        random: asks.random.is_some(),
        profile: asks.shell.as_ref().map(|shell| shell.profile.clone()),
        sampling: asks.sampling.as_ref().map(|asked| Budget { calls: asked.calls, tokens: asked.tokens }),
        forms: asks.forms.is_some(),
        roots: asks.roots.is_some(),
    };
    Ok((capabilities, approved))
}

/// Returns `false` for the root of all folders, and for those of the kernel.
fn has_files(place: &Path) -> bool {
    place.parent().is_some() && !["/proc", "/sys", "/dev"].iter().any(|kernels| place.starts_with(kernels))
}

/// Returns the granted folders. Folders without a resolved path are omitted.
fn folders(asks: &Asks, pins: &Pins) -> Vec<Folder> {
    let Some(files) = &asks.files else { return Vec::new() };
    let folder = |text: &String, write| {
        let path = if text == WORKSPACE {
            FolderPath::Workspace
        } else {
            FolderPath::At(pins.get(text).filter(|place| has_files(place))?.clone())
        };
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

/// Converts the limits of a call.
pub fn limits(asked: &Asked) -> Limits {
    Limits {
        cpu: Duration::from_secs(asked.cpu_seconds.into()),
        waiting: Duration::from_secs(asked.wait_seconds.into()),
        memory_bytes: asked.memory_mib as usize * MIB,
        output_bytes: asked.output_kib as usize * 1024,
        store_bytes: u64::from(asked.store_mib) * MIB as u64,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_opens_no_folder_that_cannot_be_named() {
        let held = tempfile::tempdir().expect("a folder");
        let folder = held.path().canonicalize().expect("a path");
        for (name, target) in
            [("root", "/"), ("proc", "/proc/self"), ("dev", "/dev"), ("sys", "/sys"), ("a", "/usr")]
        {
            symlink(target, folder.join(name)).expect("a link");
            let path = folder.join(name).display().to_string();
            let asks: Asks =
                serde_json::from_value(serde_json::json!({ "files": { "read": [path], "why": "x" } }))
                    .expect("capabilities");
            let pinned = pins(&asks, None).map_err(|error| error.to_string());
            assert_eq!(pinned.is_ok(), name == "a", "{pinned:?}");
            if let Err(error) = pinned {
                assert!(error.contains("name a folder of files"), "{error}");
            }
            let old = Pins::from([(path, target.into())]);
            let (_, approved) = grants(&asks, &old).expect("grants");
            assert_eq!(approved.folders.len(), usize::from(name == "a"), "an approval of an older version");
        }
    }
}
