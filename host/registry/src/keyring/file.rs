//! Files that have a secret in them.

use std::io::Read as _;
use std::path::Path;

use scorpiox_paths::{open_file, others_can_read, resolve};

use super::{MAX_PASSWORD_BYTES, Reader, one_password};

impl Reader<'_> {
    pub(super) fn password_in(&self, path: &str) -> Result<String, String> {
        one_password(self.secret(&self.place(path)?, MAX_PASSWORD_BYTES)?)
    }

    /// A file that this person, or the system's owner, alone can read and write, and no command.
    pub(super) fn secret(&self, path: &Path, most: usize) -> Result<Vec<u8>, String> {
        let place = resolve(path, &self.writable).map_err(|error| error.to_string())?;
        let shown = place.display();
        if self.writable.covers(&place) {
            return Err(format!("{shown} lies where commands can write; keep it elsewhere"));
        }
        let file = open_file(&place).map_err(|error| format!("{shown} cannot be read: {error}"))?;
        // The open file is what is asked about, and read.
        let others =
            others_can_read(&file).map_err(|error| format!("{shown} cannot be looked at: {error}"))?;
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
}
