//! Installing a plugin.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use scorpiox_anatomy::Anatomy;
use scorpiox_author::name_of;
use scorpiox_home::{instance, private};
use scorpiox_plugin::{
    Asks, Decisions, Installed, MANIFEST, MAX_COMPONENT_BYTES, MAX_MANIFEST_BYTES, Manifest, PluginFolder,
    PluginName, SIGNATURE, Status, read_signature,
};
use scorpiox_terminal as terminal;
use scorpiox_terminal::Shown;

use super::decide::{Judged, approved, is_still, judge, not_approved, recorded_unapproved, refused};
use super::look::Look;
use crate::cli::environment::Environment;
use scorpiox_tools::plugins::{check_anatomy, check_kind, comments, own_comments};

/// What lines of it are called.
const ADD: &str = "plugin add";
const SKILL: &str = "SKILL.md";
/// What a core module begins with.
const MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";
/// Where a plugin's types are, for those that have them beside the component.
const WIT: &str = "wit";

/// What is installed: texts of the two files.
pub(super) struct Source {
    name: PluginName,
    component_name: String,
    manifest: String,
    component: Vec<u8>,
    /// What the component is made of.
    pub(super) anatomy: Anatomy,
    signature: Option<String>,
}

/// What is added, and the name that it gets, if not its own.
pub(super) type Named<'a> = (&'a Path, Option<&'a PluginName>);

pub(super) fn run(environment: &Environment, named: Named<'_>, yes: Option<&str>) -> Result<ExitCode> {
    let source = Source::read(named)?;
    let plugin_folder = PluginFolder::new(&environment.own_home);
    // In the order that leaves an approved version as it is until another one is.
    let staged = source.stage(&plugin_folder)?;
    let look = Look::at(environment, staged.installed.clone(), Some(&source.anatomy))?;
    let judged = judge(environment, ADD, &look, yes)?;
    if judged != Judged::Approved && runs(environment, &plugin_folder, &source.name)? {
        refused(environment, ADD, &look, judged);
        terminal::print(&Shown::text(&format!(
            "\nNothing was changed: {} runs as it was approved before.\n",
            source.name
        )));
        return Ok(ExitCode::FAILURE);
    }
    let folder = plugin_folder.folder_of(&source.name);
    let _alone = plugin_folder.lock().context("cannot wait for other processes that change plugins")?;
    // What is approved is what was shown, whatever was done to the files while somebody read.
    let meanwhile = "its files were changed while it was looked at; nothing was approved";
    ensure!(is_still(&staged.plugin_folder(), &look), "{}: {meanwhile}", source.name);
    replace(&staged.plugin, &folder)?;
    ensure!(is_still(&plugin_folder, &look), "{}: {meanwhile}", source.name);
    let installed =
        plugin_folder.find_settled(&source.name).map_err(|why| anyhow!("{}: {why}", folder.display()))?;
    let look = Look { stamps: installed.settled_stamps().copied(), installed, ..look };
    match judged {
        Judged::Approved => approved(environment, ADD, &look),
        judged => {
            recorded_unapproved(environment, ADD, &look, judged)?;
            Ok(not_approved(&look, judged))
        }
    }
}

/// Prints what `--yes` takes for a plugin, and a policy's list: for who reviewed it, and tells others.
pub(super) fn hash(environment: &Environment, named: Named<'_>) -> Result<ExitCode> {
    let source = Source::read(named)?;
    let staged = source.stage(&PluginFolder::new(&environment.own_home))?;
    let look = Look::at(environment, staged.installed.clone(), Some(&source.anatomy))?;
    terminal::print(&Shown::line(look.hash().as_str()));
    Ok(ExitCode::SUCCESS)
}

/// Whether a plugin of that name is there and may run.
fn runs(environment: &Environment, plugin_folder: &PluginFolder, name: &PluginName) -> Result<bool> {
    let Ok(installed) = plugin_folder.find(name) else { return Ok(false) };
    let decisions = Decisions::read(&environment.own_home)?;
    Ok(matches!(Status::of(&installed, decisions.get(name)), Status::Approved(_)))
}

impl Source {
    pub(super) fn read((path, name): Named<'_>) -> Result<Self> {
        let about = path.metadata().map_err(|error| missing(path, &error))?;
        if about.is_dir() { Self::from_folder(path, name) } else { Self::bare(path, path, name) }
    }

    fn from_folder(folder: &Path, name: Option<&PluginName>) -> Result<Self> {
        let path = folder.join(MANIFEST);
        if !path.exists() && folder.join(SKILL).exists() {
            return Self::from_skill(folder, name);
        }
        let mut manifest = manifest_text(&path)?;
        if let Some(name) = name {
            manifest = Manifest::with_name(&manifest, name)?;
        }
        let wit = folder.join(WIT);
        let mut source =
            Self::of(&manifest, &folder.join(&Manifest::parse(&manifest)?.component), Some(&wit))?;
        source.signature = read_signature(&folder.join(SIGNATURE)).with_context(|| SIGNATURE.to_owned())?;
        Ok(source)
    }

    /// A skill that brings nothing but a component, which has the skill's name.
    fn from_skill(folder: &Path, name: Option<&PluginName>) -> Result<Self> {
        let is_component = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
        let found: Vec<_> =
            fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_component).collect();
        let [component] = found.as_slice() else {
            bail!("{} has {} components; one is needed, or a {MANIFEST}", folder.display(), found.len());
        };
        Self::bare(&dunce::canonicalize(folder)?, component, name)
    }

    /// A component alone: it asks for nothing, and has its file's name, if it gets no other.
    fn bare(named: &Path, path: &Path, name: Option<&PluginName>) -> Result<Self> {
        let own = || {
            name_of(named).with_context(|| {
                format!("{} gives the plugin its name; give it another with --name", path.display())
            })
        };
        let name = name.cloned().map_or_else(own, Ok)?;
        Self::of(&format!("name = \"{name}\"\ncomponent = \"component.wasm\"\n"), path, None)
    }

    /// A manifest with its component, which was found to be something that can run.
    fn of(manifest: &str, path: &Path, wit: Option<&Path>) -> Result<Self> {
        let Manifest { name, component: component_name, capabilities, .. } = Manifest::parse(manifest)?;
        let component = component(path)?;
        let cannot = || format!("{name} cannot be a plugin");
        let anatomy = looked_into(&component, &capabilities).with_context(cannot)?;
        let manifest = commented(manifest, wit, &anatomy);
        Ok(Self { name, component_name, manifest, component, anatomy, signature: None })
    }

    /// The plugin in a folder of its own, beside the others and not one of them.
    pub(super) fn stage(&self, plugins: &PluginFolder) -> Result<Staged> {
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
pub(super) struct Staged {
    plugin: PathBuf,
    pub(super) installed: Installed,
    folder: Removed,
}

impl Staged {
    /// Where it is the only one.
    fn plugin_folder(&self) -> PluginFolder {
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

/// A manifest with the comments of the WIT that lies beside, or else of the component itself. Without them it works
/// as well.
fn commented(manifest: &str, wit: Option<&Path>, anatomy: &Anatomy) -> String {
    let wit = wit.filter(|wit| wit.is_dir());
    let found = wit.map_or_else(|| Ok(own_comments(anatomy)), comments);
    let added = found.and_then(|comments| Ok(Manifest::with_comments(manifest, &comments)?));
    added.unwrap_or_else(|error| {
        let place = wit.map_or_else(|| "the component".to_owned(), |wit| wit.display().to_string());
        terminal::complain(&format!(
            "the comments in {place} cannot be read, so the tools get no descriptions from them: {error:#}"
        ));
        manifest.to_owned()
    })
}

/// What a component is made of, if that can run.
pub(super) fn looked_into(component: &[u8], asks: &Asks) -> Result<Anatomy> {
    check_kind(component)?;
    let anatomy = scorpiox_compile::inspect(component, || false)?;
    check_anatomy(&anatomy, asks)?;
    Ok(anatomy)
}

/// What a person can do about a file that is not there.
fn missing(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let path = path.display();
    match error.kind() {
        ErrorKind::NotFound => {
            anyhow!("{path} does not exist; name a component (.wasm), or a folder with {MANIFEST}")
        }
        _ => anyhow!("{path} cannot be read: {error}"),
    }
}

/// A manifest's text. What is no such text is not read into memory.
fn manifest_text(path: &Path) -> Result<String> {
    let about = path.metadata().map_err(|error| missing(path, &error))?;
    ensure!(about.is_file(), "{} is not a file", path.display());
    let mut text = String::new();
    let file = File::open(path).map_err(|error| missing(path, &error))?;
    // One byte more tells what is too long, which `Manifest::parse` says.
    let read = file.take(MAX_MANIFEST_BYTES as u64 + 1).read_to_string(&mut text);
    read.with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(text)
}

/// A component; of a core module its component.
fn component(path: &Path) -> Result<Vec<u8>> {
    let about = path.metadata().map_err(|error| missing(path, &error))?;
    ensure!(about.is_file(), "{} is not a file", path.display());
    if about.len() > MAX_COMPONENT_BYTES {
        bail!("{} has {} bytes; the limit is {MAX_COMPONENT_BYTES}", path.display(), about.len());
    }
    let bytes = fs::read(path).with_context(|| format!("{} cannot be read", path.display()))?;
    if !bytes.starts_with(&MODULE) {
        return Ok(bytes);
    }
    // What a skill brings is compared, byte for byte, with what was approved.
    ensure!(
        !path.with_file_name(SKILL).exists(),
        "{} is a core module, but a skill has to bring a component; build it for wasm32-wasip2",
        path.display()
    );
    scorpiox_compile::encode(&bytes, || false).with_context(|| path.display().to_string())
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = private::options().write(true).create_new(true).open(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).with_context(|| path.display().to_string())
}

/// Moves a folder into the place of another.
fn replace(new: &Path, place: &Path) -> Result<()> {
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
