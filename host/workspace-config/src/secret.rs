//! Reads files that contain a secret.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use scorpiox_fs::{Writable, open_file, others_can_read, resolve};

/// Maximum length of a password, in bytes. Tokens of cloud registries take about three kilobytes.
pub const MAX_PASSWORD_BYTES: usize = 16 * 1024;

/// Expands a path from the policy for a user with this home folder.
///
/// # Errors
///
/// Returns a sentence if the home folder is unknown.
pub fn written_path(written: &str, home: Option<&Path>) -> Result<PathBuf, String> {
    match (written.strip_prefix("~/"), home) {
        (None, _) => Ok(PathBuf::from(written)),
        (Some(inside), Some(home)) => Ok(home.join(inside)),
        (Some(_), None) => Err("the home folder is not known".to_owned()),
    }
}

/// Reads a file that only the user or root can read and write, and no command.
///
/// # Errors
///
/// Returns a sentence with the path.
pub fn read_secret(path: &Path, writable: &Writable, most: usize) -> Result<Vec<u8>, String> {
    let place = resolve(path, writable).map_err(|error| error.to_string())?;
    let shown = place.display();
    if writable.covers(&place) {
        return Err(format!("{shown} lies where commands can write; keep it elsewhere"));
    }
    let file = open_file(&place).map_err(|error| format!("{shown} cannot be read: {error}"))?;
    // Checks and reads the same open file.
    let others = others_can_read(&file).map_err(|error| format!("{shown} cannot be looked at: {error}"))?;
    if let Some(why) = others {
        return Err(format!("{shown}: {why}; let nobody but you read it (`chmod 600`)"));
    }
    let mut bytes = Vec::new();
    let read = file.take(most as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("{shown} cannot be read: {error}"))?;
    if bytes.len() > most {
        return Err(format!("{shown} has more than {most} bytes"));
    }
    Ok(bytes)
}

/// Extracts the password from the content of a file or the output of a program: a single line.
///
/// # Errors
///
/// Returns a sentence that describes what was found instead.
pub fn one_password(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|_| "the password is no UTF-8".to_owned())?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    match line {
        "" => Err("there is no password in it".to_owned()),
        line if line.contains('\n') => Err("it has more than one line, and a password is one".to_owned()),
        line => Ok(line.to_owned()),
    }
}
