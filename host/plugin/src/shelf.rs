//! Plugins that lie in the program's own folder: `plugins/NAME/plugin.toml`, or `plugins/NAME.wasm`.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::fingerprint::{Fingerprint, Stamp};
use crate::manifest::{MAX_MANIFEST_BYTES, Manifest};
use crate::name::PluginName;

/// Largest component. One that brings a Python interpreter has about 40 MB.
pub const MAX_COMPONENT_BYTES: u64 = 128 * 1024 * 1024;

/// The file that a plugin says in what it is.
pub const MANIFEST: &str = "plugin.toml";

/// The folder of all plugins.
#[derive(Debug, Clone)]
pub struct Shelf {
    folder: PathBuf,
}

/// A plugin as it lies there.
#[derive(Debug, Clone)]
pub struct Installed {
    /// What its folder or file is called, which is the plugin's name.
    pub name: PluginName,
    /// What it says of itself.
    pub manifest: Manifest,
    /// Of `plugin.toml`; of nothing for a component without one.
    pub manifest_fingerprint: Fingerprint,
    /// The component's file.
    pub component: PathBuf,
}

impl Shelf {
    /// The one of a program's own folder.
    pub fn new(own_home: &Path) -> Self {
        Self { folder: own_home.join("plugins") }
    }

    /// Where a plugin's folder is, or is to be.
    pub fn folder_of(&self, name: &PluginName) -> PathBuf {
        self.folder.join(name.as_str())
    }

    /// Where the files of a plugin may be.
    pub fn paths_of(&self, name: &PluginName) -> [PathBuf; 2] {
        [self.folder_of(name), self.folder.join(format!("{name}.wasm"))]
    }

    /// All that lies there, in the order of names: the plugins, and what is none, with the reason.
    pub fn scan(&self) -> Vec<Result<Installed, (String, String)>> {
        let mut names: Vec<String> = match fs::read_dir(&self.folder) {
            Ok(entries) => {
                entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
            }
            Err(_) => Vec::new(),
        };
        names.retain(|name| !name.starts_with('.'));
        names.sort_unstable();
        names.into_iter().map(|entry| self.entry(&entry).map_err(|why| (entry, why))).collect()
    }

    /// One plugin.
    pub fn find(&self, name: &PluginName) -> Result<Installed, String> {
        let folder = self.folder_of(name);
        if folder.symlink_metadata().is_ok() {
            return self.entry(name.as_str());
        }
        self.entry(&format!("{name}.wasm"))
    }

    fn entry(&self, entry: &str) -> Result<Installed, String> {
        let path = self.folder.join(entry);
        let about = path.symlink_metadata().map_err(|error| error.to_string())?;
        owned(&about, entry)?;
        match entry.strip_suffix(".wasm") {
            Some(stem) if about.is_file() => bare(stem, path),
            _ if about.is_dir() => installed_folder(entry, &path),
            _ => Err("neither a folder with plugin.toml nor a .wasm file".to_owned()),
        }
    }
}

impl Installed {
    /// The stamps of its files, in the order manifest, component.
    pub fn stamps(&self) -> io::Result<(Option<Stamp>, Stamp)> {
        let manifest = self.component.with_file_name(MANIFEST);
        let manifest = manifest.symlink_metadata().ok().filter(|_| !self.is_bare());
        let component = self.component.symlink_metadata()?;
        Ok((manifest.map(|about| Stamp::of(&about)), Stamp::of(&component)))
    }

    /// The same, if they are old enough to be relied on.
    pub fn settled_stamps(&self, now_seconds: u64) -> Option<(Option<Stamp>, Stamp)> {
        let now = i64::try_from(now_seconds).ok()?;
        let (manifest, component) = self.stamps().ok()?;
        let settled =
            component.is_settled(now) && manifest.as_ref().is_none_or(|stamp| stamp.is_settled(now));
        settled.then_some((manifest, component))
    }

    /// The component's bytes.
    pub fn read_component(&self) -> io::Result<Vec<u8>> {
        read(&self.component, MAX_COMPONENT_BYTES)
    }

    fn is_bare(&self) -> bool {
        self.manifest_fingerprint == Fingerprint::of(b"")
    }
}

/// Others must not be able to change what runs in this person's name.
fn owned(about: &Metadata, name: &str) -> Result<(), String> {
    if about.is_symlink() {
        return Err(format!("{name} is a symbolic link; put the files themselves there"));
    }
    let own = rustix::process::geteuid().as_raw();
    if about.uid() != own && about.uid() != 0 {
        return Err(format!("{name} belongs to user {}, not to you", about.uid()));
    }
    if about.mode() & 0o022 != 0 {
        return Err(format!("others may write {name}; take that away with chmod go-w"));
    }
    Ok(())
}

fn bare(stem: &str, component: PathBuf) -> Result<Installed, String> {
    let name = PluginName::try_from(stem.to_owned()).map_err(|error| error.to_string())?;
    let manifest = Manifest {
        name: name.clone(),
        version: String::new(),
        description: String::new(),
        component: format!("{stem}.wasm"),
        capabilities: crate::Asks::default(),
        limits: crate::Limits::default(),
        tools: std::collections::BTreeMap::new(),
        comments: std::collections::BTreeMap::new(),
    };
    Ok(Installed { name, manifest, manifest_fingerprint: Fingerprint::of(b""), component })
}

fn installed_folder(entry: &str, folder: &Path) -> Result<Installed, String> {
    let path = folder.join(MANIFEST);
    let about = path.symlink_metadata().map_err(|error| format!("{MANIFEST}: {error}"))?;
    owned(&about, MANIFEST)?;
    let text = read(&path, MAX_MANIFEST_BYTES as u64).map_err(|error| format!("{MANIFEST}: {error}"))?;
    let fingerprint = Fingerprint::of(&text);
    let text = String::from_utf8(text).map_err(|_| format!("{MANIFEST} is no UTF-8"))?;
    let manifest = Manifest::parse(&text).map_err(|error| error.to_string())?;
    if manifest.name.as_str() != entry {
        return Err(format!("the folder {entry} has a plugin called {}; rename one of them", manifest.name));
    }
    let component = folder.join(&manifest.component);
    let about = component.symlink_metadata().map_err(|error| format!("{}: {error}", manifest.component))?;
    owned(&about, &manifest.component)?;
    Ok(Installed { name: manifest.name.clone(), manifest, manifest_fingerprint: fingerprint, component })
}

/// A regular file, not through a link, up to a size.
fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("is no file"));
    }
    if about.len() > most {
        return Err(io::Error::other(format!("has {} bytes; at most {most} fit", about.len())));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn put(folder: &Path, path: &str, text: &str) {
        let path = folder.join("plugins").join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("creates");
        fs::write(path, text).expect("writes");
    }

    fn found(folder: &Path) -> Vec<String> {
        let show = |entry: Result<Installed, (String, String)>| match entry {
            Ok(plugin) => plugin.name.to_string(),
            Err((entry, why)) => format!("{entry}: {why}"),
        };
        Shelf::new(folder).scan().into_iter().map(show).collect()
    }

    #[test]
    fn plugins_are_folders_and_components() {
        let home = tempfile::tempdir().expect("a folder");
        assert!(found(home.path()).is_empty());
        put(home.path(), "one/plugin.toml", "name = \"one\"\ncomponent = \"c.wasm\"");
        put(home.path(), "one/c.wasm", "");
        put(home.path(), "two.wasm", "");
        put(home.path(), ".old/x", "");
        assert_eq!(found(home.path()), ["one", "two"]);
    }

    #[test]
    fn what_is_none_is_named_with_the_reason() {
        let home = tempfile::tempdir().expect("a folder");
        put(home.path(), "other/plugin.toml", "name = \"one\"\ncomponent = \"c.wasm\"");
        put(home.path(), "bare/plugin.toml", "name = \"bare\"\ncomponent = \"c.wasm\"");
        put(home.path(), "empty/x", "");
        put(home.path(), "Bad.wasm", "");
        put(home.path(), "notes.txt", "");
        put(home.path(), "open.wasm", "");
        let plugins = home.path().join("plugins");
        fs::set_permissions(plugins.join("open.wasm"), fs::Permissions::from_mode(0o666)).expect("sets");
        symlink("/etc", plugins.join("link")).expect("links");
        assert_eq!(
            found(home.path()),
            [
                "Bad.wasm: \"Bad\" is no plugin's name; 1 to 24 lowercase letters, digits and hyphens fit, a letter first",
                "bare: c.wasm: No such file or directory (os error 2)",
                "empty: plugin.toml: No such file or directory (os error 2)",
                "link: link is a symbolic link; put the files themselves there",
                "notes.txt: neither a folder with plugin.toml nor a .wasm file",
                "open.wasm: others may write open.wasm; take that away with chmod go-w",
                "other: the folder other has a plugin called one; rename one of them",
            ]
        );
    }
}
