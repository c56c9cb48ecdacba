//! What somebody gives to be installed.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use scorpiox_anatomy::Anatomy;
use scorpiox_author::name_of;
use scorpiox_minisign::{MAX_SIGNATURE_BYTES, PublicKey, SIGNATURE_SUFFIX, Signature, Statement, digest};
use scorpiox_package::{MAX_PACKAGE_BYTES, Package};
use scorpiox_plugin::{
    Fingerprint, MANIFEST, MAX_COMPONENT_BYTES, MAX_MANIFEST_BYTES, Manifest, NameError, Origin, PluginName,
    SIGNATURE, read_file, read_signature,
};
use scorpiox_policy::Policy;
use scorpiox_terminal as terminal;
use scorpiox_tools::plugins::{comments, own_comments};

use crate::look::looked_into;

const SKILL: &str = "SKILL.md";
/// What a core module begins with.
const MODULE: [u8; 8] = *b"\0asm\x01\0\0\0";
/// Where a plugin's types are, for those that have them beside the component.
const WIT: &str = "wit";
/// As much as tells a pack from a component.
const HEAD_BYTES: u64 = 512;

/// Whose signatures count, with what the policy calls each.
#[derive(Debug, Clone, Default)]
pub struct Keys(Vec<(String, PublicKey)>);

impl Keys {
    /// Those of the policy's signers.
    pub fn of(policy: &Policy) -> Self {
        let signers = policy.plugins.signers.values();
        Self(signers.map(|signer| (signer.value.name.clone(), signer.value.public_key().clone())).collect())
    }

    /// The signature among several that counts; of those that do not, one by a signer of the policy, so that it is told of.
    pub fn chosen(&self, bytes: &[u8], signatures: &[String]) -> Option<String> {
        let of = |text: &String| Signature::parse(text).ok();
        let counts =
            |text: &String| of(text).is_some_and(|one| matches!(self.verify(bytes, &one), Ok(Some(_))));
        let is_named =
            |text: &String| of(text).is_some_and(|one| self.0.iter().any(|(_, key)| key.is_named_by(&one)));
        let found = signatures.iter().find(|text| counts(text));
        found.or_else(|| signatures.iter().find(|text| is_named(text))).cloned()
    }

    /// What the holder of one of the keys said of a file. Nothing, where nobody of them says that they signed it; an
    /// error, where that is not so.
    fn verify(&self, bytes: &[u8], signature: &Signature) -> Result<Option<Statement>> {
        let Some((name, key)) = self.0.iter().find(|(_, key)| key.is_named_by(signature)) else {
            return Ok(None);
        };
        let verified = key.verify_file(bytes, signature);
        Ok(Some(verified.with_context(|| format!("the signature by {name} does not count"))?))
    }
}

/// Bytes that were fetched from somewhere: a pack, or a component alone.
#[derive(Debug)]
pub struct Given {
    /// The bytes, of which whoever fetched them compared size and hash with what was promised.
    pub bytes: Vec<u8>,
    /// The text of the signature beside them.
    pub signature: Option<String>,
    /// Where they are from: a path or an address, for people, and for the next time.
    pub address: String,
    /// The name that a component alone gets, if nothing else says one.
    pub name: Result<PluginName, NameError>,
}

/// What is installed: texts of the files.
pub struct Source {
    pub(crate) name: PluginName,
    pub(crate) component_name: String,
    pub(crate) manifest: String,
    pub(crate) component: Vec<u8>,
    /// What the component is made of.
    pub anatomy: Anatomy,
    pub(crate) signature: Option<String>,
    pub(crate) origin: Origin,
}

/// A plugin before its component was looked into.
struct Parts {
    /// `plugin.toml` with its author's name.
    manifest: String,
    /// The name that it gets.
    name: PluginName,
    component: Vec<u8>,
    wit: Option<PathBuf>,
    address: String,
    file: Option<Fingerprint>,
    of_file: Option<String>,
}

impl Source {
    /// Reads a folder or a file, for a name that is not its own, if one is given.
    pub fn read(path: &Path, name: Option<&PluginName>, keys: &Keys) -> Result<Self> {
        let about = path.metadata().map_err(|error| missing(path, &error))?;
        if about.is_dir() { Self::from_folder(path, name) } else { Self::from_file(path, path, name, keys) }
    }

    /// The same of bytes that came from elsewhere.
    pub fn from_bytes(given: Given, name: Option<&PluginName>, keys: &Keys) -> Result<Self> {
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
            component,
            wit: None,
            address,
            file: Some(Fingerprint::from_digest(&file).context("no digest")?),
            of_file: signature,
        };
        Self::of(parts)
    }

    fn from_folder(folder: &Path, name: Option<&PluginName>) -> Result<Self> {
        let path = folder.join(MANIFEST);
        if !path.exists() && folder.join(SKILL).exists() {
            return Self::from_skill(folder, name);
        }
        let manifest = manifest_text(&path)?;
        let own = Manifest::parse(&manifest)?;
        let file = folder.join(&own.component);
        let component = component(&file)?;
        check_skill(&file, &component)?;
        let component = encoded(&file, component)?;
        let parts = Parts {
            manifest,
            name: name.cloned().unwrap_or(own.name),
            component,
            wit: Some(folder.join(WIT)),
            address: absolute(folder),
            file: None,
            of_file: None,
        };
        let signature = read_signature(&folder.join(SIGNATURE)).with_context(|| SIGNATURE.to_owned())?;
        Ok(Self { signature, ..Self::of(parts)? })
    }

    /// A skill that brings nothing but a component, which has the skill's name.
    fn from_skill(folder: &Path, name: Option<&PluginName>) -> Result<Self> {
        let is_component = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
        let found: Vec<_> =
            fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_component).collect();
        let [component] = found.as_slice() else {
            bail!("{} has {} components; one is needed, or a {MANIFEST}", folder.display(), found.len());
        };
        Self::from_file(&dunce::canonicalize(folder)?, component, name, &Keys::default())
    }

    /// A pack, or a component alone: it asks for nothing, and has the name of what was `named`, if it gets no other.
    fn from_file(named: &Path, path: &Path, name: Option<&PluginName>, keys: &Keys) -> Result<Self> {
        let bytes = if is_package(path)? {
            bounded(path, MAX_PACKAGE_BYTES)?
        } else {
            let bytes = component(path)?;
            check_skill(path, &bytes)?;
            bytes
        };
        let signature = signature_beside(path)?;
        let given = Given { bytes, signature, address: absolute(named), name: name_of(named) };
        Self::from_bytes(given, name, keys)
    }

    /// A manifest with its component, which was found to be something that can run.
    fn of(parts: Parts) -> Result<Self> {
        let Parts { manifest, name, component, wit, address, file, of_file } = parts;
        let own = Manifest::parse(&manifest)?;
        let component = encoded(Path::new(&address), component)?;
        let cannot = || format!("{name} cannot be a plugin");
        let anatomy = looked_into(&component, &own.capabilities).with_context(cannot)?;
        let manifest = if name == own.name { manifest } else { Manifest::with_name(&manifest, &name)? };
        let manifest = commented(&manifest, wit.as_deref(), &anatomy);
        let origin = Origin {
            name: own.name,
            version: own.version,
            address,
            file,
            signature: of_file,
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

    /// The name that it gets.
    pub fn name(&self) -> &PluginName {
        &self.name
    }

    /// The text of the manifest and the component, as they are installed.
    pub(crate) fn parts(&self) -> (&str, &[u8]) {
        (&self.manifest, &self.component)
    }
}

/// The signature that lies beside a file, if there is one.
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

/// What is beside a component alone: nothing. Who signed it said its name and version.
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

/// Where a file is, as it is found again from another folder.
fn absolute(path: &Path) -> String {
    dunce::canonicalize(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Where the signature of a file is.
pub(crate) fn suffixed(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(SIGNATURE_SUFFIX);
    name.into()
}

/// What a person can do about a file that is not there.
fn missing(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let path = path.display();
    match error.kind() {
        ErrorKind::NotFound => {
            anyhow!(
                "{path} does not exist; name a component (.wasm), a pack (.plugin), or a folder with {MANIFEST}"
            )
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

fn is_package(path: &Path) -> Result<bool> {
    let about = path.metadata().map_err(|error| missing(path, &error))?;
    ensure!(about.is_file(), "{} is not a file", path.display());
    let mut head = Vec::new();
    let file = File::open(path).map_err(|error| missing(path, &error))?;
    file.take(HEAD_BYTES).read_to_end(&mut head).with_context(|| path.display().to_string())?;
    Ok(Package::is_one(&head))
}

/// A component, or a core module.
fn component(path: &Path) -> Result<Vec<u8>> {
    bounded(path, MAX_COMPONENT_BYTES)
}

/// A file, up to a size.
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

/// What a skill brings is compared, byte for byte, with what was approved.
fn check_skill(path: &Path, bytes: &[u8]) -> Result<()> {
    ensure!(
        !bytes.starts_with(&MODULE) || !path.with_file_name(SKILL).exists(),
        "{} is a core module, but a skill has to bring a component; build it for wasm32-wasip2",
        path.display()
    );
    Ok(())
}

/// A component; of a core module its component.
fn encoded(path: &Path, bytes: Vec<u8>) -> Result<Vec<u8>> {
    if !bytes.starts_with(&MODULE) {
        return Ok(bytes);
    }
    scorpiox_compile::encode(&bytes, || false).with_context(|| path.display().to_string())
}
