//! A plugin on its way into its place.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use scorpiox_home::{instance, private};
use scorpiox_plugin::{Fingerprint, Installed, MANIFEST, ORIGIN, PluginFolder, SIGNATURE};

use crate::look::Look;
use crate::source::Source;

impl Source {
    /// The plugin in a folder of its own, beside the others and not one of them.
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

/// Removes what was staged by processes that were killed.
fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let staged = name.starts_with(".new-") || name.starts_with(".old-");
        if staged && !instance::may_run(&name) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A plugin that is not installed, for as long as this is there.
pub struct Staged {
    /// Its folder.
    pub plugin: PathBuf,
    /// As it lies there.
    pub installed: Installed,
    folder: Removed,
}

impl Staged {
    /// Where it is the only one.
    pub fn plugin_folder(&self) -> PluginFolder {
        PluginFolder::new(&self.folder.0)
    }
}

/// A folder that is removed in the end.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn create(path: &Path) -> Result<()> {
    private::folder(path).with_context(|| path.display().to_string())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = private::options().write(true).create_new(true).open(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).with_context(|| path.display().to_string())
}

/// Moves a folder into the place of another.
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
        fs::remove_dir_all(&old).with_context(|| old.display().to_string())?;
    }
    Ok(())
}

/// Whether a plugin's files are those that were looked at.
pub fn is_still(plugin_folder: &PluginFolder, look: &Look) -> bool {
    let is_it = |now: Installed| {
        now.manifest_fingerprint == look.installed.manifest_fingerprint
            && now.read_component().is_ok_and(|bytes| Fingerprint::of(&bytes) == look.component)
            && now.read_origin(&look.component).is_ok_and(|origin| origin == look.origin)
    };
    plugin_folder.find(&look.installed.name).is_ok_and(is_it)
}
