//! Installing a plugin.

use std::fs::{self, DirBuilder, File};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use scorpiox_plugin::{Installed, MANIFEST, MAX_COMPONENT_BYTES, Manifest, PluginName, Shelf};

use super::decide::decide;
use super::look::Look;
use crate::cli::environment::Environment;
use crate::cli::terminal;
use crate::plugins::{comments, encode, is_module};

const SKILL: &str = "SKILL.md";
/// Where a plugin's types are, for those that have them beside the component.
const WIT: &str = "wit";

/// What is installed: texts of the two files.
pub(super) struct Source {
    name: PluginName,
    component_name: String,
    manifest: String,
    component: Vec<u8>,
}

pub(super) fn run(environment: &Environment, source: &Path, yes: Option<&str>) -> Result<ExitCode> {
    let source = Source::read(source)?;
    let shelf = Shelf::new(&environment.own_home);
    let folder = source.install(environment, &shelf)?;
    let installed = shelf.find_settled(&source.name).map_err(|why| anyhow!("{}: {why}", folder.display()))?;
    decide(environment, installed, yes)
}

impl Source {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let about = path.metadata().with_context(|| format!("{} cannot be installed", path.display()))?;
        if about.is_dir() { Self::from_folder(path) } else { Self::from_file(path) }
    }

    fn from_folder(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        if !path.exists() && folder.join(SKILL).exists() {
            return Self::from_skill(folder);
        }
        let manifest =
            fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let parsed = Manifest::parse(&manifest)?;
        let component = component(&folder.join(&parsed.component))?;
        let manifest = commented(manifest, &folder.join(WIT));
        Ok(Self { name: parsed.name, component_name: parsed.component, manifest, component })
    }

    /// A skill that brings nothing but a component, which has the skill's name.
    fn from_skill(folder: &Path) -> Result<Self> {
        let is_component = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
        let found: Vec<_> =
            fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_component).collect();
        let [component] = found.as_slice() else {
            bail!("{} has {} components; one is needed, or a {MANIFEST}", folder.display(), found.len());
        };
        Self::bare(&folder.canonicalize()?, component)
    }

    /// A component alone: it asks for nothing, and has its file's name.
    fn from_file(path: &Path) -> Result<Self> {
        Self::bare(path, path)
    }

    fn bare(named: &Path, path: &Path) -> Result<Self> {
        let file = named.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let stem = file.split('.').next().unwrap_or_default().replace(['_', ' '], "-");
        let name = PluginName::try_from(stem).with_context(|| {
            format!("{} gives the plugin its name; rename the file, or write a plugin.toml", path.display())
        })?;
        let manifest = format!("name = \"{name}\"\ncomponent = \"component.wasm\"\n");
        Ok(Self { name, component_name: "component.wasm".to_owned(), manifest, component: component(path)? })
    }

    /// Puts the files where plugins are, in the place of an older version. Nothing is changed
    /// there before it is known that this can be a plugin.
    fn install(&self, environment: &Environment, plugins: &Shelf) -> Result<PathBuf> {
        let folder = plugins.folder_of(&self.name);
        let parent = folder.parent().context("no folder")?.to_owned();
        create(&parent)?;
        let staged = self.stage(plugins)?;
        Look::at(environment, staged.installed.clone())?;
        replace(&staged.plugin, &folder)?;
        Ok(folder)
    }

    /// The plugin in a folder of its own, beside the others and not one of them.
    pub(super) fn stage(&self, plugins: &Shelf) -> Result<Staged> {
        let beside = plugins.folder_of(&self.name);
        let parent = beside.parent().context("no folder")?;
        let folder = parent.join(format!(".new-{}-{}", self.name, std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let plugin = folder.join("plugins").join(self.name.as_str());
        create(&plugin)?;
        let removed = Removed(folder);
        write(&plugin.join(MANIFEST), self.manifest.as_bytes())?;
        write(&plugin.join(&self.component_name), &self.component)?;
        let installed = Shelf::new(&removed.0).find(&self.name).map_err(|why| anyhow!("{why}"))?;
        Ok(Staged { plugin, installed, _folder: removed })
    }
}

/// A plugin that is not installed, for as long as this is there.
pub(super) struct Staged {
    plugin: PathBuf,
    pub(super) installed: Installed,
    _folder: Removed,
}

/// A folder that is removed in the end.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn create(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(|| path.display().to_string())
}

/// A manifest with the comments of the WIT that lies beside. Without them it works as well.
fn commented(manifest: String, wit: &Path) -> String {
    if !wit.is_dir() {
        return manifest;
    }
    let added = comments(wit).and_then(|comments| Ok(Manifest::with_comments(&manifest, &comments)?));
    added.unwrap_or_else(|error| {
        let wit = wit.display();
        terminal::complain(&format!(
            "the comments in {wit} cannot be used, so they describe no tools: {error:#}"
        ));
        manifest
    })
}

/// A component; of a core module its component.
fn component(path: &Path) -> Result<Vec<u8>> {
    let about = path.metadata().with_context(|| format!("{} cannot be read", path.display()))?;
    ensure!(about.is_file(), "{} is no file", path.display());
    if about.len() > MAX_COMPONENT_BYTES {
        bail!("{} has {} bytes; at most {MAX_COMPONENT_BYTES} fit", path.display(), about.len());
    }
    let bytes = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    if !is_module(&bytes) {
        return Ok(bytes);
    }
    // What a skill brings is compared, byte for byte, with what was approved.
    ensure!(
        !path.with_file_name(SKILL).exists(),
        "{} is a core module, and a skill brings a component; build it for wasm32-wasip2",
        path.display()
    );
    encode(&bytes).with_context(|| path.display().to_string())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).with_context(|| path.display().to_string())
}

/// Moves a folder into the place of another.
fn replace(new: &Path, place: &Path) -> Result<()> {
    let old = place.with_file_name(format!(".old-{}", std::process::id()));
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
