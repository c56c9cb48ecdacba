//! Signing of packs and components, and verification of their signatures.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use crate::author::name_of;
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use scorpiox_fs::home::{instance, private};
use scorpiox_plugin::package::{MAX_PACKAGE_BYTES, PACKAGE_SUFFIX, Package};
use scorpiox_plugin::{PluginName, SIGNATURE, read_file};
use scorpiox_policy::{Policy, Signer, Source};
use scorpiox_signature::{
    MAX_PASSWORD_BYTES, MAX_SECRET_KEY_BYTES, MAX_SIGNATURE_BYTES, PublicKey, SIGNATURE_SUFFIX, SignError,
    Signature, Statement, digest, is_protected,
};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, Working};
use semver::Version;

use crate::install::source::{bounded, suffixed};

/// First bytes of every WebAssembly file.
const WASM: &[u8] = b"\0asm";

/// Name and version of the signed component. A pack contains its own.
pub type Named<'a> = (Option<&'a PluginName>, Option<&'a Version>);

/// Path of a secret key, and of a file with its password.
pub type SecretKeyFile<'a> = (&'a Path, Option<&'a Path>);

/// Signs a file, and writes the signature next to it.
pub fn sign(file: &Path, key: SecretKeyFile<'_>, named: Named<'_>) -> Result<()> {
    let bytes = bounded(file, MAX_PACKAGE_BYTES)?;
    let statement = statement(file, &bytes, named)?;
    let signature =
        with_key(key, |secret, password| scorpiox_signature::sign(secret, password, &bytes, &statement))?;
    let out = suffixed(file);
    put(&out, signature.text()).with_context(|| format!("{} cannot be written", out.display()))?;
    terminal::print(&Shown::text(&format!("{}: {statement}\n", out.display())));
    Ok(())
}

/// Signs the hash of a plugin's folder. Writes the hash and the signature into the folder.
pub fn sign_hash(folder: &Path, hash: &str, key: SecretKeyFile<'_>) -> Result<()> {
    let line = format!("{hash}\n");
    let signature = sign_text(key, &line, "the hash of a plugin")?;
    let file = folder.join(SIGNATURE.trim_end_matches(SIGNATURE_SUFFIX));
    let out = folder.join(SIGNATURE);
    for (path, text) in [(&file, line.as_str()), (&out, signature.text())] {
        put(path, text).with_context(|| format!("{} cannot be written", path.display()))?;
    }
    terminal::print(&Shown::text(&format!("{}: hash {hash}\n", out.display())));
    Ok(())
}

/// Signs a text that is no file. The comment says what the text is.
pub fn sign_text(key: SecretKeyFile<'_>, text: &str, comment: &str) -> Result<Signature> {
    with_key(key, |secret, password| scorpiox_signature::sign_text(secret, password, text, comment))
}

/// Opens a secret key for a signature.
fn with_key(
    (key, password): SecretKeyFile<'_>,
    sign: impl FnOnce(&str, Option<String>) -> Result<Signature, SignError>,
) -> Result<Signature> {
    ensure!(
        key.exists(),
        "the secret key {} does not exist; `scorpiox-code plugin keygen NAME` creates one",
        key.display()
    );
    let secret = text(key, MAX_SECRET_KEY_BYTES)?;
    let of_key = || format!("the secret key {}", key.display());
    let password =
        is_protected(&secret).with_context(of_key)?.then(|| read_password(key, password)).transpose()?;
    let _working = password.as_ref().map(|_| Working::on("opening the key"));
    sign(&secret, password).with_context(of_key)
}

/// Returns the statement to sign. A pack determines its name and version; for a component, the user may give
/// them.
fn statement(file: &Path, bytes: &[u8], (name, version): Named<'_>) -> Result<Statement> {
    let shown = file.display();
    if Package::is_one(bytes) {
        let package = Package::read(bytes).with_context(|| shown.to_string())?;
        let own = (package.manifest().name.clone(), package.version().clone());
        let is_other =
            name.is_some_and(|name| *name != own.0) || version.is_some_and(|version| *version != own.1);
        ensure!(!is_other, "{shown} is {} {}: a pack says its name and version itself", own.0, own.1);
        return Ok(Statement { name: own.0.to_string(), version: own.1, sha256: digest(bytes) });
    }
    ensure!(
        bytes.starts_with(WASM),
        "{shown} is neither a pack nor a component; `scorpiox-code plugin pack FOLDER` makes a pack ({PACKAGE_SUFFIX})"
    );
    let own = || name_of(file).with_context(|| format!("{shown} gives no name; say it with --name"));
    let name = name.cloned().map_or_else(own, Ok)?;
    let version = version.cloned();
    let version =
        version.with_context(|| format!("{shown} does not say its version; say it with --version"))?;
    Ok(Statement { name: name.to_string(), version, sha256: digest(bytes) })
}

/// Reads the password of a key from a file, a terminal, or standard input.
pub(crate) fn read_password(key: &Path, file: Option<&Path>) -> Result<String> {
    let read = match file {
        Some(file) => text(file, MAX_PASSWORD_BYTES as u64 + 2).map(|text| {
            let line = text.strip_suffix('\n').unwrap_or(&text);
            line.strip_suffix('\r').unwrap_or(line).as_bytes().to_vec()
        })?,
        None => {
            terminal::read_secret(&format!("Password of {} (not shown): ", key.display()), MAX_PASSWORD_BYTES)
                .context("no password; give it at a terminal, on standard input, or with --password-file")?
        }
    };
    ensure!(read.len() <= MAX_PASSWORD_BYTES, "the password has more than {MAX_PASSWORD_BYTES} bytes");
    String::from_utf8(read).map_err(|_| anyhow!("the password is no UTF-8"))
}

fn text(path: &Path, most: u64) -> Result<String> {
    let bytes = bounded_text(path, most)?;
    String::from_utf8(bytes).map_err(|_| anyhow!("{} is no text", path.display()))
}

fn bounded_text(path: &Path, most: u64) -> Result<Vec<u8>> {
    read_file(&dunce::canonicalize(path).with_context(|| path.display().to_string())?, most)
        .with_context(|| path.display().to_string())
}

/// Replaces a file atomically.
fn put(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".new-{}", instance::name()));
    let new = Path::new(&name);
    // The file is private until it is complete; the finished signature is readable for everybody.
    let written = private::options().write(true).create_new(true).open(new).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let moved = written.and_then(|()| readable(new)).and_then(|()| fs::rename(new, path));
    if moved.is_err() {
        let _ = fs::remove_file(new);
    }
    moved
}

#[cfg(unix)]
fn readable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The key or signer that a signature must come from.
#[derive(Debug, Clone, Copy)]
pub enum Whose<'a> {
    /// This key, given as text or as the path of a `.pub` file.
    Key(&'a str),
    /// The policy's signer with this name.
    Signer(&'a str),
    /// Any of the policy's signers.
    Any,
}

/// Verifies the signature next to a file, and prints the signed name and version.
pub fn verify(file: &Path, whose: Whose<'_>, policy: impl FnOnce() -> Result<Policy>) -> Result<()> {
    ensure!(
        !file.is_dir(),
        "{} is a folder; `scorpiox-code plugin add` names the signer of a folder",
        file.display()
    );
    let bytes = bounded(file, MAX_PACKAGE_BYTES)?;
    let beside = suffixed(file);
    let text = match read_file(&beside, MAX_SIGNATURE_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{} has no signature: {} is not there", file.display(), beside.display())
        }
        read => read.with_context(|| beside.display().to_string())?,
    };
    let text = String::from_utf8(text).map_err(|_| anyhow!("{} is no text", beside.display()))?;
    let signature = Signature::parse(&text).with_context(|| beside.display().to_string())?;
    let (statement, by) = match whose {
        Whose::Key(key) => (public_key(key)?.verify_file(&bytes, &signature), format!("the key {key}")),
        whose => {
            let policy = policy()?;
            let (signer, source) = signer(&policy, whose, &signature)?;
            let verified = signer.public_key().verify_file(&bytes, &signature);
            if let Ok(statement) = &verified {
                ensure!(
                    signer.may_sign(&statement.name),
                    "{} is signed by {}, whose `names` ({source}) does not cover {}",
                    file.display(),
                    signer.name,
                    statement.name
                );
            }
            (verified, format!("{} ({source})", signer.name))
        }
    };
    let statement =
        statement.with_context(|| format!("{}: the signature does not count", beside.display()))?;
    if Package::is_one(&bytes) {
        let package = Package::read(&bytes).with_context(|| file.display().to_string())?;
        let (name, version) = (&package.manifest().name, package.version());
        ensure!(
            statement.name == name.as_str() && statement.version == *version,
            "{} is signed as {} {}, and is {name} {version}",
            file.display(),
            statement.name,
            statement.version
        );
    }
    let said = format!(
        "{} is {} {}, signed by {by}\nsha256 {}\n",
        file.display(),
        statement.name,
        statement.version,
        statement.sha256
    );
    terminal::print(&Shown::text(&said));
    Ok(())
}

fn public_key(key: &str) -> Result<PublicKey> {
    if let Ok(key) = PublicKey::parse(key) {
        return Ok(key);
    }
    let path = Path::new(key);
    ensure!(path.exists(), "{key:?} is neither a minisign public key (RW…) nor a file");
    PublicKey::parse_file(&text(path, MAX_SECRET_KEY_BYTES)?).with_context(|| key.to_owned())
}

/// Returns the requested signer, or the policy's signer that the signature names.
fn signer<'p>(policy: &'p Policy, whose: Whose<'_>, signature: &Signature) -> Result<(&'p Signer, Source)> {
    let signers = &policy.plugins.signers;
    let found = match whose {
        Whose::Signer(name) => signers.get(name).with_context(|| {
            let known: Vec<_> = signers.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            format!("[plugins.signers] of the policy has no {name:?}; it has: {known}")
        })?,
        _ => signers
            .values()
            .find(|signer| signer.value.public_key().is_named_by(signature))
            .context("it is signed with a key that no signer of the policy has; name the key with --key")?,
    };
    Ok((&found.value, found.source))
}
