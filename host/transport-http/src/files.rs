//! Files of the transport: the token, the secret, and the ended sessions.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use scorpiox_exchange::seal::Secret;
use scorpiox_fs::home::private;

use crate::ended::Ended;

/// Prefix of tokens, by which people and secret scanners recognize them.
const PREFIX: &str = "scorpiox_";
/// Minimum length of a token chosen by the user.
const LEAST_CHARS: usize = 16;
/// Maximum size of a token file that is read, in bytes.
const MAX_TOKEN_BYTES: u64 = 1024;

/// Files of the transport, in the program's own directory.
pub struct Files {
    folder: PathBuf,
}

impl Files {
    /// Returns the files in the program's own directory `home`.
    pub fn of(home: &Path) -> Self {
        Self { folder: home.join("http") }
    }

    /// Returns the path of the token.
    pub fn token_path(&self) -> PathBuf {
        self.folder.join("token")
    }

    /// Returns the token, creating it if there is none.
    pub fn token(&self) -> io::Result<String> {
        let path = self.token_path();
        let token = read_or_make(&path, shown)?.trim().to_owned();
        let is_one = token.bytes().all(|byte| byte.is_ascii_graphic());
        if token.len() < LEAST_CHARS || !is_one {
            return Err(io::Error::other(format!(
                "{} has no token: it is one line of at least {LEAST_CHARS} characters of ASCII without blanks; remove the file for \
                 a new one",
                path.display()
            )));
        }
        Ok(token)
    }

    /// Opens the list of ended sessions.
    pub(crate) fn ended(&self) -> io::Result<Ended> {
        Ended::open(&self.folder.join("ended"))
    }

    /// Returns the secret that seals session IDs and request states, creating it if there is none.
    pub(crate) fn secret(&self) -> io::Result<Secret> {
        let path = self.folder.join("secret");
        let text = read_or_make(&path, |secret| URL_SAFE_NO_PAD.encode(secret))?;
        let secret = URL_SAFE_NO_PAD.decode(text.trim()).ok().and_then(|bytes| Secret::try_from(bytes).ok());
        secret.ok_or_else(|| {
            io::Error::other(format!("{} is no secret of this program; remove it", path.display()))
        })
    }
}

/// Returns a new token.
pub fn new_token() -> io::Result<String> {
    scorpiox_exchange::seal::secret().map(|secret| shown(&secret)).map_err(io::Error::other)
}

fn shown(secret: &Secret) -> String {
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(secret))
}

fn read_or_make(path: &Path, make: impl Fn(&Secret) -> String) -> io::Result<String> {
    let with_path = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    match private::open(path) {
        Ok(file) => return read(file).map_err(with_path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(with_path(error)),
    }
    let text = make(&scorpiox_exchange::seal::secret().map_err(io::Error::other)?);
    let write = |path: &Path| {
        private::write(path, |file| file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n")))
    };
    // If two processes create the file at the same time, the first one wins: a hard link never replaces a
    // file.
    let draft = path.with_extension(std::process::id().to_string());
    write(&draft).map_err(with_path)?;
    let named = fs::hard_link(&draft, path);
    fs::remove_file(&draft).map_err(with_path)?;
    match named {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        // Some file systems have no hard links.
        Err(_) => write(path).map_err(with_path)?,
    }
    private::open(path).and_then(read).map_err(with_path)
}

fn read(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MAX_TOKEN_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
