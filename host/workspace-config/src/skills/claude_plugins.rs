//! Finds skills of plugins that the user installed and enabled in Claude Code.
//!
//! Claude Code's own files list these plugins. A plugin that they do not describe clearly is not read but
//! reported, so that the user can add its folder to the setting `ADDITIONAL_SKILLS`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use scorpiox_fs::{Writable, open_file, resolve};
use serde_json::Value;

/// Maximum size of a file of Claude Code, in bytes. Settings take a few KiB.
const MAX_BYTES: u64 = 1024 * 1024;
/// Maximum number of plugins to examine.
const MAX_PLUGINS: usize = 256;

/// A Claude Code plugin whose skills are not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Name of the plugin, or the file that cannot be interpreted.
    pub name: String,
    /// Folder of the plugin's skills.
    pub skills: PathBuf,
    /// Reason, as the end of a sentence.
    pub why: String,
}

/// Claude Code plugins with skills.
#[derive(Debug, Default)]
pub(super) struct ClaudePlugins {
    /// Resolved folders of the plugins that are installed for this user and enabled.
    pub(super) enabled: Vec<PathBuf>,
    pub(super) left_out: Vec<LeftOut>,
}

impl ClaudePlugins {
    /// Finds the plugins of the user with this home folder.
    pub(super) fn find(home: &Path, writable: &Writable) -> Self {
        let folder = home.join(".claude/plugins");
        let installed = match read(&folder.join("installed_plugins.json"), writable) {
            Ok(installed) => installed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::default(),
            Err(error) => return Self::unread(&folder, &error),
        };
        let enabled = read(&home.join(".claude/settings.json"), writable).unwrap_or_default();
        let is_enabled = |name: &str| enabled["enabledPlugins"][name] == true;
        let Ok(folder) = resolve(&folder, writable) else { return Self::default() };
        let mut found = Self::default();
        for (name, places) in installed["plugins"].as_object().into_iter().flatten().take(MAX_PLUGINS) {
            // Older files contain a single location, newer ones a list.
            let places = places.as_array().map_or(std::slice::from_ref(places), Vec::as_slice);
            for place in places.iter().take(MAX_PLUGINS) {
                found.add(&folder, name, place, is_enabled(name), writable);
            }
        }
        found.enabled.sort();
        found.enabled.dedup();
        found
    }

    fn unread(folder: &Path, error: &io::Error) -> Self {
        let why = format!("which plugins are installed cannot be read: {error}");
        let name = "installed_plugins.json".to_owned();
        Self { enabled: Vec::new(), left_out: vec![LeftOut { name, skills: folder.to_owned(), why }] }
    }

    fn add(&mut self, folder: &Path, name: &str, place: &Value, is_enabled: bool, writable: &Writable) {
        let Some(path) = place["installPath"].as_str().map(Path::new) else { return };
        let skills = path.join("skills");
        if !skills.is_dir() {
            return;
        }
        let scope = place["scope"].as_str().unwrap_or("user");
        let real = resolve(path, writable).ok().filter(|real| real.starts_with(folder) && real != folder);
        let why = match real {
            None => "it does not lie in ~/.claude/plugins".to_owned(),
            Some(_) if scope != "user" => format!("it is installed for one project (scope {scope:?})"),
            Some(_) if !is_enabled => "it is not enabled in ~/.claude/settings.json".to_owned(),
            Some(real) => return self.enabled.push(real),
        };
        self.left_out.push(LeftOut { name: name.to_owned(), skills, why });
    }
}

/// Reads a JSON file that commands cannot have written.
fn read(path: &Path, writable: &Writable) -> io::Result<Value> {
    let real = resolve(path, writable).map_err(io::Error::other)?;
    if writable.covers(&real) {
        return Err(io::Error::other("commands can write it"));
    }
    let file: File = open_file(&real)?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    serde_json::from_str(&text).map_err(io::Error::other)
}
