//! Input for an installation.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::author::name_of;
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use scorpiox_component_abi::anatomy::Anatomy;
use scorpiox_plugin::package::{MAX_PACKAGE_BYTES, Package};
use scorpiox_plugin::{
    Chosen, Fingerprint, MANIFEST, MAX_COMPONENT_BYTES, MAX_MANIFEST_BYTES, MAX_TOOLS, Manifest, NameError,
    Origin, PluginName, SIGNATURE, read_file, read_signature,
};
use scorpiox_policy::Policy;
use scorpiox_signature::{MAX_SIGNATURE_BYTES, PublicKey, SIGNATURE_SUFFIX, Signature, Statement, digest};
use scorpiox_terminal as terminal;
use scorpiox_terminal::one_line;
use scorpiox_tools::plugins::{comments, exported, own_comments};

use crate::install::look::looked_into;

const SKILL: &str = "SKILL.md";
/// Makefiles that mark a folder as buildable with `make`.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// Description of valid inputs, for error messages.
const NAME_ONE: &str = "name a component (.wasm), a pack (.plugin), or a folder with plugin.toml";
/// First bytes of a core module.
const MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";
/// Directory with the plugin's WIT types, if it is supplied next to the component.
const WIT: &str = "wit";
/// Maximum width of another file's name in an error, in columns.
const MAX_SHOWN_NAME: usize = 60;
/// Number of bytes needed to tell a pack from a component.
const HEAD_BYTES: u64 = 512;

/// Keys of trusted signers, with the signers' names in the policy.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<(String, PublicKey)>);

impl Keys {
    /// Returns the keys of the policy's signers.
    pub fn of(policy: &Policy) -> Self {
        let signers = policy.plugins.signers.values();
        Self(signers.map(|signer| (signer.value.name.clone(), signer.value.public_key().clone())).collect())
    }

    /// Returns the first signature that verifies. If there is none, returns one that names a policy key, so
    /// that its failure is reported.
    pub fn chosen(&self, bytes: &[u8], signatures: &[String]) -> Option<String> {
        let of = |text: &String| Signature::parse(text).ok();
        let counts =
            |text: &String| of(text).is_some_and(|one| matches!(self.verify(bytes, &one), Ok(Some(_))));
        let is_named =
            |text: &String| of(text).is_some_and(|one| self.0.iter().any(|(_, key)| key.is_named_by(&one)));
        let found = signatures.iter().find(|text| counts(text));
        found.or_else(|| signatures.iter().find(|text| is_named(text))).cloned()
    }

    /// Verifies a signature and returns the signed statement. Returns `None` if the signature names none of
    /// the keys, and an error if it names one but does not verify.
    fn verify(&self, bytes: &[u8], signature: &Signature) -> Result<Option<Statement>> {
        let Some((name, key)) = self.0.iter().find(|(_, key)| key.is_named_by(signature)) else {
            return Ok(None);
        };
        let verified = key.verify_file(bytes, signature);
        Ok(Some(verified.with_context(|| format!("the signature by {name} does not count"))?))
    }
}

/// Fetched bytes: a pack, or a single component.
#[derive(Debug)]
pub struct Given {
    /// Content. The caller has already checked its promised size and hash.
    pub bytes: Vec<u8>,
    /// Content of the signature file.
    pub signature: Option<String>,
    /// Path or URL of the file, shown to users and reused for updates.
    pub address: String,
    /// Name for a single component, if no other source gives one.
    pub name: Result<PluginName, NameError>,
}

/// Choices of the user for an installation, which take the place of the author's.
#[derive(Debug, Clone, Copy, Default)]
pub struct Overrides<'a> {
    /// Name to install the plugin under.
    pub name: Option<&'a PluginName>,
    /// WIT package whose doc comments describe the tools.
    pub wit: Option<&'a Path>,
    /// Maximum number of tools.
    pub max_tools: Option<usize>,
    /// Choices for the installed version, which hold where none of these does.
    pub kept: Option<&'a Chosen>,
}

impl Overrides<'_> {
    /// Returns the choices to keep for other versions.
    fn chosen(&self) -> Chosen {
        let kept = self.kept.cloned().unwrap_or_default();
        let wit = self.wit.map(|wit| absolute(wit).into());
        Chosen { wit: wit.or(kept.wit), max_tools: self.max_tools.or(kept.max_tools) }
    }
}

/// A plugin to install, with the content of its files.
pub struct Source {
    pub(crate) name: PluginName,
    pub(crate) component_name: String,
    pub(crate) manifest: String,
    pub(crate) component: Vec<u8>,
    /// Analysis of the component.
    pub anatomy: Anatomy,
    pub(crate) signature: Option<String>,
    pub(crate) origin: Origin,
}

/// A plugin whose component is not inspected yet.
struct Parts {
    /// Text of `plugin.toml`, with the author's name for the plugin.
    manifest: String,
    /// Name for the installation.
    name: PluginName,
    chosen: Chosen,
    component: Vec<u8>,
    wit: Wit,
    address: String,
    file: Option<Fingerprint>,
    of_file: Option<String>,
}

/// Source of the comments for a manifest that has none.
enum Wit {
    /// The component itself.
    Own,
    /// A directory next to the manifest, if it exists.
    Beside(PathBuf),
    /// A directory or a file that the user named.
    Named(PathBuf),
    /// A directory or a file that the user named for an earlier version.
    Kept(PathBuf),
}

impl Wit {
    /// Returns the WIT that the user named, or else the given one.
    fn or(overrides: Overrides<'_>, other: Self) -> Self {
        let kept = overrides.kept.and_then(|kept| kept.wit.clone());
        overrides.wit.map_or_else(|| kept.map_or(other, Self::Kept), |wit| Self::Named(wit.to_owned()))
    }
}

impl Source {
    /// Reads a folder or a file.
    pub fn read(path: &Path, overrides: Overrides<'_>, keys: &Keys) -> Result<Self> {
        let about = path.metadata().map_err(|error| missing(path, &error))?;
        if about.is_dir() {
            Self::from_folder(path, overrides)
        } else {
            Self::from_file(path, path, overrides, keys)
        }
    }

    /// Like [`read`](Self::read), for fetched bytes.
    pub fn from_bytes(given: Given, overrides: Overrides<'_>, keys: &Keys) -> Result<Self> {
        let name = overrides.name;
        let Given { bytes, signature, address, name: file_name } = given;
        let file = digest(&bytes);
        let read = signature.as_deref().map(Signature::parse).transpose();
        let read = read.with_context(|| format!("{address}{SIGNATURE_SUFFIX}"))?;
        let said = read.as_ref().map(|signature| keys.verify(&bytes, signature)).transpose();
        let said = said.with_context(|| address.clone())?.flatten();
        let (manifest, component) = if Package::is_one(&bytes) {
            let package = Package::read(&bytes).with_context(|| address.clone())?;
            drop(bytes);
            package.into_parts()
        } else {
            let limit = || format!("{address} has {} bytes; the limit is {MAX_COMPONENT_BYTES}", bytes.len());
            ensure!(bytes.len() as u64 <= MAX_COMPONENT_BYTES, limit());
            (bare_manifest(&address, file_name, name, said.as_ref())?, bytes)
        };
        let own = Manifest::parse(&manifest).with_context(|| address.clone())?;
        if let Some(said) = &said {
            let is_it = said.name == own.name.as_str() && said.version.to_string() == own.version;
            ensure!(
                is_it,
                "{address} is signed as {} {}, and is {} {}",
                said.name,
                said.version,
                own.name,
                own.version
            );
        }
        let parts = Parts {
            manifest,
            name: name.cloned().unwrap_or(own.name),
            chosen: overrides.chosen(),
            component,
            wit: Wit::or(overrides, Wit::Own),
            address,
            file: Some(Fingerprint::from_digest(&file).context("no digest")?),
            of_file: signature,
        };
        Self::of(parts)
    }

    fn from_folder(folder: &Path, overrides: Overrides<'_>) -> Result<Self> {
        let path = folder.join(MANIFEST);
        if !path.exists() && folder.join(SKILL).exists() {
            return Self::from_skill(folder, overrides);
        }
        ensure!(path.exists(), "{} has no {MANIFEST}; {NAME_ONE}", folder.display());
        let manifest = manifest_text(&path)?;
        let own = Manifest::parse(&manifest)?;
        let file = folder.join(&own.component);
        ensure!(file.exists(), not_built(folder, &file));
        let component = component(&file)?;
        check_skill(&file, &component)?;
        let given = Fingerprint::of(&component);
        let component = encoded(&file, component)?;
        // A module becomes a component with another hash than the file that users see.
        let is_module = given != Fingerprint::of(&component);
        let parts = Parts {
            manifest,
            name: overrides.name.cloned().unwrap_or(own.name),
            chosen: overrides.chosen(),
            component,
            wit: Wit::or(overrides, Wit::Beside(folder.join(WIT))),
            address: absolute(folder),
            file: is_module.then_some(given),
            of_file: None,
        };
        let signature = read_signature(&folder.join(SIGNATURE)).with_context(|| SIGNATURE.to_owned())?;
        Ok(Self { signature, ..Self::of(parts)? })
    }

    /// Reads a skill that contains only a component. The plugin gets the skill's name.
    fn from_skill(folder: &Path, overrides: Overrides<'_>) -> Result<Self> {
        let is_component = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
        let found: Vec<_> =
            fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_component).collect();
        let [component] = found.as_slice() else {
            bail!("{} has {} components; one is needed, or a {MANIFEST}", folder.display(), found.len());
        };
        Self::from_file(&dunce::canonicalize(folder)?, component, overrides, &Keys::default())
    }

    /// Reads a pack, or a single component, which requests no capabilities. A component without another name
    /// is named after `named`.
    fn from_file(named: &Path, path: &Path, overrides: Overrides<'_>, keys: &Keys) -> Result<Self> {
        let bytes = if is_package(path)? {
            bounded(path, MAX_PACKAGE_BYTES)?
        } else {
            let bytes = component(path)?;
            check_skill(path, &bytes)?;
            bytes
        };
        let signature = signature_beside(path)?;
        let given = Given { bytes, signature, address: absolute(named), name: name_of(named) };
        Self::from_bytes(given, overrides, keys)
    }

    /// Inspects the component and combines it with its manifest.
    fn of(parts: Parts) -> Result<Self> {
        let Parts { manifest, name, chosen, component, wit, address, file, of_file } = parts;
        let own = Manifest::parse(&manifest)?;
        let component = encoded(Path::new(&address), component)?;
        let cannot = || format!("{name} cannot be a plugin");
        let anatomy = looked_into(&component, &own.capabilities).with_context(cannot)?;
        let manifest = if name == own.name { manifest } else { Manifest::with_name(&manifest, &name)? };
        let manifest = match chosen.max_tools {
            Some(max_tools) => {
                ensure!(
                    (1..=MAX_TOOLS).contains(&max_tools),
                    "--max-tools {max_tools}: write 1 to {MAX_TOOLS}"
                );
                Manifest::with_max_tools(&manifest, max_tools)?
            }
            None => manifest,
        };
        let manifest = commented(&manifest, &wit, &anatomy)?;
        let origin = Origin {
            name: own.name,
            version: own.version,
            address,
            file,
            signature: of_file,
            chosen,
            manifest: Fingerprint::of(manifest.as_bytes()),
            component: Fingerprint::of(&component),
        };
        Ok(Self {
            name,
            component_name: own.component,
            manifest,
            component,
            anatomy,
            signature: None,
            origin,
        })
    }

    /// Returns the name for the installation.
    pub fn name(&self) -> &PluginName {
        &self.name
    }

    /// Returns the text of the manifest and the component, as installed.
    pub(crate) fn parts(&self) -> (&str, &[u8]) {
        (&self.manifest, &self.component)
    }
}

/// Reads the signature next to a file, if there is one.
pub(crate) fn signature_beside(path: &Path) -> Result<Option<String>> {
    let beside = suffixed(path);
    match read_file(&beside, MAX_SIGNATURE_BYTES) {
        Ok(text) => {
            Ok(Some(String::from_utf8(text).map_err(|_| anyhow!("{} is no text", beside.display()))?))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| beside.display().to_string()),
    }
}

/// Creates a manifest for a single component. A signed statement supplies the name and version.
fn bare_manifest(
    address: &str,
    file_name: Result<PluginName, NameError>,
    name: Option<&PluginName>,
    said: Option<&Statement>,
) -> Result<String> {
    let said_name = said.map(|said| PluginName::try_from(said.name.clone())).transpose()?;
    let own = said_name.map_or(file_name, Ok).or_else(|error| name.cloned().ok_or(error));
    let name =
        own.with_context(|| format!("{address} gives the plugin its name; give it another with --name"))?;
    let version = said.map_or_else(String::new, |said| format!("version = \"{}\"\n", said.version));
    Ok(format!("name = \"{name}\"\n{version}component = \"component.wasm\"\n"))
}

/// Adds the comments of the WIT files in `wit`, or else those in the component. If they cannot be read, prints a
/// warning and returns the manifest unchanged. For WIT that the user named, that is an error.
fn commented(manifest: &str, wit: &Wit, anatomy: &Anatomy) -> Result<String> {
    let wit = match wit {
        Wit::Named(wit) => return described_by(manifest, wit, anatomy),
        // The author may describe the tools by now.
        Wit::Kept(wit) if Manifest::parse(manifest)?.comments.is_empty() => {
            return described_by(manifest, wit, anatomy);
        }
        Wit::Beside(wit) => Some(wit).filter(|wit| wit.is_dir()),
        Wit::Kept(_) | Wit::Own => None,
    };
    let found = wit.map_or_else(|| Ok(own_comments(anatomy)), |wit| comments(wit));
    let added = found.and_then(|comments| Ok(Manifest::with_comments(manifest, &comments)?));
    Ok(added.unwrap_or_else(|error| {
        let place = wit.map_or_else(|| "the component".to_owned(), |wit| wit.display().to_string());
        terminal::complain(&format!(
            "the comments in {place} cannot be read, so the tools get no descriptions from them: {error:#}"
        ));
        manifest.to_owned()
    }))
}

/// Adds the comments that a WIT package has for functions of the component.
fn described_by(manifest: &str, wit: &Path, anatomy: &Anatomy) -> Result<String> {
    let place = || format!("--wit {}", wit.display());
    ensure!(wit.exists(), "{} does not exist; name a folder with .wit files, or a .wit file", place());
    ensure!(
        Manifest::parse(manifest)?.comments.is_empty(),
        "{}: plugin.toml has [comments] already; take them out, or leave out --wit",
        place()
    );
    let exported = exported(anatomy);
    let mut comments = comments(wit).with_context(place)?;
    comments.retain(|name, _| exported.contains(name));
    ensure!(
        !comments.is_empty(),
        "{} has no doc comment (///) for a function that the component exports, such as {}",
        place(),
        exported.first().map_or("none", String::as_str)
    );
    Manifest::with_comments(manifest, &comments).with_context(place)
}

/// Returns the absolute path of a file, so that it can be found from other directories.
fn absolute(path: &Path) -> String {
    dunce::canonicalize(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Returns the path of a file's signature.
pub(crate) fn suffixed(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(SIGNATURE_SUFFIX);
    name.into()
}

/// Reports that a folder has no component yet, with the command that builds it.
fn not_built(folder: &Path, component: &Path) -> String {
    let manifest = folder.join(MANIFEST);
    let (component, manifest) = (component.display(), manifest.display());
    if let Some(other) = built_instead(folder) {
        return format!("{component} does not exist, and {other} does; correct `component` in {manifest}");
    }
    if is_buildable(folder) {
        return format!("{component} is not built; build it with: make -C {}", as_word(folder));
    }
    format!("{component} does not exist; build it, or correct `component` in {manifest}")
}

/// Returns the name of the only WebAssembly file in a folder.
fn built_instead(folder: &Path) -> Option<String> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut found = entries.filter(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    let first = found.next().filter(|path| path.is_file())?;
    if found.next().is_some() {
        return None;
    }
    Some(one_line(&first.file_name()?.to_string_lossy(), MAX_SHOWN_NAME))
}

/// Returns `true` if `make` builds the folder.
pub fn is_buildable(folder: &Path) -> bool {
    MAKEFILES.iter().any(|name| folder.join(name).is_file())
}

/// Quotes a path as a single word of a shell command.
pub(crate) fn as_word(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        path
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// Describes the error for a missing file, with valid alternatives.
fn missing(path: &Path, error: &std::io::Error) -> anyhow::Error {
    if error.kind() != ErrorKind::NotFound {
        return anyhow!("{} cannot be read: {error}", path.display());
    }
    match path.parent().filter(|folder| folder.join(MANIFEST).is_file()) {
        Some(folder) => {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            if path.extension().is_some_and(|extension| extension == "wasm") {
                return anyhow!("{}", not_built(folder, path));
            }
            let folder = folder.display();
            anyhow!("{} does not exist; name a folder with {MANIFEST}, such as {folder}", path.display())
        }
        None if is_like_address(path) => {
            let path = path.display();
            anyhow!("{path} does not exist; {NAME_ONE}; for a registry, write oci://{path}")
        }
        None => anyhow!("{} does not exist; {NAME_ONE}", path.display()),
    }
}

/// Returns `true` if a path that does not exist reads like a place in a registry: `ghcr.io/a/b:1`.
fn is_like_address(path: &Path) -> bool {
    let host = path.to_str().and_then(|path| path.split_once('/')).map(|(host, _)| host);
    host.is_some_and(|host| {
        let name = host.split(':').next().unwrap_or_default();
        !name.starts_with('.') && (name.contains('.') || name == "localhost") && !Path::new(host).exists()
    })
}

/// Reads a manifest, without loading more than the maximum size into memory.
fn manifest_text(path: &Path) -> Result<String> {
    let about = path.metadata().map_err(|error| missing(path, &error))?;
    ensure!(about.is_file(), "{} is not a file", path.display());
    let mut text = String::new();
    let file = File::open(path).map_err(|error| missing(path, &error))?;
    // One extra byte lets `Manifest::parse` detect an oversized manifest.
    let read = file.take(MAX_MANIFEST_BYTES as u64 + 1).read_to_string(&mut text);
    read.with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(text)
}

fn is_package(path: &Path) -> Result<bool> {
    let about = path.metadata().map_err(|error| missing(path, &error))?;
    ensure!(about.is_file(), "{} is not a file", path.display());
    let mut head = Vec::new();
    let file = File::open(path).map_err(|error| missing(path, &error))?;
    file.take(HEAD_BYTES).read_to_end(&mut head).with_context(|| path.display().to_string())?;
    Ok(Package::is_one(&head))
}

/// Reads a component or a core module.
fn component(path: &Path) -> Result<Vec<u8>> {
    bounded(path, MAX_COMPONENT_BYTES)
}

/// Reads a file of at most `most` bytes.
pub(crate) fn bounded(path: &Path, most: u64) -> Result<Vec<u8>> {
    let about = path.metadata().map_err(|error| missing(path, &error))?;
    ensure!(about.is_file(), "{} is not a file", path.display());
    ensure!(about.len() <= most, "{} has {} bytes; the limit is {most}", path.display(), about.len());
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| missing(path, &error))?;
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("{} cannot be read", path.display()))?;
    ensure!(bytes.len() as u64 <= most, "{} has more than {most} bytes", path.display());
    Ok(bytes)
}

/// Rejects a core module in a skill. The component of a skill is compared with the approved bytes, so it must
/// not be converted.
fn check_skill(path: &Path, bytes: &[u8]) -> Result<()> {
    ensure!(
        !bytes.starts_with(&MODULE) || !path.with_file_name(SKILL).exists(),
        "{} is a core module, but a skill has to bring a component; build it for wasm32-wasip2",
        path.display()
    );
    Ok(())
}

/// Converts a core module to a component; returns a component unchanged.
fn encoded(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>> {
    if !bytes.starts_with(&MODULE) {
        return Ok(bytes);
    }
    scorpiox_runtime::compile::encode(&bytes, || false).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = "name = \"a\"\ncomponent = \"a.wasm\"\n";

    fn refused(path: &Path) -> String {
        let read = Source::read(path, Overrides::default(), &Keys::default());
        read.err().expect("nothing that can be read").to_string()
    }

    #[test]
    fn a_folder_that_is_not_built_names_the_command_that_builds_it() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("my plugin");
        fs::create_dir(&folder).expect("creates");
        assert_eq!(refused(&folder), format!("{} has no plugin.toml; {NAME_ONE}", folder.display()));
        fs::write(folder.join(MANIFEST), TOML).expect("writes");
        let component = folder.join("a.wasm").display().to_string();
        let expected = format!(
            "{component} does not exist; build it, or correct `component` in {}",
            folder.join(MANIFEST).display()
        );
        assert_eq!(refused(&folder), expected);
        fs::write(folder.join("component.wasm"), "").expect("writes");
        let expected = format!(
            "{component} does not exist, and component.wasm does; correct `component` in {}",
            folder.join(MANIFEST).display()
        );
        assert_eq!(refused(&folder), expected);
        fs::remove_file(folder.join("component.wasm")).expect("removed");
        fs::write(folder.join("Makefile"), "").expect("writes");
        let expected = format!("{component} is not built; build it with: make -C '{}'", folder.display());
        assert_eq!(refused(&folder), expected);
    }

    #[test]
    fn what_does_not_exist_is_said_with_what_can_be_named() {
        let home = tempfile::tempdir().expect("a folder");
        let none = home.path().join("none");
        assert_eq!(refused(&none), format!("{} does not exist; {NAME_ONE}", none.display()));
        for (path, is_one) in [
            ("registry.example/a/b:1", true),
            ("localhost:5000/a", true),
            ("./a.b/c", false),
            ("a/b.c", false),
        ] {
            assert_eq!(refused(Path::new(path)).ends_with(&format!("write oci://{path}")), is_one, "{path}");
        }
        fs::write(home.path().join(MANIFEST), TOML).expect("writes");
        let folder = home.path().display();
        let expected =
            format!("{} does not exist; name a folder with plugin.toml, such as {folder}", none.display());
        assert_eq!(refused(&none), expected);
        let component = home.path().join("a.wasm");
        let (shown, manifest) = (component.display(), home.path().join(MANIFEST));
        let expected =
            format!("{shown} does not exist; build it, or correct `component` in {}", manifest.display());
        assert_eq!(refused(&component), expected);
        fs::write(home.path().join("Makefile"), "").expect("writes");
        assert_eq!(refused(&component), format!("{shown} is not built; build it with: make -C {folder}"));
    }

    #[test]
    fn a_path_is_one_word_of_a_command() {
        for (path, word) in [("a/b-1.0", "a/b-1.0"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("$x", "'$x'")]
        {
            assert_eq!(as_word(Path::new(path)), word);
        }
    }
}
