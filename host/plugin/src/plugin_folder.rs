//! Plugins in the program's directory: `plugins/NAME/plugin.toml` or `plugins/NAME.wasm`.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use scorpiox_fs::home::private;
use scorpiox_fs::{FINE_STEP, Stamp, shortage};

use crate::fingerprint::{Fingerprint, Stamps};
use crate::manifest::{MAX_MANIFEST_BYTES, Manifest};
use crate::name::PluginName;
use crate::origin::{Chosen, Origin};

/// Maximum size of a component. A component with a Python interpreter has about 40 MB.
pub const MAX_COMPONENT_BYTES: u64 = 128 * 1024 * 1024;

/// File name of a plugin's manifest.
pub const MANIFEST: &str = "plugin.toml";

/// File name of the signature of a plugin's hash.
pub const SIGNATURE: &str = "plugin.hash.minisig";

/// Maximum size of a signature: four lines, including comments.
const MAX_SIGNATURE_BYTES: u64 = 4096;

/// The directory that contains all plugins.
#[derive(Debug, Clone)]
pub struct PluginFolder {
    own_home: PathBuf,
    folder: PathBuf,
}

/// An installed plugin.
#[derive(Debug, Clone)]
pub struct Installed {
    /// Name of the plugin, equal to the name of its directory or file.
    pub name: PluginName,
    /// Parsed manifest.
    pub manifest: Manifest,
    /// Fingerprint of `plugin.toml`, or of empty content for a component without a manifest.
    pub manifest_fingerprint: Fingerprint,
    /// Path of the component.
    pub component: PathBuf,
    /// Stamps of the files, taken before they were read.
    stamps: Stamps,
    /// Time before the first stamp was taken.
    found_at: SystemTime,
}

impl PluginFolder {
    /// Returns the plugin directory in the program's directory.
    pub fn new(own_home: &Path) -> Self {
        Self { own_home: own_home.to_owned(), folder: own_home.join("plugins") }
    }

    /// Returns the program's directory.
    pub fn own_home(&self) -> &Path {
        &self.own_home
    }

    /// Waits for an exclusive lock on adding, approving and removing plugins. The lock lasts as long as the
    /// returned file. It must not be held while waiting for the user's answer.
    pub fn lock(&self) -> io::Result<File> {
        private::folder(&self.folder)?;
        let path = self.folder.join(".lock");
        let lock = private::options().create(true).truncate(false).write(true).open(path)?;
        lock.lock()?;
        Ok(lock)
    }

    /// Returns the path of a plugin's directory, even if it does not exist yet.
    pub fn folder_of(&self, name: &PluginName) -> PathBuf {
        self.folder.join(name.as_str())
    }

    /// Returns the possible locations of a plugin.
    pub fn paths_of(&self, name: &PluginName) -> [PathBuf; 2] {
        [self.folder_of(name), self.folder.join(format!("{name}.wasm"))]
    }

    /// Lists the directory in alphabetical order: plugins, and entries that are not plugins, with the reason.
    pub fn scan(&self) -> Vec<Result<Installed, (String, String)>> {
        let mut names: Vec<String> = match fs::read_dir(&self.folder) {
            Ok(entries) => {
                entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                let advice = shortage(&error).map(|advice| format!("; {advice}")).unwrap_or_default();
                return vec![Err((
                    self.folder.display().to_string(),
                    format!("it cannot be read: {error}{advice}"),
                ))];
            }
        };
        names.retain(|name| !name.starts_with('.'));
        names.sort_unstable();
        names.into_iter().map(|entry| self.entry(&entry).map_err(|why| (entry, why))).collect()
    }

    /// Finds a plugin by name.
    pub fn find(&self, name: &PluginName) -> Result<Installed, String> {
        let folder = self.folder_of(name);
        if folder.symlink_metadata().is_ok() {
            return self.entry(name.as_str());
        }
        self.entry(&format!("{name}.wasm"))
    }

    /// Like [`find`](Self::find), but waits briefly if the files are so recent that their stamps are not
    /// reliable. An approval with reliable stamps spares every starting server the reading of the component.
    pub fn find_settled(&self, name: &PluginName) -> Result<Installed, String> {
        let found = self.find(name)?;
        if found.settled_stamps().is_some() {
            return Ok(found);
        }
        std::thread::sleep(FINE_STEP);
        self.find(name)
    }

    /// Returns `true` only if the plugin's files are certainly unchanged, and no other user can change them.
    pub fn is_unchanged(&self, plugin: &Installed) -> bool {
        let is_ours = match plugin.stamps.0 {
            Some(_) => self.place(plugin.name.as_str()).is_ok(),
            None => self.place(&format!("{}.wasm", plugin.name)).is_ok(),
        };
        is_ours && plugin.is_unchanged()
    }

    /// Returns the path of an entry if only the user can change it.
    fn place(&self, entry: &str) -> Result<(PathBuf, Metadata), String> {
        // Write access to the directory is enough to replace one plugin by another.
        let all = self.folder.metadata().map_err(|error| absent(&error))?;
        owned(&self.folder, &all, "the folder of plugins")?;
        let path = self.folder.join(entry);
        let about = path.symlink_metadata().map_err(|error| absent(&error))?;
        owned(&path, &about, entry)?;
        Ok((path, about))
    }

    fn entry(&self, entry: &str) -> Result<Installed, String> {
        let found_at = SystemTime::now();
        let (path, about) = self.place(entry)?;
        match entry.strip_suffix(".wasm") {
            Some(stem) if about.is_file() => bare(stem, path, &about, found_at),
            _ if about.is_dir() => installed_folder(entry, &path, found_at),
            _ => Err("neither a folder with plugin.toml nor a .wasm file".to_owned()),
        }
    }
}

impl Installed {
    /// Returns the stamps taken before the files were read, if a later change is certain to alter them.
    pub fn settled_stamps(&self) -> Option<&Stamps> {
        let (manifest, component) = &self.stamps;
        let settled = |stamp: &Stamp| stamp.is_settled(self.found_at);
        (settled(component) && manifest.as_ref().is_none_or(settled)).then_some(&self.stamps)
    }

    /// Returns `true` if the files have the stamps `noted`.
    pub fn has_stamps(&self, noted: Option<&Stamps>) -> bool {
        noted == Some(&self.stamps)
    }

    fn is_unchanged(&self) -> bool {
        self.settled_stamps().is_some_and(|stamps| self.stamps_now().is_ok_and(|now| now == *stamps))
    }

    fn stamps_now(&self) -> io::Result<Stamps> {
        let of = |path: &Path| path.symlink_metadata().map(|about| Stamp::of(&about));
        let manifest = match &self.stamps.0 {
            Some(_) => Some(of(&self.component.with_file_name(MANIFEST))?),
            None => None,
        };
        Ok((manifest, of(&self.component)?))
    }

    /// Reads the signature of the plugin's hash, if there is one next to the manifest.
    pub fn read_signature(&self) -> io::Result<Option<String>> {
        if self.stamps.0.is_none() {
            return Ok(None);
        }
        read_signature(&self.component.with_file_name(SIGNATURE))
    }

    /// Reads the source of the plugin, if it is known and the files are unchanged.
    pub fn read_origin(&self, component: &Fingerprint) -> io::Result<Option<Origin>> {
        if self.stamps.0.is_none() { Ok(None) } else { Origin::read(self, component) }
    }

    /// Returns the author's name for the plugin, if known, even if the files have changed. Used to find other
    /// versions.
    pub fn author_name(&self) -> Option<PluginName> {
        self.stamps.0.as_ref()?;
        Origin::read_any(self).ok()?.map(|origin| origin.name)
    }

    /// Returns the user's choices for the plugin, even if the files have changed.
    pub fn chosen(&self) -> Chosen {
        if self.stamps.0.is_none() {
            return Chosen::default();
        }
        Origin::read_any(self).ok().flatten().map(|origin| origin.chosen).unwrap_or_default()
    }

    /// Returns the path or URL that the plugin came from, even if the files have changed.
    pub fn address(&self) -> Option<String> {
        self.stamps.0.as_ref()?;
        Origin::read_any(self).ok()?.map(|origin| origin.address)
    }

    /// Reads the component.
    pub fn read_component(&self) -> io::Result<Vec<u8>> {
        read_file(&self.component, MAX_COMPONENT_BYTES)
    }
}

/// Returns an error if other users can change the file, because it runs on the user's behalf.
pub(crate) fn owned(path: &Path, about: &Metadata, name: &str) -> Result<(), String> {
    if about.is_symlink() {
        return Err(format!("{name} is a symbolic link; put the files themselves there"));
    }
    foreign(path, about, name).map_or(Ok(()), Err)
}

/// Explains why others can change a file or directory. The access rights are queried by path.
#[cfg(windows)]
fn foreign(path: &Path, _: &Metadata, name: &str) -> Option<String> {
    match scorpiox_fs::others_can_change_at(path) {
        Ok(why) => why.map(|why| format!("{name} can be changed by others: {why}")),
        Err(error) => Some(format!("it is not known who can change {name}: {error}")),
    }
}

/// Explains why others can change a file or directory.
#[cfg(unix)]
fn foreign(_: &Path, about: &Metadata, name: &str) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let own = scorpiox_fs::account_id();
    if about.uid() != own && about.uid() != 0 {
        return Some(format!("{name} belongs to user {}, not to you", about.uid()));
    }
    let others_write = about.mode() & 0o022 != 0;
    others_write.then(|| format!("others may write {name}; take that away with chmod go-w"))
}

fn bare(stem: &str, component: PathBuf, about: &Metadata, found_at: SystemTime) -> Result<Installed, String> {
    let name = PluginName::try_from(stem.to_owned()).map_err(|error| error.to_string())?;
    let manifest = Manifest {
        name: name.clone(),
        version: String::new(),
        description: String::new(),
        component: format!("{stem}.wasm"),
        select: None,
        max_tools: None,
        capabilities: crate::Asks::default(),
        limits: crate::Limits::default(),
        config: std::collections::BTreeMap::new(),
        secrets: std::collections::BTreeMap::new(),
        tools: std::collections::BTreeMap::new(),
        comments: std::collections::BTreeMap::new(),
    };
    let stamps = (None, Stamp::of(about));
    Ok(Installed { name, manifest, manifest_fingerprint: Fingerprint::of(b""), component, stamps, found_at })
}

fn installed_folder(entry: &str, folder: &Path, found_at: SystemTime) -> Result<Installed, String> {
    let path = folder.join(MANIFEST);
    let about = path.symlink_metadata().map_err(|error| missing(MANIFEST, &error))?;
    owned(&path, &about, MANIFEST)?;
    let manifest_stamp = Stamp::of(&about);
    let text = read_file(&path, MAX_MANIFEST_BYTES as u64).map_err(|error| format!("{MANIFEST}: {error}"))?;
    let fingerprint = Fingerprint::of(&text);
    let text = String::from_utf8(text).map_err(|_| format!("{MANIFEST} is no UTF-8"))?;
    let manifest = Manifest::parse(&text).map_err(|error| error.to_string())?;
    if manifest.name.as_str() != entry {
        return Err(format!("the folder {entry} has a plugin called {}; rename one of them", manifest.name));
    }
    let component = folder.join(&manifest.component);
    let about = component.symlink_metadata().map_err(|error| missing(&manifest.component, &error))?;
    owned(&component, &about, &manifest.component)?;
    let stamps = (Some(manifest_stamp), Stamp::of(&about));
    let name = manifest.name.clone();
    Ok(Installed { name, manifest, manifest_fingerprint: fingerprint, component, stamps, found_at })
}

/// Describes the error for a plugin that is missing or not accessible.
fn absent(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "it is not installed; `scorpiox-code plugin list` shows what is".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Describes the error for a file that is missing or not accessible, with advice to the user.
fn missing(name: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("its {name} is not there; add the plugin again"),
        _ => format!("its {name} cannot be read: {error}"),
    }
}

/// Reads a signature. Returns `None` if the file does not exist.
pub fn read_signature(path: &Path) -> io::Result<Option<String>> {
    match read_file(path, MAX_SIGNATURE_BYTES) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| io::Error::other("is no UTF-8")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a regular file of at most `most` bytes, without following a link.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = private::open_unfollowed(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("is not a file"));
    }
    if about.len() > most {
        return Err(io::Error::other(format!("has {} bytes; the limit is {most}", about.len())));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(about.len()).unwrap_or_default());
    file.take(most + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
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
        PluginFolder::new(folder).scan().into_iter().map(show).collect()
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
    fn a_folder_that_cannot_be_read_is_no_empty_one() {
        let home = tempfile::tempdir().expect("a folder");
        fs::write(home.path().join("plugins"), "").expect("writes");
        let found = found(home.path());
        assert!(found.len() == 1 && found[0].contains("plugins: it cannot be read: "), "{found:?}");
    }

    #[cfg(unix)]
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
        put(home.path(), "pointed/plugin.toml", "name = \"pointed\"\ncomponent = \"c.wasm\"");
        symlink(plugins.join("open.wasm"), plugins.join("pointed/c.wasm")).expect("links");
        assert_eq!(
            found(home.path()),
            [
                "Bad.wasm: \"Bad\" is not a plugin name; write 1 to 24 lowercase letters, digits and hyphens, beginning with a letter",
                "bare: its c.wasm is not there; add the plugin again",
                "empty: its plugin.toml is not there; add the plugin again",
                "link: link is a symbolic link; put the files themselves there",
                "notes.txt: neither a folder with plugin.toml nor a .wasm file",
                "open.wasm: others may write open.wasm; take that away with chmod go-w",
                "other: the folder other has a plugin called one; rename one of them",
                "pointed: c.wasm is a symbolic link; put the files themselves there",
            ]
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_can_write_has_no_plugins() {
        let home = tempfile::tempdir().expect("a folder");
        put(home.path(), "two.wasm", "");
        let plugins = home.path().join("plugins");
        fs::set_permissions(&plugins, fs::Permissions::from_mode(0o777)).expect("sets");
        let others = "others may write the folder of plugins; take that away with chmod go-w";
        assert_eq!(found(home.path()), [format!("two.wasm: {others}")]);
        fs::set_permissions(&plugins, fs::Permissions::from_mode(0o755)).expect("sets");
        assert_eq!(found(home.path()), ["two"]);
    }
}
