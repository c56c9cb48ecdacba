//! Staging and replacement of plugins.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use scorpiox_fs::home::{instance, private};
use scorpiox_plugin::{Fingerprint, Installed, MANIFEST, ORIGIN, PluginFolder, SIGNATURE};
use scorpiox_sys::remove_folder;

use crate::install::look::Look;
use crate::install::source::Source;

impl Source {
    /// Writes the plugin to a staging directory next to the installed plugins, which ignore it.
    pub fn stage(&self, plugins: &PluginFolder) -> Result<Staged> {
        let beside = plugins.folder_of(&self.name);
        let parent = beside.parent().context("no folder")?;
        create(parent)?;
        remove_leftovers(parent);
        let folder = parent.join(format!(".new-{}-{}", self.name, instance::name()));
        let plugin = folder.join("plugins").join(self.name.as_str());
        create(&plugin)?;
        let removed = Removed(folder);
        write(&plugin.join(MANIFEST), self.manifest.as_bytes())?;
        write(&plugin.join(&self.component_name), &self.component)?;
        write(&plugin.join(ORIGIN), self.origin.text()?.as_bytes())?;
        if let Some(signature) = &self.signature {
            write(&plugin.join(SIGNATURE), signature.as_bytes())?;
        }
        let installed = PluginFolder::new(&removed.0).find(&self.name).map_err(|why| anyhow!("{why}"))?;
        Ok(Staged { plugin, installed, folder: removed })
    }
}

/// Removes staging directories of processes that were killed.
pub(crate) fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let staged = name.starts_with(".new-") || name.starts_with(".old-");
        if staged && !instance::may_run(&name) {
            let _ = remove_folder(&entry.path());
        }
    }
}

/// A staged plugin. Dropping it removes its directory.
pub struct Staged {
    /// Directory of the plugin.
    pub plugin: PathBuf,
    /// The staged files.
    pub installed: Installed,
    folder: Removed,
}

impl Staged {
    /// Returns a plugin directory that contains only this plugin.
    pub fn plugin_folder(&self) -> PluginFolder {
        PluginFolder::new(&self.folder.0)
    }
}

/// Directory that is removed on drop.
pub(crate) struct Removed(pub(crate) PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = remove_folder(&self.0);
    }
}

fn create(path: &Path) -> Result<()> {
    private::folder(path).with_context(|| path.display().to_string())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = private::options().write(true).create_new(true).open(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).with_context(|| path.display().to_string())
}

/// Replaces a directory by another.
pub fn replace(new: &Path, place: &Path) -> Result<()> {
    let old = place.with_file_name(format!(".old-{}", instance::name()));
    let existed = place.symlink_metadata().is_ok();
    if existed {
        fs::rename(place, &old).with_context(|| place.display().to_string())?;
    }
    if let Err(error) = fs::rename(new, place) {
        if existed {
            let _ = fs::rename(&old, place);
        }
        return Err(error).with_context(|| place.display().to_string());
    }
    if existed {
        remove_folder(&old).with_context(|| old.display().to_string())?;
    }
    Ok(())
}

/// Returns `true` if the plugin's files are still those that were inspected.
pub fn is_still(plugin_folder: &PluginFolder, look: &Look) -> bool {
    let is_it = |now: Installed| {
        now.manifest_fingerprint == look.installed.manifest_fingerprint
            && now.read_component().is_ok_and(|bytes| Fingerprint::of(&bytes) == look.component)
            && now.read_origin(&look.component).is_ok_and(|origin| origin == look.origin)
    };
    plugin_folder.find(&look.installed.name).is_ok_and(is_it)
}
