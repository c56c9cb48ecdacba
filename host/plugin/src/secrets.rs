//! Secrets of plugins: values that the user sets, in one file per plugin that only its owner can read.
//!
//! Invariant: no value is ever displayed, neither by an error nor by [`fmt::Debug`].

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use scorpiox_fs::home::private;
use serde::{Deserialize, Serialize};

use crate::name::PluginName;

/// Maximum size of a value in bytes. A private key in PEM format has several thousand.
pub const MAX_SECRET_BYTES: usize = 8 * 1024;
/// Maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Maximum size of the file: the maximum number of values in a manifest, escaped.
const MAX_FILE_BYTES: u64 = 1024 * 1024;
const VERSION: u32 = 1;

/// Name of a secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretName(String);

/// A string that is not a valid name of a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not the name of a secret; write 1 to 64 letters, digits and _, beginning with a letter or _"
)]
pub struct SecretNameError(String);

impl TryFrom<String> for SecretName {
    type Error = SecretNameError;

    fn try_from(name: String) -> Result<Self, SecretNameError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let begins = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
        if begins && name.len() <= MAX_NAME_BYTES && name.bytes().all(fits) {
            return Ok(Self(name));
        }
        Err(SecretNameError(name.chars().take(MAX_NAME_BYTES).collect()))
    }
}

impl From<SecretName> for String {
    fn from(name: SecretName) -> Self {
        name.0
    }
}

impl SecretName {
    /// Returns the name as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Value of a secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretValue(String);

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue")
    }
}

/// A value that cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum SecretValueError {
    #[error("the value is empty; nothing was set")]
    Empty,
    #[error("the value has more than {MAX_SECRET_BYTES} bytes; nothing was set")]
    TooLong,
    #[error("the value has a NUL character; nothing was set")]
    Nul,
    #[error("the value is no UTF-8; nothing was set")]
    NoUtf8,
    #[error(
        "the value has control characters, or others than ASCII, and {0} is a part of a header; nothing was set"
    )]
    NoHeader(SecretName),
    #[error("{plugin} has no secret {name}; its secrets: {known}")]
    Unknown { plugin: PluginName, name: SecretName, known: String },
}

impl TryFrom<String> for SecretValue {
    type Error = SecretValueError;

    fn try_from(value: String) -> Result<Self, SecretValueError> {
        match value.len() {
            0 => Err(SecretValueError::Empty),
            length if length > MAX_SECRET_BYTES => Err(SecretValueError::TooLong),
            _ if value.contains('\0') => Err(SecretValueError::Nul),
            _ => Ok(Self(value)),
        }
    }
}

impl SecretValue {
    /// Returns the value, for code that must use it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// Secrets that cannot be read or stored.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// An error of the file system, or a file that others can read or write.
    #[error("the secrets in {path} cannot be used: {error}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        error: io::Error,
    },
    /// Invalid content. The message contains none of it.
    #[error("the secrets in {path} cannot be read; remove the file, and set them again")]
    Damaged {
        /// Path of the file.
        path: PathBuf,
    },
}

/// Secrets of a plugin.
#[derive(Debug, Default)]
pub struct Secrets(BTreeMap<SecretName, SecretValue>);

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    secrets: BTreeMap<SecretName, SecretValue>,
}

impl Secrets {
    /// Reads the secrets of a plugin. Returns none if the file does not exist.
    pub fn read(own_home: &Path, plugin: &PluginName) -> Result<Self, SecretsError> {
        let path = file(own_home, plugin);
        let text = match read_private(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(SecretsError::Io { path, error }),
        };
        match serde_json::from_slice::<Stored>(&text) {
            Ok(stored) if stored.version == VERSION => Ok(Self(stored.secrets)),
            _ => Err(SecretsError::Damaged { path }),
        }
    }

    /// Changes the secrets of a plugin. The caller must hold
    /// [`PluginFolder::lock`](crate::PluginFolder::lock) to prevent concurrent changes.
    pub fn change(
        own_home: &Path,
        plugin: &PluginName,
        change: impl FnOnce(&mut Self),
    ) -> Result<(), SecretsError> {
        let mut secrets = Self::read(own_home, plugin)?;
        change(&mut secrets);
        if secrets.0.is_empty() {
            return Self::forget(own_home, plugin).map(drop);
        }
        let path = file(own_home, plugin);
        let failed = |error: io::Error| SecretsError::Io { path: path.clone(), error };
        let stored = Stored { version: VERSION, secrets: secrets.0 };
        let text = serde_json::to_vec(&stored).map_err(|error| failed(error.into()))?;
        let written = private::write(&path, |file| {
            file.write_all(&text)?;
            file.sync_all()
        });
        written.map_err(failed)
    }

    /// Deletes all secrets of a plugin. Returns `true` if there were any.
    pub fn forget(own_home: &Path, plugin: &PluginName) -> Result<bool, SecretsError> {
        let path = file(own_home, plugin);
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(SecretsError::Io { path, error }),
        }
    }

    /// Returns the value of a secret, if it is set.
    pub fn get(&self, name: &SecretName) -> Option<&SecretValue> {
        self.0.get(name)
    }

    /// Iterates over the names of the secrets that are set.
    pub fn names(&self) -> impl Iterator<Item = &SecretName> {
        self.0.keys()
    }

    /// Sets a secret.
    pub fn set(&mut self, name: SecretName, value: SecretValue) {
        self.0.insert(name, value);
    }

    /// Removes a secret. Returns `true` if it was set.
    pub fn remove(&mut self, name: &SecretName) -> bool {
        self.0.remove(name).is_some()
    }
}

fn file(own_home: &Path, plugin: &PluginName) -> PathBuf {
    own_home.join("secrets").join(format!("{plugin}.json"))
}

/// Reads a file that only its owner can read or write.
fn read_private(path: &Path) -> io::Result<Vec<u8>> {
    let file = private::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if file.metadata()?.mode() & 0o077 != 0 {
            return Err(io::Error::other("others can read it; take that away with chmod 600"));
        }
    }
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin() -> PluginName {
        PluginName::try_from("weather".to_owned()).expect("a name")
    }

    fn name(name: &str) -> SecretName {
        SecretName::try_from(name.to_owned()).expect("a name")
    }

    fn value(value: &str) -> SecretValue {
        SecretValue::try_from(value.to_owned()).expect("a value")
    }

    #[test]
    fn secrets_are_kept_and_go() {
        let home = tempfile::tempdir().expect("a folder");
        let read = || Secrets::read(home.path(), &plugin()).expect("read");
        assert_eq!(read().names().count(), 0);
        let set = |key: &str, text: &str| {
            Secrets::change(home.path(), &plugin(), |secrets| secrets.set(name(key), value(text)))
                .expect("kept");
        };
        set("A", "one\ntwo \"ü\"");
        set("B", "x");
        set("B", "y");
        assert_eq!(read().get(&name("A")).expect("set").reveal(), "one\ntwo \"ü\"");
        assert_eq!(read().get(&name("B")).expect("set").reveal(), "y");
        let mut gone = false;
        Secrets::change(home.path(), &plugin(), |secrets| gone = secrets.remove(&name("A"))).expect("kept");
        assert!(gone && read().names().eq([&name("B")]));
        Secrets::change(home.path(), &plugin(), |secrets| _ = secrets.remove(&name("B"))).expect("kept");
        assert!(!file(home.path(), &plugin()).exists(), "nothing is left");
        assert!(!Secrets::forget(home.path(), &plugin()).expect("nothing"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().expect("a folder");
        let own = home.path().join("own");
        Secrets::change(&own, &plugin(), |secrets| secrets.set(name("A"), value("x"))).expect("kept");
        let path = file(&own, &plugin());
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("sets");
        let error = Secrets::read(&own, &plugin()).expect_err("refused").to_string();
        assert!(error.ends_with("others can read it; take that away with chmod 600"), "{error}");
        assert!(Secrets::change(&own, &plugin(), |_| {}).is_err());
    }

    #[test]
    fn a_damaged_file_is_no_empty_one_and_is_not_repeated() {
        let home = tempfile::tempdir().expect("a folder");
        Secrets::change(home.path(), &plugin(), |secrets| secrets.set(name("A"), value("hunter2")))
            .expect("kept");
        let path = file(home.path(), &plugin());
        for text in [
            "",
            "{\"version\":1,\"secrets\":{\"A\":hunter2}}",
            "{\"version\":2,\"secrets\":{\"A\":\"hunter2\"}}",
        ] {
            fs::write(&path, text).expect("writes");
            let error = Secrets::read(home.path(), &plugin()).expect_err("damaged");
            assert!(
                matches!(error, SecretsError::Damaged { .. })
                    && !format!("{error} {error:?}").contains("hunter2")
            );
            assert!(Secrets::change(home.path(), &plugin(), |_| {}).is_err());
            assert_eq!(fs::read_to_string(&path).expect("there"), text);
        }
    }

    #[test]
    fn names_and_values_have_bounds() {
        for wrong in ["", "1A", "A-B", "Ä", &"A".repeat(65)] {
            assert!(SecretName::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
        let made = |value: String| SecretValue::try_from(value);
        assert_eq!(made(String::new()), Err(SecretValueError::Empty));
        assert_eq!(made("x".repeat(MAX_SECRET_BYTES + 1)), Err(SecretValueError::TooLong));
        assert_eq!(made("a\0b".to_owned()), Err(SecretValueError::Nul));
        assert!(!format!("{:?}", value("hunter2")).contains("hunter2"));
    }
}
