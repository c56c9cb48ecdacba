//! Creation of signing keys.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use scorpiox_fs::home::private;
use scorpiox_signature::{MAX_PASSWORD_BYTES, NewKey, generate};
use scorpiox_terminal as terminal;
use scorpiox_terminal::{Shown, Working};

use crate::install::signing::read_password;

/// Maximum length of a signer's name in a policy, in bytes.
const MAX_NAME: usize = 32;

/// Protection of a new secret key.
#[derive(Debug, Clone, Copy)]
pub enum Protection<'a> {
    /// None: whoever has the file can sign.
    None,
    /// A password, from this file, or else from the terminal or standard input.
    Password(Option<&'a Path>),
}

/// Purpose of a new key.
#[derive(Debug, Clone, Copy)]
pub enum Trusts {
    /// Plugins that it signs.
    Plugins,
    /// Answers to approvals that it signs.
    Answers,
}

impl Trusts {
    /// Returns the table of the policy that trusts keys for this purpose, and the description of its effect.
    const fn table(self) -> (&'static str, &'static str) {
        match self {
            Self::Plugins => ("plugins.signers", "A policy trusts what it signs with these lines"),
            Self::Answers => ("approvers", "A policy accepts the answers that it signs with these lines"),
        }
    }
}

/// Creates `NAME.key` and `NAME.pub` in a folder, and prints the policy lines that trust the key.
pub fn keygen(folder: &Path, name: &str, protection: Protection<'_>, trusts: Trusts) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    ensure!(
        (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_plain),
        "{name:?} is not a valid name; write 1 to {MAX_NAME} lowercase letters, digits and hyphens"
    );
    let file = |suffix: &str| folder.join(format!("{name}.{suffix}"));
    let (secret, public) = (file("key"), file("pub"));
    for path in [&secret, &public] {
        let is_there = path.symlink_metadata().is_ok();
        ensure!(!is_there, "{} exists, and no key is overwritten; choose another name", path.display());
    }
    let password = match protection {
        Protection::None => None,
        Protection::Password(file) => Some(new_password(&secret, file)?),
    };
    let NewKey { secret: text, public_file, public: key } = {
        let _working = password.as_ref().map(|_| Working::on("protecting the key"));
        generate(password).context("no key was made")?
    };
    write(private::options().write(true), &secret, &text)?;
    if let Err(error) = write(fs::OpenOptions::new().write(true), &public, &public_file) {
        let _ = fs::remove_file(&secret);
        return Err(error);
    }
    let (table, effect) = trusts.table();
    terminal::print(&Shown::text(&format!(
        "{}: the secret key, which only you can read. Keep a copy in a safe place.\n\
         {}: the public key. {effect}:\n\n\
         [{table}.{name}]\n\
         key = \"{}\"\n",
        secret.display(),
        public.display(),
        key.as_str()
    )));
    Ok(())
}

/// Reads a new password: at a terminal, twice.
fn new_password(key: &Path, file: Option<&Path>) -> Result<String> {
    let password = read_password(key, file)?;
    ensure!(!password.is_empty(), "the password is empty; --no-password makes a key without one");
    if file.is_none() && terminal::can_ask() {
        let again = terminal::read_secret("The same again (not shown): ", MAX_PASSWORD_BYTES)?;
        ensure!(again == password.as_bytes(), "the two passwords differ; no key was made");
    }
    Ok(password)
}

fn write(options: &mut fs::OpenOptions, path: &Path, text: &str) -> Result<()> {
    let written = options.create_new(true).open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.with_context(|| format!("{} cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_private_and_never_overwritten() {
        let home = tempfile::tempdir().expect("a folder");
        let path = |file: &str| home.path().join(file);
        keygen(home.path(), "acme", Protection::None, Trusts::Plugins).expect("a key");
        let before = fs::read_to_string(path("acme.key")).expect("a key");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = path("acme.key").metadata().expect("a key").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        for gone in ["none", "acme.pub"] {
            let _ = fs::remove_file(path(gone));
            let error = keygen(home.path(), "acme", Protection::None, Trusts::Plugins)
                .expect_err("an error")
                .to_string();
            assert!(error.contains("acme.key exists, and no key is overwritten"), "{error}");
        }
        assert_eq!(fs::read_to_string(path("acme.key")).expect("a key"), before);
        for name in ["", "Acme", "../a", "a b", &"x".repeat(33)] {
            assert!(keygen(home.path(), name, Protection::None, Trusts::Plugins).is_err(), "{name}");
        }
        fs::write(path("empty"), "\n").expect("writes");
        let empty = path("empty");
        let protection = Protection::Password(Some(&empty));
        let error =
            keygen(home.path(), "other", protection, Trusts::Plugins).expect_err("an error").to_string();
        assert!(error.contains("--no-password makes a key without one"), "{error}");
        assert!(!path("other.key").exists());
    }
}
