//! Installing a plugin.

use std::fs::{self, DirBuilder, File};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use scorpiox_plugin::{MAX_COMPONENT_BYTES, Manifest, PluginName, Shelf};

use super::decide::decide;
use super::look::Look;
use crate::cli::environment::Environment;
use crate::cli::terminal;
use crate::plugins::{annotate, encode};

const MANIFEST: &str = "plugin.toml";
/// Where a plugin's types are, for those that have them beside the component.
const WIT: &str = "wit";

/// What is installed: texts of the two files.
struct Source {
    name: PluginName,
    component_name: String,
    manifest: String,
    component: Vec<u8>,
}

pub(super) fn run(environment: &Environment, source: &Path, yes: Option<&str>) -> Result<ExitCode> {
    let source = Source::read(source)?;
    let shelf = Shelf::new(&environment.own_home);
    let look = source.install(&shelf)?;
    decide(environment, &look, yes)
}

impl Source {
    fn read(path: &Path) -> Result<Self> {
        let about = path.metadata().with_context(|| format!("{} cannot be installed", path.display()))?;
        if about.is_dir() { Self::from_folder(path) } else { Self::from_file(path) }
    }

    fn from_folder(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let manifest =
            fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let parsed = Manifest::parse(&manifest)?;
        let path = folder.join(&parsed.component);
        let component = annotated(component(&path)?, &folder.join(WIT));
        Ok(Self { name: parsed.name, component_name: parsed.component, manifest, component })
    }

    /// A component alone: it asks for nothing, and has its file's name.
    fn from_file(path: &Path) -> Result<Self> {
        let file = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let stem = file.split('.').next().unwrap_or_default().replace(['_', ' '], "-");
        let name = PluginName::try_from(stem).with_context(|| {
            format!("{} gives the plugin its name; rename the file, or write a plugin.toml", path.display())
        })?;
        let manifest = format!("name = \"{name}\"\ncomponent = \"component.wasm\"\n");
        Ok(Self { name, component_name: "component.wasm".to_owned(), manifest, component: component(path)? })
    }

    /// Puts the files where plugins are, in the place of an older version. Nothing is changed
    /// there before it is known that this can be a plugin.
    fn install(&self, plugins: &Shelf) -> Result<Look> {
        let folder = plugins.folder_of(&self.name);
        let parent = folder.parent().context("no folder")?.to_owned();
        let create = |path: &Path| {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .with_context(|| path.display().to_string())
        };
        create(&parent)?;
        let staged = parent.join(format!(".new-{}-{}", self.name, std::process::id()));
        let _ = fs::remove_dir_all(&staged);
        let inner = staged.join("plugins").join(self.name.as_str());
        create(&inner)?;
        let outcome =
            self.stage(&staged, &inner).and_then(|look| replace(&inner, &folder).map(|()| look));
        let _ = fs::remove_dir_all(&staged);
        let installed = plugins.find(&self.name).map_err(|why| anyhow!("{}: {why}", folder.display()));
        outcome?.moved(installed?)
    }

    fn stage(&self, staged: &Path, inner: &Path) -> Result<Look> {
        write(&inner.join(MANIFEST), self.manifest.as_bytes())?;
        write(&inner.join(&self.component_name), &self.component)?;
        let found = Shelf::new(staged).find(&self.name).map_err(|why| anyhow!("{why}"))?;
        Look::at(found)
    }
}

/// With the comments of the WIT that lies beside. Without them it works as well.
fn annotated(component: Vec<u8>, wit: &Path) -> Vec<u8> {
    if !wit.is_dir() {
        return component;
    }
    annotate(&component, wit).unwrap_or_else(|error| {
        let wit = wit.display();
        terminal::complain(&format!("{wit} cannot be read, so its comments describe no tools: {error:#}"));
        component
    })
}

/// A component, also where it is still a core module.
fn component(path: &Path) -> Result<Vec<u8>> {
    let about = path.metadata().with_context(|| format!("{} cannot be read", path.display()))?;
    ensure!(about.is_file(), "{} is no file", path.display());
    if about.len() > MAX_COMPONENT_BYTES {
        bail!("{} has {} bytes; at most {MAX_COMPONENT_BYTES} fit", path.display(), about.len());
    }
    let bytes = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    encode(bytes).with_context(|| path.display().to_string())
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
