//! The files of the transport: the token, the secret, and the sessions that ended.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use scorpiox_home::private;
use scorpiox_seal::Secret;

use crate::ended::Ended;

/// How a token begins, so that people and scanners of secrets know one.
const PREFIX: &str = "scorpiox_";
/// Shortest token of somebody's own.
const LEAST_CHARS: usize = 16;
/// Longest file of a token that is read, in bytes.
const MAX_TOKEN_BYTES: u64 = 1024;

/// The files of the transport, in the program's own folder.
pub struct Files {
    folder: PathBuf,
}

impl Files {
    /// Those of the program's own folder `home`.
    pub fn of(home: &Path) -> Self {
        Self { folder: home.join("http") }
    }

    /// Where the token is.
    pub fn token_path(&self) -> PathBuf {
        self.folder.join("token")
    }

    /// The token, made anew where there is none.
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

    /// The sessions that their clients ended.
    pub(crate) fn ended(&self) -> io::Result<Ended> {
        Ended::open(&self.folder.join("ended"))
    }

    /// The secret that ids of sessions and states of requests are sealed with, made anew where there is none.
    pub(crate) fn secret(&self) -> io::Result<Secret> {
        let path = self.folder.join("secret");
        let text = read_or_make(&path, |secret| URL_SAFE_NO_PAD.encode(secret))?;
        let secret = URL_SAFE_NO_PAD.decode(text.trim()).ok().and_then(|bytes| Secret::try_from(bytes).ok());
        secret.ok_or_else(|| {
            io::Error::other(format!("{} is no secret of this program; remove it", path.display()))
        })
    }
}

/// A new token.
pub fn new_token() -> io::Result<String> {
    scorpiox_seal::secret().map(|secret| shown(&secret)).map_err(io::Error::other)
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
    let text = make(&scorpiox_seal::secret().map_err(io::Error::other)?);
    let write = |path: &Path| {
        private::write(path, |file| file.write_all(text.as_bytes()).and_then(|()| file.write_all(b"\n")))
    };
    // Of two processes that make one at once, the first one's stays: a name is given to one file alone.
    let draft = path.with_extension(std::process::id().to_string());
    write(&draft).map_err(with_path)?;
    let named = fs::hard_link(&draft, path);
    fs::remove_file(&draft).map_err(with_path)?;
    match named {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        // There are file systems without such names.
        Err(_) => write(path).map_err(with_path)?,
    }
    private::open(path).and_then(read).map_err(with_path)
}

fn read(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MAX_TOKEN_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
